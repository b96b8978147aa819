"""What a key of each scope sees and may change, with bounds and without: one journey for each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
import pytest

from tests.dashboard.closed_server import QUEUE, TYPE
from tests.dashboard.conftest import Tab, keep_key
from tests.dashboard.jobs import discard, push
from tests.dashboard.views import VIEWS
from tests.load import HUNG_S

FOREIGN: Final = "others"
NAMES: Final = frozenset(view or "overview" for view, _ in VIEWS) - {"settings"}
"""The views of the menu but the settings, which say to everybody who it is."""
REFUSED: Final = {
    "producer": NAMES,
    "worker": NAMES,
    "read-only": {"api-keys"},
    "operator": {"api-keys"},
    "admin": set[str](),
    "read-only-queue": {"api-keys", "schemas", "sequences", "tenants"},
    "operator-queue": {"api-keys", "schemas", "sequences", "tenants"},
    "operator-type": {
        *("api-keys", "overview", "queues", "workers", "errors", "sequences", "tenants"),
    },
}
"""The views that show a refusal to a key, as docs/security.md says; the others show none."""

ANSWERED: Final = """() => !document.querySelector("dialog[open]")
    || document.querySelector("dialog [role=alert]")"""


@pytest.fixture(scope="module")
def jobs(closed_server: tuple[str, dict[str, str]]) -> dict[str, str]:
    """A job of the bound queue and type, one of others, and a dead letter of each queue."""
    address, keys = closed_server
    headers = {"Authorization": f"Bearer {keys['admin']}"}
    with httpx.Client(base_url=f"{address}/ojs/v1/", headers=headers, timeout=HUNG_S) as api:
        discard(api, QUEUE, keep=True)
        discard(api, FOREIGN, keep=True)
        return {"own": push(api, QUEUE, type=TYPE), "foreign": push(api, FOREIGN)}


@pytest.fixture
def signed_in(browser: Any, closed_server: tuple[str, dict[str, str]]) -> Any:
    """Opens a tab with a key; only refusals may be complained of."""
    address, keys = closed_server

    @contextmanager
    def opened(name: str) -> Iterator[Tab]:
        context = browser.new_context()
        keep_key(context, address, keys[name])
        tab = Tab(context.new_page(), address)
        yield tab
        tab.check("403", "404")
        context.close()

    return opened


def is_refused(tab: Tab, view: str, heading: str) -> bool:
    """Open a view, and return whether it shows a refusal once it has loaded."""
    page = tab.open(view, heading)
    page.get_by_text("Loading …").wait_for(state="detached")
    return bool(page.get_by_role("alert").count())


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.usefixtures("jobs")
def test_a_key_sees_the_views_of_its_scope(signed_in: Any, name: str) -> None:
    """And a refusal in the server's words in the others; nobody is asked to sign in."""
    with signed_in(name) as tab:
        refused = {view or "overview" for view, heading in VIEWS if is_refused(tab, view, heading)}
        assert refused == REFUSED[name]
        assert tab.page.get_by_role("dialog").count() == 0


@pytest.mark.parametrize("name", ["read-only-queue", "operator-queue", "operator-type"])
def test_a_bound_key_sees_nothing_of_others(
    signed_in: Any, jobs: dict[str, str], name: str
) -> None:
    """Neither their jobs nor the names of their queues, whatever the view; its own are there."""
    with signed_in(name) as tab:
        page = tab.open("jobs", "Jobs")
        page.get_by_role("link", name=jobs["own"]).wait_for()
        for view, heading in VIEWS:
            if not is_refused(tab, view, heading):
                text = page.locator("main").inner_text()
                assert FOREIGN not in text, view
                assert jobs["foreign"] not in text, view
        page = tab.open(f"jobs/{jobs['foreign']}")
        page.get_by_role("alert").get_by_text("not found").wait_for()
        page = tab.open(f"jobs/{jobs['own']}", TYPE)


@pytest.mark.parametrize(
    ("name", "may"),
    [
        ("read-only", set[str]()),
        ("read-only-queue", set[str]()),
        ("operator", {"priority", "pause"}),
        ("operator-queue", {"priority", "pause"}),
        ("operator-type", {"priority"}),
        ("admin", {"priority", "pause", "purge"}),
    ],
)
def test_a_key_changes_what_its_scope_allows(
    signed_in: Any, jobs: dict[str, str], name: str, may: set[str]
) -> None:
    """What it may not is refused in the question, and nothing is changed."""
    with signed_in(name) as tab:
        done = set()
        page = tab.open(f"jobs/{jobs['own']}", TYPE)
        page.get_by_role("button", name="Change priority").click()
        done |= {"priority"} if is_done(tab, "Change") else set()
        if name != "operator-type":
            page = tab.open(f"queues/{QUEUE}", f"Queue {QUEUE}")
            page.get_by_role("button", name="Pause").or_(
                page.get_by_role("button", name="Resume")
            ).click()
            done |= {"pause"} if is_done(tab, "Pause", "Resume") else set()
            tab.choose("More actions", "Purge jobs")
            page.get_by_role("checkbox", name="discarded").check()
            page.get_by_role("button", name="Count and purge").click()
            done |= {"purge"} if is_done(tab, "Purge", typed=QUEUE) else set()
        assert done == may


def is_done(tab: Tab, *names: str, typed: str = "") -> bool:
    """Answer the open question with yes; return whether the server did it."""
    dialog = tab.page.get_by_role("dialog")
    dialog.wait_for()
    refusal = dialog.get_by_role("alert")
    field = dialog.get_by_label("to confirm")
    if typed:
        refusal.or_(dialog.get_by_text("Jobs that match now")).first.wait_for()
        if refusal.count():
            tab.page.keyboard.press("Escape")
            return False
        field.fill(typed)
    for name in names:
        button = dialog.get_by_role("button", name=name, exact=True)
        if button.count():
            button.click()
    tab.page.wait_for_function(ANSWERED)
    if refusal.count() == 0:
        return True
    tab.page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    return False
