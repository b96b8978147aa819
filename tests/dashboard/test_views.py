"""A journey for each view, with what somebody does there."""

from __future__ import annotations

import shlex
import time
from typing import Any

import httpx

from tests.dashboard.conftest import Tab
from tests.dashboard.jobs import discard, fail, push, push_text, state_of
from tests.load import HUNG_S


def test_overview_shows_jobs_by_state_and_the_queues(tab: Tab, api: httpx.Client) -> None:
    """With the page and its four files, three answers, and four counts of the menu."""
    push(api, "overview")
    page = tab.open("", "Overview")
    page.get_by_role("region", name="Queues", exact=True).locator("tbody a").first.wait_for()
    assert len([url for url in tab.requests if not url.startswith("data:")]) <= 12
    for fact in ("Last sweep", "Last events", "Oldest available job", "Wait: median, 95 %, 99 %"):
        tab.says(fact)
    page.get_by_role("link", name="available", exact=True).click()
    page.get_by_role("heading", name="Jobs", level=1).wait_for()
    assert "state=available" in page.url


def test_a_queue_is_paused_resumed_and_drained(tab: Tab, api: httpx.Client) -> None:
    """Each change names its command line before it happens."""
    push(api, "letters")
    page = tab.open("queues/letters", "Queue letters")
    for button, command, says in (
        ("Pause", "pause", "The queue letters is paused."),
        ("Resume", "resume", "The queue letters is resumed."),
        ("Drain", "drain", "The queue letters is draining."),
        ("Resume", "resume", "The queue letters is resumed."),
    ):
        if button == "Drain":
            tab.choose("More actions", "Drain")
        else:
            page.get_by_role("button", name=button, exact=True).click()
        assert tab.confirm(button) == f"ojs-aws queues {command} letters"
        tab.says(says)
    assert api.get("queues/letters").json()["queue"]["state"] == "active"


def test_queues_say_how_fast_they_move(tab: Tab, api: httpx.Client) -> None:
    """The list has rates and the time to empty, a queue its workers and its limits, too."""
    for _ in range(2):
        push(api, "pace")
    beat = {"worker_id": "w-pace", "active_jobs": [], "queues": ["pace"]}
    api.post("workers/heartbeat", json=beat).raise_for_status()
    api.put("rate-limits/queue:pace", json={"concurrency": 3}).raise_for_status()
    page = tab.open("queues", "Queues")
    row = page.get_by_role("region", name="Queues").locator("tr", has_text="pace")
    row.get_by_text("never").wait_for()
    assert row.get_by_text("0.4 / 0", exact=True).count() == 1  # in and out, of five minutes
    row.get_by_role("link", name="pace", exact=True).click()
    page.get_by_role("heading", name="Queue pace").wait_for()
    page.get_by_role("link", name="w-pace").wait_for()
    tab.says("0 of 3 run")


def test_a_job_shows_its_trace_and_why_it_is_unique(tab: Tab, api: httpx.Client) -> None:
    """What the client asked for, as facts."""
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    meta = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    unique = {"keys": ["type", "args"], "period": "PT1H", "on_conflict": "reject"}
    job_id = push(api, "traced", meta=meta, options={"unique": unique})
    page = tab.open(f"jobs/{job_id}", "report.build")
    page.get_by_text(trace, exact=True).wait_for()
    page.get_by_text("by type, args for 1 h, else reject").wait_for()


def test_a_purge_counts_first_and_asks_for_the_name(tab: Tab, api: httpx.Client) -> None:
    """Nothing is purged before the name of the queue is typed."""
    job_id = push(api, "purged")
    page = tab.open("queues/purged", "Queue purged")
    tab.choose("More actions", "Purge jobs")
    page.get_by_role("checkbox", name="available").check()
    page.get_by_role("button", name="Count and purge").click()
    tab.says("Jobs that match now: 1")
    tab.says("Jobs that are available are cancelled, and cannot be retried.")
    command = tab.confirm("Purge", typed="purged")
    assert command == "ojs-aws queues purge purged --state available"
    tab.says("Purged 1 job.")
    assert state_of(api, job_id) == "cancelled"


