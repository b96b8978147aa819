"""Signing in: keys of each scope, servers that ask for signatures, and `ojs-aws dashboard`."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread
from typing import Any

import httpx
import pytest

from ojs_aws.cli.dashboard_server import DashboardServer, Upstream
from ojs_aws.client.transports.credentials import ApiKey
from tests.dashboard.conftest import Tab
from tests.dashboard.views import VIEWS
from tests.load import HUNG_S


@pytest.fixture
def keys(closed_server: tuple[str, dict[str, str]]) -> dict[str, str]:
    """A key of each scope."""
    return closed_server[1]


@pytest.fixture
def closed_tab(browser: Any, closed_server: tuple[str, dict[str, str]]) -> Iterator[Tab]:
    """A tab for the server that asks for keys; only refusals may be complained of."""
    context = browser.new_context()
    opened = Tab(context.new_page(), closed_server[0])
    yield opened
    opened.complaints = [
        each for each in opened.complaints if "401" not in each and "403" not in each
    ]
    opened.check()
    context.close()


def sign_in(page: Any, key: str) -> None:
    """Paste a key into the dialog that asks for it."""
    dialog = page.get_by_role("dialog", name="Sign in")
    dialog.get_by_label("API key or token").fill(key)
    dialog.get_by_role("button", name="Sign in").click()


def test_a_key_is_asked_for_only_when_the_server_refuses(
    closed_tab: Tab, keys: dict[str, str]
) -> None:
    """It is kept in the tab, sent in the header, and is in no address."""
    key = keys["admin"]
    page = closed_tab.open()
    sign_in(page, key)
    page.get_by_role("heading", name="Jobs by state").wait_for()
    page.reload()
    page.get_by_role("heading", name="Jobs by state").wait_for()
    assert not [url for url in [*closed_tab.requests, page.url] if key in url]
    assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
    assert len(closed_tab.complaints) == 1  # the refusal without a key
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("dialog", name="Sign in").wait_for()


def test_samples_send_the_key_where_the_server_asks_for_one(
    closed_tab: Tab, keys: dict[str, str]
) -> None:
    """As a variable of the shell: the key itself is in no sample."""
    page = closed_tab.open("schemas")
    sign_in(page, keys["admin"])
    sample = page.get_by_label("A request that registers a schema").inner_text()
    assert '-H "Authorization: Bearer $OJS_API_KEY"' in sample


def test_a_change_that_a_key_may_not_make_asks_for_another(
    closed_tab: Tab, keys: dict[str, str]
) -> None:
    """A key that may only read sees the queue; a change is refused until there is another."""
    page = closed_tab.open("queues/demo")
    sign_in(page, keys["read-only"])
    page.get_by_role("heading", name="Queue demo").wait_for()
    page.get_by_role("button", name="Pause").click()
    question = page.get_by_role("dialog", name="Pause")
    question.get_by_role("button", name="Pause").click()
    question.get_by_role("button", name="Use another key").click()
    sign_in(page, keys["operator"])
    question.get_by_role("button", name="Pause").click()
    closed_tab.says("The queue demo is paused.")


def test_a_key_that_may_only_read_sees_every_view(closed_tab: Tab, keys: dict[str, str]) -> None:
    """But that of the API keys, which is an administrator's; the settings say who it is."""
    closed_tab.open()
    sign_in(closed_tab.page, keys["read-only"])
    for view, heading in VIEWS:
        if view != "api-keys":
            page = closed_tab.open(view, heading)
            page.get_by_text("Live · ").wait_for()
            assert page.get_by_role("alert").count() == 0
    closed_tab.says("local read-only")


