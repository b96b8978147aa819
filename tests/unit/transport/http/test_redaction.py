"""What is kept of failures where backtraces and messages are redacted."""

from __future__ import annotations

import pytest

from ojs_aws.config import Settings
from tests.api import Api
from tests.simulation.world import World

SECRET = "hunter2"
ERROR = {
    "type": "Auth.Denied",
    "code": "denied",
    "message": f"no user {SECRET}",
    "backtrace": [f"login({SECRET!r})"],
    "details": {"args": [SECRET]},
}


@pytest.mark.parametrize(
    ("settings", "is_backtrace_kept", "is_message_kept"),
    [
        (Settings(), True, True),
        (Settings(redact_backtraces=True), False, True),
        (Settings(redact_backtraces=True, redact_messages=True), False, False),
    ],
)
def test_what_is_redacted_is_nowhere(
    settings: Settings, *, is_backtrace_kept: bool, is_message_kept: bool
) -> None:
    """Not in the answer, the job, the dead letter or the table; the retry policy reads the type."""
    world = World(settings=settings)
    api = Api(world.backend)
    retry = {"max_attempts": 5, "non_retryable_errors": ["Auth.*"]}
    pushed = api.post("/jobs", {"type": "a.b", "args": [], "options": {"retry": retry}})
    job_id = pushed.json["job"]["id"]
    api.post("/workers/fetch", {"queues": ["default"], "worker_id": "w"})
    answers = [
        api.post("/workers/nack", {"job_id": job_id, "worker_id": "w", "error": ERROR}),
        api.get(f"/jobs/{job_id}"),
        api.get(f"/dead-letter/{job_id}"),
    ]
    shown = "".join(answer.text for answer in answers) + repr(world.stored.jobs[job_id])
    assert (f"login({SECRET!r})" in shown) is is_backtrace_kept
    assert (f"no user {SECRET}" in shown) is is_message_kept
    assert (SECRET in shown) is (is_backtrace_kept or is_message_kept)
    assert api.get(f"/jobs/{job_id}").json["job"]["state"] == "discarded"
    assert "Auth.Denied" in shown
