"""What everybody can read and use: zoomed, by keyboard, with less motion, by the server's clock."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

import httpx
import pytest

from tests.dashboard.conftest import Tab
from tests.dashboard.jobs import discard, push
from tests.dashboard.views import VIEWS, furnish

FITS: Final = """() => {
    const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
    return wide ? document.documentElement.scrollWidth : 0;
}"""
FOCUS: Final = "document.activeElement.innerText || document.activeElement.getAttribute('name')"
MOST_TABS: Final = 500
ON_HEADING: Final = "#heading:focus"


@pytest.mark.parametrize(
    ("width", "factor", "text"), [(640, 2, "100%"), (1280, 1, "200%")], ids=["page", "text"]
)
def test_every_view_can_be_zoomed_to_200_percent(
    browser: Any, server: str, api: httpx.Client, width: int, factor: int, text: str
) -> None:
    """A window of 1280 pixels, by the page or by its text alone: nothing scrolls sideways."""
    context = browser.new_context(
        viewport={"width": width, "height": 720 // factor}, device_scale_factor=factor
    )
    tab = Tab(context.new_page(), server)
    for view, heading in (*VIEWS, *furnish(api)):
        page = tab.open(view, heading)
        page.get_by_text("Loading …").wait_for(state="detached")
        page.evaluate("size => { document.documentElement.style.fontSize = size; }", text)
        assert page.evaluate(FITS) == 0, view
    tab.check()
    context.close()


def focus_on(page: Any, name: str) -> None:
    """Press Tab until a control with a name has the focus."""
    for _ in range(MOST_TABS):
        if page.evaluate(FOCUS) == name:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {name!r}")


def test_the_focus_stays_on_the_heading_while_a_view_loads(tab: Tab, api: httpx.Client) -> None:
    """A screen reader says where one is; what is loaded then takes nothing away."""
    job_id = push(api, "focused")
    page = tab.open("", "Overview")
    for view, heading in (("workers", "Workers"), (f"jobs/{job_id}", "report.build")):
        page.evaluate("view => { location.hash = `/${view}`; }", view)
        page.get_by_role("heading", name=heading, level=1).wait_for()
        page.get_by_text("Live · ").wait_for()
        page.get_by_text("Loading …").wait_for(state="detached")
        page.locator(ON_HEADING).wait_for()


def test_the_keyboard_alone_does_everything(tab: Tab, api: httpx.Client) -> None:
    """From the menu to a queue, and through the question; the focus is where one was."""
    push(api, "keyboard")
    page = tab.open("", "Overview")
    page.get_by_role("region", name="Queues", exact=True).locator("tbody a").first.wait_for()
    focus_on(page, "Queues")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Queues", level=1).wait_for()
    page.locator(ON_HEADING).wait_for()  # the focus moves after the view is drawn
    page.get_by_role("link", name="keyboard", exact=True).wait_for()
    focus_on(page, "keyboard")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Queue keyboard", level=1).wait_for()
    page.get_by_role("button", name="Pause").wait_for()
    focus_on(page, "Pause")
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Pause").wait_for()
    assert page.evaluate("document.activeElement.closest('dialog') !== null")
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    assert page.evaluate(FOCUS) == "Pause"
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Pause").wait_for()
    focus_on(page, "Pause")
    page.keyboard.press("Enter")
    tab.says("The queue keyboard is paused.")


def test_nothing_moves_for_who_wants_less_motion(browser: Any, server: str) -> None:
    """Colours fade for the others only."""
    lengths = {}
    for motion in ("reduce", "no-preference"):
        context = browser.new_context(reduced_motion=motion)
        tab = Tab(context.new_page(), server)
        page = tab.open("queues", "Queues")
        button = page.get_by_role("button", name="Refresh")
        lengths[motion] = button.evaluate("each => getComputedStyle(each).transitionDuration")
        assert page.evaluate("document.getAnimations().length") == 0
        tab.check()
        context.close()
    assert lengths["reduce"] == "0s"
    assert lengths["no-preference"] != "0s"


def test_times_follow_the_server_and_not_the_browsers_clock(tab: Tab, api: httpx.Client) -> None:
    """A clock that is hours ahead makes no job old, in local time and in UTC."""
    job_id = push(api, "clock")
    page = tab.page
    page.clock.install(time=dt.datetime.now(dt.UTC) + dt.timedelta(hours=5))
    tab.open(f"jobs/{job_id}", "report.build")
    page.get_by_text("Live · ").wait_for()
    page.clock.run_for(1_100)
    shown = page.get_by_text("Live · ").locator("time").inner_text()
    assert "h" not in shown
    assert "min" not in shown
    created = page.locator(".timeline time").first
    assert "h" not in (created.get_attribute("title") or created.inner_text()).partition(" UTC")[2]
    page.get_by_role("button", name="Times:").click()
    instant = api.get(f"jobs/{job_id}").json()["job"]["created_at"]
    assert instant[:10] in page.locator(".timeline").inner_text()


def test_every_chart_has_a_table_with_the_same_numbers(tab: Tab, api: httpx.Client) -> None:
    """A row for each bar, and a name for those who do not see it."""
    discard(api, "charted")
    charts = 0
    for view, heading in (*VIEWS, ("queues/charted", "Queue charted")):
        page = tab.open(view, heading)
        page.get_by_text("Loading …").wait_for(state="detached")
        for chart in page.locator(".plot").all():
            charts += 1
            assert chart.get_attribute("role") == "img"
            assert chart.get_attribute("aria-label")
            table = chart.locator("xpath=following-sibling::details[1]")
            table.locator("summary").click()
            assert table.locator("tbody tr").count() == int(chart.get_attribute("data-points"))
    assert charts > 0


@pytest.mark.parametrize("width", [390, 768, 1440])
def test_letters_of_drawings_are_large_enough_to_read(
    tab: Tab, api: httpx.Client, width: int
) -> None:
    """However narrow the window is: drawings scroll before their letters get too small."""
    views = furnish(api)
    page = tab.page
    page.set_viewport_size({"width": width, "height": 900})
    for view, heading in (("cron", "Cron"), *(each for each in views if "workflow" in each[0])):
        tab.open(view, heading)
        letters = page.locator("main .day text:visible, main .graph text:visible")
        letters.first.wait_for()
        heights = letters.evaluate_all("""all => all.map((each) =>
            parseFloat(getComputedStyle(each).fontSize) * each.getScreenCTM().d)""")
        assert min(heights) >= 9, view


def test_an_answer_of_a_proxy_is_explained(tab: Tab) -> None:
    """One that signs people in answers with a page of its own."""
    page = tab.page
    page.route(
        "**/ojs/v1/**",
        lambda route: route.fulfill(status=200, content_type="text/html", body="<html>"),
    )
    tab.open("", "Overview")
    tab.says("perhaps a proxy that asks you to sign in")
    tab.says("Update failed")


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (404, "what has ended is removed when its retention is over"),
        (429, "This page asks again by itself."),
        (503, "This page asks again by itself."),
    ],
)
def test_a_view_that_does_not_load_says_what_comes_next(tab: Tab, status: int, says: str) -> None:
    page = tab.page
    refusal = {"error": {"code": "refused", "message": "No."}}
    page.route("**/admin/jobs/**", lambda route: route.fulfill(status=status, json=refusal))
    tab.open("jobs/01a20000-0000-7000-8000-000000000009")
    tab.says(says)
    tab.check("Failed to load resource")
    tab.complaints.clear()
