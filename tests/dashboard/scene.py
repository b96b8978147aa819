"""A shop in the middle of its day, for screenshots: queues, workers, failures, a workflow."""

from __future__ import annotations

import threading
import time
from typing import Any, Final

import httpx

from tests.dashboard.jobs import push
from tests.load import HUNG_S

WORKERS: Final = {
    "mail-1": (["email"], 20),
    "core-1": (["invoices", "search", "reports", "rollups", "imports"], 20),
    "media-7": (["media"], 8),
    "media-8": (["media"], 8),
    "bulk-1": (["orders", "shipping", "encoding"], 10),
}
"""The workers that go on beating: their queues and slots."""

SILENT: Final = "pay-1"
TRACE: Final = [
    "shop/media/encode.py:88 in encode",
    "shop/media/encode.py:41 in run_preset",
    "shop/jobs.py:127 in encode_video",
]
BROKEN: Final = {
    "code": "handler_error",
    "type": "RuntimeError",
    "message": "ffmpeg exited with 1: Invalid data found when processing input",
    "retryable": True,
    "backtrace": TRACE,
}
DECLINED: Final = {
    "code": "handler_error",
    "type": "CardDeclined",
    "message": "the card ending in 4242 was declined: insufficient funds",
    "retryable": True,
}
CRON: Final = (
    ("metrics-rollup", "0 * * * *", "metrics.rollup", "rollups"),
    ("nightly-archive", "0 0 * * *", "order.archive", "rollups"),
    ("stock-sync", "0 */6 * * *", "stock.sync", "imports"),
    ("daily-report", "0 9 * * MON-FRI", "report.daily", "reports"),
)
BEATS_EVERY_S: Final = 5
BACKLOG: Final = 300
"""Jobs that wait in the queue whose backlog grows."""


def play(api: httpx.Client) -> tuple[tuple[str, str, str], ...]:
    """Let the shop work; return name, address and heading of each single thing to show."""
    failing = _failing(api)
    for number in range(41):
        push(api, "email", type="email.send", args=[{"to": "ada@example.com", "n": number}])
    for number in range(25):
        push(api, "search", type="search.index", args=[number])
        push(api, "invoices", type="invoice.render", args=[4100 + number])
    push_many(api, "media", BACKLOG, "video.encode")
    work(api, "mail-1", "email", 33)
    work(api, "core-1", "invoices", 20)
    work(api, "core-1", "search", 25)
    _dead_letters(api)
    for number in range(3):
        push(api, "payments", type="payment.capture", args=[{"order": 4400 + number}])
    beat(api, SILENT, ["payments"], 10)
    _cron(api)
    for worker, count in (("media-7", 8), ("media-8", 8), ("mail-1", 5)):
        beat(api, worker, *WORKERS[worker], fetch(api, worker, WORKERS[worker][0][0], count))
    api.post("queues/search/pause").raise_for_status()
    made = api.post("workflows", json={"name": "order-4411", "steps": _steps()})
    workflow_id = made.json()["workflow"]["id"]
    for _ in range(2):
        _fail_again(api, failing)
    _await_the_sweep(api)
    for count in (1, 2):
        work(api, "bulk-1", "orders", count)
    (encoding,) = fetch(api, "bulk-1", "orders", 1)
    nack(api, "bulk-1", encoding, BROKEN)
    work(api, "bulk-1", "orders", 1)
    return (
        ("job", f"jobs/{failing}", "video.encode"),
        ("workflow", f"workflows/{workflow_id}", "Workflow order-4411"),
        ("queue", "queues/media", "Queue media"),
    )


def keep_beating(address: str) -> threading.Event:
    """Let the workers send heartbeats until the event is set."""
    is_over = threading.Event()

    def go_on() -> None:
        with httpx.Client(base_url=f"{address}/ojs/v1/", timeout=HUNG_S) as api:
            while not is_over.wait(BEATS_EVERY_S):
                for worker, (queues, slots) in WORKERS.items():
                    beat(api, worker, queues, slots, running(api, worker))

    threading.Thread(target=go_on, daemon=True).start()
    return is_over


def running(api: httpx.Client, worker: str) -> list[str]:
    """Return the jobs that a worker runs."""
    found = api.get(f"admin/workers/{worker}").json()
    return list(found.get("active_job_ids", []))


def push_many(api: httpx.Client, queue: str, number: int, kind: str) -> None:
    """Enqueue jobs without a look at each."""
    job = {"type": kind, "args": [], "options": {"queue": queue}}
    for _ in range(0, number, 100):
        api.post("jobs/batch", json={"jobs": [job] * 100}).raise_for_status()


