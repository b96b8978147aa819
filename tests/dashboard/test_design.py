"""What the design asks of every view: the answer first, nothing out of sight, no surprises."""

from __future__ import annotations

import json
from typing import Any, Final

import httpx
import pytest

from tests.dashboard.conftest import Tab
from tests.dashboard.jobs import discard, push, push_text
from tests.dashboard.views import VIEWS, furnish

DESKTOP: Final = {"width": 1440, "height": 900}
SMALL: Final = {"width": 1024, "height": 768}
PHONE: Final = {"width": 390, "height": 844}
ROWS: Final = 20
"""Jobs that a screen shows."""

VISIBLE_IDS: Final = r"""() => {
    const found = [];
    const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const size = getComputedStyle(texts.currentNode.parentElement).fontSize;
        if (size !== "0px") found.push(texts.currentNode.data);
    }
    return found.join(" ").match(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? [];
}"""
MARKS: Final = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"


def is_in_sight(page: Any, box: dict[str, float] | None) -> bool:
    """Return whether a box is within the window."""
    assert box is not None
    size = page.viewport_size
    right, bottom = box["x"] + box["width"], box["y"] + box["height"]
    return bool(box["x"] >= 0 and right <= size["width"] and bottom <= size["height"])


def test_a_screen_shows_20_jobs_with_their_actions(tab: Tab, api: httpx.Client) -> None:
    """No id is whole, and nothing scrolls sideways."""
    for _ in range(ROWS + 2):
        push(api, "screen", type="payment.capture")
    page = tab.page
    page.set_viewport_size(DESKTOP)
    tab.open("jobs?queue=screen", "Jobs")
    row = page.locator("tbody tr").nth(ROWS - 1)
    row.wait_for()
    assert is_in_sight(page, row.bounding_box())
    assert is_in_sight(page, row.get_by_role("button", name="Actions of").bounding_box())
    assert page.evaluate(VISIBLE_IDS) == []
    scroll = page.get_by_role("region", name="Jobs")
    assert scroll.evaluate("each => each.scrollWidth <= each.clientWidth")


@pytest.mark.parametrize("size", [DESKTOP, SMALL], ids=["1440", "1024"])
def test_actions_of_dead_letters_are_in_sight(
    tab: Tab, api: httpx.Client, size: dict[str, int]
) -> None:
    """Replaying is one button; what cannot be undone is in the menu, last and in red."""
    job_id = discard(api, "sight", keep=True)
    page = tab.page
    page.set_viewport_size(size)
    tab.open("dead-letters?queue=sight", "Dead letters")
    row = page.locator("tr", has_text=job_id)
    assert is_in_sight(page, row.get_by_role("button", name="Replay").bounding_box())
    more = row.get_by_role("button", name="More for")
    assert is_in_sight(page, more.bounding_box())
    more.click()
    items = page.locator(".menu button")
    texts = items.all_inner_texts()
    assert texts == ["Edit and replay …", "Copy as command", "Delete …"]
    colours = items.evaluate_all("all => all.map((each) => getComputedStyle(each).color)")
    assert colours[-1] == "rgb(184, 31, 39)"
    assert colours.count(colours[-1]) == 1


def test_the_actions_of_cron_jobs_cover_no_column(tab: Tab, api: httpx.Client) -> None:
    """On a tablet, with a long schedule and a zone of three parts."""
    cron = {"name": "reports-of-shops", "cron": "*/15 9-17 * * MON-FRI", "type": "report.build"}
    zone = {"timezone": "America/Argentina/Buenos_Aires", "args": []}
    api.post("cron", json={**cron, **zone}).raise_for_status()
    api.post("cron/reports-of-shops/trigger").raise_for_status()
    tab.page.set_viewport_size({"width": 768, "height": 1024})
    tab.open("cron", "Cron").locator("tr", has_text="reports-of-shops").wait_for()
    scroll = tab.page.get_by_role("region", name="Cron jobs")
    assert scroll.evaluate("each => each.scrollWidth <= each.clientWidth")


@pytest.mark.parametrize(
    ("size", "environments"), [(DESKTOP, 1), (SMALL, 1), (PHONE, 1)], ids=["1440", "1024", "390"]
)
def test_every_view_says_where_one_is_and_how_fresh(
    tab: Tab, api: httpx.Client, size: dict[str, int], environments: int
) -> None:
    """The environment and the live state are in sight, and nothing is wider than the window."""
    page = tab.page
    page.set_viewport_size(size)
    for view, heading in (*VIEWS, *furnish(api)):
        tab.open(view, heading)
        live = page.get_by_text("Live · ")
        live.wait_for()
        assert is_in_sight(page, live.bounding_box()), view
        assert page.locator(".environment:visible").count() == environments, view
        assert page.locator(".environment:visible").inner_text().startswith("local"), view
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], view


