"""Results, progress and checkpoints over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.access import Caller, Permission
from ojs_aws.domain.jobs.progress import read_report
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.services.access.api_keys import Verdict
from ojs_aws.transport.http.callers import verdict_context
from tests.api import Api, Reply
from tests.simulation.world import World

UNKNOWN = "01990000-0000-7000-8000-ffffffffffff"


def active(api: Api, **members: Any) -> str:
    """A job in the hands of worker w."""
    job_id = api.push(**members)
    jobs = api.post("/workers/fetch", {"queues": ["default"], "worker_id": "w"}).json["jobs"]
    assert jobs[0]["id"] == job_id
    return job_id


def ack(api: Api, job_id: str, **members: Any) -> Reply:
    """Complete a job."""
    return api.post("/workers/ack", {"job_id": job_id, "worker_id": "w", **members})


# ------------------------------------------------------------------------------------ results
def test_a_result_is_read_by_itself(api: Api, world: World) -> None:
    """ojs-results, section 10.3, with the metadata of 6.2."""
    job_id = active(api, options={"result_ttl": 60})
    assert ack(api, job_id, result={"transaction_id": "txn_123"}).status == 200
    reply = api.get(f"/jobs/{job_id}/result", query={"wait": "true", "timeout": "30"})
    assert reply.status == 200
    now = world.clock.now()
    assert reply.json == {
        "job_id": job_id,
        "id": job_id,
        "type": "demo.echo",
        "queue": "default",
        "state": "completed",
        "attempt": 1,
        "result": {"transaction_id": "txn_123"},
        "result_stored_at": format_instant(now),
        "result_expires_at": format_instant(type(now)(now + 60_000)),
        "result_size_bytes": len('{"transaction_id": "txn_123"}'),
    }


def test_a_job_that_is_not_over_has_no_result_yet(api: Api) -> None:
    """Section 8: 200 with its state, and when to ask again; 408 to who wants to wait."""
    job_id = active(api)
    reply = api.get(f"/jobs/{job_id}/result")
    assert (reply.status, reply.json["state"], reply.json["result"]) == (200, "active", None)
    assert reply.headers["Retry-After"] == "1"
    reply = api.get(f"/jobs/{job_id}/result", query={"wait": "true", "timeout": "1"})
    assert (reply.status, reply.error["code"]) == (408, "x_result_pending")
    assert reply.error["details"]["current_state"] == "active"
    assert reply.headers["Retry-After"] == "1"


def test_a_pruned_result_is_gone(api: Api, world: World) -> None:
    """Section 10.5: 410 with its code; of no job: 404."""
    job_id = active(api, result_ttl=60)
    ack(api, job_id, result=1)
    world.clock.advance(s=60)
    for wait in ("false", "true"):
        reply = api.get(f"/jobs/{job_id}/result", query={"wait": wait})
        assert (reply.status, reply.error["code"]) == (410, "result_pruned")
        assert "expired at" in reply.error["message"]
    assert api.get(f"/jobs/{UNKNOWN}/result").status == 404


def test_a_failed_job_shows_its_error(api: Api) -> None:
    """Section 14.3."""
    job_id = active(api, retry={"max_attempts": 1})
    error = {"code": "payment_declined", "message": "Card declined"}
    api.post("/workers/nack", {"job_id": job_id, "worker_id": "w", "error": error})
    reply = api.get(f"/jobs/{job_id}/result")
    assert (reply.status, reply.json["state"], reply.json["result"]) == (200, "discarded", None)
    assert reply.json["error"]["message"] == "Card declined"
    assert "result_stored_at" in reply.json


def test_a_result_that_is_too_large_is_refused_by_its_own_code(api: Api) -> None:
    """Section 7.2; 413, and the job is active still."""
    job_id = active(api, result_size_limit=10)
    reply = ack(api, job_id, result="x" * 100)
    assert (reply.status, reply.error["code"]) == (413, "x_result_too_large")
    assert reply.error["details"] == {"field": "result", "size_bytes": 102, "max_bytes": 10}
    assert api.get(f"/jobs/{job_id}").json["state"] == "active"


def test_outcomes_of_several_jobs(api: Api) -> None:
    """Section 10.4."""
    first = active(api)
    ack(api, first, result={"status": "ok"})
    second = api.push()
    reply = api.post("/jobs/results", {"ids": [first, second, "job_3"]})
    results = reply.json["results"]
    assert reply.status == 200
    assert results[first]["result"] == {"status": "ok"}
    assert (results[second]["state"], results[second]["result"]) == ("available", None)
    assert results["job_3"] is None
    bodies: list[Any] = [{}, {"ids": "x"}, {"ids": [1]}, {"ids": []}]
    for body in bodies:
        assert api.post("/jobs/results", body).status == 400


@pytest.mark.parametrize("query", [{"wait": "maybe"}, {"wait": "true", "timeout": "-1"}])
def test_parameters_are_checked(api: Api, query: dict[str, str]) -> None:
    """400, naming the parameter."""
    assert api.get(f"/jobs/{UNKNOWN}/result", query=query).status == 400


# ----------------------------------------------------------------------------------- progress
@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_progress_is_reported_and_read(api: Api, world: World, method: str) -> None:
    """PRG-001, PRG-004; sections 7.1 and 10.3."""
    job_id = active(api)
    path = f"/ojs/v1/jobs/{job_id}/progress"
    body = {"progress": 0.47, "data": {"rows": 14000}, "worker_id": "w"}
    answer = api.send(method, path, body)
    assert (answer.status, answer.json["progress"], answer.json["accepted"]) == (200, 0.47, True)
    read = api.send("GET", path)
    assert read.json == {
        "job_id": job_id,
        "state": "active",
        "attempt": 1,
        "progress": 0.47,
        "percentage": 47,
        "data": {"rows": 14000},
        "message": None,
        "updated_at": format_instant(world.clock.now()),
    }
    assert read.headers["X-OJS-Progress"] == "0.47"
    assert read.headers["Cache-Control"] == "no-cache"
    assert read.headers["Last-Modified"].endswith("GMT")


def test_existing_clients_report_percentages_by_the_body(api: Api) -> None:
    """POST /workers/progress with ``percentage`` from 0 to 100."""
    job_id = active(api)
    body = {"job_id": job_id, "worker_id": "w", "percentage": 65.5, "message": "rows"}
    reply = api.post("/workers/progress", body)
    assert (reply.status, reply.json["progress"]) == (200, 0.655)
    read = api.get(f"/jobs/{job_id}/progress").json
    assert (read["percentage"], read["message"]) == (65.5, "rows")
    assert api.post("/workers/progress", {"percentage": 1}).status == 400


def test_no_progress_is_null_and_no_job_is_404(api: Api) -> None:
    """Section 7.1."""
    read = api.get(f"/jobs/{api.push()}/progress")
    assert (read.status, read.json["progress"], read.json["data"]) == (200, None, None)
    assert api.get(f"/jobs/{UNKNOWN}/progress").status == 404
    assert api.send("PUT", f"/ojs/v1/jobs/{UNKNOWN}/progress", {"progress": 1}).status == 404


def test_a_late_report_is_200_and_not_accepted(api: Api) -> None:
    """PRG-007."""
    reply = api.send("PUT", f"/ojs/v1/jobs/{api.push()}/progress", {"progress": 0.5})
    assert (reply.status, reply.json["accepted"], reply.json["progress"]) == (200, False, None)


def test_the_progress_of_a_workflow_is_made_of_its_jobs(api: Api) -> None:
    """Section 9: a chain of three, the second at 73 %."""
    step = {"type": "etl.step", "args": []}
    made = api.post("/workflows", {"type": "chain", "name": "etl", "steps": [step, step, step]})
    workflow_id = made.json["id"]

    def fetch() -> str:
        jobs = api.post("/workers/fetch", {"queues": ["default"], "worker_id": "w"}).json["jobs"]
        return str(jobs[0]["id"])

    first = fetch()
    ack(api, first, result=1)
    api.get(f"/workflows/{workflow_id}")
    second = fetch()
    report = {"progress": 0.73, "data": {"rows": 21900}}
    api.send("PUT", f"/ojs/v1/jobs/{second}/progress", report)
    reply = api.get(f"/workflows/{workflow_id}/progress")
    assert reply.json["workflow_id"] == workflow_id
    assert reply.json["type"] == "chain"
    assert reply.json["progress"] == round((1 + 0.73) / 3, 6)
    steps = [(each["job_id"], each["state"], each["progress"]) for each in reply.json["steps"]]
    expected = [(first, "completed", 1.0), (second, "active", 0.73), (None, "pending", None)]
    assert steps == expected
    assert reply.json["steps"][1]["data"] == {"rows": 21900}
    assert api.get("/workflows/wf_none/progress").status == 404


# -------------------------------------------------------------------------------- checkpoints
@pytest.mark.parametrize("method", ["PUT", "POST"])
@pytest.mark.parametrize("base", ["/ojs/v1/jobs/{}/checkpoint", "/ojs/v1/checkpoints/{}"])
def test_a_checkpoint_is_saved_read_and_cleared(
    api: Api, world: World, method: str, base: str
) -> None:
    """DUR-001 to DUR-003; wrapped as in section 4, flat as the cases read it."""
    job_id = active(api)
    path = base.format(job_id)
    body = {"state": {"processed": 500, "total": 1000}, "worker_id": "w"}
    saved = api.send(method, path, body)
    now = format_instant(world.clock.now())
    described = {"job_id": job_id, "sequence": 1, "created_at": now}
    assert saved.json == {"checkpoint": described, **described}
    read = api.send("GET", path).json
    assert read["checkpoint"] == {**described, "state": body["state"]}
    assert (read["state"], read["sequence"], read["job_id"]) == (body["state"], 1, job_id)
    for existed in (True, False):
        gone = api.send("DELETE", path)
        assert gone.status == 200
        assert gone.json == {"deleted": True, "existed": existed, "job_id": job_id}
    assert api.send("GET", path).status == 404


@pytest.mark.parametrize("size", [10, 20_000], ids=["in the job's item", "in an item of its own"])
@pytest.mark.parametrize("prefix", ["/ojs/v1", "/ojs/v1/ojs/v1"])
def test_durable_replay_gets_its_log_back(api: Api, prefix: str, size: int) -> None:
    """The Python and JavaScript SDKs repeat the prefix, and keep the replay log in ``metadata``."""
    job_id = active(api)
    path = f"{prefix}/checkpoints/{job_id}"
    assert api.get(f"/checkpoints/{job_id}/resume").json == {
        "job_id": job_id,
        "has_checkpoint": False,
    }
    log = "".join(f"[{number:08}]" for number in range(size // 10))
    notes = {"step_index": 3, "metadata": {"_replay_log": log, "attempt": "1"}}
    assert api.send("POST", path, {"state": {"a": 1}, **notes}).status == 200
    resumed = api.send("GET", f"{path}/resume").json
    assert resumed["has_checkpoint"] is True
    saved = resumed["checkpoint"]
    assert (saved["state"], saved["sequence"]) == ({"a": 1}, 1)
    assert {name: saved[name] for name in notes} == notes
    read = api.get(f"/jobs/{job_id}/checkpoint").json
    assert {name: read[name] for name in notes} == notes
    assert api.send("DELETE", path).status == 200
    assert api.send("GET", f"{path}/resume").json["has_checkpoint"] is False


def test_a_fetched_job_carries_the_notes_of_its_checkpoint(api: Api) -> None:
    """ojs-durable-execution, section 6.1: the state alone in ``last_checkpoint``."""
    job_id = api.push()
    api.send("PUT", f"/ojs/v1/jobs/{job_id}/checkpoint", {"state": {"state": 1}, "step_index": 0})
    jobs = api.post("/workers/fetch", {"queues": ["default"], "worker_id": "w"}).json["jobs"]
    assert (jobs[0]["checkpoint"]["state"], jobs[0]["checkpoint"]["step_index"]) == (
        {"state": 1},
        0,
    )
    assert jobs[0]["last_checkpoint"] == {"state": 1}
    api.send("PUT", f"/ojs/v1/jobs/{job_id}/checkpoint", {"state": {"state": 2}})
    saved = api.get(f"/jobs/{job_id}/checkpoint").json["checkpoint"]
    assert (saved["state"], saved["sequence"], "step_index" in saved) == ({"state": 2}, 2, False)


@pytest.mark.parametrize(
    "notes",
    [{"step_index": "1"}, {"step_index": -1}, {"step_index": True}, {"metadata": ["log"]}],
)
def test_notes_of_a_wrong_type_are_refused(api: Api, notes: dict[str, Any]) -> None:
    """400 with the member's name, and nothing is saved."""
    path = f"/ojs/v1/jobs/{active(api)}/checkpoint"
    reply = api.send("POST", path, {"state": 1, **notes})
    assert (reply.status, reply.json["error"]["details"]["field"]) == (400, next(iter(notes)))
    assert api.send("GET", path).status == 404