def beat(
    api: httpx.Client, worker: str, queues: list[str], slots: int, jobs: list[str] | None = None
) -> None:
    """Let a worker send a heartbeat."""
    body = {"worker_id": worker, "queues": queues, "concurrency": slots, "hostname": f"ip-{worker}"}
    api.post("workers/heartbeat", json={**body, "active_jobs": jobs or []}).raise_for_status()


def fetch(api: httpx.Client, worker: str, queue: str, count: int) -> list[str]:
    """Let a worker fetch jobs; return their ids."""
    asked = {"worker_id": worker, "queues": [queue], "count": count}
    asked["visibility_timeout_ms"] = 3_600_000
    jobs: list[dict[str, str]] = api.post("workers/fetch", json=asked).json()["jobs"]
    return [job["id"] for job in jobs]


def work(api: httpx.Client, worker: str, queue: str, count: int) -> None:
    """Let a worker complete so many jobs."""
    done = 0
    while done < count:
        for job_id in fetch(api, worker, queue, min(10, count - done)):
            ack = {"worker_id": worker, "job_id": job_id, "result": {"ok": True}}
            api.post("workers/ack", json=ack).raise_for_status()
            done += 1


def nack(api: httpx.Client, worker: str, job_id: str, error: dict[str, Any]) -> None:
    """Let a worker fail a job."""
    report = {"worker_id": worker, "job_id": job_id, "error": error}
    api.post("workers/nack", json=report).raise_for_status()


def _failing(api: httpx.Client) -> str:
    """Enqueue a job that fails three times: after a second, half a minute, and a quarter hour."""
    retry = {
        "max_attempts": 5,
        "initial_interval": "PT1S",
        "backoff_coefficient": 32,
        "max_interval": "PT20M",
        "jitter": False,
    }
    source = {"source": "s3://shop-media/uploads/product-4411.mov", "preset": "1080p"}
    args = [{**source, "order_id": 90071992547409931}]
    options = {"queue": "encoding", "retry": retry, "timeout_ms": 600_000, "tags": ["shop", "hd"]}
    job_id = push(api, "encoding", type="video.encode", args=args, options=options)
    nack(api, "bulk-1", fetch(api, "bulk-1", "encoding", 1)[0], BROKEN)
    return job_id


def _fail_again(api: httpx.Client, job_id: str) -> None:
    while job_id not in fetch(api, "bulk-1", "encoding", 1):
        time.sleep(0.5)
    time.sleep(4)  # its run is to be seen
    nack(api, "bulk-1", job_id, BROKEN)


def _dead_letters(api: httpx.Client) -> None:
    """Let jobs of two queues fail for good, of three causes."""
    policy = {"retry": {"max_attempts": 1, "on_exhaustion": "dead_letter"}}
    missing = {**DECLINED, "type": "KeyError", "message": "'refund_id'"}
    cases = [("shipping", "video.encode", BROKEN)] * 9
    cases += [("payments", "payment.capture", DECLINED)] * 5
    cases += [("payments", "payment.refund", missing)] * 2
    for number, (queue, kind, error) in enumerate(cases):
        push(api, queue, type=kind, args=[number], options=policy)
        nack(api, "bulk-1", fetch(api, "bulk-1", queue, 1)[0], error)


def _cron(api: httpx.Client) -> None:
    """Register cron jobs, and let each have run."""
    for name, expression, kind, queue in CRON:
        cron = {"name": name, "cron": expression, "timezone": "Europe/Berlin", "args": []}
        options = {"queue": queue, "retry": {"max_attempts": 1}}
        api.post("cron", json={**cron, "type": kind, "options": options}).raise_for_status()
        for number in range(8):
            api.post(f"cron/{name}/trigger").raise_for_status()
            (job_id,) = fetch(api, "core-1", queue, 1)
            if name == "stock-sync" and number in {4, 7}:
                nack(api, "core-1", job_id, {**BROKEN, "type": "WarehouseTimeout"})
                continue
            ack = {"worker_id": "core-1", "job_id": job_id, "result": {"ok": True}}
            api.post("workers/ack", json=ack).raise_for_status()


def _await_the_sweep(api: httpx.Client) -> None:
    """Wait until the sweep has run, as it has on every server that is older than a minute."""
    while "sweep" not in api.get("admin/overview").json():
        time.sleep(1)


def _steps() -> list[dict[str, Any]]:
    """Return an order: it is paid, then prepared in three ways, sent and archived."""
    needs: dict[str, list[str]] = {
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
