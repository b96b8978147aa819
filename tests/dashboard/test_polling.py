"""What an open page asks of the server: one request at a time, seldom, and never unseen."""

from __future__ import annotations

import re
from typing import Any, Final

import httpx

from tests.dashboard.conftest import Tab
from tests.dashboard.jobs import push
from tests.dashboard.views import VIEWS

ROUNDS: Final = 12
"""Two minutes of an open overview."""

COUNT_FETCHES: Final = """
    Object.assign(window, { most: 0, under: 0, ended: 0 });
    const fetched = window.fetch;
    window.fetch = async (...asked) => {
        window.most = Math.max(window.most, ++window.under);
        try {
            const answer = await fetched(...asked);
            const text = await answer.text();
            return new Response(text || null, answer);
        } finally {
            window.under -= 1;
            window.ended = performance.now();
        }
    };
"""
LEFT_MS: Final = 20_000
"""Less than a read may take, and more than a view needs."""
QUIET: Final = "() => window.under === 0 && performance.now() - window.ended > 500"
"""Nothing is under way, and nothing follows."""
SHOW: Final = """(state) => {
    Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


COUNTED: Final = ("cron", "rate-limits", "admin/schemas")
"""What the menu counts, every five minutes."""


def asked_of_api(tab: Tab) -> list[str]:
    """Return the paths below ``/ojs/v1/`` that the page asked for, in their order."""
    found = [re.search(r"/ojs/v1/([^?]+)", url) for url in tab.requests]
    return [each[1] for each in found if each]


def asked_for_jobs(tab: Tab) -> list[str]:
    """Return those of them that ask for jobs: the menu asks for its counts by itself."""
    menu = {"admin/overview", "admin/findings", *COUNTED}
    return [path for path in asked_of_api(tab) if path not in menu]


def test_no_view_has_two_requests_under_way(tab: Tab, api: httpx.Client) -> None:
    """Neither when it opens nor when somebody refreshes it at once, again and again."""
    job_id = push(api, "polled")
    for name in ("polled", "polled-too"):  # the list of cron jobs reads the last runs of each
        cron = {"name": name, "cron": "0 3 * * 1", "timezone": "UTC", "args": [1]}
        api.post("cron", json={**cron, "type": "report.build"}).raise_for_status()
    page = tab.page
    page.add_init_script(COUNT_FETCHES)
    single = [(f"jobs/{job_id}", "report.build"), ("queues/polled", "Queue polled")]
    for view, heading in (*VIEWS, *single):
        tab.open(view, heading)
        page.get_by_text("Live · ").wait_for()
        button = page.get_by_role("button", name="Refresh")
        for _ in range(3):
            button.click()
        page.wait_for_function(QUIET)
        assert page.evaluate("window.most") == 1, view


def test_a_slow_read_of_a_left_view_holds_up_no_other(tab: Tab, api: httpx.Client) -> None:
    """It ends when the view is left: a view's, a drawing's, or the menu's, which counts again."""
    cron = {"name": "slowly", "cron": "0 3 * * 1", "timezone": "UTC", "args": [], "type": "a.b"}
    api.post("cron", json=cron).raise_for_status()
    page = tab.page
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    slow = ("**/admin/jobs?*", "**/cron/*/history?*", "**/cron?limit=1")
    for url in slow:
        page.route(url, hold)
    with page.expect_request(slow[0]):
        tab.open("jobs", "Jobs")
    with page.expect_request(slow[1], timeout=LEFT_MS):
        tab.open("cron", "Cron")
    with page.expect_request(slow[2], timeout=LEFT_MS):
        tab.open("settings", "Settings")
    tab.open("queues", "Queues")
    page.get_by_text("Live · ").wait_for(timeout=LEFT_MS)
    for url in slow:
        page.unroute(url)
    tab.open("limits", "Limits")
    entry = page.get_by_role("listitem").filter(has_text=re.compile(r"^Cron\d"))
    entry.first.wait_for(timeout=LEFT_MS)
    assert len(held) >= len(slow)


def test_an_open_overview_asks_as_often_as_its_price_says(tab: Tab) -> None:
    """Every 10 s for the numbers, every third time for the hour, every sixth for findings.

    And once in five minutes for what the menu counts.
    """
    page = tab.page
    page.clock.install()
    with page.expect_response("**/admin/stats/history*"):
        tab.open("", "Overview")
    page.get_by_text("Live · ").wait_for()
    for _ in range(ROUNDS - 1):
        page.clock.run_for(9_000)
        before = len(asked_of_api(tab))
        with page.expect_response("**/admin/overview"):
            page.clock.run_for(1_500)
        page.wait_for_timeout(100)
        assert len(asked_of_api(tab)) - before <= 3
    asked = asked_of_api(tab)
    assert asked.count("admin/overview") == ROUNDS
    assert asked.count("admin/stats/history") == ROUNDS / 3
    assert asked.count("admin/findings") == ROUNDS / 6
    assert len(asked) == ROUNDS * (1 + 1 / 3 + 1 / 6) + len(COUNTED)


def test_a_hidden_page_asks_for_nothing(tab: Tab) -> None:
    """And asks at once when somebody looks at it again."""
    page = tab.page
    page.clock.install()
    with page.expect_response("**/admin/schemas?*"):  # the last that the menu counts
        tab.open("queues", "Queues")
    page.get_by_role("columnheader", name="Queue").wait_for()
    page.evaluate(SHOW, "hidden")
    before = len(asked_of_api(tab))
    page.clock.run_for(20 * 60_000)
    assert len(asked_of_api(tab)) == before
    with page.expect_response("**/admin/*"):
        page.evaluate(SHOW, "visible")
        page.clock.run_for(10)


def test_numbers_are_right_with_0_1_and_100_000_jobs(tab: Tab, api: httpx.Client) -> None:
    """An estimate and a bound say so, and no view reads more because there are more jobs."""
    total: dict[str, Any] = {"total": 100_000, "total_is": "at_least", "total_is_exact": False}
    page = tab.open("jobs?queue=nothing-here&state=available", "Jobs")
    page.get_by_text("No job matches.").wait_for()
    page.get_by_text("0 match.").wait_for()
    push(api, "single-one")
    page = tab.open("jobs?queue=single-one&state=available", "Jobs")
    page.get_by_text(re.compile(r"^1 match\.")).wait_for()

    def enlarge(route: Any) -> None:
        answer = route.fetch()
        value = answer.json()
        if "pagination" in value:
            value["pagination"] |= {**total, "next_cursor": "c"}
        else:
            value["queue"]["counts"]["available"] = 100_000
            value["queue"]["estimated"] = ["available"]
        route.fulfill(response=answer, json=value)

    page.route("**/ojs/v1/admin/jobs?*", enlarge)
    before = len(asked_for_jobs(tab))
    page.get_by_role("button", name="Refresh").click()
    page.get_by_text("at least 100,000 match.").wait_for()
    assert len(asked_for_jobs(tab)) - before == 1
    page.get_by_role("link", name="Go on").wait_for()
    assert "limit=50" in [url for url in tab.requests if "/admin/jobs?" in url][-1]
    total["total_is"] = "estimate"
    page.get_by_role("button", name="Refresh").click()
    page.get_by_text("about 100,000 match.").wait_for()
    total |= {"total": 0, "total_is": "at_least"}
    page.get_by_role("button", name="Refresh").click()
    page.get_by_text("match.").wait_for(state="detached")
    page.get_by_role("link", name="Go on").wait_for()
