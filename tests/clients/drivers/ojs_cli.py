"""Runs the commands of the official ojs-cli, and prints a line of JSON for each.

``OJS_BINARY`` names the program, ``OJS_URL`` the server, ``OJS_API_KEY`` the key if it asks for
one. What a command prints is compared with what was done; its stage is set over HTTP.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

URL = os.environ["OJS_URL"]
KEY = os.environ.get("OJS_API_KEY", "")
BINARY = os.environ["OJS_BINARY"]
RUN = secrets.token_hex(4)
QUEUE = f"cli-{RUN}"
PATIENCE_S = 120
HEADERS = {"Authorization": f"Bearer {KEY}"} if KEY else {}

http = httpx.Client(base_url=f"{URL}/ojs/v1", headers=HEADERS, trust_env=False, timeout=30)


def holds(is_true: object, what: object = "") -> None:
    """Fail unless something holds."""
    if not is_true:
        raise AssertionError(f"does not hold: {what!r}"[:400])


def call(name: str, made: Callable[[], Any]) -> Any:
    """Make one call and print what became of it; None when it failed."""
    try:
        answer = made()
    except Exception as problem:  # noqa: BLE001 - each failure is a line of the table
        detail = f"{type(problem).__name__}: {problem}"[:400]
        print(json.dumps({"call": name, "ok": False, "detail": detail}), flush=True)
        return None
    print(json.dumps({"call": name, "ok": True}), flush=True)
    return answer


def ojs(*arguments: str, seconds: float = PATIENCE_S) -> str:
    """Run a command; what it printed."""
    environ = {**os.environ, "OJS_URL": URL, "OJS_AUTH_TOKEN": KEY}
    done = subprocess.run(
        [BINARY, *arguments],
        env=environ,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"exit status {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def says(*expected: str) -> Callable[..., str]:
    """A run of a command whose output has these texts."""

    def run(*arguments: str) -> str:
        printed = ojs(*arguments)
        flat = " ".join(printed.split())
        for text in expected:
            holds(text in flat, f"{text!r} in {flat!r}")
        return printed

    return run


def read(*arguments: str) -> Any:
    """Run a command with ``--json``; what it printed, decoded."""
    return json.loads(ojs(*arguments, "--json"))


def send(method: str, path: str, body: object = None) -> Any:
    """Set the stage over HTTP."""
    answer = http.request(method, path, json=body)
    answer.raise_for_status()
    return answer.json() if answer.content else {}


def push(queue: str = QUEUE, **options: Any) -> str:
    """Push a job; its id."""
    body = {"type": "cli.job", "args": [1], "options": {"queue": queue, **options}}
    return str(send("POST", "/jobs", body)["id"])


def fetch(queue: str) -> str:
    """Fetch a job; its id."""
    for _ in range(PATIENCE_S * 5):
        jobs = send("POST", "/workers/fetch", {"queues": [queue], "worker_id": "cli-worker"})[
            "jobs"
        ]
        if jobs:
            return str(jobs[0]["id"])
        time.sleep(0.2)
    raise TimeoutError(f"no job in {queue}")


def failed(queue: str, *, is_dead: bool = False) -> str:
    """A job that failed once; a dead letter if it is dead."""
    retry: dict[str, Any] = {"max_attempts": 3, "initial_interval": "PT1H"}
    if is_dead:
        retry = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
    job_id = push(queue, retry=retry)
    holds(fetch(queue) == job_id)
    error = {"code": "handler_error", "message": "went wrong"}
    send("POST", "/workers/nack", {"job_id": job_id, "error": error})
    return job_id


def completed(queue: str) -> str:
    """A job that completed with a result."""
    job_id = push(queue)
    holds(fetch(queue) == job_id)
    send("POST", "/workers/ack", {"job_id": job_id, "result": {"sum": 3}})
    return job_id


def jobs() -> None:
    """enqueue, status, cancel, retry, result, jobs, priority, retries, bulk, debug."""
    enqueue = ("enqueue", "--type", "cli.job", "--queue", QUEUE)
    call("enqueue", lambda: says("Job enqueued", f"queue={QUEUE}, state=available")(*enqueue))
    more = ("--args", '["a",1]', "--meta", '{"k":"v"}', "--priority", "7", "--max-attempts", "5")

    def with_options() -> str:
        job = read(*enqueue, *more)
        holds((job["args"], job["meta"], job["priority"]) == (["a", 1], {"k": "v"}, 7), job)
        holds(job["max_attempts"] == 5, job)
        return str(job["id"])

    job_id = call("enqueue with options", with_options) or push()

    def unique() -> None:
        wanted = (*enqueue, "--unique-key", f"key-{RUN}", "--unique-within", "1h")
        read(*wanted)
        try:
            ojs(*wanted)
        except RuntimeError as problem:
            holds("duplicate" in str(problem), problem)
        else:
            raise AssertionError("the duplicate was enqueued")

    call("enqueue --unique-key", unique)

    def batch() -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "jobs.ndjson")
            line = json.dumps({"type": "cli.job", "args": [], "options": {"queue": QUEUE}})
            file.write_text(f"{line}\n{line}\n")
            says("2 enqueued, 0 failed")("enqueue", "--batch", str(file))

    call("enqueue --batch", batch)
    call("status", lambda: says(f"ID {job_id}", "State available")("status", job_id))
    call("status --detail", lambda: says('Args ["a",1]')("status", "--detail", job_id))
    call("priority --set", lambda: says("priority updated to 9")("priority", "--set", "9", job_id))
    call("cancel", lambda: says("(state=cancelled)")("cancel", job_id))
    listed = f"{QUEUE}-listed"
    push(listed)
    call("jobs", lambda: says("Jobs: 1 total", "available")("jobs", "--queue", listed))
    by_state = ("jobs", "--queue", listed, "--state", "completed")
    call("jobs --state", lambda: says("Jobs: 0 total")(*by_state))
    retried = failed(f"{QUEUE}-retried")
    call("retries", lambda: says("max_attempts=3", "1 retryable", "went wrong")("retries", retried))
    dead = failed(f"{QUEUE}-dead", is_dead=True)
    call("retry", lambda: says("retried (state=available)")("retry", dead))
    done = completed(f"{QUEUE}-done")
    call("result", lambda: says("State completed", '{"sum":3}')("result", done))
    call("result --wait", lambda: says('{"sum":3}')("result", "--wait", "--timeout", "5", done))
    one, two = push(f"{QUEUE}-bulk"), push(f"{QUEUE}-bulk")
    ids = ("bulk", "cancel", "--ids", f"{one},{two}")
    call("bulk cancel --ids", lambda: says("2 cancelled, 0 failed")(*ids))
    push(f"{QUEUE}-bulk")
    by_filter = ("bulk", "cancel", "--state", "available", "--queue", f"{QUEUE}-bulk")
    call("bulk cancel --state", lambda: says("1 cancelled, 0 failed")(*by_filter))
    dead = failed(f"{QUEUE}-dead2", is_dead=True)
    call("bulk retry", lambda: says("1 retried, 0 failed")("bulk", "retry", "--ids", dead))
    deleted = ("bulk", "delete", "--state", "cancelled", "--queue", f"{QUEUE}-bulk")
    call("bulk delete", lambda: says("3 deleted, 0 failed")(*deleted))
    aged = (
        "bulk",
        "delete",
        "--state",
        "completed",
        "--queue",
        f"{QUEUE}-done",
        "--older-than",
        "7d",
    )
    call("bulk delete --older-than", lambda: says("0 deleted, 0 failed")(*aged))
    call("debug inspect", lambda: says(f"Job ID: {done}", "completed")("debug", "inspect", done))
    call("debug trace", lambda: says(done)("debug", "trace", done))
    call("debug history", lambda: says(done)("debug", "history", done))
    call("debug replay", lambda: says("replayed successfully")("debug", "replay", done))
    gone = failed(f"{QUEUE}-dead3", is_dead=True)
    call("debug failures", lambda: says(gone[:12])("debug", "failures", "--limit", "50"))
    call("debug queue", lambda: says(f"Queue: {listed}", "Depth: 1")("debug", "queue", listed))
    call("debug bottleneck", lambda: says(listed)("debug", "bottleneck", "--limit", "50"))
    call("debug health", lambda: says("System Health", "OK")("debug", "health"))


def queues() -> None:
    """Queues and workers."""
    name = f"{QUEUE}-own"
    create = ("queues", "--create", name, "--concurrency", "5", "--max-size", "100")
    call("queues --create", lambda: says(f'Queue "{name}" created')(*create))
    call("queues", lambda: says(f"{name} active")("queues"))
    config = ("queues", "--config", name, "--concurrency", "7", "--retention", "24h")

    def configured() -> None:
        ojs(*config)
        shown = send("GET", f"/queues/{name}/config")["config"]
        holds((shown["concurrency"], shown["max_size"]) == (7, 100), shown)

    call("queues --config", configured)
    for _ in range(3):
        push(name)
    counted = says(f"Queue {name}", "Status active", "Available 3", "Active 0")
    call("queues --stats", lambda: counted("queues", "--stats", name))
    call("queues --pause", lambda: says("paused")("queues", "--pause", name))
    call("queues (paused)", lambda: says(f"{name} paused")("queues"))
    call("queues --resume", lambda: says("resumed")("queues", "--resume", name))
    purge = ("queues", "--purge", name, "--states", "available,completed")

    def purged() -> None:
        says("Purged")(*purge)
        holds(_available(name) == 0)

    call("queues --purge", purged)
    call("queues --delete", lambda: says("deleted")("queues", "--delete", name))
    beat = {"worker_id": f"w-{RUN}", "queues": [QUEUE], "hostname": "h1", "pid": 7}
    send("POST", "/workers/heartbeat", beat)
    call("workers", lambda: says(f"w-{RUN} running")("workers"))
    detail = says(f"ID w-{RUN}", f"Queues {QUEUE}", "Hostname h1", "PID 7")
    call("workers --detail", lambda: detail("workers", "--detail", f"w-{RUN}"))

    def direct(flag: str, state: str) -> None:
        ojs("workers", *flag.split())
        holds(send("POST", "/workers/heartbeat", beat)["state"] == state)

    call("workers --quiet", lambda: direct("--quiet", "quiet"))
    call("workers --resume", lambda: direct("--resume", "running"))
    call("workers --quiet-worker", lambda: direct(f"--quiet-worker w-{RUN}", "quiet"))

    def deregistered() -> None:
        try:
            ojs("workers", "--deregister", f"w-{RUN}")
        except RuntimeError as problem:  # it beat a moment ago, so it is no stale one
            holds("conflict" in str(problem), problem)

    call("workers --deregister", deregistered)


def _available(queue: str) -> int:
    return int(send("GET", f"/queues/{queue}/stats")["available"])


def dead_letters() -> None:
    """Dead letters."""
    queue = f"{QUEUE}-letters"
    one, two = failed(queue, is_dead=True), failed(queue, is_dead=True)
    failed(queue, is_dead=True)
    call("dead-letter", lambda: says(one, "cli.job", queue)("dead-letter", "--limit", "100"))
    call("dead-letter --stats", lambda: says(f"{queue} 3", "cli.job")("dead-letter", "--stats"))
    call("dead-letter --retry", lambda: says("retried")("dead-letter", "--retry", one))
    call("dead-letter --delete", lambda: says("deleted")("dead-letter", "--delete", two))
    old = ("dead-letter", "--purge", "--older-than", "7d")
    call("dead-letter --purge --older-than", lambda: says("Purged 0 dead")(*old))

    def purged() -> None:
        holds(int(ojs("dead-letter", "--purge").split("Purged ")[1].split()[0]) >= 1)
        holds(send("GET", f"/dead-letter?queue={queue}")["total"] == 0)

    call("dead-letter --purge", purged)


def crons() -> None:
    """Cron jobs."""
    name = f"cli-cron-{RUN}"
    register = ("cron", "--register", "--name", name, "--expression", "0 3 * * *")
    job = ("--type", "cli.cron", "--queue", QUEUE)
    call("cron --register", lambda: says("registered")(*register, *job))
    call("cron", lambda: says(f"{name} 0 3 * * * ✓")("cron"))
    call("cron --enabled", lambda: holds(name not in ojs("cron", "--enabled", "false")))
    update = ("cron", "--update", name, "--expression", "0 4 * * *", "--type", "cli.other")

    def updated() -> None:
        ojs(*update)
        shown = send("GET", f"/cron/{name}")
        holds((shown["expression"], shown["type"]) == ("0 4 * * *", "cli.other"), shown)
        holds(shown["queue"] == QUEUE, shown)

    call("cron --update", updated)
    detail = says(f"Name {name}", "Expression 0 4 * * *", "Job Type cli.other", "Enabled true")
    call("cron --detail", lambda: detail("cron", "--detail", name))
    call("cron --trigger", lambda: says("triggered (job_id=01")("cron", "--trigger", name))
    call(
        "cron --history", lambda: says("Execution history", "available")("cron", "--history", name)
    )
    call("cron --pause", lambda: says("paused")("cron", "--pause", name))
    call("cron --resume", lambda: says("resumed")("cron", "--resume", name))
    call("cron --delete", lambda: says("deleted")("cron", "--delete", name))


def workflows() -> None:
    """Workflows."""
    steps = json.dumps(
        [
            {"id": "a", "type": "cli.a", "args": [], "options": {"queue": QUEUE}},
            {"id": "b", "type": "cli.b", "args": [], "depends_on": ["a"]},
        ]
    )
    create = ("workflow", "create", "--name", f"cli-{RUN}", "--steps", steps)

    def created() -> str:
        return str(read(*create)["id"])

    made = call("workflow create", created)
    status = says(f"Workflow: cli-{RUN}", "State: running", "a cli.a")
    call("workflow status", lambda: status("workflow", "status", made))
    shown = says("running 2")
    call("workflow list", lambda: shown("workflow", "list", "--state", "running"))
    cancelled = says("cancelled (cancelled_steps=2)")
    call("workflow cancel", lambda: cancelled("workflow", "cancel", made))


def system() -> None:
    """What the server says of itself and of everything."""
    push(f"{QUEUE}-stats")
    call("health", lambda: says("Status ok", "Backend dynamodb")("health"))

    def stats() -> None:
        printed = " ".join(ojs("stats").replace("─", " ").split())
        for name in ("Queues: METRIC VALUE Total", "Workers: METRIC VALUE Total", "Available"):
            holds(name in printed, f"{name!r} in {printed!r}")
            holds(int(printed.split(name, 1)[1].split()[0]) >= 1, printed)

    call("stats", stats)
    by_queue = ("stats", "--queue", f"{QUEUE}-stats")
    call("stats --queue", lambda: says("Available 1")(*by_queue))

    def history() -> None:
        time.sleep(2)  # the stream's consumer counts
        points = read("stats", "--history", "--period", "5m", "--since", "1h")["data_points"]
        holds(sum(point["enqueued"] for point in points) >= 1, points)
        holds("No data points" not in ojs("stats", "--history"))

    call("stats --history", history)

    def metrics() -> None:
        printed = " ".join(ojs("metrics").split())
        for name in ("Jobs Enqueued", "Queues Active"):
            holds(int(printed.split(name, 1)[1].split()[0]) >= 1, printed)

    call("metrics", metrics)
    prometheus = ("metrics", "--format", "prometheus")
    call("metrics --format prometheus", lambda: says("ojs_up 1")(*prometheus))
    key = f"limit-{RUN}"
    override = ("rate-limits", "--override", key, "--concurrency", "5")
    call("rate-limits --override", lambda: says("concurrency=5")(*override))
    inspected = says(f"Key {key}", "Concurrency 5", "Active 0", "Available 5")

    def followed() -> None:
        """It goes on until it is interrupted, where the server holds the stream."""
        threading.Timer(2, push).start()
        try:
            shown = ojs("events", seconds=5)
        except subprocess.TimeoutExpired as running:
            shown = (running.stdout or b"").decode()
            holds("cli.job: job.enqueued (job=" in shown, shown)
        holds("Following events" in shown, shown)

    call("rate-limits --inspect", lambda: inspected("rate-limits", "--inspect", key))
    call("rate-limits", lambda: says(f"{key} 5 0 5")("rate-limits"))
    clear = ("rate-limits", "--override", key, "--clear")
    call("rate-limits --clear", lambda: says("cleared")(*clear))
    call("system config", lambda: says("ojs-aws")("system", "config"))
    call("system maintenance", lambda: says("DISABLED")("system", "maintenance"))
    call("webhooks list", lambda: says("0 total")("webhooks", "list"))
    call("events", followed)
    call("doctor", lambda: says("5 passed, 0 warnings, 0 failed")("doctor", "--verbose"))

    def monitored() -> None:
        try:
            ojs("monitor", seconds=4)
        except subprocess.TimeoutExpired as running:
            shown = (running.stdout or b"").decode()
            holds("Server: ✅ ok" in shown and "Queues (" in shown, shown)

    call("monitor", monitored)


if __name__ == "__main__":
    jobs()
    queues()
    dead_letters()
    crons()
    workflows()
    system()
