"""The operations over HTTP: what each answers, and the forms that clients give requests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.middleware.chain.enqueue import EnqueueChain
from ojs_aws.middleware.enqueuer import Enqueuer
from ojs_aws.services.backend.foundation import Stores
from ojs_aws.services.events import Commit, events_of
from tests.api import Api, Reply
from tests.simulation.world import World

WORKER = "w1"
FAILURE = {"code": "handler_error", "message": "it broke"}


def pushed(api: Api, **more: Any) -> str:
    """Push a job; its id."""
    reply = api.post("/jobs", {"type": "demo.echo", "args": [1]} | more)
    assert reply.status == 201, reply.text
    return str(reply.json["job"]["id"])


def fetched(api: Api, **more: Any) -> list[Any]:
    """Fetch from the default queue."""
    reply = api.post("/workers/fetch", {"queues": ["default"], "worker_id": WORKER} | more)
    assert reply.status == 200, reply.text
    return list(reply.json["jobs"])


def active(api: Api, **more: Any) -> str:
    """Push a job and fetch it; its id."""
    job_id = pushed(api, **more)
    assert [job["id"] for job in fetched(api)] == [job_id]
    return job_id


def both(reply: Reply) -> Any:
    """The job of an answer, which stands in the wrapper and flat."""
    body = reply.json
    assert body["job"] == {name: value for name, value in body.items() if name != "job"}
    return body["job"]


def test_push_answers_the_whole_envelope_and_its_place(api: Api) -> None:
    """Section 9.1: 201, Location, the job wrapped (Python, JS, Go) and flat (Ruby)."""
    reply = api.post("/jobs", {"type": "email.send", "args": ["a"], "meta": {"k": 1}, "x_y": None})
    assert reply.status == 201
    job = both(reply)
    assert reply.headers["Location"] == f"/ojs/v1/jobs/{job['id']}"
    assert (job["state"], job["queue"], job["attempt"], job["priority"]) == (
        "available",
        "default",
        0,
        0,
    )
    assert (job["args"], job["meta"], job["x_y"]) == (["a"], {"k": 1}, None)
    assert job["created_at"].endswith("Z")
    assert job["enqueued_at"].endswith("Z")


def test_a_repeated_push_finds_its_job_and_another_one_is_a_duplicate(api: Api) -> None:
    """An id makes PUSH idempotent: 200 for the same envelope, 409 for a different one."""
    body = {"type": "a", "args": [1], "id": "019539a4-aaaa-7000-8000-111111111111"}
    assert api.post("/jobs", body).status == 201
    again = api.post("/jobs", body)
    assert (again.status, again.json["id"]) == (200, body["id"])
    other = api.post("/jobs", body | {"args": [2]})
    assert (other.status, other.error["code"]) == (409, "duplicate")
    assert other.error["details"]["existing_job_id"] == body["id"]


def test_a_job_that_a_middleware_drops_says_so() -> None:
    """The client can distinguish it from a stored one; nothing is stored."""

    class Drops:
        name = "quota"
        never_waits = True

        async def enqueue(self, job: Job, call_next: object) -> None:
            return None

    world = World()
    stores = world.backend.stores
    object.__setattr__(stores, "enqueuing", lambda: Enqueuer(EnqueueChain([Drops])))
    assert isinstance(stores, Stores)
    api = Api(world.backend)
    reply = api.post("/jobs", {"type": "a", "args": []})
    assert reply.status == 200
    assert (reply.json["dropped_by"], reply.json["job"]) == ("quota", None)
    batch = api.post("/jobs/batch", {"jobs": [{"type": "a", "args": []}]})
    assert (batch.status, batch.json["count"]) == (200, 0)
    assert batch.json["dropped"][0]["dropped_by"] == "quota"
    assert world.stored.jobs == {}


def test_a_batch_answers_each_job_in_order(api: Api) -> None:
    """Section 9.2, with the counts that the command line reads."""
    reply = api.post("/jobs/batch", {"jobs": [{"type": f"a.b{n}", "args": [n]} for n in range(3)]})
    assert reply.status == 201
    assert [job["type"] for job in reply.json["jobs"]] == ["a.b0", "a.b1", "a.b2"]
    assert (reply.json["count"], reply.json["enqueued"], reply.json["failed"]) == (3, 3, 0)


@pytest.mark.parametrize(
    "bad",
    [
        {"args": []},
        {"type": "a"},
        {"type": "A", "args": []},
        5,
        {"type": "a", "args": [], "options": 1},
    ],
)
def test_a_batch_with_one_bad_job_stores_none_and_names_it(
    api: Api, world: World, bad: object
) -> None:
    """All or nothing; the index is in the details."""
    reply = api.post("/jobs/batch", {"jobs": [{"type": "a", "args": []}, bad]})
    assert reply.status == 400
    assert reply.error["details"]["index"] == 1
    assert world.stored.jobs == {}


def test_an_envelope_comes_back_character_by_character(api: Api) -> None:
    """Promise 7, through the whole of HTTP."""
    args = '[12345678901234567890123, 1.10, 1E+2, "\\u00e9\\ud83d\\ude00", {"z": 1, "a": null}]'
    job_id = api.post("/jobs", f'{{"type": "a", "args": {args}, "x": {args}}}').json["id"]
    members = api.get(f"/jobs/{job_id}").members
    assert (members["args"].raw, members["x"].raw) == (args, args)


def test_the_timeout_is_answered_in_milliseconds(api: Api) -> None:
    """`timeout` only where it was sent, and never by FETCH: a client reads it as milliseconds."""
    plain = api.get(f"/jobs/{pushed(api)}").json
    assert "timeout" not in plain
    assert plain["timeout_ms"] == 1_800_000
    seconds = api.get(f"/jobs/{pushed(api, timeout=30)}").json
    assert (seconds["timeout"], seconds["timeout_ms"]) == (30, 30_000)
    jobs = fetched(api, count=2)
    assert [job["timeout_ms"] for job in jobs] == [1_800_000, 30_000]
    assert not any("timeout" in job for job in jobs)


@pytest.mark.parametrize(
    "body",
    [
        {"queues": ["default"], "count": 2},
        {"queues": ["default"], "batch_size": 2},
        {"queue": "default", "count": 2, "worker_id": None},
        {"queues": ["default"], "count": 2, "worker_id": "", "visibility_timeout_ms": 5000},
    ],
)
def test_fetch_takes_the_forms_of_all_clients(api: Api, body: dict[str, Any]) -> None:
    """`count` (Python, JS), `batch_size` (Ruby); worker and visibility may be missing."""
    ids = [pushed(api) for _ in range(3)]
    reply = api.post("/workers/fetch", body)
    assert [job["id"] for job in reply.json["jobs"]] == ids[:2]


def test_fetch_of_an_empty_queue_is_an_empty_list(api: Api) -> None:
    """Section 10.1: 200, no error."""
    reply = api.post("/workers/fetch", {"queues": ["empty"]})
    assert (reply.status, reply.json["jobs"]) == (200, [])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "queues"),
        ({"queues": []}, "queues"),
        ({"queues": "default"}, "queues"),
        ({"queues": [5]}, "queues.0"),
        ({"queues": ["Default"]}, "queue"),
        ({"queues": ["default"], "count": 0}, "count"),
        ({"queues": ["default"], "count": "1"}, "count"),
        ({"queues": ["default"], "count": 1.5}, "count"),
        ({"queues": ["default"], "count": True}, "count"),
        ({"queues": ["default"], "count": 10**30}, "count"),
        ({"queues": ["default"], "count": 101}, "count"),
        ({"queues": ["default"], "worker_id": 5}, "worker_id"),
        ({"queues": ["default"], "worker_id": "x" * 300}, "worker_id"),
        ({"queues": ["default"], "visibility_timeout_ms": 0}, "visibility_timeout_ms"),
        ({"queues": ["default"], "visibility_timeout_ms": 10**12}, "visibility_timeout_ms"),
    ],
)
def test_a_bad_fetch_names_the_attribute_and_claims_nothing(
    api: Api, body: dict[str, Any], field: str
) -> None:
    """Bounded counts and lengths, strict types."""
    job_id = pushed(api)
    reply = api.post("/workers/fetch", body)
    assert (reply.status, reply.error["code"]) == (400, "invalid_request")
    assert reply.error["details"]["field"] == field
    assert api.get(f"/jobs/{job_id}").json["state"] == "available"


@pytest.mark.parametrize("by_path", [False, True])
def test_ack_answers_flat_and_wrapped(api: Api, by_path: bool) -> None:
    """Sections 7.4 and 10.2, and what the cases read; also as /jobs/:id/ack."""
    job_id = active(api)
    path = f"/jobs/{job_id}/ack" if by_path else "/workers/ack"
    body = {"result": {"ok": 1}} if by_path else {"job_id": job_id, "result": {"ok": 1}}
    reply = api.post(path, body)
    assert reply.status == 200
    answer = reply.json
    assert answer["acknowledged"] is True
    assert answer["id"] == answer["job_id"] == answer["job"]["id"] == job_id
    assert answer["state"] == answer["job"]["state"] == "completed"
    assert answer["completed_at"]
    assert (answer["attempt"], answer["max_attempts"]) == (1, 3)
    assert api.get(f"/jobs/{job_id}").json["result"] == {"ok": 1}


def test_ack_by_path_needs_no_body(api: Api) -> None:
    """The path says it all."""
    job_id = active(api)
    assert api.post(f"/jobs/{job_id}/ack").status == 200
    assert "result" not in api.get(f"/jobs/{job_id}").json


@pytest.mark.parametrize("result", [None, 0, False, "", [], {}, 1.5])
def test_a_result_that_says_nothing_is_still_a_result(api: Api, result: object) -> None:
    """OP-030: falsy values and an explicit null are stored."""
    job_id = active(api)
    api.post("/workers/ack", {"job_id": job_id, "result": result})
    job = api.get(f"/jobs/{job_id}").json
    assert "result" in job
    assert job["result"] == result


@pytest.mark.parametrize("by_path", [False, True])
def test_fail_with_a_retry_answers_when_the_next_attempt_is(api: Api, by_path: bool) -> None:
    """Section 10.3; also as /jobs/:id/nack."""
    job_id = active(api)
    path = f"/jobs/{job_id}/nack" if by_path else "/workers/nack"
    body = {"error": FAILURE} | ({} if by_path else {"job_id": job_id})
    answer = api.post(path, body).json
    assert answer["id"] == answer["job_id"] == job_id
    assert answer["state"] == answer["job"]["state"] == "retryable"
    assert (answer["attempt"], answer["max_attempts"]) == (1, 3)
    assert answer["next_attempt_at"]
    assert 500 <= answer["retry_delay_ms"] <= 1500
    assert answer["error"]["message"] == "it broke"


def test_fail_without_retry_answers_when_it_was_discarded(api: Api) -> None:
    """`completed_at` together with `discarded_at`."""
    job_id = active(api, options={"retry": {"max_attempts": 1}})
    answer = api.post("/workers/nack", {"job_id": job_id, "error": FAILURE}).json
    assert answer["state"] == "discarded"
    assert answer["discarded_at"] == answer["completed_at"]
    assert "next_attempt_at" not in answer


@pytest.mark.parametrize(
    "error",
    [
        {"type": "Broken", "message": "m", "backtrace": ["a", "b"]},
        {
            "code": "handler_error",
            "message": "m",
            "retryable": True,
            "details": {"error_class": "Broken"},
        },
        {"message": "m"},
    ],
)
def test_fail_takes_the_error_of_the_core_and_of_the_binding(
    api: Api, error: dict[str, Any]
) -> None:
    """Both forms are accepted, and both are answered."""
    job_id = active(api)
    assert api.post("/workers/nack", {"job_id": job_id, "error": error}).status == 200
    stored = api.get(f"/jobs/{job_id}").json["error"]
    assert stored["message"] == "m"
    assert stored["type"]
    assert stored["code"]
    assert stored.get("details") == error.get("details")


@pytest.mark.parametrize(
    "error",
    [None, "broken", [], {}, {"code": "x"}, {"message": 5}, {"message": "m", "retryable": "no"}],
)
def test_a_bad_error_object_is_refused_and_changes_nothing(api: Api, error: object) -> None:
    """400 when it is missing or malformed; the message is required."""
    job_id = active(api)
    body = {"job_id": job_id} | ({} if error is None else {"error": error})
    reply = api.post("/workers/nack", body)
    assert (reply.status, reply.error["code"]) == (400, "invalid_request")
    assert reply.error["details"]["field"].startswith("error")
    assert api.get(f"/jobs/{job_id}").json["state"] == "active"


@pytest.mark.parametrize("path", ["/workers/ack", "/workers/nack"])
def test_another_workers_word_does_not_count(api: Api, path: str) -> None:
    """Promise 2: 409; without a name the job's state decides."""
    job_id = active(api)
    other = api.post(path, {"job_id": job_id, "worker_id": "w2", "error": FAILURE})
    assert (other.status, other.error["code"]) == (409, "conflict")
    nameless = api.post(path, {"job_id": job_id, "worker_id": "", "error": FAILURE})
    assert nameless.status == 200
    again = api.post(path, {"job_id": job_id, "error": FAILURE})
    assert again.status == 409
    assert again.error["details"]["current_state"] in {"completed", "retryable"}