def test_jobs_are_sifted_by_tag_until_one_is_found(tab: Tab, api: httpx.Client) -> None:
    """A page without a match says how many jobs it looked at and goes on; so does the count."""
    wanted = push(api, "sifted", tags=["vip"])
    jobs = [{"type": "demo.echo", "args": [], "options": {"queue": "sifted"}} for _ in range(1050)]
    api.post("jobs/batch", json={"jobs": jobs}).raise_for_status()
    page = tab.open("jobs?queue=sifted&state=available", "Jobs")
    tab.filter(Tag="vip")
    tab.says("0 of the 1,000 jobs looked at for this page fit the filter.")
    tab.says("None of these jobs matches. Go on to look at more.")
    page.get_by_role("link", name="Go on").click()
    page.get_by_role("link", name=wanted).wait_for()
    tab.choose("Act on all", "Cancel all")
    tab.says("Jobs that match now: 1")
    command = "ojs-aws jobs cancel --queue sifted --tag vip --state available"
    assert tab.confirm("Cancel jobs", typed="cancel") == command
    tab.says("Cancelled 1 job.")
    assert state_of(api, wanted) == "cancelled"


def test_a_filter_stays_open_when_jobs_arrive(tab: Tab, api: httpx.Client) -> None:
    """Who is quicker than the server need not open it again."""
    job_id = push(api, "slow-list")
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    tab.page.route("**/admin/jobs?*", hold)
    page = tab.open("jobs?queue=slow-list", "Jobs")
    page.get_by_role("button", name="Filter", exact=True).click()
    field = page.get_by_role("form", name="Filter").get_by_label("Tag", exact=True)
    field.fill("vip")
    assert held
    for each in held:
        each.continue_()
    page.unroute("**/admin/jobs?*")
    page.get_by_role("link", name=job_id).wait_for()
    assert field.input_value() == "vip"


def test_jobs_are_found_by_a_part_of_their_error(tab: Tab, api: httpx.Client) -> None:
    """As the list and the page of errors show it."""
    dead = discard(api, "sick")
    page = tab.open("jobs?queue=sick", "Jobs")
    tab.filter(Error_contains="no such error")
    tab.says("No job matches.")
    error = api.get(f"jobs/{dead}").json()["job"]["error"]
    tab.filter(Error_contains=f"{error['type']}: {error['message'][:4]}".upper())
    page.get_by_role("link", name=dead).wait_for()


def test_the_filter_of_jobs_is_the_address(tab: Tab, api: httpx.Client) -> None:
    """Who opens the address sees the same jobs; the form says what is filtered."""
    wanted = push(api, "filtered", type="mail.send")
    other = push(api, "filtered", type="report.build")
    page = tab.open("jobs?queue=filtered", "Jobs")
    page.get_by_role("link", name=other).wait_for()
    tab.filter(Type="mail.*")
    page.get_by_role("link", name=other).wait_for(state="detached")
    page.get_by_role("link", name=wanted).wait_for()
    assert "type=mail.*" in page.url
    page.reload()
    page.get_by_role("link", name=wanted).wait_for()
    page.locator(".chip", has_text="Type").get_by_text("mail.*").wait_for()
    page.get_by_role("button", name="Filter", exact=True).click()
    assert page.get_by_label("Type", exact=True).input_value() == "mail.*"


def test_pages_of_jobs_follow_one_another(tab: Tab, api: httpx.Client) -> None:
    """By the cursor in the address; the browser's way back works."""
    for _ in range(52):
        push(api, "many")
    page = tab.open("jobs?queue=many", "Jobs")
    page.get_by_role("link", name="Next page").click()
    page.get_by_role("link", name="First page").wait_for()
    tab.page.locator("tbody tr").nth(1).wait_for()
    assert page.locator("tbody tr").count() == 2
    page.go_back()
    page.get_by_role("link", name="Next page").wait_for()


