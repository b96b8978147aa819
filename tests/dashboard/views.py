"""The views of the page, and data that fills each of them."""

from __future__ import annotations

from typing import Final

import httpx

from tests.dashboard.jobs import discard, fail, push

VIEWS: Final = (
    ("", "Overview"),
    ("queues", "Queues"),
    ("jobs", "Jobs"),
    ("errors", "Errors"),
    ("dead-letters", "Dead letters"),
    ("workers", "Workers"),
    ("cron", "Cron"),
    ("workflows", "Workflows"),
    ("limits", "Limits"),
    ("sequences", "Sequences"),
    ("tenants", "Tenants"),
    ("schemas", "Schemas"),
    ("events", "Events"),
    ("api-keys", "API keys"),
    ("settings", "Settings"),
)
"""The address and the heading of each view of the menu."""


def furnish(api: httpx.Client) -> tuple[tuple[str, str], ...]:
    """Let there be something of everything; return the views of single things."""
    headers = {"Content-Type": "application/json"}
    discard(api, "shop", keep=True)
    push(api, "shared", meta={"tenant_id": "acme"})
    api.patch("admin/tenants/acme", json={"limits": {"max_concurrency": 3}}).raise_for_status()
    push(api, "shop", options={"retry": {"max_attempts": 3, "initial_interval": "PT1H"}})
    job_id = fail(api, "shop")
    push(api, "slow", options={"rate_limit": {"key": "carrier", "concurrency": 1}})
    api.post("queues/slow/pause").raise_for_status()
    api.put("rate-limits/carrier", json={"concurrency": 3}).raise_for_status()
    running = [push(api, "busy") for _ in range(2)]
    api.post("workers/fetch", json={"worker_id": "w-5", "queues": ["busy"], "count": 2})
    beat = {"worker_id": "w-5", "active_jobs": running, "queues": ["busy"], "concurrency": 5}
    api.post("workers/heartbeat", json=beat).raise_for_status()
    cron = {"name": "reports", "cron": "0 3 * * *", "timezone": "Europe/Berlin", "args": []}
    api.post("cron", json={**cron, "type": "report.build"})
    api.post("cron/reports/trigger")
    schema = '{"schema":{"type":"array"}}'
    api.put("schemas/report.build.strict/1", content=schema, headers=headers)
    job = {"type": "report.build", "args": [], "options": {"queue": "release"}}
    steps = [
        {"id": "build", **job},
        {"id": "unit", "depends_on": ["build"], **job},
        {"id": "lint", "depends_on": ["build"], **job},
        {"id": "ship", "depends_on": ["unit", "lint"], **job},
    ]
    made = api.post("workflows", json={"name": "release", "steps": steps})
    workflow_id = made.json()["workflow"]["id"]
    return (
        ("queues/shop", "Queue shop"),
        (f"jobs/{job_id}", "report.build"),
        ("tenants/acme", "Tenant acme"),
        ("cron/reports", "Cron job reports"),
        ("schemas/report.build.strict", "Schema of report.build.strict"),
        (f"workflows/{workflow_id}", "Workflow release"),
    )