@pytest.mark.parametrize(
    "job_id", [None, 5, "", "nonsense", "550e8400-e29b-41d4-a716-446655440000"]
)
@pytest.mark.parametrize("path", ["/workers/ack", "/workers/nack"])
def test_a_report_names_its_job(api: Api, path: str, job_id: object) -> None:
    """400 for what cannot be the id of a job, 404 for one that there is not."""
    reply = api.post(path, {"job_id": job_id, "error": FAILURE})
    assert reply.status == 400
    missing = {"job_id": "019539a4-aaaa-7000-8000-111111111111", "error": FAILURE}
    assert api.post(path, missing).status == 404


@pytest.mark.parametrize("path", ["/workers/heartbeat", "/workers/beat"])
@pytest.mark.parametrize("form", ["list", "count", "both", "one"])
def test_a_heartbeat_extends_in_every_form(api: Api, world: World, path: str, form: str) -> None:
    """`active_jobs` as ids, as a number beside `active_job_ids`, or both lists."""
    job_id = active(api)
    forms: dict[str, dict[str, Any]] = {
        "list": {"active_jobs": [job_id]},
        "count": {"active_jobs": 1, "active_job_ids": [job_id]},
        "both": {"active_jobs": [job_id], "active_job_ids": [job_id], "state": "running"},
        "one": {"job_id": job_id},
    }
    world.clock.advance(s=60)
    reply = api.post(path, {"worker_id": WORKER} | forms[form])
    assert reply.status == 200, reply.text
    assert reply.json["state"] == "running"
    assert reply.json["jobs_extended"] == [job_id]
    assert reply.json["server_time"].endswith("Z")
    assert world.stored.workers[WORKER].active_jobs == 1


