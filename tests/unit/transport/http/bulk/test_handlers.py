"""Bulk operations over HTTP: a result for each job (ojs-bulk-operations)."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.json_text import decode
from ojs_aws.services.events import Commit, events_of
from tests.api import Api, Reply
from tests.simulation.faults import Fault
from tests.simulation.world import World

JOB: dict[str, Any] = {"type": "demo.echo", "args": [1]}
BAD: dict[str, Any] = {"type": "", "args": []}


def ids_of(reply: Reply) -> list[str]:
    """The ids of the jobs that a bulk enqueue stored."""
    return [item["job"]["id"] for item in reply.json["items"] if "job" in item]


def statuses(reply: Reply) -> list[str]:
    """The status of each item."""
    items = reply.json["items"]
    assert [item["index"] for item in items] == [*range(len(items))]
    return [item["status"] for item in items]


def test_blk_001_004_each_job_has_its_result(api: Api) -> None:
    """201 when all are created; as many as the request names are counted in a header."""
    reply = api.post("/jobs/bulk", {"jobs": [JOB, JOB]})
    assert (reply.status, statuses(reply)) == (201, ["created", "created"])
    assert (reply.json["total"], reply.json["succeeded"], reply.json["failed"]) == (2, 2, 0)
    assert reply.headers["X-OJS-Batch-Size"] == "2"
    for job_id in ids_of(reply):
        assert api.get(f"/jobs/{job_id}").json["state"] == "available"


def test_blk_002_a_job_that_fails_leaves_the_others_theirs(api: Api) -> None:
    """207 for mixed results, 422 when none succeeded; each failure says why."""
    reply = api.post("/jobs/bulk", {"jobs": [JOB, BAD, 7, JOB]})
    assert (reply.status, statuses(reply)) == (207, ["created", "failed", "failed", "created"])
    error = reply.json["items"][1]["error"]
    assert (error["code"], error["reason"]) == ("invalid_request", "VALIDATION_ERROR")
    assert error["details"]["field"] == "type"
    none = api.post("/jobs/bulk", {"jobs": [BAD]})
    assert (none.status, statuses(none)) == (422, ["failed"])
    assert (none.error["code"], none.error["retryable"]) == ("x_bulk_refused", False)
    assert none.error["request_id"] == none.headers["X-Request-Id"]


def test_duplicates_are_answered_as_duplicates(api: Api) -> None:
    """The same job again is a duplicate; a rejected one and a stolen id are failures."""
    named = JOB | {"id": "019539a4-aaaa-7000-8000-111111111111"}
    unique = JOB | {"type": "demo.unique", "unique": {"keys": ["type"], "on_conflict": "reject"}}
    ignored = JOB | {"type": "demo.unique", "unique": {"keys": ["type"], "on_conflict": "ignore"}}
    api.post("/jobs", named)
    other = named | {"args": [2]}
    reply = api.post("/jobs/bulk", {"jobs": [named, unique, unique, ignored]})
    assert statuses(reply) == ["duplicate", "created", "failed", "duplicate"]
    assert reply.json["items"][2]["error"]["reason"] == "DUPLICATE_JOB"
    twice = api.post("/jobs/bulk", {"jobs": [named, other]})
    assert statuses(twice) == ["duplicate", "failed"]


@pytest.mark.parametrize("count", [3, 150])
def test_blk_r001_atomic_is_all_or_none(api: Api, world: World, count: int) -> None:
    """422 when one is refused, which is named; nothing is stored."""
    jobs = [JOB] * count
    reply = api.post("/jobs/bulk", {"atomicity": "atomic", "jobs": jobs})
    assert (reply.status, set(statuses(reply))) == (201, {"created"})
    stored = len(world.stored.jobs)
    for wrong in (BAD, JOB | {"id": ids_of(reply)[0], "args": [2]}):
        refused = api.post("/jobs/bulk", {"atomicity": "atomic", "jobs": [*jobs[1:], wrong]})
        assert (refused.status, set(statuses(refused))) == (422, {"failed"})
        errors = [item["error"] for item in refused.json["items"]]
        assert errors[-1]["code"] in {"invalid_request", "duplicate"}
        assert {error["code"] for error in errors[:-1]} == {"conflict"}
        assert len(world.stored.jobs) == stored


def test_blk_003_r006_more_than_a_thousand_are_refused(api: Api, world: World) -> None:
    """413, with the maximum in a header; a malformed request is a 400."""
    reply = api.post("/jobs/bulk", {"jobs": [JOB] * 1001})
    assert (reply.status, reply.headers["X-OJS-Max-Batch-Size"]) == (413, "1000")
    ids = [f"01990000-0000-7000-8000-{number:012x}" for number in range(1001)]
    reply = api.post("/jobs/bulk/cancel", {"job_ids": ids})
    assert (reply.status, reply.headers["X-OJS-Max-Batch-Size"]) == (413, "1000")
    wrong: list[Any] = [{"jobs": []}, {"jobs": 1}, {}, {"jobs": [JOB], "atomicity": "some"}]
    for body in wrong:
        assert api.post("/jobs/bulk", body).status == 400
    assert not world.stored.jobs


@pytest.mark.parametrize("by_header", [False, True])
def test_blk_r002_a_key_makes_a_request_safe_to_repeat(
    api: Api, world: World, *, by_header: bool
) -> None:
    """The same answer again, nothing stored twice; another body under the key is a conflict."""
    body: dict[str, Any] = {"jobs": [JOB, BAD]}
    headers = {"Idempotency-Key": "import-42"} if by_header else {}
    body |= {} if by_header else {"idempotency_key": "import-42"}
    first = api.post("/jobs/bulk", body, headers=headers)
    again = api.post("/jobs/bulk", body, headers=headers)
    assert (again.status, again.text) == (first.status, first.text)
    assert len(world.stored.jobs) == 1
    other = api.post("/jobs/bulk", body | {"jobs": [JOB]}, headers=headers)
    assert (other.status, other.error["code"]) == (409, "conflict")
    for request in world.stored.bulk_requests.values():
        world.bulk.answer(
            type(request)(key=request.key, digest=request.digest, begun_at=request.begun_at)
        )
    after_a_crash = api.post("/jobs/bulk", body, headers=headers)
    assert ids_of(after_a_crash) == ids_of(first)
    assert len(world.stored.jobs) == 1
    world.clock.advance(s=49 * 3600)
    assert ids_of(api.post("/jobs/bulk", body, headers=headers)) != ids_of(first)


def test_blk_r003_jobs_are_cancelled_by_their_ids(api: Api) -> None:
    """Those in somebody's hands, ended or unknown are skipped, with the reason."""
    ids = ids_of(api.post("/jobs/bulk", {"jobs": [JOB] * 3}))
    api.post("/workers/fetch", {"queues": ["default"], "worker_id": "w"})
    unknown = "019539a4-aaaa-7000-8000-ffffffffffff"
    reply = api.post("/jobs/bulk/cancel", {"job_ids": [*ids, unknown]})
    assert statuses(reply) == ["skipped", "cancelled", "cancelled", "skipped"]
    assert reply.status == 207
    assert (reply.json["total_matched"], reply.json["cancelled"], reply.json["skipped"]) == (
        4,
        2,
        2,
    )
    assert reply.json["items"][0]["reason"] == "Job is in active state"
    assert api.get(f"/jobs/{ids[1]}").json["state"] == "cancelled"
    assert api.post("/jobs/bulk/cancel", {"job_ids": ids[1:]}).status == 422


