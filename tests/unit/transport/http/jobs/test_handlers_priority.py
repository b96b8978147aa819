"""Changing priorities and counting by them, over HTTP (ojs-priority, sections 8.1 and 10)."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.services.events import Commit, events_of
from tests.api import BASE, Api, Reply
from tests.simulation.world import World


def change(api: Api, job_id: str, body: object) -> Reply:
    """PATCH a job."""
    return api.send("PATCH", f"{BASE}/jobs/{job_id}", body)


def fetched(api: Api, count: int = 1) -> list[str]:
    """Ids of the jobs that are next."""
    body = {"queues": ["default"], "count": count, "worker_id": "w"}
    return [job["id"] for job in api.post("/workers/fetch", body).json["jobs"]]


def test_pri_r001_a_job_that_waits_gets_another_place_in_line(api: Api) -> None:
    """The answer names both priorities; what the client had sent is shown as it is now."""
    first, second = api.push(), api.push(priority=5)
    third = api.push()
    reply = change(api, third, {"priority": 50})
    assert reply.status == 200
    assert (reply.json["id"], reply.json["priority"], reply.json["previous_priority"]) == (
        third,
        50,
        0,
    )
    assert change(api, second, {"priority": -5}).json["previous_priority"] == 5
    assert api.get(f"/jobs/{second}").json["priority"] == -5
    assert fetched(api, 3) == [third, first, second]


def test_a_job_keeps_its_time_within_its_new_priority(api: Api, world: World) -> None:
    """First in, first out, whenever it was moved there."""
    early = api.push()
    world.clock.advance(s=1)
    late = api.push(priority=7)
    change(api, early, {"priority": 7})
    assert fetched(api, 2) == [early, late]


def test_a_scheduled_job_stands_in_its_new_place_when_it_is_due(api: Api, world: World) -> None:
    """And a pending one once it is activated."""
    scheduled, pending = api.push(scheduled_at="+PT10S"), api.push(pending=True)
    for job_id, priority in ((scheduled, 9), (pending, 8)):
        assert change(api, job_id, {"priority": priority}).status == 200
    world.clock.advance(s=11)
    waiting = api.push()
    api.post(f"/jobs/{pending}/activate")
    assert fetched(api, 3) == [scheduled, pending, waiting]


def test_a_job_that_runs_or_has_ended_keeps_its_priority(api: Api, world: World) -> None:
    """Section 8.1: active, completed, cancelled, discarded and retryable ones; 409 says so."""
    done, cancelled, retried, active = (api.push() for _ in range(4))
    fetched(api, 1)
    api.post("/workers/ack", {"job_id": done})
    api.send("DELETE", f"{BASE}/jobs/{cancelled}")
    fetched(api, 2)
    error = {"code": "x", "message": "x"}
    api.post("/workers/nack", {"job_id": retried, "error": error})
    states = [world.stored.jobs[each].state.value for each in (done, cancelled, retried, active)]
    assert states == ["completed", "cancelled", "retryable", "active"]
    for job_id, state in zip((done, cancelled, retried, active), states, strict=True):
        reply = change(api, job_id, {"priority": 1})
        assert (reply.status, reply.error["details"]["current_state"]) == (409, state)
        assert world.stored.jobs[job_id].priority == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"priority": 101}, "priority"),
        ({"priority": -101}, "priority"),
        ({"priority": "high"}, "priority"),
        ({"priority": 1.5}, "priority"),
        ({"priority": True}, "priority"),
        ({"priority": None}, "priority"),
        ({}, "priority"),
        ({"priority": 1, "queue": "other"}, "queue"),
    ],
)
def test_what_is_no_priority_changes_nothing(
    api: Api, world: World, body: dict[str, Any], field: str
) -> None:
    """PRI-005: with the field; nothing else of a job can be changed."""
    job_id = api.push(priority=3)
    before = dict(world.stored.jobs)
    reply = change(api, job_id, body)
    assert (reply.status, reply.error["details"]["field"]) == (400, field)
    assert world.stored.jobs == before


def test_a_job_that_is_not_there_has_no_priority(api: Api) -> None:
    """404, and 400 for what is no id."""
    assert change(api, "01990000-0000-7000-8000-00000000dead", {"priority": 1}).status == 404
    assert change(api, "7", {"priority": 1}).status == 400


def test_the_same_priority_again_writes_nothing(api: Api, world: World) -> None:
    """A request that is repeated is answered as it was."""
    job_id = api.push()
    for _ in range(2):
        assert change(api, job_id, {"priority": 4}).status == 200
    assert world.stored.jobs[job_id].version == 2


def test_pri_r004_the_change_is_reported(api: Api, world: World) -> None:
    """With both priorities, and the job that it is about."""
    job_id = api.push()
    before = world.stored.jobs[job_id]
    change(api, job_id, {"priority": 4})
    (event,) = events_of(before, world.stored.jobs[job_id], Commit(world.clock.now(), "1"))
    assert (event.type, event.subject) == ("priority.changed", job_id)
    assert '"previous_priority":0,"new_priority":4' in event.data
    assert f'"job_id":"{job_id}"' in event.data


def test_pri_r003_available_jobs_are_counted_by_priority(api: Api) -> None:
    """The highest first; jobs that wait for time are not in line."""
    for priority in (0, 0, 10, -100, 100):
        api.push(priority=priority)
    api.push(scheduled_at="+PT1H")
    stats = api.get("/queues/default/priority-stats").json
    assert stats == {
        "queue": "default",
        "counts_by_priority": {"100": 1, "10": 1, "0": 2, "-100": 1},
        "distribution": [  # as the admin UI reads it
            {"priority": priority, "count": count}
            for priority, count in ((-100, 1), (0, 2), (10, 1), (100, 1))
        ],
        "total": 5,
        "is_exact": True,
    }
    assert [*stats["counts_by_priority"]] == ["100", "10", "0", "-100"]
    assert api.get("/queues/never/priority-stats").status == 404
