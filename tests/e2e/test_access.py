"""A deployment that asks for API keys, used with the command line as an operator does."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from infra.deployment import Deployment, create_key
from infra.emulator import Emulator
from tests.e2e.steps import cli, sending

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

JOB = {"type": "e2e.job", "args": ["nobody"], "retry": {"max_attempts": 1}}
KeyOf = Callable[..., str]


@pytest.fixture(scope="module")
def key_of(emulator: Emulator, deployment: Deployment) -> KeyOf:
    """Makes a key of some scopes with ``ojs-aws keys create``."""

    def make(*scopes: str) -> str:
        return create_key(emulator, deployment, "-".join(scopes), *scopes)

    return make


def test_without_credentials_there_is_health_and_the_manifest(deployment: Deployment) -> None:
    """And 401 for everything else, known to the API or not."""
    with sending(deployment, "") as http:
        assert http.get("health").status_code == 200
        assert http.get("../manifest").status_code == 200
        for method, path in (("POST", "jobs"), ("GET", "admin/jobs"), ("GET", "nowhere")):
            assert http.request(method, path, json={}).status_code == 401
    with sending(deployment, "ojs_" + "0" * 16 + "_" + "x" * 43) as http:
        refused = http.get("queues")
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthenticated")


def test_an_operator_finds_a_failed_job_and_retries_it(
    emulator: Emulator, deployment: Deployment, key_of: KeyOf, queue: str
) -> None:
    """Each with a key of its own scope: a producer, a worker, and an operator at the terminal."""
    with sending(deployment, key_of("producer")) as producer:
        pushed = producer.post("jobs", json={**JOB, "options": {"queue": queue}})
        assert pushed.status_code == 201, pushed.text
        job_id = pushed.json()["job"]["id"]
        assert producer.get(f"jobs/{job_id}").status_code == 403
    with sending(deployment, key_of("worker")) as worker:
        asked = {"queues": [queue], "worker_id": "w"}
        assert worker.post("jobs", json=JOB).status_code == 403
        (job,) = worker.post("workers/fetch", json=asked).raise_for_status().json()["jobs"]
        error = {"code": "x", "message": "is no address", "retryable": False}
        worker.post("workers/nack", json={"job_id": job["id"], "error": error}).raise_for_status()

        operator = key_of("operator")
        found = cli(
            emulator, deployment, operator, "jobs", "list", "--queue", queue, "--state", "discarded"
        )
        assert job_id in json.dumps(found)
        shown = cli(emulator, deployment, operator, "jobs", "show", job_id)
        assert "is no address" in json.dumps(shown)
        cli(emulator, deployment, operator, "jobs", "retry", job_id)

        (again,) = worker.post("workers/fetch", json=asked).raise_for_status().json()["jobs"]
        assert again["id"] == job_id
        worker.post("workers/ack", json={"job_id": job_id}).raise_for_status()
    assert cli(emulator, deployment, operator, "jobs", "show", job_id)["state"] == "completed"
