"""Which attempt a report is about, over HTTP: `reservation_id` and `attempt` in each body."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api import Api, Reply
from tests.simulation.world import World
from tests.unit.transport.http.jobs.test_worker_handlers import FAILURE, WORKER, fetched, pushed

REPORTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "ack": ("POST", "/workers/ack", {"job_id": True}),
    "ack by path": ("POST", "/jobs/{id}/ack", {}),
    "nack": ("POST", "/workers/nack", {"job_id": True, "error": FAILURE}),
    "nack by path": ("POST", "/jobs/{id}/nack", {"error": FAILURE}),
    "checkpoint": ("POST", "/jobs/{id}/checkpoint", {"state": 1}),
    "put checkpoint": ("PUT", "/jobs/{id}/checkpoint", {"state": 1}),
    "progress": ("PUT", "/jobs/{id}/progress", {"progress": 0.5}),
    "progress by post": ("POST", "/jobs/{id}/progress", {"progress": 0.5}),
    "progress by body": ("POST", "/workers/progress", {"job_id": True, "percentage": 50}),
}


def claimed_twice(api: Api, world: World) -> tuple[Any, Any]:
    """A job that one worker has claimed twice, as FETCH answered it each time."""
    pushed(api, retry={"max_attempts": 9, "initial_interval": "PT1S", "jitter": False})
    (first,) = fetched(api)
    body = {"job_id": first["id"], "worker_id": WORKER, "error": FAILURE}
    assert api.post("/workers/nack", body).status == 200
    world.clock.advance(s=5)
    (second,) = fetched(api)
    assert (first["attempt"], second["attempt"]) == (1, 2)
    return first, second


@pytest.mark.parametrize("named", [{}, {"worker_id": WORKER}])
def test_the_same_failure_of_each_attempt_counts(
    api: Api, world: World, named: dict[str, str]
) -> None:
    """Decision 101: it is no repetition, although the request is the same to the last byte."""
    job_id = pushed(api, retry={"max_attempts": 3, "initial_interval": "PT1S", "jitter": False})
    body = {"job_id": job_id, "error": FAILURE, **named}
    headers = {"X-Request-Id": "req_one-trace"}
    states = []
    for number in (1, 2, 3):
        (held,) = fetched(api)
        assert held["attempt"] == number
        states.append(api.post("/workers/nack", body, headers=headers).json["state"])
        world.clock.advance(s=5)
    assert states == ["retryable", "retryable", "discarded"]
    assert len(world.stored.jobs[job_id].failures) == 3


@pytest.mark.parametrize("named", [{}, {"worker_id": WORKER}])
@pytest.mark.parametrize("is_named", [True, False])
def test_a_repeated_nack_is_refused_where_it_names_its_attempt(
    api: Api, world: World, named: dict[str, str], *, is_named: bool
) -> None:
    """What docs/clients.md says of repetitions, with and without the number of the attempt."""
    first, second = claimed_twice(api, world)
    attempt = {"attempt": first["attempt"]} if is_named else {}
    body = {"job_id": first["id"], "error": FAILURE, **named, **attempt}
    answer = api.post("/workers/nack", body)
    assert answer.status == (409 if is_named else 200)
    assert (world.stored.jobs[first["id"]].state == "active") is is_named
    assert (second["attempt"], first["attempt"]) == (2, 1)


def report(api: Api, kind: str, job_id: str, **named: Any) -> Reply:
    """Send one of the reports."""
    method, path, given = REPORTS[kind]
    body = {name: job_id if value is True else value for name, value in given.items()}
    path = "/ojs/v1" + path.replace("{id}", job_id)
    return api.send(method, path, body | {"worker_id": WORKER} | named)


def is_refused(reply: Reply) -> bool:
    """Whether a report did not count: 409, or ignored as PRG-007 wants it for progress."""
    if reply.status == 200 and "accepted" in reply.json:
        return reply.json["accepted"] is False
    return reply.status == 409


@pytest.mark.parametrize("kind", REPORTS)
@pytest.mark.parametrize("name", ["reservation_id", "attempt"])
def test_a_report_counts_for_the_attempt_it_names(
    api: Api, world: World, kind: str, name: str
) -> None:
    """That of an attempt that is over changes nothing; the running one's counts."""
    first, second = claimed_twice(api, world)
    before = world.stored.jobs[first["id"]]
    assert is_refused(report(api, kind, first["id"], **{name: first[name]}))
    assert world.stored.jobs[first["id"]] == before
    assert not is_refused(report(api, kind, first["id"], **{name: second[name]}))


def test_both_must_be_the_running_ones(api: Api, world: World) -> None:
    """An id that is right does not make a wrong number right."""
    first, second = claimed_twice(api, world)
    wrong = {"reservation_id": second["reservation_id"], "attempt": 1}
    assert is_refused(report(api, "ack", first["id"], **wrong))


def test_a_heartbeat_names_attempts_by_job_id(api: Api, world: World) -> None:
    """`reservation_ids` and `attempts`, or one of either beside `job_id`."""
    first, second = claimed_twice(api, world)
    job_id = first["id"]
    (other,) = [pushed(api)]
    fetched(api)

    def beat(**named: Any) -> list[str]:
        body = {"worker_id": WORKER, "active_jobs": [job_id, other]} | named
        reply = api.post("/workers/heartbeat", body)
        assert reply.status == 200, reply.text
        return list(reply.json["jobs_lost"])

    assert beat(reservation_ids={job_id: first["reservation_id"]}) == [job_id]
    assert beat(attempts={job_id: 1}) == [job_id]
    assert beat(reservation_ids={job_id: second["reservation_id"]}, attempts={job_id: 2}) == []
    own = {"worker_id": WORKER, "job_id": job_id}
    for name in ("reservation_id", "attempt"):
        body = own | {name: second[name]}
        assert api.post("/workers/heartbeat", body).json["jobs_extended"] == [job_id]


@pytest.mark.parametrize(
    "named",
    [{"reservation_id": ""}, {"reservation_id": 5}, {"attempt": "1"}, {"attempt": -1}],
)
def test_a_malformed_attempt_is_refused(api: Api, named: dict[str, Any]) -> None:
    """With 400, and nothing changes; a null says nothing."""
    job_id = pushed(api)
    fetched(api)
    assert report(api, "ack", job_id, **named).status == 400
    assert report(api, "ack", job_id, **dict.fromkeys(named)).status == 200


def test_only_fetch_shows_the_reservation_id(api: Api) -> None:
    """Who reads a job learns nothing that a report could be made of; a client's own is ignored."""
    job_id = pushed(api, reservation_id="mine")
    assert "reservation_id" not in api.get(f"/jobs/{job_id}").json["job"]
    (job,) = fetched(api)
    assert job["reservation_id"] not in {"", "mine"}
    assert "reservation_id" not in api.get(f"/jobs/{job_id}").json["job"]