def test_a_heartbeat_reports_cancelled_and_lost_jobs(api: Api) -> None:
    """The holder of a cancelled job learns it here."""
    first, second = (active(api) for _ in range(2))
    api.delete(f"/jobs/{first}")
    beat = api.post("/workers/heartbeat", {"worker_id": WORKER, "active_jobs": [first, second]})
    assert beat.json["jobs_cancelled"] == [first]
    assert beat.json["jobs_extended"] == [second]
    foreign = api.post("/workers/heartbeat", {"worker_id": "w2", "active_jobs": [second]})
    assert (foreign.status, foreign.json["jobs_lost"]) == (200, [second])


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"worker_id": ""},
        {"worker_id": 5},
        {"worker_id": "w", "active_jobs": "x"},
        {"worker_id": "w", "active_jobs": [5]},
        {"worker_id": "w", "active_jobs": ["x"]},
        {"worker_id": "w", "active_jobs": -1},
        {"worker_id": "w", "active_jobs": ["019539a4-aaaa-7000-8000-111111111111"] * 101},
        {"worker_id": "w", "visibility_timeout_ms": -5},
        {"worker_id": "w", "state": "asleep"},
        {"worker_id": "w", "state": 7},
        {"worker_id": "w", "heartbeat_interval_ms": 5},
        {"worker_id": "w", "heartbeat_interval": "soon"},
        {"worker_id": "w", "heartbeat_interval": 1e308},
        {"worker_id": "w", "labels": ["x"] * 51},
        {"worker_id": "w", "labels": "canary"},
        {"worker_id": "w", "queues": [1]},
        {"worker_id": "w", "hostname": "h" * 257},
        {"worker_id": "w", "concurrency": -1},
        {"worker_id": "w", "metadata": {"x": "y" * 9000}},
    ],
)
def test_a_bad_heartbeat_is_refused(api: Api, world: World, body: dict[str, Any]) -> None:
    """400 with the field, and no worker is registered."""
    reply = api.post("/workers/heartbeat", body)
    assert reply.status == 400
    assert reply.error["details"]["field"]
    assert world.stored.workers == {}


