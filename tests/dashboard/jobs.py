"""Jobs for the journeys, made by the public API."""

from __future__ import annotations

from typing import Any, Final

import httpx

FAILURE: Final = {
    "code": "handler_error",
    "type": "ValueError",
    "message": "no <b>rows</b> found",
    "retryable": True,
    "backtrace": ["jobs.py:10 in build", "db.py:3 in rows"],
}


def push(api: httpx.Client, queue: str, **more: Any) -> str:
    """Enqueue a job, and return its id."""
    envelope = {"type": "report.build", "args": [1], **more}
    options = {"queue": queue, **envelope.pop("options", {})}
    answer = api.post("jobs", json={**envelope, "options": options})
    answer.raise_for_status()
    found: str = answer.json()["job"]["id"]
    return found


def push_text(api: httpx.Client, envelope: str) -> str:
    """Enqueue an envelope exactly as it is written, and return the job's id."""
    answer = api.post("jobs", content=envelope, headers={"Content-Type": "application/json"})
    answer.raise_for_status()
    found: str = answer.json()["job"]["id"]
    return found


def fail(api: httpx.Client, queue: str, worker: str = "w-1") -> str:
    """Let a worker fetch the next job of a queue and fail it; return its id."""
    fetched = api.post("workers/fetch", json={"worker_id": worker, "queues": [queue], "count": 1})
    found: str = fetched.json()["jobs"][0]["id"]
    report = {"worker_id": worker, "job_id": found, "error": FAILURE}
    api.post("workers/nack", json=report).raise_for_status()
    return found


def discard(api: httpx.Client, queue: str, *, keep: bool = False) -> str:
    """Enqueue a job that may run once, and let it fail; ``keep`` makes it a dead letter."""
    policy = {"max_attempts": 1, "on_exhaustion": "dead_letter" if keep else "discard"}
    pushed = push(api, queue, options={"retry": policy})
    failed = fail(api, queue)
    assert failed == pushed, f"another test left a job in the queue {queue}: each has its own"
    return failed


def state_of(api: httpx.Client, job_id: str) -> str:
    """Return the state of a job."""
    found: str = api.get(f"jobs/{job_id}").json()["job"]["state"]
    return found
