"""The same requests by clients that read other shapes: their headers say who they are."""

from __future__ import annotations

from typing import Final

from tests.transcript.steps import OJS, Feature, Step, get, post

READERS: Final = {
    "cli": {"user-agent": "Go-http-client/1.1", "accept": OJS, "content-type": OJS},
    "runner": {"user-agent": "Go-http-client/1.1", "accept": OJS},
    "go": {"user-agent": "Go-http-client/1.1", "accept": OJS, "ojs-version": "1.0.0-rc.1"},
    "ruby": {"user-agent": "ojs-ruby/0.4.0 ruby/3.1.7", "accept": OJS, "content-type": OJS},
    "rust": {"accept": OJS, "content-type": OJS, "ojs-version": "1.0.0-rc.1"},
    "python": {"user-agent": "python-httpx/0.28.1", "accept": OJS, "ojs-version": "1.0"},
    "plain": {"user-agent": "curl/8.0", "accept": "application/json"},
    "ours": {"user-agent": "ojs-aws", "ojs-version": "1.0", "accept": OJS},
}

PREPARED: Final[list[Step]] = [
    post(
        "push",
        "/jobs",
        {"type": "mail.send", "args": [], "options": {"queue": "email"}},
        save={"job": "id"},
    ),
    post(
        "push to fail",
        "/jobs",
        {
            "type": "mail.send",
            "args": [],
            "queue": "dead",
            "retry": {"max_attempts": 1, "on_exhaustion": "dead_letter"},
            "rate_limit": {"key": "k", "concurrency": 2},
        },
        save={"dead": "id"},
    ),
    post("fetch", "/workers/fetch", {"queues": ["dead"], "worker_id": "w"}),
    post(
        "fail",
        "/workers/nack",
        {"job_id": "<dead>", "error": {"message": "no", "code": "handler_error"}},
    ),
    post("beat", "/workers/heartbeat", {"worker_id": "w", "queues": ["email"]}),
    post(
        "register a cron job",
        "/cron",
        {"name": "nightly", "cron": "0 3 * * *", "type": "a", "args": []},
    ),
    post("register a schema", "/schemas", {"type": "a", "version": 1, "schema": {"type": "array"}}),
    post(
        "create a workflow",
        "/workflows",
        {"type": "chain", "steps": [{"type": "a", "args": []}]},
        save={"flow": "id"},
    ),
]
PATHS: Final = (
    "/jobs/<job>",
    "/jobs/<job>/retries",
    "/jobs/<dead>/result",
    "/admin/jobs",
    "/queues",
    "/queues/email",
    "/queues/email/stats",
    "/queues/email/config",
    "/admin/queues",
    "/admin/stats",
    "/admin/metrics",
    "/admin/workers",
    "/admin/workers/w",
    "/rate-limits",
    "/rate-limits/k",
    "/dead-letter",
    "/dead-letter/stats",
    "/dead-letter/<dead>",
    "/cron",
    "/crons",
    "/crons/nightly",
    "/cron/nightly/history",
    "/schemas",
    "/workflows/<flow>",
    "/events?page=1&per_page=5",
    "/metrics",
    "/health",
    "/jobs/none",
)
SENT: Final = ("pause", "resume")

STEPS: Final[list[Step]] = [
    *PREPARED,
    *(
        get(f"{reader} reads {path}", path, headers=headers)
        for path in PATHS
        for reader, headers in READERS.items()
    ),
    *(
        post(f"{reader} sends {action}", f"/queues/email/{action}", headers=headers)
        for action in SENT
        for reader, headers in READERS.items()
    ),
    *(
        post(f"{reader} pushes", "/jobs", {"type": "a.b", "args": [reader]}, headers=headers)
        for reader, headers in READERS.items()
    ),
]

FEATURES: Final = [Feature(name="clients", steps=STEPS, by_alias=False)]
