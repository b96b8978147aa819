"""Takes the screenshots of README and docs: ``make screenshots``."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
from playwright.sync_api import sync_playwright

from tests.dashboard.conftest import CHECKOUT, Tab, launch, serve
from tests.dashboard.jobs import discard, push
from tests.load import HUNG_S

IMAGES: Final = CHECKOUT / "docs" / "images"
SCHEMES: Final = {"overview": ("light", "dark"), "job": ("light",), "workflow": ("dark",)}
"""The colours in which each picture is shown somewhere."""

SIZE: Final = {"width": 1160, "height": 760}
EMAIL: Final = {"type": "email.send", "args": [{"to": "ada@example.com", "template": "receipt"}]}
FAILURE: Final = {
    "code": "handler_error",
    "type": "CarrierError",
    "message": "The carrier answered 503 after 10 s",
    "retryable": True,
    "backtrace": ["shop/shipping.py:41 in book", "shop/carriers/parcel.py:88 in request"],
}


def main() -> None:
    """Let there be a shop with its jobs, and show it in light and in dark."""
    with contextmanager(serve)() as (address, _), sync_playwright() as playwright:
        with httpx.Client(base_url=f"{address}/ojs/v1/", timeout=HUNG_S) as api:
            views = _scene(api)
        chromium = launch(playwright)
        for scheme in ("light", "dark"):
            context = chromium.new_context(viewport=SIZE, color_scheme=scheme)
            tab = Tab(context.new_page(), address)
            for name, view, heading in views:
                if scheme in SCHEMES[name]:
                    _take(tab, IMAGES / f"dashboard-{name}-{scheme}.png", view, heading)
            context.close()
        chromium.close()


def _take(tab: Tab, path: Path, view: str, heading: str) -> None:
    page = tab.open(view, heading)
    page.get_by_text("Live · ").wait_for()
    page.mouse.move(0, 0)
    path.parent.mkdir(exist_ok=True)
    page.screenshot(path=str(path))
    print(f"{path.relative_to(CHECKOUT)}: {path.stat().st_size // 1024} KB")


def _scene(api: httpx.Client) -> tuple[tuple[str, str, str], ...]:
    """Make queues, jobs, failures and a workflow; return name, address and heading of each view."""
    for number in range(36):
        push(api, "email", type=EMAIL["type"], args=EMAIL["args"])
        push(api, ("invoices", "search")[number % 2], type="invoice.render", args=[4100 + number])
    _work(api, "email", 30)
    _work(api, "invoices", 11)
    discard(api, "payments", keep=True)
    retry = {"max_attempts": 5, "initial_interval": "PT20M"}
    options = {"queue": "shipping", "retry": retry, "priority": 5}
    failed = push(api, "shipping", type="parcel.book", args=[{"order": 4711}], options=options)
    _fetch(api, "shipping", 1)
    report = {"worker_id": "packer-1", "job_id": failed, "error": FAILURE}
    api.post("workers/nack", json=report).raise_for_status()
    api.post("queues/search/pause").raise_for_status()
    made = api.post("workflows", json={"name": "release", "steps": _steps()})
    workflow_id = made.json()["workflow"]["id"]
    _await_the_sweep(api)
    for count in (1, 2):
        _work(api, "release", count)
    _fetch(api, "release", 1)
    return (
        ("overview", "", "Overview"),
        ("job", f"jobs/{failed}", "parcel.book"),
        ("workflow", f"workflows/{workflow_id}", "Workflow release"),
    )


def _await_the_sweep(api: httpx.Client) -> None:
    """Wait until the sweep has run, as it has on every server that is older than a minute."""
    while "sweep" not in api.get("admin/overview").json():
        time.sleep(1)


def _steps() -> list[dict[str, Any]]:
    needs = {
        "build": [],
        "unit-tests": ["build"],
        "lint": ["build"],
        "package": ["unit-tests", "lint"],
        "deploy-eu": ["package"],
        "deploy-us": ["package"],
        "announce": ["deploy-eu", "deploy-us"],
    }
    job = {"args": [], "options": {"queue": "release"}}
    return [
        {"id": name, "type": f"release.{name.partition('-')[0]}", "depends_on": before, **job}
        for name, before in needs.items()
    ]


def _fetch(api: httpx.Client, queue: str, count: int) -> list[str]:
    """Let a worker fetch jobs; return their ids."""
    asked = {"worker_id": "packer-1", "queues": [queue], "count": count}
    jobs: list[dict[str, str]] = api.post("workers/fetch", json=asked).json()["jobs"]
    beat = {"worker_id": "packer-1", "active_jobs": [], "queues": [queue], "concurrency": 10}
    api.post("workers/heartbeat", json=beat).raise_for_status()
    return [job["id"] for job in jobs]


def _work(api: httpx.Client, queue: str, count: int) -> None:
    """Let a worker complete so many jobs."""
    done = 0
    while done < count:
        fetched = _fetch(api, queue, min(10, count - done))
        for job_id in fetched:
            ack = {"worker_id": "packer-1", "job_id": job_id, "result": {"ok": True}}
            api.post("workers/ack", json=ack).raise_for_status()
        done += len(fetched)


if __name__ == "__main__":
    main()
