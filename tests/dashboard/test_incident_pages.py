"""What somebody looks for in an incident: why, since when, how often, by whom, and the way back."""

from __future__ import annotations

import httpx

from tests.dashboard.conftest import Tab
from tests.dashboard.jobs import fail, push

FAST = {"retry": {"max_attempts": 20, "initial_interval": "PT0.001S", "backoff": "constant"}}


def beat(api: httpx.Client, worker: str, queue: str, *jobs: str) -> None:
    """Let a worker of two places send a heartbeat."""
    more = {"queues": [queue], "concurrency": 2, "heartbeat_interval_ms": 5000}
    body = {"worker_id": worker, "active_jobs": [*jobs], **more}
    api.post("workers/heartbeat", json=body).raise_for_status()


def test_a_job_shows_its_arguments_first_and_equal_failures_once(
    tab: Tab, api: httpx.Client
) -> None:
    """With when and where each attempt began, for who opens them; the last one stays apart."""
    job_id = push(api, "folded", args=["JPY"], options=FAST)
    for _ in range(3):
        while api.get(f"jobs/{job_id}").json()["job"]["state"] != "available":
            tab.page.wait_for_timeout(200)
        fail(api, "folded", worker="w-folded")
    page = tab.open(f"jobs/{job_id}", "report.build")
    page.get_by_text("1 to 2, each with the same error").wait_for()
    headings = page.get_by_role("heading", level=2).all_inner_texts()
    assert headings.index("Arguments") < headings.index("Timeline")
    assert page.locator(".timeline .note").count() == 2
    tab.says("Time limit of an attempt")
    page.get_by_text("Each of them").click()
    rows = page.locator(".timeline details li")
    assert rows.count() == 2
    for _ in range(60):  # the event log follows the stream
        if "on worker w-folded" in rows.first.inner_text():
            break
        page.get_by_role("button", name="Refresh").click()
        page.wait_for_timeout(500)
    assert "on worker w-folded" in rows.first.inner_text()


def test_a_job_that_runs_says_so_under_now(tab: Tab, api: httpx.Client) -> None:
    """No heading asks why it does not run; the end of its reservation moves on."""
    job_id = push(api, "runs-now")
    api.post("workers/fetch", json={"worker_id": "w-now", "queues": ["runs-now"], "count": 1})
    page = tab.open(f"jobs/{job_id}", "report.build")
    page.get_by_role("heading", name="Now", exact=True).wait_for()
    assert page.get_by_role("heading", name="Why it does not run").count() == 0
    tab.says("It runs: worker 'w-now' has had attempt 1")
    assert "T" not in page.locator(".reasons time").first.inner_text()
    page.locator(".reasons").get_by_role("link", name="Workers").click()
    page.get_by_role("heading", name="Workers", level=1).wait_for()


def test_all_workers_of_a_queue_are_quieted_and_resumed(tab: Tab, api: httpx.Client) -> None:
    """The row says who asked, and that it takes effect with the next heartbeat."""
    for worker in ("w-q1", "w-q2"):
        beat(api, worker, "hushed")
    waits = push(api, "hushed")
    page = tab.open("workers", "Workers")
    page.get_by_label("All workers of the queue").select_option("hushed")
    page.get_by_role("button", name="Quiet all").click()
    assert tab.confirm("Quiet") == "ojs-aws workers quiet --queue hushed"
    tab.says("Sent quiet to 2 workers of hushed; it takes effect with the next heartbeat.")
    row = page.get_by_role("region", name="Workers").locator("tr", has_text="w-q2")
    row.get_by_text("by anonymous").wait_for()
    row.get_by_text("takes effect with its next heartbeat").wait_for()
    tab.open(f"jobs/{waits}", "report.build")
    page.locator(".reasons").get_by_role("link", name="Workers").click()
    page.get_by_label("All workers of the queue").select_option("hushed")
    page.get_by_role("button", name="Resume all").click()
    assert tab.confirm("Resume") == "ojs-aws workers resume --queue hushed"
    tab.says("Sent resume to 2 workers of hushed")
