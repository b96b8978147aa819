"""The page on the deployed stack, in a real browser: each view, and each action once.

The journeys are those of the local server (tests/dashboard): whatever asks before it changes
something is played again here, with a key that a real authorizer accepts.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final

import boto3
import httpx
import pytest

from infra.deployment import Deployment
from infra.emulator import Emulator
from ojs_aws.bootstrap import build_key_issuer
from ojs_aws.config import Settings
from ojs_aws.domain.access import Scope
from tests.dashboard import test_page, test_views
from tests.dashboard.conftest import Tab, browser, keep_key
from tests.dashboard.views import VIEWS, furnish
from tests.load import HUNG_S

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
__all__ = ["browser"]

Journey = Callable[..., None]


def changes_something(journey: Journey) -> bool:
    """Return True if a journey is answered by a question, or enqueues a copy."""
    source = inspect.getsource(journey)
    is_for_any_server = {*inspect.signature(journey).parameters} == {"tab", "api"}
    return is_for_any_server and ("tab.confirm(" in source or "Enqueue a copy" in source)


ACTIONS: Final[tuple[Journey, ...]] = tuple(
    journey
    for module in (test_views, test_page)
    for name, journey in sorted(vars(module).items())
    if name.startswith("test_") and changes_something(journey)
)
"""The journeys that change something."""


@pytest.fixture(scope="module")
def keys(emulator: Emulator, deployment: Deployment) -> dict[str, str]:
    """Keys of the deployment by what they are for."""
    settings = Settings(table=deployment.outputs["TableName"])
    issuer = build_key_issuer(settings, boto3.client("dynamodb", **emulator.client_settings()))
    scopes = {"journeys": Scope.ADMIN, "reader": Scope.READ_ONLY}
    return {name: issuer.create(name, [scope]).text for name, scope in scopes.items()}


@pytest.fixture
def api(deployment: Deployment, keys: dict[str, str]) -> Iterator[httpx.Client]:
    """The deployed API, to make what a journey needs."""
    headers = {"Authorization": f"Bearer {keys['journeys']}"}
    base = f"{deployment.api_url}/ojs/v1/"
    with httpx.Client(base_url=base, headers=headers, timeout=HUNG_S) as client:
        yield client


@pytest.fixture
def tab(browser: Any, deployment: Deployment, keys: dict[str, str]) -> Iterator[Tab]:
    """A tab for the deployed page, signed in; what the browser complains of fails the test."""
    context = browser.new_context(ignore_https_errors=True)  # the browser asks no variable
    keep_key(context, deployment.api_url, keys["journeys"])
    opened = Tab(context.new_page(), deployment.api_url)
    yield opened
    opened.check()
    assert not [url for url in opened.requests for key in keys.values() if key in url]
    context.close()


def test_every_view_opens_on_the_deployed_stack(tab: Tab, api: httpx.Client) -> None:
    """With something of everything shown, and no refusal."""
    for view, heading in (*VIEWS, *furnish(api)):
        page = tab.open(view, heading)
        page.get_by_text("Loading …").wait_for(state="detached")
        assert page.get_by_role("alert").count() == 0, view


@pytest.mark.parametrize("journey", ACTIONS, ids=lambda journey: journey.__name__[5:])
def test_an_action_works_on_the_deployed_stack(
    journey: Journey, tab: Tab, api: httpx.Client
) -> None:
    """As it does on the local server."""
    journey(tab=tab, api=api)


def test_a_key_is_revoked_in_the_deployed_page(tab: Tab, keys: dict[str, str]) -> None:
    """An administrator sees the keys without secrets, and types the name of the one."""
    page = tab.open("api-keys", "API keys")
    row = page.locator("tr", has_text="reader")
    row.get_by_role("button", name="Revoke").click()
    tab.confirm("Revoke", typed="reader")
    row.get_by_text("revoked").wait_for()
    assert not [text for text in keys.values() if text in page.content()]
