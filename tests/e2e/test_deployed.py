"""What only a deployment can show: the parts work together, with the rights that they have.

API Gateway, DynamoDB with its stream, SQS and its triggers, S3, EventBridge and the functions as
processes of their own, each held to its role.
"""

from __future__ import annotations

import json
from pathlib import Path

import boto3
import httpx
import pytest

from infra.deployment import Deployment, run_demo_job
from infra.emulator import Emulator
from ojs_aws.cli.verify.conformance.cases import Case, load_cases
from ojs_aws.cli.verify.conformance.runner import CaseOutcome, ConformanceRunner
from tests.e2e.steps import (
    eventually,
    fetch,
    in_state,
    incompressible,
    job_of,
    log_lines,
    push,
    refusals,
)

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

CASES = [
    case
    for case in load_cases(Path(__file__).parents[1] / "conformance" / "cases")
    if not case.time_dependent and not case.test_mode
]


# -------------------------------------------------------------------------------- Lambda workers


def test_a_lambda_worker_completes_a_job(deployment: Deployment, api_key: str) -> None:
    """From API Gateway through DynamoDB and SQS to the worker, and back."""
    run_demo_job(deployment.api_url, print, api_key)


def test_a_job_due_later_runs_when_it_is_due(http: httpx.Client) -> None:
    """A delayed message wakes the worker; nothing polls."""
    job = push(http, "demo", type="demo.echo", args=[1], options={"scheduled_at": "+PT2S"})
    assert job["state"] == "scheduled"
    done = eventually(lambda: in_state(http, job["id"], "completed"), "the job completed")
    assert done["started_at"] >= done["enqueued_at"]


def test_a_failing_handler_retries_its_job(http: httpx.Client) -> None:
    """The error is kept, and the last attempt discards the job."""
    job = push(
        http,
        "demo",
        type="demo.fail",
        args=["broken"],
        options={"retry": {"max_attempts": 2, "initial_interval": "PT1S", "jitter": False}},
    )
    ended = eventually(lambda: in_state(http, job["id"], "discarded"), "the job was discarded")
    assert ended["attempt"] == 2
    assert ended["error"]["message"] == "broken"


# ---------------------------------------------------------------------------------- HTTP workers


def test_a_polling_worker_fetches_beats_and_acknowledges(http: httpx.Client, queue: str) -> None:
    """On a queue that is made at its first use."""
    job = push(http, queue, args=[{"to": "a@b.c"}])
    claimed = fetch(http, queue)
    assert claimed["id"] == job["id"]
    assert claimed["args"] == [{"to": "a@b.c"}]
    beat = http.post("workers/heartbeat", json={"worker_id": "e2e", "active_jobs": [job["id"]]})
    assert beat.json()["jobs_extended"] == [job["id"]]
    stranger = http.post("workers/ack", json={"job_id": job["id"], "worker_id": "other"})
    assert stranger.status_code == 409
    ack = {"job_id": job["id"], "worker_id": "e2e", "result": {"sent": True}}
    assert http.post("workers/ack", json=ack).status_code == 200
    done = job_of(http, job["id"])
    assert (done["state"], done["result"]) == ("completed", {"sent": True})


def test_a_failed_job_goes_to_the_dead_letters_and_back(http: httpx.Client, queue: str) -> None:
    """Discarded, listed, enqueued again by an operator, failed again, and removed for good.

    Its document is in S3, so that removing it takes the operator's rights there, too.
    """
    retry = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
    job = push(http, queue, args=[incompressible(700_000)], options={"retry": retry})
    for way_on in ("retry", "delete"):
        fetch(http, queue)
        error = {"type": "Broken", "message": "no"}
        nack = {"job_id": job["id"], "worker_id": "e2e", "error": error}
        assert http.post("workers/nack", json=nack).json()["state"] == "discarded"
        listed = http.get("dead-letter", params={"queue": queue}).json()["jobs"]
        assert [each["id"] for each in listed] == [job["id"]]
        if way_on == "retry":
            assert http.post(f"dead-letter/{job['id']}/retry").status_code == 200
        else:
            assert http.delete(f"dead-letter/{job['id']}").status_code == 200
    assert http.get(f"jobs/{job['id']}").status_code == 404


def test_a_pending_job_is_activated_and_another_cancelled(http: httpx.Client, queue: str) -> None:
    """The operations of the producer that move a job."""
    job = push(http, queue, options={"pending": True})
    assert job["state"] == "pending"
    assert http.post(f"jobs/{job['id']}/activate").json()["job"]["state"] == "available"
    assert http.delete(f"jobs/{job['id']}").json()["job"]["state"] == "cancelled"
    assert http.delete(f"jobs/{job['id']}").status_code == 409


def test_a_batch_is_enqueued_whole(http: httpx.Client, queue: str) -> None:
    """In one transaction."""
    jobs = [{"type": "e2e.job", "args": [n], "options": {"queue": queue}} for n in range(12)]
    answer = http.post("jobs/batch", json={"jobs": jobs})
    assert answer.status_code == 201, answer.text
    body = {"queues": [queue], "worker_id": "e2e", "count": 20}
    claimed = http.post("workers/fetch", json=body).json()["jobs"]
    assert sorted(job["args"][0] for job in claimed) == list(range(12))


@pytest.mark.parametrize("size", [20_000, 700_000])
def test_large_documents_come_back_exactly(http: httpx.Client, queue: str, size: int) -> None:
    """In an item of their own, or in S3: to INFO and to the worker."""
    text = incompressible(size)
    job = push(http, queue, args=[text, 2**70, 1.0])
    assert job_of(http, job["id"])["args"] == [text, 2**70, 1.0]
    assert fetch(http, queue)["args"][0] == text
    ack = {"job_id": job["id"], "worker_id": "e2e", "result": {"copy": text}}
    assert http.post("workers/ack", json=ack).status_code == 200
    assert job_of(http, job["id"])["result"] == {"copy": text}


