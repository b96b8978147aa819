"""What axe finds, and what a live change may move: nothing."""

from __future__ import annotations

from typing import Any, Final

import httpx
import pytest

from tests.dashboard.conftest import Tab
from tests.dashboard.jobs import push
from tests.dashboard.test_build import WEB
from tests.dashboard.views import VIEWS, furnish

AXE: Final = WEB / "node_modules" / "axe-core" / "axe.min.js"
RULES: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
RUN: Final = """async (tags) => {
    const found = await axe.run(document, { runOnly: { type: "tag", values: tags } });
    return found.violations.map((each) =>
        `${each.id}: ${each.nodes.map((node) => node.html).join(" | ")}`);
}"""


def check_with_axe(page: Any) -> None:
    """Fail if axe finds anything, in light or in dark colours."""
    page.evaluate(AXE.read_text())
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert page.evaluate(RUN, list(RULES)) == [], scheme


def test_axe_finds_nothing_in_any_view(tab: Tab, api: httpx.Client) -> None:
    """By the rules of WCAG 2.2 AA, with something of everything shown."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed; `make dashboard` does that")
    for view, heading in (*VIEWS, *furnish(api)):
        page = tab.open(view, heading)
        page.get_by_text("Live · ").wait_for()
        check_with_axe(page)


def test_axe_finds_nothing_in_the_question_before_a_change(tab: Tab, api: httpx.Client) -> None:
    """The dialog that names what happens, and asks for a name."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed; `make dashboard` does that")
    push(api, "questioned")
    page = tab.open("queues/questioned", "Queue questioned")
    tab.choose("More actions", "Purge jobs")
    page.get_by_role("checkbox", name="available").check()
    page.get_by_role("button", name="Count and purge").click()
    tab.says("Jobs that match now: 1")
    check_with_axe(page)


def test_a_live_change_moves_no_row_under_the_pointer(tab: Tab, api: httpx.Client) -> None:
    """New rows wait until the pointer has left; a row that is gone is marked."""
    older, newer = push(api, "steady"), push(api, "steady")
    page = tab.page
    page.clock.install()
    tab.open("jobs?queue=steady&state=available", "Jobs")
    row = page.locator("tr", has_text=older)
    row.hover()
    place = row.bounding_box()
    latest = push(api, "steady")
    api.delete(f"jobs/{newer}").raise_for_status()
    with page.expect_response("**/admin/jobs?*"):
        page.clock.run_for(11_000)
    page.locator("tr.gone", has_text=newer).wait_for()
    assert row.bounding_box() == place
    assert page.get_by_text(latest).count() == 0
    page.mouse.move(0, 0)
    page.get_by_text(latest).wait_for()
    assert page.locator("tr", has_text=newer).count() == 0


def test_a_failed_update_moves_nothing(tab: Tab, api: httpx.Client) -> None:
    """It is said at the edge of the window, and the rows stay."""
    job_id = push(api, "stale")
    page = tab.page
    page.clock.install()
    tab.open("jobs?queue=stale", "Jobs")
    row = page.locator("tr", has_text=job_id)
    place = row.bounding_box()
    page.route("**/ojs/v1/**", lambda route: route.fulfill(status=500, body="{}"))
    page.clock.run_for(11_000)
    tab.says("That did not work.")
    assert row.bounding_box() == place
    tab.complaints = [each for each in tab.complaints if "500" not in each]


def test_findings_lead_to_what_needs_attention(tab: Tab, api: httpx.Client) -> None:
    """A sentence, the command, and the view that has more."""
    push(api, "found")
    api.post("queues/found/pause").raise_for_status()
    page = tab.open("", "Overview")
    finding = page.locator(".findings li", has_text="The queue 'found' has been paused")
    tab.show_all_findings()
    finding.get_by_title("ojs-aws queues resume found").wait_for()
    finding.get_by_role("link", name="See the queue").click()
    page.get_by_role("heading", name="Queue found", level=1).wait_for()
    page.get_by_role("button", name="Resume").click()
    tab.confirm("Resume")
    tab.open("", "Overview")
    page.get_by_text("What was checked").click()
    page.get_by_text("stopped sending them. Workers in Lambda send none.").wait_for()
    assert finding.count() == 0
