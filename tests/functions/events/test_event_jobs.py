"""Events that a queue delivers make each one job (ojs-cloudevents-interop, section 8)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ojs_aws.domain.cloud_events import EventRule
from ojs_aws.domain.envelope import Job
from ojs_aws.transport.events.event_jobs import Handler, build_event_jobs
from tests.simulation.faults import Fault
from tests.simulation.world import World

RULES = (
    EventRule(source="com.shop", type="OrderPlaced", job_type="order.confirm", args=["$.data.id"]),
    EventRule(source="com.shop", type="OrderPaid", job_type="order.ship", queue="shipping"),
)


def event(number: int, kind: str = "OrderPlaced", **changes: Any) -> dict[str, Any]:
    return {
        "id": f"e{number}",
        "source": "com.shop",
        "detail-type": kind,
        "time": "2026-02-15T14:22:00Z",
        "detail": {"id": number},
    } | changes


def deliver(handler: Handler, *events: object) -> list[str]:
    """Deliver events; return the messages that come back."""
    records = [
        {"messageId": f"m{at}", "body": each if isinstance(each, str) else json.dumps(each)}
        for at, each in enumerate(events)
    ]
    answer = handler({"Records": records}, None)
    return [each["itemIdentifier"] for each in answer["batchItemFailures"]]


@pytest.fixture
def handler(world: World) -> Handler:
    return build_event_jobs(world.backend.jobs.push, RULES)


def jobs_of(world: World) -> list[tuple[str, str, list[object]]]:
    stored = world.stored.jobs.values()
    return sorted(
        (each.type, each.queue, json.loads(str(each.document))["args"]) for each in stored
    )


def test_each_event_makes_the_job_of_its_rule(world: World, handler: Handler) -> None:
    """An event that no rule matches makes none, and does not come back."""
    paid, unknown = event(2, "OrderPaid"), event(3, "OrderLost")
    assert deliver(handler, event(1), paid, unknown) == []
    assert jobs_of(world) == [
        ("order.confirm", "default", [1]),
        ("order.ship", "shipping", [{"id": 2}]),
    ]


def test_8_4_an_event_that_comes_twice_makes_one_job(world: World, handler: Handler) -> None:
    """At once, after its job has ended, and with a rule that was changed meanwhile."""
    assert deliver(handler, event(1), event(1)) == []
    (job_id,) = world.stored.jobs
    job = world.backend.jobs.info(job_id)
    world.backend.jobs.cancel(job.id)
    world.clock.advance(s=86_400)
    changed = build_event_jobs(
        world.backend.jobs.push, [EventRule(source="com.*", job_type="order.confirm")]
    )
    assert deliver(changed, event(1)) == []
    assert [*world.stored.jobs] == [job_id]


def test_what_is_wrong_with_one_event_does_not_stop_the_others(
    world: World, handler: Handler
) -> None:
    """It comes back, and is in the dead-letter queue in the end."""
    without = event(2, detail={})
    assert deliver(handler, "no JSON", event(1), without, event(3)) == ["m0", "m2"]
    assert len(jobs_of(world)) == 2


def test_an_event_that_meets_a_bug_does_not_stop_the_others(world: World) -> None:
    def push(job: Job) -> object:
        if job.args == [2]:
            raise LookupError("a bug")
        return world.backend.jobs.push(job)

    handler = build_event_jobs(push, RULES)
    assert deliver(handler, event(1), event(2), event(3)) == ["m1"]
    assert len(jobs_of(world)) == 2


def test_an_event_may_have_any_text_as_its_id(world: World, handler: Handler) -> None:
    """Also half of a surrogate pair, which JSON can say and UTF-8 cannot."""
    odd = event(1, id="\ud800")
    assert deliver(handler, odd, odd) == []
    assert len(jobs_of(world)) == 1


@pytest.mark.parametrize("fault", [Fault.FAILS_BEFORE, Fault.FAILS_AFTER])
def test_whatever_call_fails_each_event_makes_one_job(world: World, fault: Fault) -> None:
    """The message comes again, and finds the job if it was stored."""
    faulty = 0
    while True:
        world = World()
        handler = build_event_jobs(world.backend.jobs.push, RULES)
        world.faults.faulty, world.faults.fault = faulty, fault
        back = deliver(handler, event(1))
        if faulty >= len(world.faults.calls):
            break
        world.faults.faulty = None
        assert back in ([], ["m0"])
        assert deliver(handler, event(1)) == []
        assert len(world.stored.jobs) == 1
        faulty += 1
    assert faulty >= 1