def test_a_phone_shows_the_first_job_at_once(tab: Tab, api: httpx.Client) -> None:
    """Within 180 pixels; buttons can be hit with a thumb."""
    push(api, "thumb")
    page = tab.page
    page.set_viewport_size(PHONE)
    tab.open("jobs", "Jobs")
    box = page.locator("tbody tr").first.bounding_box()
    assert box is not None
    assert box["y"] <= 180
    heights = page.locator("main button:visible").evaluate_all(
        "all => all.map((each) => each.getBoundingClientRect().height)"
    )
    assert min(heights) >= 36


def test_controls_of_the_writing_direction_are_shown_as_escapes(
    tab: Tab, api: httpx.Client
) -> None:
    """In arguments and errors; what is sent and what is copied keep each byte."""
    args = f'["{MARKS}", "gpj.exe"]'
    options = '"options":{"queue":"bidi","retry":{"max_attempts":1}}'
    job_id = push_text(api, f'{{"type":"bidi.data","args":{args},{options}}}')
    api.post("workers/fetch", json={"worker_id": "w-bidi", "queues": ["bidi"], "count": 1})
    error = {"code": "handler_error", "type": "Reordered", "message": f"a {MARKS} b"}
    report = {"worker_id": "w-bidi", "job_id": job_id, "error": {**error, "retryable": True}}
    api.post("workers/nack", json=report).raise_for_status()
    page = tab.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.open(f"jobs/{job_id}", "bidi.data")
    escaped = "".join(f"\\u{ord(mark):04x}" for mark in MARKS)
    section = page.locator("section", has=page.get_by_role("heading", name="Arguments"))
    assert escaped in section.locator("pre").inner_text()
    assert not set(MARKS) & set(page.locator("main").inner_text())
    section.get_by_role("button", name="Copy as sent").click()
    section.get_by_text("Copied", exact=True).wait_for(state="attached")
    assert page.evaluate("navigator.clipboard.readText()") == args
    section.get_by_role("button", name="As sent", exact=True).click()
    assert section.locator("pre").evaluate("each => each.textContent") == args
    tab.open("jobs?queue=bidi", "Jobs")
    page.locator("tr", has_text=job_id).get_by_text(f"a {escaped} b").wait_for()
    tab.open("errors?queue=bidi", "Errors")
    page.locator("tr", has_text="Reordered").first.wait_for()
    assert not set(MARKS) & set(page.locator("main").inner_text())


@pytest.mark.parametrize("size", [DESKTOP, SMALL], ids=["1440", "1024"])
def test_a_very_long_name_takes_lines_and_not_the_columns_of_others(
    tab: Tab, api: httpx.Client, size: dict[str, int]
) -> None:
    """It is shown whole, and so is the state of each queue."""
    name = f"long-{'q' * 100}"
    push(api, name)
    page = tab.page
    page.set_viewport_size(size)
    tab.open("queues", "Queues")
    row = page.locator("tbody tr", has_text=name)
    link = row.get_by_role("link", name=name)
    assert link.evaluate("each => each.scrollWidth <= each.clientWidth")
    pinned = row.get_by_role("button", name="Pause").bounding_box()
    waiting = row.locator("[data-name=Waiting]").bounding_box()
    assert pinned is not None
    assert waiting is not None
    assert waiting["x"] + waiting["width"] <= pinned["x"]


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["1440", "390"])
def test_a_long_type_and_a_long_error_begin_on_the_first_line(
    tab: Tab, api: httpx.Client, size: dict[str, int]
) -> None:
    """What is only read aloud before them takes no line, and nothing of them is cut off."""
    queue = f"lengthy-{size['width']}"
    job_id = push(api, queue, type=f"long.{'t' * 120}")
    api.post("workers/fetch", json={"worker_id": "w-long", "queues": [queue], "count": 1})
    error = {"code": "handler_error", "type": "E" * 100, "message": "m", "retryable": True}
    report = {"worker_id": "w-long", "job_id": job_id, "error": error}
    api.post("workers/nack", json=report).raise_for_status()
    page = tab.page
    page.set_viewport_size(size)
    tab.open(f"jobs/{job_id}")
    failure = page.locator(".failure h2").first
    failure.wait_for()
    for title in (page.locator("h1"), failure):
        above = title.evaluate("""each => {
            const text = document.createRange();
            text.selectNodeContents(each.lastChild);
            return text.getBoundingClientRect().top - each.getBoundingClientRect().top;
        }""")
        assert above < 12
        assert title.evaluate("each => each.scrollWidth <= each.clientWidth")