@pytest.mark.parametrize(
    ("said", "meant"),
    [("running", "running"), ("drain", "quiet"), ("Draining", "quiet"), ("stopping", "terminate")],
)
def test_a_heartbeat_names_the_state_as_its_client_does(
    api: Api, world: World, said: str, meant: str
) -> None:
    """Worker protocol, section 2.1, and the names that other workers use."""
    body = {"worker_id": "w", "state": said, "active_jobs": 1, "heartbeat_interval": 5}
    about = {"hostname": "h1", "pid": 7, "queues": ["a"], "concurrency": 3, "labels": ["v2"]}
    assert api.post("/workers/heartbeat", body | about).status == 200
    worker = world.stored.workers["w"]
    assert (worker.state, worker.active_jobs, worker.interval_ms) == (meant, 1, 5000)
    assert json.loads(worker.about) == about


def test_a_fetch_may_promise_heartbeats(api: Api, world: World) -> None:
    """Three missed ones, and the job is another's."""
    api.post("/jobs", {"type": "a", "args": []})
    body = {"queues": ["default"], "worker_id": WORKER, "heartbeat_interval_ms": 1000}
    (job,) = api.post("/workers/fetch", body).json["jobs"]
    world.clock.advance(s=3)
    (error,) = api.get(f"/jobs/{job['id']}").json["job"]["errors"]
    assert (error["type"], error["timeout_kind"]) == ("worker_death", "stalled")
    bad = api.post("/workers/fetch", body | {"heartbeat_interval_ms": 1})
    assert (bad.status, bad.error["details"]["field"]) == (400, "heartbeat_interval_ms")


