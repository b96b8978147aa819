"""Opens the pages of the official admin UI in Chromium, and prints a line of JSON for each.

``OJS_UI`` names the built pages, ``OJS_URL`` the server, ``OJS_API_KEY`` the key if it asks for
one. The pages send no credentials and ask the server that they came from, so a small proxy stands
before the server: it serves the pages, passes on what they ask for, and adds the key.
"""

from __future__ import annotations

import json
import mimetypes
import os
import re
import secrets
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page, sync_playwright

URL = os.environ["OJS_URL"]
KEY = os.environ.get("OJS_API_KEY", "")
PAGES = Path(os.environ["OJS_UI"])
BELOW = "/ojs/admin"
HEADERS = {"Authorization": f"Bearer {KEY}"} if KEY else {}
RUN = f"a{secrets.token_hex(3)}"
"""Comes first in every list, so that the first page of each shows what is looked for."""
PATIENCE_S = 60

server = httpx.Client(base_url=URL, headers=HEADERS, trust_env=False, timeout=30)


class Proxy(BaseHTTPRequestHandler):
    """Serves the pages, and passes on everything else."""

    def answer(self) -> None:
        """Answer one request."""
        path = self.path.split("?")[0]
        if path.startswith(BELOW):
            file = PAGES / path.removeprefix(BELOW).strip("/")
            file = file if file.is_file() else PAGES / "index.html"
            kind = mimetypes.guess_type(file.name)[0] or "text/plain"
            return self.send(200, kind, file.read_bytes())
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        kept = {name: self.headers[name] for name in ("content-type", "accept", "user-agent")}
        sent = {name: value for name, value in kept.items() if value}
        found = server.request(self.command, self.path, content=body, headers=sent)
        return self.send(found.status_code, found.headers.get("content-type", ""), found.content)

    def send(self, status: int, kind: str, body: bytes) -> None:
        """Send an answer; a page that was left reads it no more."""
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            pass

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - http.server's names

    def log_message(self, *_: object) -> None:
        """Say nothing: standard output has the outcomes."""


def send(method: str, path: str, body: object = None) -> Any:
    """Set the stage over HTTP."""
    answer = server.request(method, f"/ojs/v1{path}", json=body)
    answer.raise_for_status()
    return answer.json() if answer.content else {}


def push(queue: str, **options: Any) -> str:
    """Push a job; its id."""
    body = {"type": "ui.job", "args": [1], "options": {"queue": f"{RUN}-{queue}", **options}}
    return str(send("POST", "/jobs", body)["id"])


def fetch(queue: str) -> str:
    """Fetch a job; its id."""
    body = {"queues": [f"{RUN}-{queue}"], "visibility_timeout_ms": 600_000}
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if jobs := send("POST", "/workers/fetch", body)["jobs"]:
            return str(jobs[0]["id"])
        time.sleep(0.2)
    raise TimeoutError(f"no job in {queue}")


def fail(queue: str, **retry: Any) -> str:
    """Push a job and fail it once; its id."""
    job_id = push(queue, retry=retry)
    fetch(queue)
    error = {"code": "handler_error", "type": "SmtpError", "message": "went wrong"}
    send("POST", "/workers/nack", {"job_id": job_id, "error": error})
    return job_id


