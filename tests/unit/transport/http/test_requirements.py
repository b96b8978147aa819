"""Requirements of states, operations and retries as a client observes them, named by their ids."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.api import Api
from tests.simulation.world import World

WORKER = "w1"


def fail(api: Api, job_id: str, kind: str = "Broken", **more: Any) -> Any:
    """Fail a job; the answer."""
    error = {"type": kind, "message": "m"} | more
    body = {"job_id": job_id, "worker_id": WORKER, "error": error}
    return api.post("/workers/nack", body)


def ack(api: Api, job_id: str, worker: str = WORKER) -> Any:
    """Acknowledge a job; the answer."""
    return api.post("/workers/ack", {"job_id": job_id, "worker_id": worker})


def job(api: Api, job_id: str) -> Any:
    """The job as INFO shows it."""
    return api.get(f"/jobs/{job_id}").json["job"]


def in_state(api: Api, state: str) -> str:
    """A job in a state."""
    retry = {"jitter": False, "max_attempts": 1 if state == "discarded" else 3}
    special: dict[str, dict[str, Any]] = {
        "scheduled": {"scheduled_at": "+PT1H"},
        "pending": {"pending": True},
    }
    more = special.get(state, {})
    job_id = api.push(retry=retry, **more)
    if state in {"active", "completed", "retryable", "discarded"}:
        api.fetch(worker_id=WORKER)
    if state == "completed":
        ack(api, job_id)
    if state in {"retryable", "discarded"}:
        fail(api, job_id)
    if state == "cancelled":
        api.delete(f"/jobs/{job_id}")
    assert job(api, job_id)["state"] == state
    return job_id


TERMINAL = ("completed", "cancelled", "discarded")
WAITING = ("scheduled", "pending", "retryable")


@pytest.mark.parametrize("state", TERMINAL)
def test_state_023_state_027_state_028_nothing_leaves_a_terminal_state(
    api: Api, world: World, state: str
) -> None:
    """STATE-034 too: ACK, FAIL, BEAT, CANCEL, ACTIVATE, FETCH and time leave it as it is."""
    job_id = in_state(api, state)
    before = world.stored.jobs[job_id]
    assert ack(api, job_id).status == fail(api, job_id).status == 409
    beat = {"worker_id": WORKER, "active_jobs": [job_id]}
    assert api.post("/workers/heartbeat", beat).status == 200
    assert api.delete(f"/jobs/{job_id}").status == 409  # OP-043, OP-049
    assert api.post(f"/jobs/{job_id}/activate").status == 409
    world.clock.advance(s=86_400)
    world.backend.upkeep.sweep.tick()
    assert api.fetch(worker_id=WORKER) == []
    assert world.stored.jobs[job_id] == before


@pytest.mark.parametrize("state", WAITING)
def test_state_030_state_031_a_job_that_waits_is_not_claimed(api: Api, state: str) -> None:
    """Nor acknowledged or failed (OP-026, OP-033)."""
    job_id = in_state(api, state)
    assert api.fetch(worker_id=WORKER) == []
    assert ack(api, job_id).status == fail(api, job_id).status == 409
    assert job(api, job_id)["state"] == state


@pytest.mark.parametrize("state", ["available", "scheduled", "pending", "retryable", "active"])
def test_state_017_018_019_op_044_047_048_cancel_ends_unended_jobs(
    api: Api, world: World, state: str
) -> None:
    """STATE-017, STATE-018, STATE-019, OP-044, OP-047, OP-048: and it is never revived."""
    job_id = in_state(api, state)
    answer = api.delete(f"/jobs/{job_id}").json
    assert (answer["job"]["state"], answer["previous_state"]) == ("cancelled", state)
    assert answer["job"]["cancelled_at"]
    world.clock.advance(s=7200)
    world.backend.upkeep.sweep.tick()
    assert api.fetch(worker_id=WORKER) == []
    assert job(api, job_id)["state"] == "cancelled"


def test_state_011_op_035_op_037_op_039_the_next_attempt_sees_the_failure(
    api: Api,
) -> None:
    """RET-14: attempt, errors and the time of the next attempt, in the answer and in INFO."""
    job_id = api.push(retry={"jitter": False})
    api.fetch(worker_id=WORKER)
    answer = fail(api, job_id).json
    shown = job(api, job_id)
    assert answer["state"] == shown["state"] == "retryable"
    assert answer["retry_delay_ms"] == shown["retry_delay_ms"] == 1000
    assert answer["next_attempt_at"] == shown["next_attempt_at"] == shown["next_retry_at"]
    assert (shown["attempt"], shown["error"]["type"], len(shown["errors"])) == (1, "Broken", 1)
    assert shown["errors"][0]["timestamp"] == shown["errors"][0]["occurred_at"]


def test_state_012_op_038_op_041_exhausted_means_discarded(api: Api) -> None:
    """With the time it happened, and among the dead letters where the policy says so (RET-17)."""
    for kept in ("discard", "dead_letter"):
        job_id = api.push(retry={"max_attempts": 1, "on_exhaustion": kept})
        api.fetch(worker_id=WORKER)
        answer = fail(api, job_id).json
        assert (answer["state"], bool(answer["discarded_at"])) == ("discarded", True)
        listed = [dead["id"] for dead in api.get("/dead-letter").json["jobs"]]
        assert (job_id in listed) is (kept == "dead_letter")


def test_op_018_op_020_state_033_one_of_many_fetchers_gets_the_job(api: Api) -> None:
    """The others get nothing, and no error; the attempt is counted once."""
    job_id = api.push()
    with ThreadPoolExecutor(8) as pool:
        given = list(pool.map(lambda n: api.fetch(worker_id=f"w{n}"), range(16)))
    assert [found[0]["id"] for found in given if found] == [job_id]
    assert job(api, job_id)["attempt"] == 1


@pytest.mark.parametrize("report", [ack, fail])
def test_op_032_op_042_only_the_first_of_two_reports_counts(api: Api, report: Any) -> None:
    """200, then 409; the history grows by one at most."""
    job_id = api.push()
    api.fetch(worker_id=WORKER)
    assert [report(api, job_id).status for _ in range(2)] == [200, 409]
    assert len(job(api, job_id).get("errors", [])) <= 1


def test_op_028_op_029_an_ack_completes_with_its_time(api: Api, world: World) -> None:
    """At the instant it came."""
    job_id = api.push()
    api.fetch(worker_id=WORKER)
    world.clock.advance(s=5)
    answer = ack(api, job_id).json
    assert answer["state"] == "completed"
    assert answer["completed_at"] == job(api, job_id)["completed_at"]


def test_op_019_op_024_state_035_state_036_a_fetched_job_is_whole(api: Api, world: World) -> None:
    """As INFO shows it; and it comes back by itself when the reservation ends."""
    job_id = api.push(meta={"a": None}, x_own=[1.0], retry={"max_attempts": 4})
    (claimed,) = api.fetch(worker_id=WORKER, visibility_timeout_ms=3000)
    assert claimed.pop("reservation_id")
    assert claimed == job(api, job_id)
    assert claimed["started_at"] == claimed["created_at"]  # the clock has not moved
    world.clock.advance(s=3)
    assert job(api, job_id)["state"] == "available"


# ------------------------------------------------------------------------------------- ojs-retry


@pytest.mark.parametrize(
    ("policy", "field", "status"),
    [
        ({"initial_interval": "1 second"}, "retry.initial_interval", 400),  # RET-02, RET-19
        ({"max_interval": "P"}, "retry.max_interval", 400),
        ({"backoff_coefficient": 0.99}, "retry.backoff_coefficient", 422),  # RET-03
        ({"max_attempts": -1}, "retry.max_attempts", 422),
        ({"max_interval": "PT0.1S"}, "retry.max_interval", 422),
        ({"on_exhaustion": "keep"}, "retry.on_exhaustion", 422),
        ({"jitter": "yes"}, "retry.jitter", 400),
        ({"non_retryable_errors": [""]}, "retry.non_retryable_errors", 400),
    ],
)
def test_ret_02_ret_03_ret_16_ret_19_ret_20_a_bad_policy_is_refused(
    api: Api, world: World, policy: dict[str, Any], field: str, status: int
) -> None:
    """With the field; alone, in a batch and in options; nothing is stored."""
    good = {"type": "a", "args": []}
    bodies: list[tuple[str, Any]] = [
        ("/jobs", good | {"retry": policy}),
        ("/jobs", good | {"options": {"retry": policy}}),
        ("/jobs/batch", {"jobs": [good, good | {"retry": policy}]}),
    ]
    for path, body in bodies:
        reply = api.post(path, body)
        assert (reply.status, reply.error["details"]["field"]) == (status, field)
        assert reply.error["type"] == "validation_error"
    assert world.stored.jobs == {}


@pytest.mark.parametrize(
    ("pattern", "kind", "state"),
    [
        ("auth.denied", "auth.denied", "discarded"),  # RET-18
        ("auth.*", "auth.denied", "discarded"),
        ("auth.*", "auth", "retryable"),
        ("auth", "auth.denied", "retryable"),
    ],
)
def test_ret_07_ret_18_some_errors_are_never_retried(
    api: Api, pattern: str, kind: str, state: str
) -> None:
    """Exactly, or by prefix; attempts are left, and do not matter."""
    job_id = api.push(retry={"max_attempts": 9, "non_retryable_errors": [pattern]})
    api.fetch(worker_id=WORKER)
    assert fail(api, job_id, kind).json["state"] == state


def test_ret_09_ret_10_what_a_policy_leaves_out_has_its_default(api: Api, world: World) -> None:
    """No policy: three attempts. A partial one keeps the default interval (OP-036)."""
    plain, partial = api.push(), api.push(retry={"max_attempts": 5, "jitter": False})
    assert (job(api, plain)["max_attempts"], job(api, partial)["max_attempts"]) == (3, 5)
    api.fetch(worker_id=WORKER, count=2)
    assert fail(api, partial).json["retry_delay_ms"] == 1000
    assert 500 <= fail(api, plain).json["retry_delay_ms"] < 1500
    assert world.stored.jobs[partial].retry.max_interval_ms == 300_000


def test_ret_11_op_040_a_job_is_not_there_before_its_backoff_is_over(
    api: Api, world: World
) -> None:
    """And is there from that very millisecond on."""
    job_id = api.push(retry={"jitter": False, "initial_interval_ms": 1500})
    api.fetch(worker_id=WORKER)
    fail(api, job_id)
    world.clock.advance(ms=1499)
    assert api.fetch(worker_id=WORKER) == []
    world.clock.advance(ms=1)
    assert [found["id"] for found in api.fetch(worker_id=WORKER)] == [job_id]


def test_ret_12_ret_13_expiry_costs_an_attempt_and_a_heartbeat_prevents_it(
    api: Api, world: World
) -> None:
    """Sections 9.2 and 9.3."""
    job_id = api.push(retry={"max_attempts": 2}, visibility_timeout_ms=4000)
    api.fetch(worker_id=WORKER)
    world.clock.advance(s=3)
    api.post("/workers/heartbeat", {"worker_id": WORKER, "active_jobs": [job_id]})
    world.clock.advance(s=3)
    assert job(api, job_id)["state"] == "active"
    world.clock.advance(s=1)
    assert job(api, job_id)["errors"][0]["type"] == "visibility_timeout"
    api.fetch(worker_id=WORKER)
    world.clock.advance(s=4)
    assert (job(api, job_id)["state"], job(api, job_id)["attempt"]) == ("discarded", 2)


def test_ret_15_at_least_ten_errors_are_kept(api: Api, world: World) -> None:
    """In order, each with its attempt."""
    job_id = api.push(retry={"max_attempts": 12, "jitter": False, "max_interval": "PT1S"})
    for attempt in range(1, 13):
        api.fetch(worker_id=WORKER)
        fail(api, job_id, f"Error{attempt}")
        world.clock.advance(s=1)
    errors = job(api, job_id)["errors"]
    assert [error["type"] for error in errors] == [f"Error{n}" for n in range(1, 13)]
    assert [error["attempt"] for error in errors] == list(range(1, 13))


@pytest.mark.parametrize("max_attempts", [0, 1])
def test_a_policy_of_no_or_one_attempt_runs_the_job_once(api: Api, max_attempts: int) -> None:
    """ojs-retry, section 2.2."""
    job_id = api.push(retry={"max_attempts": max_attempts})
    assert len(api.fetch(worker_id=WORKER)) == 1
    assert fail(api, job_id).json["state"] == "discarded"