def test_blk_r003_jobs_are_cancelled_by_a_filter(api: Api, world: World) -> None:
    """Type, queue, priority, metadata and time; active ones are never among them."""
    keep = JOB | {"meta": {"tenant": "b"}}
    jobs = [JOB | {"meta": {"tenant": "a", "n": at}, "priority": at} for at in range(3)]
    ids = ids_of(api.post("/jobs/bulk", {"jobs": [*jobs, keep]}))
    world.clock.advance(s=10)
    late = ids_of(api.post("/jobs/bulk", {"jobs": jobs[:1]}))
    chosen = {"type": "demo.echo", "queue": "default", "meta": {"tenant": "a"}}
    before = "2025-10-09T08:53:25Z"
    reply = api.post("/jobs/bulk/cancel", {"filter": chosen | {"enqueued_before": before}})
    cancelled = {item["job_id"] for item in reply.json["items"]}
    assert (reply.status, cancelled) == (200, set(ids[:3]))
    assert api.get(f"/jobs/{late[0]}").json["state"] == "available"
    reply = api.post("/jobs/bulk/cancel", {"filter": {"priority": 0, "enqueued_after": before}})
    assert [item["job_id"] for item in reply.json["items"]] == late
    refused = api.post("/jobs/bulk/cancel", {"filter": {"state": ["active"]}})
    assert (refused.status, refused.error["details"]["field"]) == (400, "filter.state")


