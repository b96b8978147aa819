"""Users' hooks in the backend: with each event of their kind, and before cron begins."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.adapters.dynamodb.jobs.codec import to_item
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.events import REQUIRED_DATA, Event
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant
from ojs_aws.middleware import HookEvent, Hooks, Periodic, hook
from ojs_aws.middleware.protocols import EVENT_HOOKS
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.transport.events.hooks import event_hooks, hook_of, start_periodic
from ojs_aws.transport.events.stream import build_stream
from ojs_aws.transport.events.tick import build_tick
from tests.simulation.world import World


def event(kind: str, data: str = "{}") -> Event:
    return Event(
        id="evt_1",
        type=kind,
        time=Instant(1_700_000_000_000),
        queue="default",
        subject="somebody",
        data=RawJson(data),
        job_type="a.b",
    )


def test_every_event_hook_has_its_events() -> None:
    """And each type of event has one hook at most."""
    lost = event("job.failed", '{"error": {"code": "visibility_timeout"}}')
    found = {hook_of(event(kind)) for kind in REQUIRED_DATA} | {hook_of(lost)}
    assert found - {""} == {*EVENT_HOOKS}


def test_an_ordinary_failure_is_no_lost_reservation() -> None:
    mentions = event("job.failed", '{"error": {"message": "visibility_timeout"}}')
    assert hook_of(mentions) == ""


class Life:
    """A job, and the stream records of what happened to it."""

    def __init__(self) -> None:
        self.world = World()
        self.states: list[JobRecord] = []
        pushed = self.world.backend.jobs.push(Job("a.b", visibility_timeout_s=5, id=self.job_id))
        assert pushed.record is not None
        self.note()

    job_id = "01900000-0000-7000-8000-000000000001"

    def note(self) -> None:
        self.states.append(self.world.stored.jobs[self.job_id])

    def records(self) -> list[dict[str, Any]]:
        images = [None, *(to_item(state, lambda _, __: 0) for state in self.states)]
        return [
            {
                "dynamodb": {
                    "SequenceNumber": str(number),
                    "ApproximateCreationDateTime": 1_700_000_000,
                    "Keys": {"pk": {"S": "job"}},
                    **({"OldImage": before} if before else {}),
                    "NewImage": after,
                }
            }
            for number, (before, after) in enumerate(pairwise(images), 1)
        ]


def test_a_lost_reservation_and_a_cancellation_reach_their_hooks() -> None:
    """With a decoded event; again when the records come again to another process."""
    seen: list[HookEvent] = []

    class Watches:
        def reservation_lost(self, event: HookEvent) -> None:
            seen.append(event)

        async def cancelled(self, event: HookEvent) -> None:
            await asyncio.sleep(0)
            seen.append(event)

    life = Life()
    life.world.backend.jobs.fetch(FetchRequest(("default",)))
    life.note()
    life.world.clock.advance(s=6)
    life.world.backend.jobs.info(life.job_id)  # settles what time has decided
    life.note()
    life.world.backend.jobs.cancel(life.job_id)
    life.note()

    for _ in range(2):
        call = event_hooks(Hooks([Watches()]))
        consumer = build_stream(life.world.backend, read_image, hooks=call)
        assert consumer({"Records": life.records()}, None) == {"batchItemFailures": []}
    assert [each.type for each in seen[:2]] == ["job.failed", "job.cancelled"]
    assert [each.id for each in seen[:2]] == [each.id for each in seen[2:]]
    assert seen[0].data["error"]["code"] == "visibility_timeout"  # type: ignore[index, call-overload]
    assert (seen[1].job_type, seen[1].queue) == ("a.b", "default")


def test_without_event_hooks_the_consumer_calls_nothing() -> None:
    """Nothing is decoded for hooks that are not there."""
    assert event_hooks(Hooks()) is None

    @hook
    def insert_begin(job: Job) -> None: ...

    assert event_hooks(Hooks([insert_begin])) is None


def test_periodic_start_is_called_once_per_process_and_before_cron_looks() -> None:
    """While it raises no cron job is fired, and the sweep goes on."""
    seen: list[object] = []
    problems = [OSError("not yet")]

    @hook
    async def periodic_start(periodic: Periodic) -> None:
        if problems:
            raise problems.pop()
        seen.append(periodic)

    world, hooks = World(), Hooks([periodic_start])
    tick = build_tick(world.backend, start_cron=lambda: start_periodic(hooks, world.backend))
    assert tick({}, None)["cron_failed"] == 1
    for _ in range(2):
        assert "cron_failed" not in tick({}, None) or tick({}, None)["cron_failed"] == 0
    assert len(seen) == 1


def test_periodic_start_registers_cron_jobs() -> None:
    """As a client does, and as often as a process starts: the last definition counts."""

    def starting(minutes: int) -> Hooks:
        @hook
        def periodic_start(periodic: Periodic) -> None:
            periodic.register("report", f"*/{minutes} * * * *", "report.build", ["daily"])
            nightly = Job("clean.up", queue="slow")
            periodic.register("nightly", "0 3 * * *", nightly, timezone="Europe/Vienna")

        return Hooks([periodic_start])

    world = World()
    for minutes in (10, 5):
        start_periodic(starting(minutes), world.backend)
    nightly, report = sorted(
        world.backend.cron.service.list(is_enabled=None), key=lambda each: each.name
    )
    assert (report.definition.expression, report.definition.type) == ("*/5 * * * *", "report.build")
    assert '["daily"]' in report.definition.document
    assert (nightly.definition.queue, nightly.definition.timezone) == ("slow", "Europe/Vienna")


def test_a_cron_job_that_cannot_be_is_refused_where_it_is_registered() -> None:
    @hook
    def periodic_start(periodic: Periodic) -> None:
        periodic.register("report", "every full moon", "report.build")

    with pytest.raises(InvalidRequestError, match="cron"):
        start_periodic(Hooks([periodic_start]), World().backend)


@pytest.mark.parametrize("kind", sorted(EVENT_HOOKS))
def test_each_hook_of_events_can_be_a_function(kind: str) -> None:
    called: list[str] = []
    hooks = Hooks([hook(kind)(lambda event: called.append(event.id))])
    call = event_hooks(hooks)
    assert call is not None
    for name in REQUIRED_DATA:
        call(event(name))
    call(event("job.failed", '{"error": {"code": "visibility_timeout"}}'))
    assert called
