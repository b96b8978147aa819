"""What somebody sees of a change of many jobs: the choice, the result, and how to go on."""

from __future__ import annotations

import re
from typing import Final

import httpx

from tests.dashboard.conftest import Tab
from tests.dashboard.jobs import discard, push, state_of
from tests.dashboard.test_quality import AXE, check_with_axe

MANY: Final = 45
"""Rows that are more than a window shows."""


def push_many(api: httpx.Client, queue: str, number: int) -> None:
    """Enqueue jobs without a look at each."""
    job = {"type": "report.build", "args": [], "options": {"queue": queue}}
    api.post("jobs/batch", json={"jobs": [job] * number}).raise_for_status()


def test_one_button_chooses_none(tab: Tab, api: httpx.Client) -> None:
    """Neither the jobs of this page nor those that left the list since."""
    jobs = [push(api, "unchosen") for _ in range(3)]
    page = tab.open("jobs?queue=unchosen&state=available", "Jobs")
    page.get_by_role("link", name=jobs[2]).wait_for()
    page.get_by_role("checkbox", name="Choose all on this page").check()
    api.delete(f"jobs/{jobs[0]}").raise_for_status()
    page.get_by_role("button", name="Refresh").click()
    tab.says("3 jobs chosen, of which 1 left this list since")
    assert page.get_by_role("button", name="Choose").all_inner_texts() == ["Choose none"]
    page.get_by_role("button", name="Choose none").click()
    tab.says("No job is chosen.")
    assert page.get_by_role("checkbox", name="Choose", checked=True).count() == 0


def test_the_result_is_in_sight_wherever_one_has_scrolled(tab: Tab, api: httpx.Client) -> None:
    """It is said to screen readers, too, and stays until it is closed."""
    push_many(api, "far-down", MANY)
    page = tab.open("jobs?queue=far-down", "Jobs")
    tab.choose("Act on all", "Cancel all")
    tab.says(f"Jobs that match now: {MANY}")
    tab.confirm("Cancel jobs", typed="cancel")
    result = page.get_by_role("status").filter(has_text=f"Cancelled {MANY} jobs.")
    result.wait_for()
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    box = result.bounding_box()
    assert page.evaluate("scrollY") > page.viewport_size["height"]
    assert box is not None
    assert 0 <= box["y"] < page.viewport_size["height"] - box["height"]
    if AXE.is_file():
        check_with_axe(page)
    page.get_by_role("button", name="Close").click()
    result.wait_for(state="detached")


def test_jobs_that_could_not_be_changed_are_named_with_why(tab: Tab, api: httpx.Client) -> None:
    """Also where none of them could be, which is an error to the API."""
    ended, waits = push(api, "named"), push(api, "named")
    page = tab.open("jobs?queue=named&state=available", "Jobs")
    page.get_by_role("link", name=ended).wait_for()
    page.get_by_role("checkbox", name="Choose all on this page").check()
    api.delete(f"jobs/{ended}").raise_for_status()
    page.get_by_role("group", name="Chosen jobs").get_by_role("button", name="Retry").click()
    tab.confirm("Retry")
    tab.says("Retried 0 jobs. 2 jobs could not be changed.")
    left = page.locator(".done li")
    assert sorted(" ".join(each.split()) for each in left.all_inner_texts()) == sorted(
        [f"{ended} Job is in cancelled state", f"{waits} Job is in available state"]
    )
    tab.choose("More for the chosen jobs", "Cancel chosen")
    tab.confirm("Cancel jobs")
    tab.says("Cancelled 1 job. 1 job could not be changed.")
    (text,) = left.all_inner_texts()
    assert " ".join(text.split()) == f"{ended} Job is in cancelled state"
    assert state_of(api, waits) == "cancelled"
    left.get_by_role("link", name=ended).click()
    page.get_by_role("heading", name="report.build", level=1).wait_for()
    tab.complaints = [each for each in tab.complaints if "422" not in each]