def test_events_show_ids_short_with_a_way_to_what_they_are_about(
    tab: Tab, api: httpx.Client
) -> None:
    """A workflow has an id as jobs do."""
    steps = [{"id": "only", "type": "event.step", "args": [], "options": {"queue": "about"}}]
    made = api.post("workflows", json={"name": "about", "steps": steps})
    workflow_id = made.json()["workflow"]["id"]
    page = tab.open("events", "Events")
    link = page.get_by_role("link", name=workflow_id).first
    assert link.locator(".left-out").text_content() == workflow_id[:-6]
    link.click()
    page.get_by_role("heading", name="Workflow about", level=1).wait_for()


def test_findings_of_one_cause_are_one_card(tab: Tab, api: httpx.Client) -> None:
    """The worst first, three of them open, each with one button and its command."""
    found = api.get("admin/findings").json()

    def finding(code: str, message: str, **data: Any) -> dict[str, Any]:
        return {
            "code": code, "severity": "warning", "check": "x", "message": message,
            "hint": "ojs-aws doctor", "data": data,
        }  # fmt: skip

    found["findings"] = [
        finding("dead_letters", "There are 3 dead letters."),
        finding("queue_paused", "The queue 'b' has been paused.", queue="b"),
        finding("job_waits", "A job of 'a' waits.", queue="a"),
        finding("workers_silent", "A worker stopped.", queue="a", queues=["a"]),
        finding("workers_quiet", "Workers are quiet.", queue="c"),
        finding("jobs_fail", "Jobs of 'd' fail.", queue="d"),
    ]
    page = tab.page
    page.route("**/admin/findings", lambda route: route.fulfill(json=found))
    tab.open("", "Overview")
    cards = page.locator(".findings > li")
    cards.first.wait_for()
    assert cards.count() == 3
    assert "A worker stopped." in cards.first.inner_text()
    assert "A job of 'a' waits." in cards.first.inner_text()
    tab.says("1 critical · 3 warnings · 1 note")
    for card in cards.all():
        assert card.locator("a.button").count() == 1
        assert card.get_by_title("ojs-aws doctor").count() == 1
    page.get_by_role("button", name="Show 1 more warning and 1 note").click()
    assert cards.count() == 5
    badge = page.get_by_role("navigation").locator("li", has_text="Workers")
    badge.get_by_text("needs attention").wait_for(state="attached")


def test_the_search_goes_to_a_queue_a_type_and_a_view(tab: Tab, api: httpx.Client) -> None:
    """By the keyboard alone; an action asks first, and Escape leaves everything as it is."""
    push(api, "sought", type="sought.type")
    page = tab.open("", "Overview")
    page.locator("main").get_by_role("link", name="Available").wait_for()
    page.keyboard.press("/")
    search = page.get_by_role("searchbox")
    search.fill("dead let")
    page.get_by_role("option", name="Dead letters").wait_for()
    page.keyboard.press("Escape")
    search.wait_for(state="detached")
    page.keyboard.press("Control+k")
    search.fill("sought")
    page.get_by_role("option", name="Queue sought").first.wait_for()
    while page.locator("[aria-selected=true]").inner_text().splitlines()[0] != "Queue sought":
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Queue sought", level=1).wait_for()
    page.keyboard.press("/")
    search.fill("sought")
    page.get_by_role("option", name="Pause queue sought").click()
    assert tab.confirm("Pause") == "ojs-aws queues pause sought"
    tab.says("The queue sought is paused.")


def test_a_new_server_shows_how_to_send_the_first_job(tab: Tab, api: httpx.Client) -> None:
    """Also where queues are declared; the command that it shows works as it stands."""
    numbers = api.get("admin/overview").json()
    numbers["totals"] |= {"jobs": {}, "queues": 2}
    numbers.pop("events", None)
    page = tab.page
    page.route("**/admin/overview", lambda route: route.fulfill(json=numbers))
    tab.open("", "Overview")
    tab.says("No jobs yet. Send the first one.")
    line = page.get_by_label("Enqueue with curl").inner_text()
    body = line.partition("-d '")[2].removesuffix("'")
    assert f"{tab.address}/ojs/v1/jobs" in line
    assert api.post("jobs", json=json.loads(body)).status_code == 201