def test_chosen_jobs_are_cancelled(tab: Tab, api: httpx.Client) -> None:
    """Those that are ticked and no others."""
    chosen, other = push(api, "chosen"), push(api, "chosen")
    page = tab.open("jobs?queue=chosen", "Jobs")
    page.get_by_role("checkbox", name=f"Choose {chosen}").check()
    tab.choose("More for the chosen jobs", "Cancel chosen")
    assert tab.confirm("Cancel jobs") == f"ojs-aws jobs cancel {chosen}"
    tab.says("Cancelled 1 job.")
    assert (state_of(api, chosen), state_of(api, other)) == ("cancelled", "available")


def test_chosen_jobs_stay_chosen_when_they_leave_the_list(tab: Tab, api: httpx.Client) -> None:
    """The list is loaded again and again, and jobs that retry come and go."""
    jobs = [push(api, "leaving") for _ in range(2)]
    page = tab.open("jobs?queue=leaving&state=available", "Jobs")
    page.get_by_role("link", name=jobs[1]).wait_for()
    page.get_by_role("checkbox", name="Choose all on this page").check()
    api.post("workers/fetch", json={"worker_id": "w", "queues": ["leaving"], "count": 1})
    page.get_by_role("button", name="Refresh").click()
    tab.says("2 jobs chosen, of which 1 left this list since")
    tab.choose("More for the chosen jobs", "Cancel chosen")
    tab.confirm("Cancel jobs")
    tab.says("Cancelled 2 jobs.")
    assert {state_of(api, each) for each in jobs} == {"cancelled"}


def test_the_very_jobs_that_were_counted_are_cancelled(tab: Tab, api: httpx.Client) -> None:
    """Also those that began an attempt since; other states of the filter stay as they are."""
    failed = discard(api, "retrying")
    jobs = [push(api, "retrying") for _ in range(2)]
    page = tab.open("jobs?queue=retrying&state=available,discarded", "Jobs")
    tab.choose("Act on all", "Cancel all")
    page.get_by_text("Those that are discarded stay as they are.").wait_for()
    tab.says("Jobs that match now: 2")
    api.post("workers/fetch", json={"worker_id": "w", "queues": ["retrying"], "count": 1})
    later = push(api, "retrying")
    command = tab.confirm("Cancel jobs", typed="cancel")
    assert command == "ojs-aws jobs cancel --queue retrying --state available"
    tab.says("Cancelled 2 jobs.")
    assert {state_of(api, each) for each in jobs} == {"cancelled"}
    assert (state_of(api, failed), state_of(api, later)) == ("discarded", "available")


def test_what_could_not_be_changed_is_a_warning(tab: Tab, api: httpx.Client) -> None:
    """A job may end between the choice and the click."""
    job_id = push(api, "ended")
    page = tab.open("jobs?queue=ended", "Jobs")
    page.get_by_role("checkbox", name=f"Choose {job_id}").check()
    api.delete(f"jobs/{job_id}")
    tab.choose("More for the chosen jobs", "Cancel chosen")
    tab.confirm("Cancel jobs")
    tab.says("Cancelled 0 jobs. 1 job could not be changed.")
    assert page.locator(".done.partial").count() == 1


def test_all_that_match_are_retried_after_a_count(tab: Tab, api: httpx.Client) -> None:
    """The count is shown before anything is changed."""
    failed = [discard(api, "again") for _ in range(3)]
    tab.open("jobs?queue=again&state=discarded", "Jobs")
    tab.choose("Act on all", "Retry all")
    tab.says("Jobs that match now: 3")
    assert tab.confirm("Retry") == "ojs-aws jobs retry --queue again --state discarded"
    tab.says("Retried 3 jobs.")
    assert {state_of(api, each) for each in failed} == {"available"}


