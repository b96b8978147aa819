"""Takes the screenshots of README and docs, and those of every view: ``make screenshots``."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
from playwright.sync_api import sync_playwright

from tests.dashboard.conftest import CHECKOUT, Tab, launch, serve
from tests.dashboard.jobs import discard, push
from tests.dashboard.views import VIEWS
from tests.load import HUNG_S

IMAGES: Final = CHECKOUT / "docs" / "images"
SCHEMES: Final = {"overview": ("light", "dark"), "job": ("light",), "workflow": ("dark",)}
"""The colours in which each picture of the pages is shown somewhere."""

ALL: Final = CHECKOUT / "build" / "screenshots"
"""Every view in every size, to look at."""

SIZES: Final = ((1440, 900), (1024, 768), (390, 844))
EMAIL: Final = {"type": "email.send", "args": [{"to": "ada@example.com", "template": "receipt"}]}
FAILURE: Final = {
    "code": "handler_error",
    "type": "CarrierError",
    "message": "The carrier answered 503 after 10 s",
    "retryable": True,
    "backtrace": ["shop/shipping.py:41 in book", "shop/carriers/parcel.py:88 in request"],
}
BROKEN: Final = {"type": "RuntimeError", "message": "ffmpeg exited with 1: Invalid data found"}


def main() -> None:
    """Let there be a shop with its jobs, and show it in each size, in light and in dark."""
    busy = contextmanager(serve)(module="tests.dashboard.busy_server")
    with busy as (address, _), sync_playwright() as playwright:
        with httpx.Client(base_url=f"{address}/ojs/v1/", timeout=HUNG_S) as api:
            singles = _scene(api)
        lists = [(view or "overview", view, heading) for view, heading in VIEWS]
        chromium = launch(playwright)
        for width, height in SIZES:
            for scheme in ("light", "dark"):
                size = {"width": width, "height": height}
                context = chromium.new_context(viewport=size, color_scheme=scheme)
                tab = Tab(context.new_page(), address)
                for name, view, heading in (*lists, *singles):
                    path = ALL / f"{name}-{width}-{scheme}.png"
                    if (width, height) == SIZES[0] and scheme in SCHEMES.get(name, ()):
                        path = IMAGES / f"dashboard-{name}-{scheme}.png"
                    _take(tab, path, view, heading)
                context.close()
        chromium.close()


def _take(tab: Tab, path: Path, view: str, heading: str) -> None:
    page = tab.open(view, heading)
    page.get_by_text("Live · ").wait_for()
    page.mouse.move(0, 0)
    page.wait_for_timeout(300)  # the charts are drawn
    path.parent.mkdir(exist_ok=True, parents=True)
    page.screenshot(path=str(path))
    print(f"{path.relative_to(CHECKOUT)}: {path.stat().st_size // 1024} KB")


def _scene(api: httpx.Client) -> tuple[tuple[str, str, str], ...]:
    """Make queues, jobs, failures and a workflow; return name, address and heading of each view."""
    for number in range(36):
        push(api, "email", type=EMAIL["type"], args=EMAIL["args"])
        push(api, ("invoices", "search")[number % 2], type="invoice.render", args=[4100 + number])
    push_many(api, "media", 400, "video.encode")
    _work(api, "email", 30)
    _work(api, "invoices", 11)
    for _ in range(4):
        discard(api, "payments", keep=True)
    _cron(api)
    retry = {"max_attempts": 5, "initial_interval": "PT20M"}
    options = {"queue": "shipping", "retry": retry, "priority": 5}
    failed = push(api, "shipping", type="parcel.book", args=[{"order": 4711}], options=options)
    _fetch(api, "shipping", 1)
    report = {"worker_id": "packer-1", "job_id": failed, "error": FAILURE}
    api.post("workers/nack", json=report).raise_for_status()
    api.post("queues/search/pause").raise_for_status()
    made = api.post("workflows", json={"name": "order-4411", "steps": _steps()})
    workflow_id = made.json()["workflow"]["id"]
    _await_the_sweep(api)
    for count in (1, 2):
        _work(api, "orders", count)
    (encoding,) = _fetch(api, "orders", 1)
    report = {"worker_id": "packer-1", "job_id": encoding, "error": FAILURE | BROKEN}
    api.post("workers/nack", json=report).raise_for_status()
    _work(api, "orders", 1)
    return (
        ("job", f"jobs/{failed}", "parcel.book"),
        ("workflow", f"workflows/{workflow_id}", "Workflow order-4411"),
        ("queue", "queues/media", "Queue media"),
    )


def push_many(api: httpx.Client, queue: str, number: int, kind: str) -> None:
    """Enqueue jobs without a look at each."""
    job = {"type": kind, "args": [], "options": {"queue": queue}}
    api.post("jobs/batch", json={"jobs": [job] * number}).raise_for_status()


def _cron(api: httpx.Client) -> None:
    """Register a few cron jobs."""
    for name, expression, kind in (
        ("nightly-archive", "0 0 * * *", "order.archive"),
        ("stock-sync", "0 */6 * * *", "stock.sync"),
        ("daily-report", "0 9 * * *", "report.daily"),
    ):
        cron = {"name": name, "cron": expression, "timezone": "Europe/Berlin", "args": []}
        api.post("cron", json={**cron, "type": kind}).raise_for_status()


def _await_the_sweep(api: httpx.Client) -> None:
    """Wait until the sweep has run, as it has on every server that is older than a minute."""
    while "sweep" not in api.get("admin/overview").json():
        time.sleep(1)


def _steps() -> list[dict[str, Any]]:
    """Return an order: it is paid, then prepared in three ways, sent and archived."""
    needs = {
        "payment.capture": [],
        "invoice.render": ["payment.capture"],
        "stock.reserve": ["payment.capture"],
        "video.encode": ["payment.capture"],
        "email.send": ["invoice.render", "stock.reserve"],
        "catalog.publish": ["video.encode"],
        "order.archive": ["email.send", "catalog.publish"],
    }
    job = {"args": [], "options": {"queue": "orders", "retry": {"max_attempts": 1}}}
    name = {kind: kind.partition(".")[0] for kind in needs}
    return [
        {"id": name[kind], "type": kind, "depends_on": [name[each] for each in before], **job}
        for kind, before in needs.items()
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
