"""What one write of a workflow takes over, enqueues and reads.

What the end of a job leaves for the steps after it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from ojs_aws.adapters.dynamodb.workflows.store import Workflows
from ojs_aws.domain.job import JobState
from ojs_aws.domain.job_policies import Limit, OnLimit
from ojs_aws.domain.jobs.failures import read_failure
from ojs_aws.domain.json_text import RawJson, parse_object
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows.progress import StepState
from ojs_aws.domain.workflows.workflow import Ended, Workflow
from ojs_aws.services.workflows.write import JobEnd, WorkflowWrite, job_end_of
from tests.contract.test_job_store import NOW, a_job
from tests.simulation.world import World
from tests.unit.services.workflows.test_advance import create, given_to, job

CHAIN = {"type": "chain", "id": "w", "steps": [job("a"), job("b"), job("c")]}
FAILURE = read_failure(parse_object('{"type": "Broken", "message": "it broke"}'), 1, NOW)
LIMIT = Limit(key="k", concurrency=1, on_limit=OnLimit.DROP)


@dataclass
class Results:
    """The results that are stored."""

    stored: Mapping[int, RawJson] = field(default_factory=dict)
    reads: int = 0

    def results(self, _workflow_id: str) -> Mapping[int, RawJson]:
        self.reads += 1
        return self.stored


def write_of(world: World, before: Workflow, results: Results) -> WorkflowWrite:
    """A write of a workflow as it was read."""
    plan = world.backend.workflows.advance.plan(before)
    push = world.backend.jobs.push
    return WorkflowWrite(cast("Workflows", results), push, before, plan)


def ended(world: World, index: int) -> JobEnd:
    """A job that completed; its result is its number."""
    at = world.clock.now()
    return JobEnd(Ended(index=index, state=StepState.COMPLETED, at=at), RawJson(str(index)))


def test_stored_results_are_read_only_for_what_this_write_does_not_bring(world: World) -> None:
    """The second step has the first one's, which ended just now; the third has both."""
    first = create(world, CHAIN).view.workflow
    write, results = write_of(world, first, Results()), Results({1: RawJson("1")})
    second = write.make([ended(world, 1)], None)
    assert [given_to(each) for each in write.jobs] == [{"0": 1}]
    assert cast("Results", write.workflows).reads == 0
    later = write_of(world, second, results)
    later.make([ended(world, 2)], None)
    assert [given_to(each) for each in later.jobs] == [{"0": 1, "1": 2}]
    assert results.reads == 1


@pytest.mark.parametrize("is_repeated", [False, True])
def test_what_brings_nothing_new_is_the_same_workflow(world: World, is_repeated: bool) -> None:
    """So that nobody writes it."""
    before = create(world, CHAIN).view.workflow
    if is_repeated:
        before = write_of(world, before, Results()).make([ended(world, 1)], None)
    write = write_of(world, before, Results())
    news = [ended(world, 1)] if is_repeated else []
    assert write.make(news, None) is before
    assert (write.jobs, write.results) == ([], {})


@pytest.mark.parametrize(
    ("state", "expires_in", "failures", "code"),
    [
        (JobState.DISCARDED, None, (FAILURE,), "Broken"),
        (JobState.DISCARDED, 0, (), "expired"),
        (JobState.DISCARDED, 1, (), "dropped"),
        (JobState.DISCARDED, None, (), "dropped"),
        (JobState.CANCELLED, None, (FAILURE,), "cancelled"),
        (JobState.CANCELLED, None, (), "cancelled"),
    ],
)
def test_later_steps_get_why_a_job_did_not_complete(
    state: JobState, expires_in: int | None, failures: Any, code: str
) -> None:
    """An attempt that failed before is not why it was cancelled, nor time why it was dropped."""
    expires_at = None if expires_in is None else Instant(NOW + expires_in)
    job = a_job(
        state=state,
        failures=failures,
        workflow_step=1,
        discarded_at=NOW,
        expires_at=expires_at,
    )
    ended = job_end_of(job, cast("Any", None))
    assert ended is not None
    error = json.loads(ended.value)["error"]
    assert error["type"] == code


@pytest.mark.parametrize(
    ("ms_before", "limit", "expires_in", "code"),
    [
        (0, LIMIT, 0, "Broken"),
        (9, LIMIT, None, "dropped"),
        (9, LIMIT, 1, "dropped"),
        (9, None, 0, "expired"),
        (9, None, 1, "Broken"),
    ],
)
def test_an_earlier_failure_is_not_why_a_job_was_dropped_or_expired(
    ms_before: int, limit: Limit | None, expires_in: int | None, code: str
) -> None:
    """It is where nothing else can have ended the job."""
    failed = replace(FAILURE, occurred_at=Instant(NOW - ms_before))
    expires_at = None if expires_in is None else Instant(NOW + expires_in)
    options: dict[str, Any] = {"limit": limit, "failures": (failed,), "expires_at": expires_at}
    job = a_job(state=JobState.DISCARDED, discarded_at=NOW, workflow_step=1, **options)
    ended = job_end_of(job, cast("Any", None))
    assert ended is not None
    assert json.loads(ended.value)["error"]["type"] == code