def test_without_a_filter_no_button_changes_all_jobs(tab: Tab, api: httpx.Client) -> None:
    """Nobody means all jobs of all queues."""
    job_id = push(api, "unfiltered")
    page = tab.open("jobs", "Jobs")
    tab.says("filter them first")
    assert page.get_by_role("button", name="Act on all").count() == 0
    tab.open("jobs?queue=unfiltered", "Jobs")
    page.get_by_role("link", name=job_id).wait_for()
    page.get_by_role("button", name="Act on all").click()
    names = page.get_by_role("button", name="all …").all_inner_texts()
    assert names == ["Retry all …", "Cancel all …", "Delete all …"]


def test_a_change_of_many_jobs_goes_on_after_a_reload(tab: Tab, api: httpx.Client) -> None:
    """Where it was, with the jobs that were counted, and no later ones."""
    job = {"type": "report.build", "args": [], "options": {"queue": "long"}}
    for _ in range(3):
        api.post("jobs/batch", json={"jobs": [job] * 50}).raise_for_status()
    page = tab.open("jobs?queue=long", "Jobs")
    tab.choose("Act on all", "Cancel all")
    tab.says("Jobs that match now: 150")
    tab.lose_second_answer("**/bulk/cancel", "Cancel jobs", typed="cancel")
    later = push(api, "long")
    page.reload()
    tab.says("(cancel, queue long) was not finished; at least 100 jobs were changed.")
    page.get_by_role("button", name="Go on").click()
    tab.confirm("Go on")
    tab.says("Cancelled at least 100 jobs.")
    assert api.get("admin/jobs?queue=long&state=cancelled").json()["total"] == 150
    assert page.get_by_text("was not finished").count() == 0
    assert state_of(api, later) == "available"


def test_deleting_asks_for_the_number_that_was_counted(tab: Tab, api: httpx.Client) -> None:
    """So that nobody deletes more than was meant."""
    jobs = [discard(api, "counted") for _ in range(3)]
    page = tab.open("jobs?queue=counted&state=discarded", "Jobs")
    page.get_by_role("link", name=jobs[0]).wait_for()
    tab.choose("Act on all", "Delete all")
    tab.says("Jobs that match now: 3")
    tab.confirm("Delete", typed="3")
    tab.says("Deleted 3 jobs.")
    assert {api.get(f"jobs/{job_id}").status_code for job_id in jobs} == {404}


def test_a_job_shows_its_attempts_and_its_error(tab: Tab, api: httpx.Client) -> None:
    """A job that fails for good is retried from its own page."""
    job_id = discard(api, "single")
    page = tab.open(f"jobs/{job_id}", "report.build")
    tab.says("no <b>rows</b> found")
    assert (
        page.get_by_label("Backtrace").first.inner_text() == "jobs.py:10 in build\ndb.py:3 in rows"
    )
    timeline = page.locator(".timeline")
    assert "started (attempt 1)" in timeline.inner_text()
    assert "Waited " in timeline.inner_text()
    assert "Ran " in timeline.inner_text()
    page.get_by_role("button", name="Retry", exact=True).click()
    assert tab.confirm("Retry") == f"ojs-aws jobs retry {job_id}"
    tab.says("The job is available again.")
    tab.choose("More actions", "Cancel the job")
    assert tab.confirm("Cancel the job") == f"ojs-aws jobs cancel {job_id}"
    tab.says("The job is cancelled.")


def test_failures_are_grouped_by_error(tab: Tab, api: httpx.Client) -> None:
    """With a count, jobs to look at, and the way to all that failed in the queue."""
    first, last = discard(api, "grouped"), discard(api, "grouped")
    page = tab.open("errors?queue=grouped", "Errors")
    row = page.locator("tbody tr", has_text="no <b>rows</b> found")
    for job_id in (first, last):
        row.get_by_role("link", name=job_id).wait_for()
    page.get_by_text("at least 2 failed attempts").wait_for()
    command = page.get_by_label("Command line").inner_text()
    assert command.startswith("ojs-aws errors --since 24h --queue grouped")
    page.get_by_role("button", name="the last hour").click()
    page.wait_for_url("**since=PT1H**")
    row.get_by_role("link", name="grouped", exact=True).click()
    page.get_by_role("link", name=first).wait_for()
    assert "state=retryable%2Cdiscarded&error=ValueError" in page.url