@pytest.mark.parametrize("is_active", [False, True])
def test_cancel_answers_the_state_before(api: Api, is_active: bool) -> None:
    """Section 9.4; any non-terminal state, active included."""
    job_id = active(api) if is_active else pushed(api)
    job = both(api.delete(f"/jobs/{job_id}"))
    assert (job["state"], job["previous_state"]) == (
        "cancelled",
        "active" if is_active else "available",
    )
    assert job["cancelled_at"]
    again = api.delete(f"/jobs/{job_id}")
    assert (again.status, again.error["details"]["current_state"]) == (409, "cancelled")


def test_activate_answers_the_state_before(api: Api) -> None:
    """Section 9.5."""
    job_id = pushed(api, options={"pending": True})
    job = both(api.post(f"/jobs/{job_id}/activate"))
    assert (job["state"], job["previous_state"]) == ("available", "pending")
    assert job["activated_at"]
    assert api.post(f"/jobs/{job_id}/activate").status == 409


def test_dead_letters_are_listed_retried_and_deleted(api: Api) -> None:
    """Section 12."""
    policy = {"retry": {"max_attempts": 1, "on_exhaustion": "dead_letter"}}
    first, second = (active(api, options=policy) for _ in range(2))
    for job_id in (first, second):
        api.post("/workers/nack", {"job_id": job_id, "error": FAILURE})
    page = api.get("/dead-letter", query={"limit": "1"}).json
    assert len(page["jobs"]) == 1
    assert page["jobs"][0]["state"] == "discarded"
    assert page["pagination"]["has_more"] is True
    rest = api.get(
        "/dead-letter", query={"limit": "5", "cursor": page["pagination"]["next_cursor"]}
    )
    assert {page["jobs"][0]["id"], rest.json["jobs"][0]["id"]} == {first, second}
    assert rest.json["pagination"]["has_more"] is False
    assert "next_cursor" not in rest.json["pagination"]
    job = both(api.post(f"/dead-letter/{first}/retry", {}))
    assert (job["state"], job["attempt"], job["previous_state"]) == ("available", 0, "discarded")
    assert job["re_enqueued_at"]
    deleted = api.delete(f"/dead-letter/{second}")
    assert (deleted.status, deleted.json["deleted"], deleted.json["job_id"]) == (200, True, second)
    assert api.get(f"/jobs/{second}").status == 404
    assert api.delete(f"/dead-letter/{first}").status == 409