def stage() -> dict[str, str]:
    """Make something for each page to show; the ids of jobs."""
    for _ in range(2):
        push("mail")
    push("mail", priority=5)
    settings = {
        "concurrency": 5,
        "rate_limit": {"limit": 10, "period": "1m"},
        "retention": {"completed": "24h", "discarded": "30d"},
    }
    send("PUT", f"/admin/queues/{RUN}-mail/config", settings)
    ids = {"scheduled": push("scheduled", scheduled_at="+PT2H")}
    push("sooner", scheduled_at="+PT1H")
    ids["active"] = push("active")
    fetch("active")
    progress = {"progress": 0.4, "data": {"rows": 4}}
    send("PUT", f"/jobs/{ids['active']}/progress", progress)
    ids["completed"] = push("completed")
    fetch("completed")
    send("POST", "/workers/ack", {"job_id": ids["completed"], "result": {"sum": 3}})
    ids["retryable"] = fail("retryable", max_attempts=3, initial_interval="PT1H")
    for name in ("discarded", "second"):
        ids[name] = fail(name, max_attempts=1, on_exhaustion="dead_letter")
    ids["cancelled"] = push("cancelled")
    send("DELETE", f"/jobs/{ids['cancelled']}")
    workers: list[dict[str, Any]] = [
        {"id": "run", "queues": ["mail"], "hostname": "h1", "active_jobs": [ids["active"]]},
        {"id": "quiet", "state": "quiet"},
        {"id": "stale", "heartbeat_interval_ms": 500},
    ]
    for worker in workers:
        beat = {"heartbeat_interval_ms": 600_000, **worker, "worker_id": f"{RUN}-{worker['id']}"}
        send("POST", "/workers/heartbeat", beat)
    template = {"type": "ui.cron", "args": [1], "options": {"queue": f"{RUN}-mail"}}
    cron = {"name": f"{RUN}-cron", "expression": "0 3 * * *", "timezone": "Europe/Vienna"}
    send("POST", "/cron", {**cron, "job_template": template})
    step = {"type": "ui.step", "args": [], "options": {"queue": f"{RUN}-steps"}}
    dag = [{"id": "one", **step}, {"id": "two", **step, "depends_on": ["one"]}]
    send("POST", "/workflows", {"name": f"{RUN}-dag", "steps": dag})
    fetched = fetch("steps")
    send("POST", "/workers/ack", {"job_id": fetched})
    for kind, name in (("chain", "steps"), ("group", "jobs")):
        definition = {"type": kind, "name": f"{RUN}-{kind}", name: [step, step]}
        send("POST", "/workflows", definition)
    send("PUT", f"/rate-limits/{RUN}-limit", {"limit": 7, "period": "1m"})
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "array"}
    named = {"type": f"{RUN}.schema", "version": "1.0.0", "uri": f"https://example.com/{RUN}/1"}
    send("POST", "/schemas", {**named, "schema": schema})
    push("unique", unique={"keys": ["type", "queue"], "period": "PT1H"})
    return ids


class Browser:
    """One page of the browser, and what went wrong on it."""

    def __init__(self, page: Page, base: str) -> None:
        """Look out for errors that nobody catches: they leave a page blank."""
        self.page, self.base = page, base
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.set_default_timeout(PATIENCE_S * 1000)

    def open(self, path: str) -> None:
        """Open a page of the UI."""
        self.errors.clear()
        self.page.goto(f"{self.base}{BELOW}/{path}")

    def text(self) -> str:
        """What the page shows, on one line."""
        return " ".join(self.page.locator("main").inner_text().split())

    def shows(self, *expected: str, seconds: float = PATIENCE_S) -> None:
        """Wait until the page shows all texts; fail when it crashed or does not."""
        end = time.monotonic() + seconds
        while missing := [text for text in expected if text not in self.text()]:
            crashed = "Something went wrong" in self.text()
            if crashed or self.errors or time.monotonic() > end:
                raise AssertionError(f"{missing} not in {self.text()[:300]!r} {self.errors}")
            self.page.wait_for_timeout(200)

    def row(self, text: str) -> str:
        """Wait for a row of a table; what it shows."""
        row = self.page.locator("main tbody tr", has_text=text).first
        return " ".join(str(row.inner_text()).split())

    def row_shows(self, text: str, *expected: str) -> None:
        """Wait until a row shows all texts; it is read repeatedly, as the page does."""
        end = time.monotonic() + PATIENCE_S
        while missing := [each for each in expected if each not in self.row(text)]:
            if time.monotonic() > end:
                raise AssertionError(f"{missing} not in {self.row(text)!r}")
            self.page.wait_for_timeout(200)

    def press(self, name: str, within: str = "") -> None:
        """Press a button, of a row where one is named."""
        place = self.page.locator("main tbody tr", has_text=within).first if within else self.page
        exactly = re.compile(rf"^\s*{re.escape(name)}\s*$")
        place.locator("button", has_text=exactly).last.click()


def call(name: str, made: Callable[[], Any]) -> None:
    """Look at one page and print what became of it."""
    try:
        made()
    except Exception as problem:  # noqa: BLE001 - each failure is a line of the table
        detail = f"{type(problem).__name__}: {problem}"[:400]
        print(json.dumps({"call": name, "ok": False, "detail": detail}), flush=True)
    else:
        print(json.dumps({"call": name, "ok": True}), flush=True)


def until(is_done: Callable[[], bool]) -> None:
    """Wait for what a button led to."""
    end = time.monotonic() + PATIENCE_S
    while not is_done():
        if time.monotonic() > end:
            raise TimeoutError("what the button is for did not happen")
        time.sleep(0.2)


def state_of(job_id: str) -> str:
    """The state of a job."""
    return str(send("GET", f"/jobs/{job_id}")["state"])