def test_the_priority_of_a_waiting_job_is_changed(tab: Tab, api: httpx.Client) -> None:
    """The command follows what is written; a number out of range is not sent."""
    job_id = push(api, "urgent")
    page = tab.open(f"jobs/{job_id}", "report.build")
    page.get_by_role("button", name="Change priority").click()
    dialog = page.get_by_role("dialog")
    field = dialog.get_by_label("Priority")
    assert field.input_value() == "0"
    field.fill("101")
    dialog.get_by_role("button", name="Change").click()
    assert field.evaluate("field => field.validity.rangeOverflow")
    field.fill("-7")
    command = dialog.get_by_label("Command line").inner_text()
    line = ["ojs-aws", "jobs", "priority", job_id, "--url", tab.address, "--", "-7"]
    assert shlex.split(command) == line
    tab.confirm("Change")
    tab.says("The job has priority -7.")
    assert api.get(f"jobs/{job_id}").json()["job"]["priority"] == -7


def test_dead_letters_are_replayed_and_deleted(tab: Tab, api: httpx.Client) -> None:
    """One of each; deleting asks for a word."""
    first, second = discard(api, "dead", keep=True), discard(api, "dead", keep=True)
    page = tab.open("dead-letters?queue=dead", "Dead letters")
    page.locator("tr", has_text=first).get_by_role("button", name="Replay").click()
    assert tab.confirm("Replay") == f"ojs-aws dead-letter retry {first}"
    tab.says(f"The job {first} is available again.")
    tab.choose("More for", "Delete", within=page.locator("tr", has_text=second))
    assert tab.confirm("Delete", typed="delete") == f"ojs-aws dead-letter delete {second}"
    tab.says("No dead letter matches.")
    assert api.get(f"jobs/{second}").status_code == 404


def test_a_dead_letter_is_edited_and_replayed(tab: Tab, api: httpx.Client) -> None:
    """Beginning with the source text of its arguments; what is no array cannot be sent."""
    queue, args = "edited", '[12345678901234567890, {"b": 1, "a": "it\'s"}]'
    retry = '{"max_attempts": 1, "on_exhaustion": "dead_letter"}'
    options = f'{{"queue": "{queue}", "retry": {retry}}}'
    job_id = push_text(api, f'{{"type": "a.b", "args": {args}, "options": {options}}}')
    fail(api, queue)
    page = tab.open(f"dead-letters?queue={queue}", "Dead letters")
    tab.choose("More for", "Edit", within=page.locator("tr", has_text=job_id))
    box = page.get_by_role("dialog").get_by_label("Arguments")
    page.locator("dialog button.main:enabled").wait_for()  # the arguments are there
    assert box.input_value() == args
    box.fill("{}")
    assert page.get_by_role("dialog").get_by_role("button", name="Replay").is_disabled()
    box.fill(args.replace("12345678901234567890", "98765432109876543210"))
    assert '--override \'{"args":[98765432109876543210, ' in tab.confirm("Replay")
    tab.says(f"The job {job_id} is available again.")
    assert "98765432109876543210" in api.get(f"jobs/{job_id}").text