def test_jobs_that_match_no_longer_are_counted_in_the_result(tab: Tab, api: httpx.Client) -> None:
    """Somebody else was faster: the numbers add up."""
    gone, _ = discard(api, "faster"), discard(api, "faster")
    page = tab.open("jobs?queue=faster&state=discarded", "Jobs")
    tab.choose("Act on all", "Retry all")
    tab.says("Jobs that match now: 2")
    api.post(f"admin/jobs/{gone}/retry").raise_for_status()
    tab.confirm("Retry")
    tab.says("Retried 1 job. 1 job no longer matched.")
    assert page.locator(".done.partial").count() == 1


def test_a_purge_goes_on_after_a_reload(tab: Tab, api: httpx.Client) -> None:
    """Where it was; of an answer that was lost nobody knows how many jobs it purged.

    On a busy machine a request may purge fewer than a hundred.
    """
    for _ in range(3):
        push_many(api, "emptied", 50)
    page = tab.open("queues/emptied", "Queue emptied")
    tab.choose("More actions", "Purge jobs")
    page.get_by_role("checkbox", name="available").check()
    page.get_by_role("button", name="Count and purge").click()
    tab.says("Jobs that match now: 150")
    tab.lose_second_answer("**/admin/queues/emptied/jobs", "Purge", typed="emptied")
    page.reload()
    left = re.compile(r"\(purge, queue emptied\) was not finished; at least \d+ jobs were changed")
    page.get_by_text(left).first.wait_for()
    page.get_by_role("button", name="Go on").click()
    command = tab.confirm("Go on")
    assert command == "ojs-aws queues purge emptied --state available"
    page.get_by_text(re.compile(r"Purged at least \d+ jobs\.")).first.wait_for()
    assert api.get("admin/jobs?queue=emptied&state=cancelled").json()["total"] == 150
    assert page.get_by_text("was not finished").count() == 0


def test_findings_lead_to_the_jobs_and_workers_they_name(tab: Tab, api: httpx.Client) -> None:
    """To all jobs that run long, and to the workers of the queue, which is chosen there."""
    for queue in ("held-up", "hushed-up"):
        beat = {"worker_id": f"w-{queue}", "active_jobs": [], "queues": [queue]}
        api.post("workers/heartbeat", json=beat).raise_for_status()
    found = api.get("admin/findings").json()
    about = {"severity": "warning", "check": "workers", "hint": ""}
    held = {"queue": "held-up", "queues": ["held-up", "beside"], "job_id": "x", "job_ids": ["x"]}
    found["findings"] = [
        {**about, "code": "jobs_run_long", "message": "Jobs run long.", "data": held},
        {**about, "code": "workers_quiet", "message": "Quiet.", "data": {"queue": "hushed-up"}},
    ]
    page = tab.page
    page.route("**/admin/findings", lambda route: route.fulfill(json=found))
    tab.open("", "Overview")
    long = page.locator(".findings li", has_text="Jobs run long.").get_by_role("link")
    long.first.wait_for()
    assert long.all_inner_texts() == ["Active jobs of held-up", "Active jobs of beside"]
    assert long.last.get_attribute("href") == "#/jobs?queue=beside&state=active"
    page.locator(".findings li", has_text="Quiet.").get_by_role("link", name="workers").click()
    chosen = page.get_by_label("All workers of the queue")
    chosen.wait_for()
    assert chosen.input_value() == "hushed-up"
    page.get_by_role("button", name="Resume all").click()
    assert tab.confirm("Resume") == "ojs-aws workers resume --queue hushed-up"


def test_no_queue_is_chosen_before_somebody_chooses_one(tab: Tab, api: httpx.Client) -> None:
    """Nobody resumes the workers of the queue whose name comes first in the alphabet."""
    beat = {"worker_id": "w-first", "active_jobs": [], "queues": ["aaa"]}
    api.post("workers/heartbeat", json=beat).raise_for_status()
    page = tab.open("workers", "Workers")
    chosen = page.get_by_label("All workers of the queue")
    chosen.wait_for()
    assert chosen.input_value() == ""
    assert page.get_by_role("button", name="Resume all").is_disabled()
    chosen.select_option("aaa")
    page.get_by_role("button", name="Quiet all").click()
    assert tab.confirm("Quiet") == "ojs-aws workers quiet --queue aaa"
