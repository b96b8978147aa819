"""The requests that the pages of the official admin UI make, and the fields that each page reads.

Its GETs have a content type, no credentials, and ask for numbered pages. A page shows nothing for
a field that is missing, or crashes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.api import Api
from tests.simulation.world import World

BROWSER = {
    "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0.0.0",
    "accept": "*/*",
    "content-type": "application/json",
}
PAGE = {"page": "1", "per_page": "25"}
COUNTS = ("available", "active", "scheduled", "retryable", "completed", "discarded", "cancelled")
PAGINATION = ("pagination.page", "pagination.per_page", "pagination.total")
SUMMARY = ("id", "type", "queue", "state", "priority", "attempt", "created_at")


@dataclass(frozen=True)
class Asked:
    """A request of a page.

    :ivar reads: paths of fields that are read; ``[]`` is the first item of a list.
    """

    page: str
    path: str
    reads: tuple[str, ...]
    query: dict[str, str] = field(default_factory=dict)


def items(*names: str) -> tuple[str, ...]:
    """The fields of each item of a list, and of its page."""
    return tuple(f"items[].{name}" for name in names) + PAGINATION


REQUESTS = (
    Asked("all", "/ojs/manifest", ("implementation.name", "backend", "capabilities.cron")),
    Asked("settings", "/ojs/manifest", ("protocols[]", "conformance_level", "extensions[]")),
    Asked(
        "dashboard",
        "/ojs/v1/admin/stats",
        (
            *(f"jobs.{state}" for state in COUNTS),
            "throughput.processed_per_minute",
            "throughput.failed_per_minute",
            "queues",
            "workers",
        ),
    ),
    Asked(
        "dashboard",
        "/ojs/v1/admin/stats/history",
        ("data[].timestamp", "data[].processed", "data[].failed"),
        {"period": "5m"},
    ),
    Asked(
        "dashboard",
        "/ojs/v1/health",
        ("status", "uptime_seconds", "backend.status", "backend.latency_ms"),
    ),
    Asked(
        "queues",
        "/ojs/v1/admin/queues",
        items("name", "paused", *(f"counts.{state}" for state in COUNTS)),
        {"page": "1", "per_page": "50"},
    ),
    Asked(
        "a queue's settings",
        "/ojs/v1/admin/queues/mail",
        (
            "name",
            "configuration.concurrency",
            "configuration.rate_limit.limit",
            "configuration.rate_limit.period",
            "configuration.retention.completed",
            "configuration.retention.discarded",
        ),
    ),
    Asked(
        "a queue's settings",
        "/ojs/v1/queues/mail/priority-stats",
        ("distribution[].priority", "distribution[].count"),
    ),
    Asked("jobs", "/ojs/v1/admin/jobs", items(*SUMMARY), PAGE),
    Asked(
        "scheduled",
        "/ojs/v1/admin/jobs",
        items(*SUMMARY, "scheduled_at"),
        {"state": "scheduled", "per_page": "50", "sort": "scheduled_at", "order": "asc"},
    ),
    Asked(
        "a job",
        "/ojs/v1/admin/jobs/{failed}",
        (
            *SUMMARY,
            "args",
            "meta",
            "max_attempts",
            "retry_policy",
            "metadata.created_at",
            "metadata.enqueued_at",
            "metadata.started_at",
            "errors[].code",
            "errors[].type",
            "errors[].attempt",
            "errors[].occurred_at",
            "errors[].message",
        ),
    ),
    Asked("a job", "/ojs/v1/jobs/{active}/progress", ("progress", "data.rows")),
    Asked("a job", "/ojs/v1/jobs/{done}/result", ("result.sum",)),
    Asked(
        "workers",
        "/ojs/v1/admin/workers",
        (
            *items("id", "hostname", "state", "queues", "active_jobs", "last_heartbeat_at"),
            "summary.running",
            "summary.quiet",
            "summary.stale",
        ),
        {"page": "1", "per_page": "50"},
    ),
    Asked(
        "dead letter",
        "/ojs/v1/admin/dead-letter",
        items("id", "type", "queue", "state", "created_at"),
        PAGE,
    ),
    Asked(
        "dead letter",
        "/ojs/v1/admin/dead-letter/stats",
        ("total", "by_queue.dead", "by_error_type.SmtpError"),
    ),
    Asked(
        "crons",
        "/ojs/v1/crons",
        items("id", "name", "type", "queue", "schedule", "timezone", "enabled", "next_run_at"),
        PAGE,
    ),
    Asked(
        "a cron job",
        "/ojs/v1/crons/nightly",
        ("id", "name", "schedule", "type", "queue", "created_at", "args", "meta.team"),
    ),
    Asked(
        "workflows",
        "/ojs/v1/workflows",
        items("id", "name", "state", "steps_completed", "steps_total", "created_at"),
        PAGE,
    ),
    *(
        Asked(
            "a workflow",
            f"/ojs/v1/workflows/{{{kind}}}",
            ("id", "state", "steps_total", "steps[].id", "steps[].type", "steps[].state"),
        )
        for kind in ("chain", "group", "batch", "dag")
    ),
    Asked("workflows", "/ojs/v1/workflows", items("id"), {**PAGE, "state": "active"}),
    Asked(
        "rate limits",
        "/ojs/v1/rate-limits",
        items("key", "limit", "period", "active", "waiting", "override.limit", "override.period"),
        PAGE,
    ),
    Asked("events", "/ojs/v1/events", PAGINATION, {"page": "1", "per_page": "50"}),
    Asked("schemas", "/ojs/v1/admin/schemas", ("schemas[].type", "schemas[].version")),
)
"""What the pages show."""


@pytest.fixture
def api(world: World) -> Api:
    """The functions over it; the model has SQS queues of every name, so the registry knows it."""
    for name in ("mail", "dead", "done", "busy", "later"):
        world.registry.ensure(name, world.clock.now())
    return Api(world.backend)


def push(api: Api, queue: str, **options: Any) -> str:
    """Push a job; its id."""
    body = {"type": "mail.send", "args": [1], "options": {"queue": queue, **options}}
    return str(api.post("/jobs", body).json["id"])


def fetch(api: Api, queue: str) -> str:
    """Fetch one job; its id."""
    return str(api.post("/workers/fetch", {"queues": [queue]}).json["jobs"][0]["id"])


@pytest.fixture
def ids(api: Api) -> dict[str, str]:
    """Something for each page to show; the ids of jobs and workflows."""
    retry = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
    made = {"failed": push(api, "dead", retry=retry)}
    fetch(api, "dead")
    error = {"code": "handler_error", "type": "SmtpError", "message": "no"}
    api.post("/workers/nack", {"job_id": made["failed"], "error": error})
    made["done"] = push(api, "done")
    fetch(api, "done")
    api.post("/workers/ack", {"job_id": made["done"], "result": {"sum": 3}})
    made["active"] = push(api, "busy")
    fetch(api, "busy")
    progress = {"progress": 0.4, "data": {"rows": 4}}
    api.send("PUT", f"/ojs/v1/jobs/{made['active']}/progress", progress)
    push(api, "mail")
    made["scheduled"] = push(api, "later", scheduled_at="+PT1H")
    settings = {
        "concurrency": 5,
        "rate_limit": {"limit": 10, "period": "1m"},
        "retention": {"completed": "24h", "discarded": "30d"},
    }
    api.send("PUT", "/ojs/v1/admin/queues/mail/config", settings)
    api.post("/workers/heartbeat", {"worker_id": "w1", "hostname": "h1"})
    template = {"type": "report.make", "args": [1], "meta": {"team": "a"}}
    cron = {"name": "nightly", "expression": "0 3 * * *", "job_template": template}
    api.post("/cron", cron)
    api.send("PUT", "/ojs/v1/rate-limits/api", {"limit": 7, "period": "1m"})
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "array"}
    named = {"uri": "https://example.com/mail/1", "type": "mail.send", "version": "1.0.0"}
    api.post("/schemas", {**named, "schema": schema})
    step = {"type": "a.b", "args": []}
    definitions: dict[str, dict[str, Any]] = {
        "chain": {"type": "chain", "steps": [step, step]},
        "group": {"type": "group", "jobs": [step, step]},
        "batch": {"type": "batch", "jobs": [step], "callbacks": {"on_complete": step}},
        "dag": {"steps": [{"id": "a", **step}, {"id": "b", **step, "depends_on": ["a"]}]},
    }
    for kind, definition in definitions.items():
        made[kind] = api.post("/workflows", {"name": kind, **definition}).json["id"]
    return made


ACTIONS: tuple[tuple[str, str, dict[str, Any] | None], ...] = (
    ("POST", "/ojs/v1/admin/queues/mail/pause", None),
    ("POST", "/ojs/v1/admin/queues/mail/resume", None),
    ("PUT", "/ojs/v1/admin/queues/mail/config", {"retention": {"completed": "P1D"}}),
    ("DELETE", "/ojs/v1/admin/queues/done/jobs", {"states": ["completed"], "confirm": True}),
    ("PATCH", "/ojs/v1/admin/jobs/{scheduled}", {"priority": 1}),
    ("POST", "/ojs/v1/admin/jobs/{scheduled}/cancel", None),
    ("POST", "/ojs/v1/admin/jobs/{failed}/retry", None),
    ("POST", "/ojs/v1/admin/jobs/bulk/retry", {"filter": {"queue": "dead"}, "confirm": True}),
    ("POST", "/ojs/v1/admin/jobs/bulk/cancel", {"filter": {"queue": "mail"}, "confirm": True}),
    ("POST", "/ojs/v1/admin/workers/w1/quiet", None),
    ("POST", "/ojs/v1/admin/dead-letter/{failed}/retry", None),
    ("DELETE", "/ojs/v1/admin/dead-letter/{failed}", None),
    ("POST", "/ojs/v1/admin/dead-letter/retry", {"filter": {}, "confirm": True}),
    ("PATCH", "/ojs/v1/crons/nightly", {"enabled": False}),
    ("DELETE", "/ojs/v1/crons/nightly", None),
    ("POST", "/ojs/v1/workflows", {"type": "chain", "steps": [{"type": "a.b", "args": []}]}),
    ("POST", "/ojs/v1/workflows/{chain}/cancel", None),
    ("PUT", "/ojs/v1/rate-limits/api", {"limit": 5, "period": "PT1M"}),
    ("DELETE", "/ojs/v1/rate-limits/api/override", None),
)
"""What the buttons send."""


def found(body: Any, path: str) -> Any:
    """The value at a path; fails where it is missing or null."""
    value = body
    for name in path.split("."):
        value = value[name.removesuffix("[]")]
        if name.endswith("[]"):
            assert value, f"{path}: nothing to show"
            value = value[0]
    assert value is not None, path
    return value


@pytest.mark.parametrize("asked", REQUESTS, ids=lambda asked: f"{asked.page} {asked.path}")
def test_a_page_of_the_admin_ui_gets_what_it_reads(
    api: Api, ids: dict[str, str], asked: Asked
) -> None:
    """200, and each field is there."""
    reply = api.send("GET", asked.path.format(**ids), query=asked.query, headers=BROWSER)
    assert reply.status == 200, reply.text
    for path in asked.reads:
        found(reply.json, path)


@pytest.mark.parametrize(("method", "path", "body"), ACTIONS)
def test_a_button_of_the_admin_ui_does_what_it_says(
    api: Api, ids: dict[str, str], method: str, path: str, body: dict[str, Any] | None
) -> None:
    """2xx; what each operation does is tested with it."""
    reply = api.send(method, path.format(**ids), body, headers=BROWSER)
    assert reply.status in (200, 201, 204), reply.text


def test_the_graph_of_a_chain_is_a_sequence(api: Api, ids: dict[str, str]) -> None:
    """Each step waits for the one before it; those of a group for none."""
    chain = api.get(f"/workflows/{ids['chain']}").json["steps"]
    assert [(step["id"], step["depends_on"]) for step in chain] == [("0", []), ("1", ["0"])]
    group = api.get(f"/workflows/{ids['group']}").json["steps"]
    assert [step["id"] for step in group] == ["0", "1"]
    assert all("depends_on" not in step for step in group)


def test_limits_come_in_numbered_pages(api: Api) -> None:
    """No limit twice, none left out, and a total that leads to the next page."""
    for number in range(5):
        api.send("PUT", f"/ojs/v1/rate-limits/key-{number}", {"concurrency": number})
    pages = [
        api.get("/rate-limits", query={"page": str(number), "per_page": "2"}).json
        for number in (1, 2, 3, 4)
    ]
    shown = [[each["key"] for each in page["items"]] for page in pages]
    assert shown == [["key-0", "key-1"], ["key-2", "key-3"], ["key-4"], []]
    assert [page["pagination"]["total"] for page in pages[:3]] == [3, 5, 5]
    assert pages[1]["items"][1]["override"] == {"concurrency": 3, "limit": 3}


def test_the_detail_of_a_job_has_its_instants_and_its_policy(api: Api, world: World) -> None:
    """ojs-admin-api, section 7.2; null where the job did not come that far."""
    job_id = push(api, "mail", retry={"max_attempts": 7, "initial_interval": "PT5S"})
    world.clock.advance(s=1)
    assert fetch(api, "mail") == job_id
    job = api.get(f"/admin/jobs/{job_id}").json
    assert job["metadata"] == {
        "created_at": job["created_at"],
        "enqueued_at": job["created_at"],
        "started_at": job["started_at"],
        "scheduled_at": None,
        "completed_at": None,
        "cancelled_at": None,
        "discarded_at": None,
    }
    policy = job["retry_policy"]
    assert (policy["max_attempts"], policy["initial_interval"]) == (7, "PT5S")
    assert (policy["backoff_coefficient"], policy["on_exhaustion"]) == (2.0, "discard")
