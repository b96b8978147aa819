"""NACK with `requeue` over HTTP (NackRequest of the HTTP binding's OpenAPI document)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api import Api
from tests.unit.transport.http.jobs.test_worker_handlers import WORKER, active, fetched

STERN = {"code": "handler_error", "message": "m", "retryable": False}


@pytest.mark.parametrize("path", ["/workers/nack", "/jobs/{id}/nack"])
@pytest.mark.parametrize("error", [{}, {"error": None}, {"error": STERN}])
def test_nack_with_requeue_makes_the_job_available(
    api: Api, path: str, error: dict[str, Any]
) -> None:
    """At once, whatever the error says; and the error may be missing."""
    job_id = active(api, retry={"max_attempts": 1})
    body = {"job_id": job_id, "worker_id": WORKER, "requeue": True} | error
    reply = api.post(path.replace("{id}", job_id), body)
    assert reply.status == 200, reply.text
    answer = reply.json
    assert (answer["state"], answer["job"]["state"], answer["attempt"]) == ("available",) * 2 + (1,)
    assert "retry_delay_ms" not in answer
    assert "next_attempt_at" not in answer
    (again,) = fetched(api)
    assert (again["id"], again["attempt"], again["max_attempts"]) == (job_id, 2, 1)
    assert again["x_aws_uncounted_attempts"] == 1
    assert ("error" in again) is (error == {"error": STERN})


def test_nack_without_requeue_needs_an_error(api: Api) -> None:
    """And is an ordinary failure; `requeue: false` says the same as nothing."""
    job_id = active(api, retry={"max_attempts": 1})
    body: dict[str, Any] = {"job_id": job_id, "worker_id": WORKER, "requeue": False}
    assert api.post("/workers/nack", body).status == 400
    reply = api.post("/workers/nack", body | {"error": STERN})
    assert reply.json["state"] == "discarded"


@pytest.mark.parametrize(
    "wrong", [{"requeue": "yes"}, {"requeue": 1}, {"requeue": True, "error": "x"}]
)
def test_a_malformed_requeue_is_refused(api: Api, wrong: dict[str, Any]) -> None:
    """With 400; the job stays active."""
    job_id = active(api)
    reply = api.post("/workers/nack", {"job_id": job_id, "error": STERN} | wrong)
    assert reply.status == 400
    assert api.get(f"/jobs/{job_id}").json["state"] == "active"


def test_a_job_that_is_not_active_cannot_be_given_back(api: Api) -> None:
    """409, as for every report."""
    job_id = active(api)
    body = {"job_id": job_id, "requeue": True}
    assert api.post("/workers/nack", body).status == 200
    assert api.post("/workers/nack", body).status == 409