def test_queues_are_listed_by_page(api: Api, world: World) -> None:
    """Section 11.1, with `paused` for the admin UI."""
    for name in ("b", "a", "c"):
        world.registry.ensure(name, world.clock.now())
    first = api.get("/queues", query={"limit": "2"}).json
    assert [queue["name"] for queue in first["queues"]] == ["a", "b"]
    assert first["queues"][0]["status"] == "active"
    assert first["queues"][0]["paused"] is False
    assert first["pagination"]["total"] == 4
    cursor = first["pagination"]["next_cursor"]
    second = api.get("/queues", query={"limit": "2", "cursor": cursor}).json
    assert [queue["name"] for queue in second["queues"]] == ["c", "default"]
    assert second["pagination"]["has_more"] is False
    skipped = api.get("/queues", query={"offset": "3"}).json
    assert [queue["name"] for queue in skipped["queues"]] == ["default"]


@pytest.mark.parametrize(
    ("path", "query"),
    [
        *(
            (path, {"limit": bad})
            for path in ("/queues", "/events")
            for bad in ("0", "-1", "x", "1.5", "\u0663")
        ),
        ("/queues", {"offset": "-1"}),
        ("/queues", {"offset": "100000"}),
        ("/queues", {"cursor": "nonsense"}),
        ("/queues", {"cursor": "\u00e9"}),
        ("/events", {"cursor": "x" * 3000}),
        ("/events", {"types": ",".join(f"t{n}" for n in range(200))}),
        ("/events", {"types": "job.exploded"}),
        ("/events", {"types": "jobs.*"}),
        ("/events", {"types": "job.enqueued,*.started"}),
        ("/events", {"queues": "email,Not A Queue"}),
        ("/events", {"queue": "Not A Queue"}),
        ("/events", {"job_types": "Email"}),
        ("/events", {"job_type": "a..b"}),
        ("/events", {"job_id": "42"}),
        ("/events", {"since": "yesterday"}),
        ("/events", {"since": "2026-02-12T10:30:00"}),
        ("/dead-letter", {"queue": "Not A Queue"}),
    ],
)
def test_bad_query_parameters_are_refused(api: Api, path: str, query: dict[str, str]) -> None:
    """400, naming the parameter."""
    (name,) = query
    reply = api.get(path, query=query)
    assert reply.status == 400
    assert reply.error["details"]["field"] == name


def test_events_are_filtered_and_wrapped(api: Api, world: World) -> None:
    """ojs-events, sections 2 and 6.4; `events` of the cases."""
    for job_type, queue in (("a.b", "q1"), ("a.c", "q1"), ("a.b", "q2")):
        after = world.stored.jobs[pushed(api, type=job_type, queue=queue)]
        now = world.clock.now()
        world.events.append(events_of(None, after, Commit(now)), now)
    query = {"types": "job.enqueued,job.started", "queues": "q1", "job_types": "a.b", "limit": "10"}
    page = api.get("/events", query=query).json
    (event,) = page["events"]
    assert (event["type"], event["specversion"]) == ("job.enqueued", "1.0")
    assert (event["data"]["job_type"], event["data"]["queue"]) == ("a.b", "q1")
    assert event["id"].startswith("evt_")
    assert event["source"].startswith("ojs://")
    assert event["time"].endswith("Z")
    assert page["has_more"] is False


