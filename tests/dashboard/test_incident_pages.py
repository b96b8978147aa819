"""What somebody looks for in an incident: why, since when, how often, by whom, and the way back."""

from __future__ import annotations

import httpx

from tests.dashboard.conftest import Tab
from tests.dashboard.jobs import fail, push, push_text

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
    assert page.locator(".timeline .failure").count() == 2
    tab.says("Time limit")
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


def test_copies_of_cancelled_jobs_are_enqueued_once(tab: Tab, api: httpx.Client) -> None:
    """Exactly as the jobs were sent; whoever repeats it makes no second copy."""
    numbers = "[9007199254740993,1e2]"
    envelope = f'{{"type":"report.build","args":{numbers},"options":{{"queue":"twinned"}}}}'
    ids = [push_text(api, envelope), push(api, "twinned")]
    for job_id in ids:
        api.delete(f"jobs/{job_id}").raise_for_status()
    page = tab.open("jobs?queue=twinned&state=cancelled", "Jobs")
    for says in ("Enqueued 2 copies.", "Enqueued 0 copies. 2 jobs had a copy already."):
        for job_id in ids:
            page.get_by_role("checkbox", name=f"Choose {job_id}").set_checked(True)
        tab.choose("More for the chosen jobs", "Enqueue copies")
        tab.confirm("Enqueue copies")
        tab.says(says)
    jobs = api.get("admin/jobs", params={"queue": "twinned", "state": "available"}).json()["items"]
    assert len(jobs) == 2
    assert any(numbers in api.get(f"jobs/{job['id']}").text for job in jobs)


def test_the_page_of_a_queue_says_why_its_next_job_waits(tab: Tab, api: httpx.Client) -> None:
    """With links to the job and to the workers, and at what pace the queue moves."""
    beat(api, "w-asleep", "asleep")
    waits = push(api, "asleep")
    api.post("admin/workers/w-asleep/quiet").raise_for_status()
    page = tab.open("queues/asleep", "Queue asleep")
    tab.says("The workers of 'asleep' take no new jobs: they are quiet or terminate.")
    page.get_by_role("link", name=waits).wait_for()
    tab.says("Completed a minute")
    page.locator(".reasons").get_by_role("link", name="Workers").click()
    page.get_by_role("heading", name="Workers", level=1).wait_for()


def test_a_type_without_matches_offers_those_that_begin_so(tab: Tab, api: httpx.Client) -> None:
    """And no button for all of no jobs."""
    job_id = push(api, "prefixed", type="thumbnail.make")
    page = tab.open("jobs?queue=prefixed&type=thumb", "Jobs")
    tab.says("No job matches.")
    assert page.get_by_role("button", name="Act on all").count() == 0
    page.get_by_role("link", name="Types that begin with thumb").click()
    page.get_by_role("link", name=job_id).wait_for()
    tab.filter(Created_since="2h")
    page.wait_for_url("**since=20*")
    page.get_by_role("link", name=job_id).wait_for()


def test_heartbeats_are_shown_to_who_asks_for_them(tab: Tab, api: httpx.Client) -> None:
    """They would hide everything else."""
    for _ in range(2):
        beat(api, "w-pulse", "pulse")
    page = tab.open("events", "Events")
    page.locator("tbody tr", has_text="worker.started").filter(has_text="w-pulse").wait_for()
    assert page.locator("tbody tr", has_text="worker.heartbeat").count() == 0
    page.get_by_role("button", name="Filter", exact=True).click()
    page.get_by_label("heartbeats and progress").check()
    page.get_by_role("button", name="Show").click()
    page.locator("tbody tr", has_text="worker.heartbeat").first.wait_for()


def test_a_small_screen_shows_actions_and_folds_the_menu(tab: Tab, api: httpx.Client) -> None:
    """Nothing has to be scrolled sideways to reach a button."""
    beat(api, "w-small", "small")
    page = tab.page
    page.set_viewport_size({"width": 360, "height": 740})
    tab.open("workers", "Workers")
    assert page.get_by_role("link", name="Dead letters").count() == 0
    row = page.get_by_role("region", name="Workers").locator("tr", has_text="w-small")
    box = row.get_by_role("button", name="More for").bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 360
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("link", name="Dead letters").click()
    page.get_by_role("heading", name="Dead letters", level=1).wait_for()
    assert page.get_by_role("link", name="Dead letters").count() == 0


def test_a_queue_whose_worker_died_is_not_only_open(tab: Tab, api: httpx.Client) -> None:
    """Its row says that no worker serves it, and stands first; others that are found are open."""
    for queue in ("orphaned", "hangs"):
        push(api, queue)
    about = {"severity": "warning", "check": "workers", "hint": "", "message": "Look."}
    found = api.get("admin/findings").json()
    found["findings"] = [
        {**about, "code": "workers_silent", "data": {"queues": ["orphaned"]}},
        {**about, "code": "jobs_hang", "data": {"queue": "hangs"}},
    ]
    tab.page.route("**/admin/findings", lambda route: route.fulfill(json=found))
    for view, heading in (("", "Overview"), ("queues", "Queues")):
        page = tab.open(view, heading)
        rows = page.get_by_role("region", name="Queues").locator("tbody tr")
        rows.first.get_by_text("no worker").wait_for()
        assert "orphaned" in rows.first.inner_text()
        assert page.get_by_text("no worker", exact=True).count() == 1