def test_a_worker_is_made_quiet_and_terminated(tab: Tab, api: httpx.Client) -> None:
    """The row says what it runs and what it was asked for."""
    job_id = push(api, "worked")
    api.post("workers/fetch", json={"worker_id": "w-7", "queues": ["worked"], "count": 1})
    beat = {"worker_id": "w-7", "active_jobs": [job_id], "queues": ["worked"], "concurrency": 5}
    api.post("workers/heartbeat", json=beat).raise_for_status()
    page = tab.open("workers", "Workers")
    row = page.get_by_role("region", name="Workers").locator("tr", has_text="w-7")
    row.get_by_role("link", name=job_id).wait_for()
    row.get_by_role("button", name="Quiet").click()
    assert tab.confirm("Quiet") == "ojs-aws workers quiet w-7"
    row.get_by_role("button", name="Resume").wait_for()
    tab.choose("More for", "Terminate", within=row)
    tab.confirm("Terminate", typed="terminate")
    tab.says("Sent terminate to w-7.")


def test_workers_show_slow_jobs_first(tab: Tab, api: httpx.Client) -> None:
    """Since when each runs, and which take three times as long as nearly all of their queue."""

    def fetch(worker: str) -> None:
        asked = {"worker_id": worker, "queues": ["speed"], "count": 1}
        (job,) = api.post("workers/fetch", json=asked).json()["jobs"]
        beat = {"worker_id": worker, "active_jobs": [job["id"]], "queues": ["speed"]}
        api.post("workers/heartbeat", json=beat).raise_for_status()
        if worker == "w-ended":
            api.post("workers/ack", json={"worker_id": worker, "job_id": job["id"]})

    for _ in range(4):
        push(api, "speed")
    fetch("w-ended")
    fetch("z-slow")
    time.sleep(5.2)
    fetch("a-fast")
    page = tab.open("workers", "Workers")
    rows = page.get_by_role("region", name="Jobs that run").locator("tr", has_text="speed")
    rows.nth(1).wait_for()
    assert "z-slow" in rows.nth(0).inner_text()
    slow = page.locator(".pill", has_text="slow")
    assert rows.nth(0).locator(slow).count() == 1
    assert rows.nth(1).locator(slow).count() == 0
    workers = page.get_by_role("region", name="Workers").locator("tr", has_text="report.build")
    texts = workers.all_inner_texts()
    order = [name for text in texts for name in ("z-slow", "a-fast") if name in text]
    assert order == ["z-slow", "a-fast"]


def test_a_cron_job_is_run_now_and_paused(tab: Tab, api: httpx.Client) -> None:
    """Its next run is shown in its own zone, too."""
    cron = {"name": "nightly", "cron": "0 3 * * *", "timezone": "Europe/Berlin", "args": []}
    api.post("cron", json={**cron, "type": "report.build"}).raise_for_status()
    page = tab.open("cron", "Cron")
    row = page.locator("tr", has_text="nightly")
    row.get_by_text("03:00 Europe/Berlin").wait_for()
    row.get_by_role("button", name="Run now").click()
    assert tab.confirm("Run now") == "ojs-aws cron trigger nightly"
    tab.says("Enqueued the job ")
    row.get_by_role("button", name="Pause").click()
    assert tab.confirm("Pause") == "ojs-aws cron pause nightly"
    row.get_by_role("button", name="Resume").wait_for()


def test_a_cron_job_shows_its_runs_of_the_last_week(tab: Tab, api: httpx.Client) -> None:
    """Each with its job, and the job that it enqueues as it was registered."""
    cron = {"name": "weekly", "cron": "0 3 * * 1", "timezone": "Asia/Tokyo", "args": [1]}
    api.post("cron", json={**cron, "type": "report.build"}).raise_for_status()
    job_id = api.post("cron/weekly/trigger").json()["job_id"]
    page = tab.open("cron", "Cron")
    page.get_by_role("link", name="weekly").click()
    page.get_by_role("heading", name="Cron job weekly", level=1).wait_for()
    tab.says("03:00 Asia/Tokyo")
    runs = page.get_by_role("region", name="Next runs").locator("tbody tr")
    assert runs.count() == 5
    assert all("Mon " in text and "03:00" in text for text in runs.all_inner_texts())
    row = page.locator("tr", has=page.get_by_role("link", name=job_id))
    row.get_by_text("available").wait_for()
    assert "report.build" in page.get_by_label("The job that it enqueues").inner_text()
    page.get_by_role("button", name="Pause").click()
    assert tab.confirm("Pause") == "ojs-aws cron pause weekly"
    page.get_by_role("button", name="Resume").wait_for()


