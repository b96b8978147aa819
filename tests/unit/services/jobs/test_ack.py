"""What ACK does with the message, a result that is not kept, and a clock that is behind."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.conflicts import StaleJobError
from ojs_aws.domain.errors import ConflictError
from ojs_aws.domain.job import Document, JobRecord
from ojs_aws.domain.jobs.held_job import Holder
from ojs_aws.domain.json_text import RawJson, parse_object
from ojs_aws.services.stored_jobs.messages import JobMessages
from tests.job_steps import active
from tests.simulation.world import World

RESULT = RawJson("12")


@pytest.mark.parametrize(
    ("has_message", "leaves", "is_deleted"),
    [(True, False, True), (True, True, False), (False, False, False), (False, True, False)],
)
def test_the_message_is_deleted_here_unless_somebody_else_does_it(
    world: World, has_message: bool, leaves: bool, is_deleted: bool
) -> None:
    """The reader of the stream, or whoever invoked the worker."""
    job = active(world.backend)
    before = len(world.faults.calls)
    ack = replace(world.backend.jobs.ack, leaves_messages=leaves)
    ack(job.id, "w", None, has_message=has_message)
    assert ("delete" in world.faults.calls[before:]) is is_deleted


@pytest.mark.parametrize(
    ("queue", "has_message", "wakes_next", "wakes"),
    [
        ("default", True, False, False),
        ("default", True, True, True),
        ("default", False, True, True),
        ("mail", True, False, True),
        ("mail", False, False, False),
    ],
)
def test_who_waits_for_the_jobs_place_is_woken_where_nobody_else_does_it(
    monkeypatch: pytest.MonkeyPatch, queue: str, has_message: bool, wakes_next: bool, wakes: bool
) -> None:
    """By ACK and FAIL: for a report by token, and in wide queues, whose lines nobody polls."""
    world = World(settings=Settings(queues=("default", "mail"), wide_queues=(("mail", 2),)))
    woken: list[str] = []
    monkeypatch.setattr(JobMessages, "pass_on", lambda _self, job, _now: woken.append(job.id))
    jobs = world.backend.jobs
    error = parse_object('{"type": "Broken", "message": "no"}')
    for end in (partial(jobs.ack, result=None), partial(jobs.fail, error=error)):
        job = active(world.backend, queue=queue)
        woken.clear()
        end(job.id, "w", has_message=has_message, wakes_next=wakes_next)
        assert woken == ([job.id] if wakes else [])


def test_a_job_that_keeps_no_result_never_ends_before_it_began(world: World) -> None:
    """Another process's clock is ahead."""
    job = active(world.backend, result_ttl=0)
    world.clock.set_back(world.clock.at - 500)
    ended = world.backend.jobs.ack(job.id, "w", RESULT)
    assert (ended.completed_at, ended.result) == (job.started_at, None)


def test_a_result_that_is_kept_is_not_lost_where_the_write_was_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever refused it: the job is not completed without its result."""
    job = active(world.backend)

    acknowledge = world.store.acknowledge

    def refuse(job_id: str, holder: Holder, result: Document | None, *rest: Any) -> JobRecord:
        if result is not None:
            raise StaleJobError(job)
        return acknowledge(job_id, holder, result, *rest)

    monkeypatch.setattr(world.store, "acknowledge", refuse)
    with pytest.raises(ConflictError):
        world.backend.jobs.ack(job.id, "w", RESULT)