def totals() -> dict[str, int]:
    """What the cards of the dashboard are to show."""
    stats = send("GET", "/admin/stats")
    jobs = stats["jobs"]
    waiting = ("available", "active", "scheduled", "retryable")
    return {
        "ACTIVE JOBS": sum(jobs[state] for state in waiting),
        "COMPLETED": jobs["completed"],
        "FAILED": jobs["discarded"],
        "QUEUES": stats["queues"],
        "WORKERS": stats["workers"],
    }


MADE = {"ACTIVE JOBS": 12, "COMPLETED": 2, "FAILED": 2, "QUEUES": 11, "WORKERS": 3}
"""What the stage adds to the totals."""


def overview(browser: Browser, before: dict[str, int]) -> None:
    """Look at the dashboard, the menu and the settings."""

    def dashboard() -> None:
        browser.open("")
        cards = [f"{name} {before[name] + more} " for name, more in MADE.items()]
        browser.shows("Healthy", *cards, "Throughput (5m)")
        browser.page.locator(".recharts-area").first.wait_for(state="attached")

    call("dashboard", dashboard)

    def menu() -> None:
        nav = browser.page.locator("nav").first
        for name in ("Webhooks", "Tenants", "Worker Pools"):
            # The page offers everything until it has read the manifest.
            nav.get_by_text(name).wait_for(state="hidden")
        shown = nav.inner_text()
        wanted = ("Workers", "Cron Jobs", "Workflows", "Rate Limits", "Events", "Dead Letter")
        missing = [name for name in wanted if name not in shown]
        if missing:
            raise AssertionError(f"not offered: {missing}")

    call("menu", menu)

    def settings() -> None:
        browser.open("settings")
        browser.shows("ojs-aws", "dynamodb", "Level 4: Advanced", "workflows", "unique jobs")

    call("settings", settings)

    def maintenance() -> None:
        browser.press("Enable Maintenance")
        browser.press("Enable")
        browser.shows("Maintenance mode is active", seconds=5)

    call("settings: enable maintenance", maintenance)


def jobs(browser: Browser, ids: dict[str, str]) -> None:
    """Look at jobs in each state, and press their buttons."""

    def listed() -> None:
        for state in ("active", "completed", "retryable", "discarded", "cancelled", "scheduled"):
            browser.open(f"jobs?state={state}")
            browser.row_shows(f"{RUN}-{state}", "ui.job", state)

    call("jobs by state", listed)

    def detail(state: str, *expected: str) -> None:
        browser.open(f"jobs?state={state}")
        browser.page.locator("main tbody tr", has_text=f"{RUN}-{state}").first.click()
        browser.shows(ids[state], "Created", "Retry Policy".upper(), *expected)

    call("job: progress", lambda: detail("active", "Attempt 1 / 3", "40%", "rows 4", "Started"))
    call("job: result", lambda: detail("completed", '"sum": 3', "Completed"))
    failed = ("handler_error (SmtpError)", "went wrong", "Attempt 1 / 1", "Discarded")
    call("job: errors", lambda: detail("discarded", *failed))

    def retried() -> None:
        browser.press("Retry")
        until(lambda: state_of(ids["discarded"]) == "available")

    call("job: retry", retried)

    def raised() -> None:
        detail("scheduled")
        browser.press("↑")
        until(lambda: send("GET", f"/jobs/{ids['scheduled']}")["priority"] == 1)

    call("job: priority", raised)

    def cancelled() -> None:
        browser.press("Cancel")
        until(lambda: state_of(ids["scheduled"]) == "cancelled")

    def scheduled() -> None:
        browser.open("scheduled")
        browser.row_shows(f"{RUN}-sooner", "ui.job", "scheduled")

    call("job: cancel", cancelled)
    call("scheduled", scheduled)

    def dead() -> None:
        browser.open("dead-letter")
        total = send("GET", "/admin/dead-letter/stats")["total"]
        browser.shows(f"Total Dead {total}", "SmtpError")
        browser.press("Delete", within=f"{RUN}-second")
        until(lambda: server.get(f"/ojs/v1/jobs/{ids['second']}").status_code == 404)

    call("dead letter", dead)

    def unique() -> None:
        browser.open("unique-jobs")
        browser.shows(f"{RUN}-unique", seconds=5)

    call("unique jobs", unique)

    def events() -> None:
        browser.open("events")
        browser.page.locator("main select").select_option("job.completed")
        browser.shows("job.completed", f"job_id: {ids['completed']}", f"queue: {RUN}-completed")

    call("events", events)