def test_blk_r004_discarded_and_retryable_jobs_are_retried(api: Api) -> None:
    """At once, whatever their backoff; others are skipped."""
    once = JOB | {"retry": {"max_attempts": 1}}
    ids = ids_of(api.post("/jobs/bulk", {"jobs": [JOB, once, JOB]}))
    for job_id in ids[:2]:
        api.post("/workers/fetch", {"queues": ["default"], "worker_id": "w"})
        error = {"code": "handler_error", "message": "it broke"}
        api.post("/workers/nack", {"job_id": job_id, "worker_id": "w", "error": error})
    states = [api.get(f"/jobs/{job_id}").json["state"] for job_id in ids]
    assert states == ["retryable", "discarded", "available"]
    reply = api.post("/jobs/bulk/retry", {"job_ids": ids})
    assert (reply.status, statuses(reply)) == (207, ["retried", "retried", "skipped"])
    fetched = api.post("/workers/fetch", {"queues": ["default"], "worker_id": "w", "count": 5})
    assert {job["id"] for job in fetched.json["jobs"]} == set(ids)


def test_blk_r005_jobs_that_have_ended_are_deleted(api: Api, world: World) -> None:
    """And no others."""
    ids = ids_of(api.post("/jobs/bulk", {"jobs": [JOB] * 3}))
    api.post("/jobs/bulk/cancel", {"job_ids": ids[:2]})
    reply = api.post("/jobs/bulk/delete", {"job_ids": ids})
    assert statuses(reply) == ["deleted", "deleted", "skipped"]
    assert [*world.stored.jobs] == ids[2:]
    assert api.post("/jobs/bulk/delete", {"filter": {"state": ["available"]}}).status == 400


def test_changes_are_all_or_none_where_that_is_asked_for(api: Api) -> None:
    """One transaction; a job in the wrong state keeps the others as they were."""
    ids = ids_of(api.post("/jobs/bulk", {"jobs": [JOB] * 3}))
    api.send("DELETE", f"/ojs/v1/jobs/{ids[2]}")
    body: dict[str, Any] = {"job_ids": ids, "atomicity": "atomic"}
    refused = api.post("/jobs/bulk/cancel", body)
    assert (refused.status, statuses(refused)) == (422, ["skipped"] * 3)
    assert api.get(f"/jobs/{ids[0]}").json["state"] == "available"
    done = api.post("/jobs/bulk/cancel", body | {"job_ids": ids[:2]})
    assert (done.status, statuses(done)) == (200, ["cancelled"] * 2)
    assert api.get(f"/jobs/{ids[0]}").json["state"] == "cancelled"


def test_a_change_names_jobs_or_a_filter_and_not_both(api: Api) -> None:
    """And a filter says something that it knows."""
    wrong: list[Any] = [
        {},
        {"job_ids": [], "filter": {}},
        {"job_ids": []},
        {"job_ids": ["x"]},
        {"job_ids": [1]},
        {"filter": {}},
        {"filter": {"colour": "red"}},
        {"filter": {"state": ["lost"]}},
        {"filter": {"type": "a.b"}, "atomicity": "atomic"},
    ]
    for body in wrong:
        assert api.post("/jobs/bulk/cancel", body).status == 400, body


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"atomicity": []}, "atomicity"),
        ({"atomicity": {}}, "atomicity"),
        ({"filter": {"state": [[]]}}, "filter.state"),
        ({"filter": {"state": {}}}, "filter.state"),
    ],
)
def test_what_cannot_be_a_name_is_refused_by_its_field(
    body: dict[str, Any], field: str, api: Api
) -> None:
    """400, whatever JSON stands there."""
    reply = api.post("/jobs/bulk/cancel", body)
    assert (reply.status, reply.error["details"]["field"]) == (400, field)


def test_an_idempotency_key_may_be_any_text_that_json_can_write(api: Api) -> None:
    """Half a surrogate pair included: it is hashed, never stored."""
    body = '{"jobs": [{"type": "demo.echo", "args": []}], "idempotency_key": "\\ud800"}'
    first, second = api.post("/jobs/bulk", body), api.post("/jobs/bulk", body)
    assert first.status == second.status == 201
    assert ids_of(first) == ids_of(second)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("state", []),
        ("state", [[]]),
        ("state", {}),
        ("priority", "3"),
        ("priority", True),
        ("priority", 1.5),
        ("priority", None),
        ("meta", []),
        ("meta", None),
        ("meta", "x"),
    ],
)
@pytest.mark.parametrize("action", ["cancel", "retry", "delete"])
def test_a_filter_that_cannot_be_meant_is_named(
    api: Api, action: str, field: str, wrong: object
) -> None:
    """Whether any job would have been looked at or not."""
    reply = api.post(f"/jobs/bulk/{action}", {"filter": {"queue": "empty", field: wrong}})
    assert (reply.status, reply.error["details"]["field"]) == (400, f"filter.{field}")


