"""Three incidents, played from the first view on by somebody who knows no command."""

from __future__ import annotations

from typing import Final

import httpx

from tests.dashboard.conftest import Tab
from tests.dashboard.jobs import fail, push, state_of

ROUNDS: Final = 60


def test_a_poison_job_is_found_by_its_error_and_stopped(tab: Tab, api: httpx.Client) -> None:
    """A finding names the queue, the error group a job, and all of its type are cancelled."""
    retry = {"max_attempts": 20, "initial_interval": "PT1H"}
    queue = "poisoned"
    bad = [push(api, queue, type="image.resize", options={"retry": retry}) for _ in range(10)]
    good = push(api, "healthy")
    for _ in bad:
        fail(api, queue)
    page = tab.open("", "Overview")
    finding = page.locator(
        ".findings li", has_text=f"In queue '{queue}' 10 of 10 executions failed"
    )
    for _ in range(ROUNDS):  # the counts follow the stream
        tab.show_all_findings()
        if finding.count() > 0:
            break
        page.get_by_role("button", name="Refresh").click()
        page.wait_for_timeout(500)
    finding.get_by_role("link", name="See the errors").click()
    row = page.locator("tbody tr", has_text="no <b>rows</b> found")
    row.locator("a.id").first.click()
    page.get_by_role("heading", name="image.resize", level=1).wait_for()
    assert "db.py:3 in rows" in page.get_by_label("Backtrace").first.inner_text()
    tab.search("image.resize")
    page.get_by_role("searchbox").press("Enter")
    tab.choose("Act on all", "Cancel all")
    tab.says("Jobs that match now: 10")
    tab.confirm("Cancel jobs", typed="cancel")
    tab.says("Cancelled 10 jobs.")
    assert {state_of(api, job_id) for job_id in bad} == {"cancelled"}
    assert state_of(api, good) == "available"


def test_a_stuck_worker_is_found_by_what_it_runs(tab: Tab, api: httpx.Client) -> None:
    """The job says who runs it; it is cancelled, and the worker is asked to end."""
    stuck = push(api, "stuck")
    api.post("workers/fetch", json={"worker_id": "w-stuck", "queues": ["stuck"], "count": 1})
    beat = {"worker_id": "w-stuck", "active_jobs": [stuck], "queues": ["stuck"], "concurrency": 1}
    api.post("workers/heartbeat", json=beat).raise_for_status()
    waiting = push(api, "stuck")
    page = tab.open(f"jobs/{waiting}", "report.build")
    page.get_by_role("link", name="stuck", exact=True).click()
    page.get_by_role("heading", name="Queue stuck").wait_for()
    page.locator("li", has_text="active").get_by_role("link").click()
    row = page.locator("tr", has_text=stuck)
    row.get_by_text("w-stuck").wait_for()
    assert row.locator("time").count() == 2  # when it was created, and since when it runs
    page.get_by_role("link", name=stuck).click()
    tab.says("w-stuck")
    tab.choose("More actions", "Cancel the job")
    tab.confirm("Cancel the job")
    tab.says("The job is cancelled.")
    page.get_by_role("navigation").get_by_role("link", name="Workers").click()
    row = page.get_by_role("region", name="Workers").locator("tr", has_text="w-stuck")
    tab.choose("More for", "Terminate", within=row)
    tab.confirm("Terminate", typed="terminate")
    tab.says("Sent terminate to w-stuck.")
    answer = api.post("workers/heartbeat", json={**beat, "active_jobs": []}).json()
    assert answer["directive"] == "terminate"


def test_a_growing_backlog_is_explained_and_resolved(tab: Tab, api: httpx.Client) -> None:
    """Somebody paused the queue: the first view says so, and its page resumes it."""
    for _ in range(3):
        push(api, "growing")
    api.post("queues/growing/pause").raise_for_status()
    page = tab.open("", "Overview")
    finding = page.locator(".findings li", has_text="The queue 'growing' has been paused")
    tab.show_all_findings()
    finding.get_by_role("link", name="See the queue").click()
    page.get_by_role("heading", name="Queue growing").wait_for()
    page.locator("li", has_text="available").get_by_role("link").click()
    page.locator("tbody a.id").first.click()
    tab.says("The queue 'growing' has been paused by anonymous for")
    page.locator(".reasons").get_by_role("link", name="growing", exact=True).click()
    page.get_by_role("button", name="Resume").click()
    tab.confirm("Resume")
    tab.says("The queue growing is resumed.")
    fetch = {"worker_id": "w-grow", "queues": ["growing"], "count": 3}
    assert len(api.post("workers/fetch", json=fetch).json()["jobs"]) == 3