def test_resuming_an_unknown_job_is_not_found(api: Api) -> None:
    """A job without a checkpoint is another thing than no job."""
    assert api.get(f"/checkpoints/{UNKNOWN}/resume").status == 404


def test_only_post_wants_an_active_job(api: Api) -> None:
    """DUR-007 for the specification's POST; the cases' PUT sets where the job begins."""
    job_id = api.push()
    path = f"/ojs/v1/jobs/{job_id}/checkpoint"
    assert api.send("POST", path, {"state": 1}).status == 409
    assert api.send("PUT", path, {"state": 1}).json["sequence"] == 1
    jobs = api.post("/workers/fetch", {"queues": ["default"], "worker_id": "w"}).json["jobs"]
    assert jobs[0]["checkpoint"]["state"] == jobs[0]["last_checkpoint"] == 1
    ack(api, job_id)
    for method in ("POST", "PUT"):
        assert api.send(method, path, {"state": 1}).status == 409
    assert api.send("POST", f"/ojs/v1/jobs/{UNKNOWN}/checkpoint", {"state": 1}).status == 404


def test_a_checkpoint_needs_a_state_which_may_be_null_and_is_bounded(api: Api) -> None:
    """Sections 4.1 and 4.2: 400, 200 and 413."""
    path = f"/ojs/v1/jobs/{active(api)}/checkpoint"
    assert api.send("POST", path, {}).status == 400
    assert api.send("POST", path, {"state": None}).status == 200
    assert api.send("GET", path).json["checkpoint"]["state"] is None
    assert api.send("POST", path, {"state": "x" * 1_048_576}).status == 413