def test_a_limit_shows_its_use_and_what_an_operator_set(tab: Tab, api: httpx.Client) -> None:
    """And what was set is removed."""
    limit = {"key": "stripe", "concurrency": 1, "rate": {"limit": 5, "period": "PT1M"}}
    for _ in range(2):
        push(api, "limited", options={"rate_limit": limit})
    fetch = {"worker_id": "w-9", "queues": ["limited"], "count": 2}
    assert len(api.post("workers/fetch", json=fetch).json()["jobs"]) == 1
    api.put("rate-limits/stripe", json={"concurrency": 3}).raise_for_status()
    page = tab.open("limits", "Limits")
    row = page.locator("tr", has_text="stripe")
    row.get_by_text("1 of 3 run").wait_for()
    row.get_by_text("3 at a time", exact=True).wait_for()
    row.get_by_text("1 of 5 in 1 min").wait_for()
    row.get_by_role("button", name="Remove").click()
    assert tab.confirm("Remove") == "ojs-aws rate-limits remove stripe"
    row.get_by_text("1 of 1 run").wait_for()
    assert row.get_by_role("button").count() == 0


def test_a_schema_is_shown_as_it_was_registered(tab: Tab, api: httpx.Client) -> None:
    """Each version has its own address."""
    for version, schema in (("1", '{"type":"array","maxItems":1e2}'), ("2", '{"type":"array"}')):
        body = f'{{"schema":{schema}}}'
        headers = {"Content-Type": "application/json"}
        path = f"schemas/shape.draw/{version}"
        api.put(path, content=body, headers=headers).raise_for_status()
    page = tab.open("schemas", "Schemas")
    page.locator("tr", has_text="shape.draw").get_by_role("link", name="1", exact=True).click()
    page.get_by_role("heading", name="Schema of shape.draw", level=1).wait_for()
    text = page.get_by_label("Schema", exact=True)
    text.get_by_text("1e2").wait_for()
    page.get_by_role("link", name="2", exact=True).click()
    text.get_by_text("1e2").wait_for(state="detached")
    tab.says("2 (latest)")


def test_events_appear_as_they_come_unless_they_are_held(tab: Tab, api: httpx.Client) -> None:
    """The newest first, of one queue; the data is what was published."""
    first = push(api, "news")
    page = tab.open("events?queue=news", "Events")
    page.get_by_role("link", name=first).wait_for()
    assert "ojs-aws events --follow --queue news" in page.get_by_label("Command line").inner_text()
    page.get_by_role("button", name="Hold").click()
    second = push(api, "news")
    tab.says("Held; 1 newer.")
    assert page.get_by_role("link", name=second).count() == 0
    page.get_by_role("button", name="Hold").click()
    row = page.locator("tbody tr").first
    row.get_by_role("link", name=second).wait_for()
    row.get_by_text("as published").click()
    assert '"queue":"news"' in row.get_by_label("Data of the event").inner_text()


def test_a_workflow_is_drawn_with_what_each_step_waits_for(tab: Tab, api: httpx.Client) -> None:
    """A box for each job, and a line for each wait; the table says the same."""
    job = {"type": "report.build", "args": [], "options": {"queue": "charted"}}
    steps = [
        {"id": "build", **job},
        {"id": "unit", "depends_on": ["build"], **job},
        {"id": "lint", "depends_on": ["build"], **job},
        {"id": "ship", "depends_on": ["unit", "lint"], **job},
    ]
    made = api.post("workflows", json={"name": "release", "steps": steps})
    workflow_id = made.json()["workflow"]["id"]
    fail(api, "charted")
    page = tab.open(f"workflows/{workflow_id}", "Workflow release")
    graph = page.get_by_role("region", name="Graph of the steps")
    graph.wait_for()
    assert graph.locator("rect").count() == 4
    assert graph.locator("path.edge").count() == 4
    left = {
        name: float(graph.locator("g", has_text=f"{name}:").locator("rect").get_attribute("x"))
        for name in ("build", "unit", "lint", "ship")
    }
    assert left["build"] < left["unit"] == left["lint"] < left["ship"]
    row = page.locator("tbody tr", has_text="unit, lint")
    assert "ship" in row.inner_text()
    graph.locator("a").first.click()
    page.get_by_role("heading", name="report.build", level=1).wait_for()


