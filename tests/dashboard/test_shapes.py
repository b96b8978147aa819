"""What moves is drawn: backlogs, attempts, failures, runs; and what the menu counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.dashboard.conftest import Tab
from tests.dashboard.jobs import discard, fail, push, state_of


def amend(tab: Tab, url: str, change: Callable[[Any], None]) -> None:
    """Change what the server answers at an address, before the page gets it."""

    def answer(route: Any) -> None:
        response = route.fetch()
        body = response.json()
        change(body)
        route.fulfill(response=response, body=json.dumps(body))

    tab.page.route(url, answer)


@pytest.mark.parametrize(("view", "heading"), [("", "Overview"), ("queues", "Queues")])
def test_the_backlog_of_a_queue_is_a_line(
    tab: Tab, api: httpx.Client, view: str, heading: str
) -> None:
    """From the counts of its minutes; it ends with a dot at what waits now."""
    push(api, "drawn")
    growth = {"drawn": [5, 3, 1]}
    amend(tab, "**/admin/stats/history?*", lambda body: body.update(growth=growth))
    tab.page.set_viewport_size({"width": 1440, "height": 900})
    if view == "":  # it shows five queues
        amend(tab, "**/admin/overview", lambda body: body.update(queues=_only(body, "drawn")))
    page = tab.open(view, heading)
    row = page.get_by_role("region", name="Queues").locator("tr", has_text="drawn")
    row.locator(".spark circle").wait_for()
    assert row.locator(".spark path").count() == 2


def _only(body: Any, name: str) -> list[Any]:
    return [queue for queue in body["queues"] if queue["name"] == name]


def test_all_dead_letters_of_a_filter_are_replayed_at_once(tab: Tab, api: httpx.Client) -> None:
    """The question says how many; those of other queues stay."""
    ids = [discard(api, "replayed", keep=True) for _ in range(3)]
    other = discard(api, "kept", keep=True)
    page = tab.open("dead-letters?queue=replayed", "Dead letters")
    page.get_by_role("button", name="Replay all that match").click()
    page.get_by_role("dialog").get_by_text("Jobs that match now: 3").wait_for()
    command = tab.confirm("Replay")
    assert command == "ojs-aws dead-letter retry --queue replayed"
    tab.says("Replayed 3 jobs.")
    tab.says("No dead letter matches.")
    assert page.get_by_role("button", name="Replay all that match").count() == 0
    assert {state_of(api, job_id) for job_id in ids} == {"available"}
    assert state_of(api, other) == "discarded"


def test_the_replay_of_all_dead_letters_asks_with_their_number(tab: Tab, api: httpx.Client) -> None:
    """It changes nothing if nobody says yes."""
    job_id = discard(api, "asked", keep=True)
    page = tab.open("dead-letters", "Dead letters")
    page.get_by_role("button", name="Replay all").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Jobs that match now: ").wait_for()
    assert "dead-letter retry --all" in dialog.get_by_label("Command line").inner_text()
    dialog.get_by_role("button", name="Back").click()
    assert state_of(api, job_id) == "discarded"


def test_errors_of_dead_letters_say_of_how_many_they_are(tab: Tab, api: httpx.Client) -> None:
    """The server compares the newest ones only."""
    discard(api, "sampled", keep=True)
    amend(tab, "**/dead-letter/stats", lambda body: body.update(total=2501, sampled=500))
    tab.open("dead-letters", "Dead letters")
    tab.says("of the newest 500")


def test_attempts_are_bars_with_their_results(tab: Tab, api: httpx.Client) -> None:
    """A failed one, and the one that comes next; a list has the same for narrow windows."""
    job_id = push(api, "bars", options={"retry": {"max_attempts": 3, "initial_interval": "PT1H"}})
    fail(api, "bars")
    tab.page.set_viewport_size({"width": 1440, "height": 900})
    page = tab.open(f"jobs/{job_id}", "report.build")
    bars = page.locator(".attempts")
    bars.get_by_text("failed after").wait_for()
    bars.get_by_text("due ").wait_for()
    assert bars.locator(".backoff").count() == 1
    assert bars.locator(".runs").evaluate("each => each.getBBox().width") >= 1
    page.set_viewport_size({"width": 800, "height": 800})
    bars.wait_for(state="hidden")
    page.locator(".timeline").get_by_text("attempt failed").wait_for()


def test_the_timeline_says_when_a_dead_worker_was_seen_last(tab: Tab, api: httpx.Client) -> None:
    """As its last heartbeat says, if that was before its death."""
    job_id = push(api, "mourned")
    api.post(
        "workers/heartbeat",
        json={"worker_id": "w-dead", "active_jobs": [], "queues": ["mourned"]},
    ).raise_for_status()
    fail(api, "mourned", worker="w-dead")

    def die(body: Any) -> None:
        started = {"type": "job.started", "data": {"attempt": 1, "worker_id": "w-dead"}}
        for entry in body["job"]["history"]:
            if entry["what"] == "started":
                started["time"] = entry["at"]
            if entry["what"] == "attempt_failed":
                entry["error"]["type"] = "worker_death"
        body["job"]["events"]["items"] = [started]

    amend(tab, f"**/admin/jobs/{job_id}?events=true", die)
    page = tab.open(f"jobs/{job_id}", "report.build")
    page.locator(".timeline").get_by_text("The worker was last seen").wait_for()
    page.locator(".attempts").get_by_text("worker died after").wait_for()


def test_errors_of_a_day_are_drawn_by_the_hour(tab: Tab, api: httpx.Client) -> None:
    """The counts of an hour are too few for a drawing."""
    discard(api, "drawn-errors")
    tab.page.set_viewport_size({"width": 1440, "height": 900})
    page = tab.open("errors?queue=drawn-errors", "Errors")
    for _ in range(60):  # the groups follow the stream
        if page.locator("tbody tr").count() > 0:
            break
        page.get_by_role("button", name="Refresh").click()
        page.wait_for_timeout(500)
    drawn = page.get_by_role("img", name="Failures in each period")
    drawn.wait_for()
    assert drawn.locator("rect").count() == 25
    page.get_by_role("region", name="Errors").get_by_text("new").wait_for()
    page.get_by_role("button", name="the last hour").click()
    drawn.wait_for(state="detached")


def test_a_cron_job_shows_how_its_last_runs_ended(tab: Tab, api: httpx.Client) -> None:
    """The oldest first; a screen reader hears each."""
    cron = {"name": "dotted", "cron": "0 3 * * 1", "timezone": "Asia/Tokyo", "args": [1]}
    options = {"queue": "dotted", "retry": {"max_attempts": 1}}
    api.post("cron", json={**cron, "type": "report.build", "options": options}).raise_for_status()
    api.post("cron/dotted/trigger").raise_for_status()
    fail(api, "dotted")
    tab.page.set_viewport_size({"width": 1440, "height": 900})
    page = tab.open("cron", "Cron")
    row = page.get_by_role("region", name="Cron jobs").locator("tr", has_text="dotted").first
    runs = row.get_by_role("img", name="The last runs")
    runs.wait_for()
    assert runs.get_attribute("aria-label").endswith(": discarded")
    row.get_by_text("failed").wait_for()


def test_the_menu_counts_what_no_view_reads(tab: Tab, api: httpx.Client) -> None:
    """Cron jobs, limits and schemas, by an answer of one item each."""
    cron = {"name": "counted", "cron": "0 3 * * 1", "timezone": "UTC", "args": []}
    api.post("cron", json={**cron, "type": "report.build"}).raise_for_status()
    tab.page.set_viewport_size({"width": 1440, "height": 900})
    page = tab.open("", "Overview")
    entries = page.locator(".side")
    for name, path in (
        ("Cron", "cron"),
        ("Limits", "rate-limits"),
        ("Schemas", "admin/schemas"),
    ):
        expected = api.get(path).json()["pagination"]["total"]
        entries.get_by_title(name, exact=True).get_by_text(str(expected), exact=True).wait_for()


def test_the_deployment_says_what_its_environment_is_called(tab: Tab) -> None:
    """Its name chooses the colour of the stripe."""

    def name_it(route: Any) -> None:
        response = route.fetch()
        meta = '<meta name="ojs-environment" content="staging"><title>'
        route.fulfill(response=response, body=response.text().replace("<title>", meta, 1))

    tab.page.route(f"{tab.address}/", name_it)
    page = tab.open("", "Overview")
    page.locator(".frame.env-staging").wait_for()
    assert page.locator(".side .environment strong").inner_text() == "staging"


def test_settings_in_words_are_exact(tab: Tab) -> None:
    """What two units would round, and what the name of a queue would mean, stays as it is."""
    given = {
        "execution_timeout": 3700,
        "retention": "PT3661S",
        "audit_retention_s": 86_400,
        "threshold": 0.8125,
        "visibility_timeouts_s": {"mail": 60, "images": 5400},
        "lines": {"import-timeout": 16},
    }
    amend(tab, "**/admin/config", lambda body: body.update(settings=given))
    page = tab.open("settings", "Settings")
    tab.says("execution_timeout")
    facts = dict(
        zip(
            page.locator(".facts dt").all_inner_texts(),
            page.locator(".facts dd").all_inner_texts(),
            strict=True,
        )
    )
    assert {name: facts[name] for name in given} == {
        "execution_timeout": "3700 s",
        "retention": "PT3661S",
        "audit_retention_s": "1 d",
        "threshold": "0.8125",
        "visibility_timeouts_s": "mail: 1 min, images: 1 h 30 min",
        "lines": "import-timeout: 16",
    }
