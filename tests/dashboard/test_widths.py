"""On laptops, tablets and phones nothing is cut off, and no tile is alone in its row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest

from tests.dashboard.conftest import Tab, serve
from tests.dashboard.jobs import FAILURE, push
from tests.dashboard.views import VIEWS, furnish
from tests.load import HUNG_S

LAPTOP: Final = {"width": 1280, "height": 800}
TABLET: Final = {"width": 768, "height": 1024}
SIZES: Final = pytest.mark.parametrize("size", [LAPTOP, TABLET], ids=["1280", "768"])

CUT: Final = """() => [...document.querySelectorAll(".state-tabs, .scroll:has(table)")]
    .filter((each) => !each.closest("details") && each.scrollWidth > each.clientWidth)
    .map((each) => each.getAttribute("aria-label") ?? each.className)"""
"""Tables and tabs that are wider than the room that they have."""

TILES: Final = "all => all.map((each) => each.getBoundingClientRect().top)"


@pytest.fixture(scope="module")
def views() -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """The address of a server with something of everything, and its views."""
    for address, _ in serve():
        with httpx.Client(base_url=f"{address}/ojs/v1/", timeout=HUNG_S) as api:
            shown = furnish(api)
            _fail_at_length(api)
            for queue in ("busy", "shop"):
                beat = {"worker_id": f"media-{queue}", "hostname": "ip-10-0-12-255.ec2.internal"}
                body = {**beat, "queues": [queue], "concurrency": 5, "active_jobs": []}
                api.post("workers/heartbeat", json=body).raise_for_status()
        yield address, (*VIEWS, *shown)


def _fail_at_length(api: httpx.Client) -> None:
    """Let there be a dead letter whose type and error are as long as those of many are."""
    policy = {"retry": {"max_attempts": 1, "on_exhaustion": "dead_letter"}}
    job_id = push(api, "encoding", type="invoice.render.monthly", options=policy)
    worker = {"worker_id": "bulk-1"}
    api.post("workers/fetch", json={**worker, "queues": ["encoding"]}).raise_for_status()
    error = {**FAILURE, "type": "TemplateMissing", "message": "no template for de_AT " * 9}
    report = {**worker, "job_id": job_id, "error": error}
    api.post("workers/nack", json=report).raise_for_status()


@pytest.fixture
def own_tab(browser: Any, views: tuple[str, Any]) -> Iterator[Tab]:
    """A tab for that server."""
    context = browser.new_context()
    opened = Tab(context.new_page(), views[0])
    yield opened
    opened.check()
    context.close()


@SIZES
def test_no_table_is_cut_off_on_a_laptop_or_a_tablet(
    own_tab: Tab, views: tuple[str, tuple[tuple[str, str], ...]], size: dict[str, int]
) -> None:
    """Columns go where there is no room, and pinned actions cover none; tabs fit on a laptop."""
    page = own_tab.page
    page.set_viewport_size(size)
    cut = []
    for view, heading in views[1]:
        own_tab.open(view, heading)
        page.get_by_text("Live · ").wait_for()
        page.get_by_text("Loading …").wait_for(state="detached")
        cut += [f"{view}: {each}" for each in page.evaluate(CUT)]
    assert [each for each in cut if size == LAPTOP or "state-tabs" not in each] == []


@SIZES
@pytest.mark.parametrize(
    ("view", "heading"), [("", "Overview"), ("queues/shop", "Queue shop")], ids=["all", "queue"]
)
def test_the_states_stand_in_rows_of_equal_length(
    own_tab: Tab, size: dict[str, int], view: str, heading: str
) -> None:
    """Eight in one row, or four in each of two: no tile is alone."""
    own_tab.page.set_viewport_size(size)
    own_tab.open(view, heading)
    tiles = own_tab.page.locator("ul.strip > li")
    tiles.first.wait_for()
    rows = Counter(tiles.evaluate_all(TILES))
    assert set(rows.values()) in ({8}, {4})