def test_what_only_the_system_sets_is_ignored_in_a_push(api: Api) -> None:
    """ENV-005: a client cannot give its job a checkpoint by the envelope."""
    job_id = api.push(checkpoint={"state": 1}, last_checkpoint=1, result_stored_at="x")
    job = api.get(f"/jobs/{job_id}").json["job"]
    assert not {"checkpoint", "last_checkpoint", "result_stored_at"} & job.keys()


@pytest.mark.parametrize("name", ["progress", "percentage", "percent"])
def test_a_number_of_any_size_is_clamped(api: Api, name: str) -> None:
    """Also one that no double can hold (ojs-progress, section 5.1)."""
    job_id = active(api)
    path = f"/ojs/v1/jobs/{job_id}/progress"
    assert api.send("PUT", path, {name: -(10**400)}).json["progress"] == 0.0
    assert api.send("PUT", path, {name: 10**400}).json["progress"] == 1.0


def test_a_message_may_hold_half_a_surrogate_pair() -> None:
    """JSON can say it, and DynamoDB cannot keep it: it becomes a question mark."""
    report = read_report(parse_object('{"message": "a\\ud800b"}'))
    assert report.message == "a?b"


def test_results_of_foreign_jobs_are_as_if_there_were_none() -> None:
    """To credentials with bounds they are null; and the bound on ids comes before any read."""
    world = World(settings=Settings(auth="api-key"))
    api = Api(world.backend)
    admin = Caller(id="a", permissions=frozenset(Permission))
    api.authorizer = {"lambda": verdict_context(Verdict(admin))}
    foreign = api.push()
    own = api.push(options={"queue": "mine"})
    bound = Caller(id="k", permissions=frozenset(Permission), queues=("mine",))
    api.authorizer = {"lambda": verdict_context(Verdict(bound))}
    results = api.post("/jobs/results", {"ids": [foreign, own, "no id"]}).json["results"]
    assert results[foreign] is None
    assert results["no id"] is None
    assert results[own]["state"] == "available"
    assert api.post("/jobs/results", {"ids": [foreign]}).json == {"results": {foreign: None}}
    before = len(world.faults.calls)
    reply = api.post("/jobs/results", {"ids": [f"x{at}" for at in range(101)]})
    assert (reply.status, reply.error["details"]["field"]) == (400, "ids")
    assert len(world.faults.calls) == before