def test_keys_are_listed_without_secrets_and_revoked(closed_tab: Tab, keys: dict[str, str]) -> None:
    """By an administrator, who types the name of the key."""
    page = closed_tab.open("api-keys")
    sign_in(page, keys["admin"])
    row = page.locator("tr", has_text="local worker")
    row.get_by_role("button", name="Revoke").click()
    key_id = keys["worker"].split("_")[1]
    assert closed_tab.confirm("Revoke", typed="local worker") == f"ojs-aws keys revoke {key_id}"
    row.get_by_text("revoked").wait_for()
    assert not [text for text in keys.values() if text in page.content()]
    refused = httpx.get(
        f"{closed_tab.address}/ojs/v1/whoami",
        headers={"Authorization": f"Bearer {keys['worker']}"},
        timeout=HUNG_S,
    )
    assert refused.status_code == 401


def test_a_key_of_a_producer_sees_what_it_lacks(closed_tab: Tab, keys: dict[str, str]) -> None:
    """In the server's words, with the way to use another key."""
    page = closed_tab.open("queues")
    sign_in(page, keys["producer"])
    page.get_by_role("alert").get_by_role("button", name="Use another key").click()
    sign_in(page, keys["operator"])
    page.get_by_role("columnheader", name="Queue").wait_for()


@pytest.mark.parametrize(
    ("view", "refused", "shown"),
    [
        ("settings", "admin/config", "Your credentials may not read the settings."),
        ("dead-letters", "dead-letter/stats", "No dead letter matches."),
    ],
)
def test_a_key_with_bounds_sees_the_rest_of_a_view(
    tab: Tab, view: str, refused: str, shown: str
) -> None:
    """What the server refuses to it is left out, and nobody asks for another key."""
    error = '{"error": {"code": "forbidden", "message": "not with bounds"}}'
    tab.page.route(f"**/ojs/v1/{refused}", lambda route: route.fulfill(status=403, body=error))
    page = tab.open(f"{view}?queue=nobody" if view == "dead-letters" else view)
    page.get_by_text(shown).wait_for()
    assert page.get_by_role("alert").count() == 0
    tab.complaints = [each for each in tab.complaints if "403" not in each]


def test_a_gateway_that_asks_for_signatures_is_explained(tab: Tab, server: str) -> None:
    """A browser cannot sign; the command that does so is named."""
    refused = '{"message":"Forbidden"}'
    tab.page.route("**/ojs/v1/**", lambda route: route.fulfill(status=403, body=refused))
    tab.open("queues")
    dialog = tab.page.get_by_role("dialog", name="Sign in")
    dialog.get_by_text(f"ojs-aws dashboard --url {server}").wait_for()
    tab.complaints = [each for each in tab.complaints if "403" not in each]


@pytest.fixture
def own_dashboard(closed_tab: Tab, keys: dict[str, str]) -> Iterator[str]:
    """The address of `ojs-aws dashboard`, which has an operator's key."""
    served = DashboardServer(Upstream(closed_tab.address, ApiKey(keys["operator"])), 0)
    thread = Thread(target=served.serve)
    thread.start()
    yield served.url.rstrip("/")
    served.stop()
    thread.join()
    served.close()


def test_the_command_line_shows_the_page_with_its_own_key(
    closed_tab: Tab, keys: dict[str, str], own_dashboard: str
) -> None:
    """Nobody signs in, and the commands name the server itself."""
    address = closed_tab.address
    job = {"type": "report.build", "args": [], "options": {"queue": "own-key"}}
    producer = {"Authorization": f"Bearer {keys['producer']}"}
    jobs = f"{address}/ojs/v1/jobs"
    httpx.post(jobs, json=job, headers=producer, timeout=HUNG_S).raise_for_status()
    tab = Tab(closed_tab.page, own_dashboard)
    page = tab.open("queues/own-key", "Queue own-key")
    tab.choose("More actions", "Drain")
    command = page.get_by_role("dialog").get_by_label("Command line").inner_text()
    assert command == f"ojs-aws queues drain own-key --url {address}"
    tab.confirm("Drain")
    tab.says("The queue own-key is draining.")
    tab.check()