# ----------------------------------------------------------------------- what follows, and when


def test_transitions_become_events(http: httpx.Client, queue: str) -> None:
    """The stream's function writes the log that the operator's function reads."""
    job = push(http, queue)
    fetch(http, queue)
    http.post("workers/ack", json={"job_id": job["id"], "worker_id": "e2e"}).raise_for_status()

    def kinds() -> list[str]:
        events = http.get("events", params={"queues": queue}).raise_for_status().json()["events"]
        seen = [event["type"] for event in events]
        return seen if "job.completed" in seen else []

    assert eventually(kinds, "the event of the completed job")[-1] == "job.completed"


def test_the_sweep_runs_with_its_rights(
    http: httpx.Client, queue: str, deployment: Deployment, emulator: Emulator
) -> None:
    """A tick settles, arms and covers in every queue, and none fails."""
    push(http, queue)
    push(http, queue, options={"scheduled_at": "+PT10M"})
    functions = boto3.client("lambda", **emulator.client_settings())
    names = [each["FunctionName"] for each in functions.list_functions()["Functions"]]
    (tick,) = [name for name in names if "BackendTick" in name]
    answer = functions.invoke(FunctionName=tick, Payload=b"{}")
    report = json.loads(answer["Payload"].read())
    assert not answer.get("FunctionError"), report
    assert report["queues"] >= 2
    assert report["failed"] == 0


# -------------------------------------------------------------------------------------- the edge


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "health", 200),
        ("GET", "openapi.json", 200),
        ("GET", "../manifest", 200),
        ("GET", "queues", 200),
        ("GET", "../../v1/queues", 200),
        ("GET", "nowhere", 404),
        ("PUT", "jobs", 405),
        ("DELETE", "workers/fetch", 405),
        ("GET", "jobs/01a1fd33-ca7c-77e3-8886-856c4097ed5f", 404),
        ("GET", "jobs/no%20id", 400),
    ],
)
def test_every_path_is_answered_by_ojs(
    http: httpx.Client, deployment: Deployment, method: str, path: str, status: int
) -> None:
    """Never by the gateway: standard headers, and errors in the format of the specification."""
    answer = http.request(method, httpx.URL(f"{deployment.api_url}/ojs/v1/").join(path))
    assert answer.status_code == status, answer.text
    assert answer.headers["ojs-version"] == "1.0"
    assert answer.headers["x-request-id"]
    if status >= 400:
        assert {"code", "message", "retryable"} <= set(answer.json()["error"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"level-{case.level}-{case.id}")
def test_conformance(case: Case, conformance: ConformanceRunner) -> None:
    """The deployed API answers a conformance case as it asserts."""
    verdict = conformance.run_case(case)
    assert verdict.outcome is CaseOutcome.PASSED, "\n".join(verdict.findings)


# ------------------------------------------------------------- middleware and hooks of one's own


def test_the_deployed_backend_runs_the_users_middleware_and_hooks(
    http: httpx.Client, queue: str
) -> None:
    """The construct brought their code along; the API shows what surrounds PUSH."""
    body = {"type": "policies.checked", "options": {"queue": queue}}
    stored = http.post("jobs", content=json.dumps(body | {"args": ["keep", 2]}))
    assert stored.status_code == 201, stored.text
    assert stored.json()["job"]["meta"] == {"stamped_by": "policies", "words": 2}
    dropped = http.post("jobs", content=json.dumps(body | {"args": ["drop"]}))
    assert (dropped.status_code, dropped.json()["dropped_by"]) == (200, "policies")
    refused = http.post("jobs", content=json.dumps(body | {"args": ["refuse"]}))
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_request")
    shown = http.get("admin/middleware").json()
    assert [each["name"] for each in shown["enqueue"]] == ["logging", "policies"]
    assert [each["implements"] for each in shown["hooks"]] == [["insert_begin"], ["cancelled"]]


def test_a_cron_job_that_is_triggered_by_hand_passes_them_too(
    http: httpx.Client, queue: str
) -> None:
    """Another function enqueues it, and carries the same code."""
    name = f"policies-{queue}"
    template = {"type": "policies.checked", "args": ["keep"], "options": {"queue": queue}}
    entry = {"name": name, "expression": "0 0 1 1 *", "job_template": template}
    registered = http.post("cron", content=json.dumps(entry))
    assert registered.status_code == 201, registered.text
    triggered = http.post(f"cron/{name}/trigger")
    assert triggered.status_code == 201, triggered.text
    job = http.get(f"jobs/{triggered.json()['job_id']}").json()["job"]
    assert job["meta"]["stamped_by"] == "policies"
    assert http.delete(f"cron/{name}").status_code == 200


def test_event_hooks_run_in_the_stream_function(
    http: httpx.Client, queue: str, emulator: Emulator
) -> None:
    """A cancelled job's event reaches the hook that was deployed with the backend."""
    job = push(http, queue, type="policies.checked")
    assert http.delete(f"jobs/{job['id']}").status_code == 200
    eventually(
        lambda: any(f"saw job.cancelled {job['id']}" in line for line in log_lines(emulator)),
        "the hook's line in the log",
    )


def test_no_function_was_refused_anything(deployment: Deployment, emulator: Emulator) -> None:
    """After all of the above: a right that is missing may only show in a log."""
    assert log_lines(emulator)
    assert not refusals(emulator)