def test_metadata_match_by_value_and_type(api: Api) -> None:
    """True is not 1, and a member that is not there is not null."""
    api.post("/jobs", JOB | {"meta": {"n": True}})
    for wanted in ({"n": 1}, {"other": None}):
        reply = api.post("/jobs/bulk/cancel", {"filter": {"meta": wanted}})
        assert reply.json["total_matched"] == 0, wanted
    assert api.post("/jobs/bulk/cancel", {"filter": {"meta": {"n": True}}}).json["cancelled"] == 1


@pytest.mark.parametrize("fault", [Fault.FAILS_BEFORE, Fault.FAILS_AFTER])
def test_an_atomic_request_of_which_nobody_knows_is_no_refusal(
    api: Api, world: World, fault: Fault
) -> None:
    """The same request again, under its key, finds out: each job is there once."""
    body = {"jobs": [JOB, JOB], "atomicity": "atomic", "idempotency_key": "k"}
    world.faults.faulty = len(world.faults.calls)
    world.faults.fault = fault
    reply = api.post("/jobs/bulk", body)
    assert reply.status >= 500, reply.text
    world.faults.faulty = None
    again = api.post("/jobs/bulk", body)
    assert (again.status, len(world.stored.jobs)) == (201, 2)


def test_a_partial_answer_is_kept_only_when_the_backend_did_not_fail(
    api: Api, world: World
) -> None:
    """BLK-R002: a retry under the same key does what is left, and nothing twice."""
    body = {"jobs": [JOB, JOB], "idempotency_key": "k"}
    world.faults.faulty = len(world.faults.calls)
    world.faults.fault = Fault.FAILS_AFTER
    first = api.post("/jobs/bulk", body)
    assert statuses(first) == ["failed", "created"]
    world.faults.faulty = None
    again = api.post("/jobs/bulk", body)
    assert statuses(again) == ["duplicate", "duplicate"]
    assert len(world.stored.jobs) == 2
    assert api.post("/jobs/bulk", body).text == again.text


def test_blk_each_request_has_one_event_with_its_numbers(api: Api, world: World) -> None:
    """Section 12.1; a request that is answered from its key is none."""
    body = {"jobs": [JOB, BAD, JOB], "idempotency_key": "k"}
    ids = ids_of(api.post("/jobs/bulk", body))
    assert ids_of(api.post("/jobs/bulk", body)) == ids
    api.post("/jobs/bulk/cancel", {"job_ids": ids, "atomicity": "atomic"})
    api.post("/jobs/bulk/retry", {"job_ids": ids})
    api.post("/jobs/bulk/delete", {"job_ids": ids[:1]})
    published = [
        (event.type, decode(event.data))
        for done in world.stored.bulk_done.values()
        for event in events_of(None, done, Commit(world.clock.now(), "1"))
    ]
    anybody = {"by": {"id": "anonymous", "name": "anonymous"}}
    assert published == [
        (
            "bulk.enqueue.completed",
            {"total": 3, "succeeded": 2, "failed": 1, "atomicity": "partial"} | anybody,
        ),
        (
            "bulk.cancel.completed",
            {"total": 2, "cancelled": 2, "skipped": 0, "atomicity": "atomic"} | anybody,
        ),
        (
            "bulk.retry.completed",
            {"total": 2, "retried": 0, "skipped": 2, "atomicity": "partial"} | anybody,
        ),
        (
            "bulk.delete.completed",
            {"total": 1, "deleted": 1, "skipped": 0, "atomicity": "partial"} | anybody,
        ),
    ]


def test_a_bulk_request_stays_done_if_its_event_cannot_be_stored(
    api: Api, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its jobs have events of their own."""

    def fail(_: object) -> None:
        raise BackendError("down")

    monkeypatch.setattr(world.bulk, "record_bulk", fail)
    assert api.post("/jobs/bulk", {"jobs": [JOB]}).status == 201