def test_a_limit_beyond_the_largest_means_the_largest(api: Api) -> None:
    """Section 17.1: at most 200."""
    assert api.get("/queues", query={"limit": "100000"}).json["pagination"]["limit"] == 200


def test_health_says_whether_the_table_answers(api: Api, world: World) -> None:
    """Section 8.1: 200 or 503, with whole numbers."""
    world.clock.advance(s=90)
    well = api.get("/health").json
    assert (well["status"], well["backend"]["status"], well["uptime_seconds"]) == ("ok", "ok", 90)
    assert isinstance(well["backend"]["latency_ms"], int)
    world.faults.faulty = len(world.faults.calls)
    ill = api.get("/health")
    assert (ill.status, ill.json["status"], ill.json["backend"]["status"]) == (
        503,
        "degraded",
        "unhealthy",
    )
    assert ill.headers["OJS-Version"] == "1.0"


def test_health_shows_how_the_sweep_does(api: Api, world: World) -> None:
    """Its last run and its lag; a sweep that stopped shows as late."""
    assert "sweep" not in api.get("/health").json
    world.backend.upkeep.sweep.tick()
    assert api.get("/health").json["sweep"] == {
        "status": "ok",
        "last_run_at": format_instant(world.clock.now()),
        "lag_ms": 0,
    }
    world.clock.advance(s=181)
    well = api.get("/health").json
    assert (well["status"], well["sweep"]["status"]) == ("ok", "late")


def test_the_manifest_is_true(api: Api) -> None:
    """Section 21: both version fields, booleans for capabilities, a flat list of extensions."""
    manifest = api.send("GET", "/ojs/manifest", headers={"Host": "jobs.example.com"}).json
    assert manifest["specversion"] == manifest["ojs_version"] == "1.0"
    assert manifest["conformance_level"] == 4
    assert manifest["protocols"] == ["http"]
    assert manifest["events"]["delivery"] == "at-least-once"
    assert manifest["events"]["ordering"] == "per-job"
    assert all(isinstance(value, bool) for value in manifest["capabilities"].values())
    assert all(isinstance(name, str) for name in manifest["extensions"])
    assert manifest["endpoints"]["base_url"] == "http://jobs.example.com/ojs/v1"


def test_the_manifest_names_the_configured_url() -> None:
    """OJS_BASE_URL, with or without the base path."""
    for url in ("https://jobs.example.com", "https://jobs.example.com/ojs/v1/"):
        api = Api(World(settings=Settings(base_url=url)).backend)
        manifest = api.send("GET", "/ojs/manifest").json
        assert manifest["endpoints"]["base_url"] == "https://jobs.example.com/ojs/v1"


def test_metrics_are_plain_text(api: Api) -> None:
    """At the root too."""
    for path in ("/metrics", "/ojs/v1/metrics"):
        reply = api.send("GET", path)
        assert reply.headers["Content-Type"].startswith("text/plain")
        assert "ojs_up 1" in reply.text


@pytest.mark.parametrize(("is_on", "state"), [(True, "quiet"), (False, "running")])
def test_directives_in_jobs_count_in_test_mode_only(is_on: bool, state: str) -> None:
    """L1-WRK-002: `options.metadata.test_directive`."""
    api = Api(World(settings=Settings(test_mode=is_on)).backend)
    job_id = active(api, options={"metadata": {"test_directive": "quiet"}})
    beat = api.post("/workers/heartbeat", {"worker_id": WORKER, "active_jobs": [job_id]})
    assert beat.json["state"] == state
    idle = api.post("/workers/heartbeat", {"worker_id": WORKER, "active_jobs": []})
    assert idle.json["state"] == "running"