def test_a_workflow_shows_its_steps_and_is_cancelled(tab: Tab, api: httpx.Client) -> None:
    """What each step waits for, and its job."""
    step = {"type": "report.build", "args": [], "options": {"queue": "steps"}}
    made = api.post("workflows", json={"type": "chain", "name": "ship", "steps": [step, step]})
    workflow_id = made.json()["workflow"]["id"]
    page = tab.open("workflows", "Workflows")
    page.get_by_role("link", name=workflow_id).click()
    page.get_by_role("heading", name="Workflow ship", level=1).wait_for()
    assert page.locator("tbody tr").count() == 2
    tab.choose("More actions", "Cancel the workflow")
    assert tab.confirm("Cancel the workflow") == f"ojs-aws workflows cancel {workflow_id}"
    tab.says("The workflow is cancelled.")


def test_settings_name_the_server_and_the_licences(tab: Tab) -> None:
    """Its times are in words, its lists without quotes; and the licences are there."""
    page = tab.open("settings", "Settings")
    tab.says("ojs-aws 0")
    for name, text in (("completed_retention_s", "7 d"), ("queues", "default, demo")):
        fact = page.locator(".facts > div", has=page.get_by_text(name, exact=True))
        assert fact.locator("dd").inner_text() == text
    address = page.get_by_role("link", name="Licences").get_attribute("href")
    assert "preact" in httpx.get(f"{tab.address}/{address}", timeout=HUNG_S).text


def test_a_job_that_failed_once_says_when_it_is_tried_again(tab: Tab, api: httpx.Client) -> None:
    """Its attempt is in the timeline, with its own error."""
    job_id = push(api, "twice", options={"retry": {"max_attempts": 3, "initial_interval": "PT1H"}})
    fail(api, "twice")
    page = tab.open(f"jobs/{job_id}", "report.build")
    tab.says("Next attempt")
    tab.says("1 of 3")
    assert "attempt failed (attempt 1)" in page.locator(".timeline").inner_text()


def test_a_job_that_waits_for_its_retry_is_retried_now(tab: Tab, api: httpx.Client) -> None:
    """On its page and in the list; it keeps its attempt."""
    for opened in ("page", "list"):
        queue = f"now-{opened}"
        job_id = push(api, queue, options={"retry": {"initial_interval": "PT1H"}})
        fail(api, queue)
        if opened == "page":
            page = tab.open(f"jobs/{job_id}", "report.build")
            page.get_by_role("button", name="Retry now").click()
        else:
            tab.open(f"jobs?queue={queue}", "Jobs")
            tab.choose("Actions of", "Retry now …")
        assert tab.confirm("Retry now") == f"ojs-aws jobs retry {job_id}"
        tab.says("The job is available again.")
        job = api.get(f"jobs/{job_id}").json()["job"]
        assert (job["state"], job["attempt"]) == ("available", 1)


def test_a_job_that_waits_says_why(tab: Tab, api: httpx.Client) -> None:
    """The sentence, what was checked, and the command that says the same."""
    queue = "why-paused"
    job_id = push(api, queue)
    api.post(f"queues/{queue}/pause").raise_for_status()
    page = tab.open(f"jobs/{job_id}", "report.build")
    tab.says(f"The queue '{queue}' has been paused by anonymous for")
    page.get_by_title(f"ojs-aws why {job_id}").wait_for()