def queues(browser: Browser) -> None:
    """Look at queues and limits, and press their buttons."""
    name = f"{RUN}-mail"

    def listed() -> None:
        browser.open("queues")
        browser.row_shows(name, f"{name} 3 0 0 0 0 0", "Active")
        browser.row_shows(f"{RUN}-retryable", f"{RUN}-retryable 0 0 0 1 0 0")
        browser.row_shows(f"{RUN}-completed", f"{RUN}-completed 0 0 0 0 1 0")

    call("queues", listed)

    def paused() -> None:
        for button, state in (("Pause", "Paused"), ("Resume", "Active")):
            browser.press(button, within=name)
            browser.row_shows(name, state)

    call("queues: pause and resume", paused)

    def configured() -> None:
        browser.press("Config", within=name)
        browser.shows("Concurrency 5", "10 / PT1M", "P1D", "P30D", "P5 1", "P0 2")

    call("queue settings", configured)

    def period() -> None:
        shown = browser.page.locator("main select option:checked").last.inner_text()
        if shown != "1 minute":
            raise AssertionError(f"the rate's period is shown as {shown!r}")

    call("queue settings: period", period)

    def saved() -> None:
        before = send("GET", f"/admin/queues/{name}")["configuration"]
        browser.press("Save Configuration")
        browser.page.get_by_text("Save Configuration").wait_for(state="detached")
        after = send("GET", f"/admin/queues/{name}")["configuration"]
        if after != before:
            raise AssertionError(f"{before} became {after}")

    call("queue settings: save", saved)

    def limits() -> None:
        browser.open("rate-limits")
        browser.row_shows(f"{RUN}-limit", f"{RUN}-limit 7 PT1M 0 0 7/PT1M")
        browser.press("Remove", within=f"{RUN}-limit")
        path = f"/ojs/v1/rate-limits/{RUN}-limit"
        until(lambda: server.get(path).status_code == 404)

    call("rate limits", limits)


def others(browser: Browser) -> None:
    """Look at workers, cron jobs, workflows and schemas."""

    def workers() -> None:
        browser.open("workers")
        browser.row_shows(f"{RUN}-run", "h1 running mail 1")
        browser.row_shows(f"{RUN}-quiet", "quiet", "Drain complete")
        browser.row_shows(f"{RUN}-stale", "stale")

    call("workers", workers)

    def quieted() -> None:
        browser.press("Quiet", within=f"{RUN}-run")
        browser.press("Quiet")
        path = f"/admin/workers/{RUN}-run"
        until(lambda: send("GET", path)["directive"] == "quiet")

    call("workers: quiet", quieted)

    def removed() -> None:
        browser.press("Remove", within=f"{RUN}-stale")
        browser.press("Remove")
        path = f"/ojs/v1/admin/workers/{RUN}-stale"
        until(lambda: server.get(path).status_code == 404)

    call("workers: remove", removed)
    cron = f"{RUN}-cron"

    def crons() -> None:
        browser.open("crons")
        browser.row_shows(cron, f"{RUN}-mail 0 3 * * * Europe/Vienna", "Active")
        browser.press("Disable", within=cron)
        browser.row_shows(cron, "Disabled")
        browser.page.get_by_text(cron).first.click()
        browser.shows("Cron Expression 0 3 * * *", "Job Type ui.cron")

    call("cron jobs", crons)

    def workflows() -> None:
        for kind, progress in (("dag", "1/2"), ("chain", "0/2"), ("group", "0/2")):
            browser.open("workflows?state=active")
            browser.row_shows(f"{RUN}-{kind}", progress)
            browser.page.locator("main tbody tr", has_text=f"{RUN}-{kind}").first.click()
            browser.shows("Workflow Graph".upper(), f"{progress} steps", "ui.step")

    call("workflows", workflows)

    def cancelled() -> None:
        browser.open("workflows")
        row = browser.page.locator("main tbody tr", has_text=f"{RUN}-chain").first
        row.wait_for()
        if not row.get_by_role("button", name="Cancel").count():
            raise AssertionError(f"no button in {browser.row(f'{RUN}-chain')!r}")

    call("workflows: cancel", cancelled)

    def schemas() -> None:
        browser.open("schemas")
        browser.shows(f"{RUN}.schema", "v1.0.0")

    call("schemas", schemas)


def main() -> None:
    """Serve the pages and look at each of them."""
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    before = totals()
    ids = stage()
    with sync_playwright() as playwright:
        place = os.environ["OJS_CHROMIUM"]
        chromium = playwright.chromium.launch(executable_path=place, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        browser = Browser(page, f"http://127.0.0.1:{proxy.server_port}")
        overview(browser, before)
        queues(browser)
        jobs(browser, ids)
        others(browser)
        chromium.close()


if __name__ == "__main__":
    main()
