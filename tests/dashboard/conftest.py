"""Starts one server and one browser for all journeys; anything that the browser complains of fails.

Run by `make browser`. The journeys need Playwright for Python and Chromium: Debian's at
/usr/bin/chromium, or the one that CHROMIUM names. Where one is missing they are skipped.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.load import HUNG_S
from tests.output import Output

HERE: Final = Path(__file__).resolve().parent
CHECKOUT: Final = HERE.parents[1]
CHROMIUM: Final = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
WAIT_MS: Final = 30_000
"""What a busy machine may take for a view."""

VIOLATIONS: Final = """
    window.violations = [];
    addEventListener("securitypolicyviolation", (event) =>
        violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests here: `make test` leaves them out."""
    here = f"{HERE}{os.sep}"  # a text: this passes over all tests, and comparing paths is slow
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.browser)


def launch(playwright: Any) -> Any:
    """Start Chromium without a window."""
    # Chromium's own sandbox refuses to run as root, as containers do.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    return playwright.chromium.launch(executable_path=str(CHROMIUM), args=arguments)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A Chromium without a window."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed; `make browser` does that"
    )
    if not CHROMIUM.exists():
        pytest.skip(f"there is no Chromium at {CHROMIUM}; the variable CHROMIUM names another one")
    with playwright.sync_playwright() as started:
        chromium = launch(started)
        yield chromium
        chromium.close()


def serve(*options: str, module: str = "ojs_aws.cli") -> Iterator[tuple[str, str]]:
    """Run a local server; return its address and what it printed up to there."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, "local", "--port", "0", *options],
        cwd=CHECKOUT,
        env={name: value for name, value in os.environ.items() if not name.startswith("OJS_")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    output = Output(process)
    try:
        said = output.wait_for("Bearer $" if options else "<id>")
        address = re.search(r"Dashboard: open (http://\S+)/ ", said)
        assert address is not None, said
        yield address[1], said
    finally:
        process.terminate()
        output.end()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a server that asks for no key."""
    for address, _ in serve():
        yield address


@pytest.fixture(scope="session")
def closed_server() -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a server that asks for a key; a key of each scope, and bound ones."""
    for address, said in serve("--auth", module="tests.dashboard.closed_server"):
        yield address, dict(re.findall(r"^  ([a-z-]+)\s+(ojs_\S+)", said, re.MULTILINE))


@pytest.fixture
def api(server: str) -> Iterator[httpx.Client]:
    """The API of the open server, to make what a journey needs."""
    with httpx.Client(base_url=f"{server}/ojs/v1/", timeout=HUNG_S) as client:
        yield client


def keep_key(context: Any, address: str, key: str) -> None:
    """Sign in all tabs of a context, as if somebody had pasted the key in each."""
    name = json.dumps(f"ojs-credential {address}")
    context.add_init_script(f"sessionStorage.setItem({name}, {json.dumps(key)})")


class Tab:
    """A tab of the browser, with what it complained of."""

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.address = address
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.is_losing = False
        page.set_default_timeout(WAIT_MS)
        page.add_init_script(VIOLATIONS)
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def _note(self, message: Any) -> None:
        is_meant = self.is_losing and "ERR_FAILED" in message.text
        if message.type in {"error", "warning"} and not is_meant:
            self.complaints.append(f"{message.text} {message.location.get('url', '')}")

    def open(self, view: str = "", heading: str | None = None) -> Any:
        """Open a view by its address, and wait until its heading is there."""
        self.page.goto(f"{self.address}/#/{view}")
        if heading is not None:
            self.page.get_by_role("heading", name=heading, level=1).wait_for()
        return self.page

    def check(self, *meant: str) -> None:
        """Fail if the browser complained, but for complaints with one of these words."""
        violations: list[str] = self.page.evaluate("window.violations")
        assert violations == []
        left = [each for each in self.complaints if not any(word in each for word in meant)]
        assert left == []

    def confirm(self, button: str, typed: str | None = None) -> str:
        """Answer the open question with yes; return the command line that it showed."""
        dialog = self.page.get_by_role("dialog")
        dialog.wait_for()
        command: str = dialog.get_by_label("Command line").inner_text()
        if typed is not None:
            assert dialog.get_by_role("button", name=button, exact=True).is_disabled()
            dialog.get_by_label("to confirm").fill(typed)
        dialog.get_by_role("button", name=button, exact=True).click()
        dialog.wait_for(state="detached")
        return command.partition(" --url ")[0]

    def choose(self, menu: str, item: str, *, within: Any = None) -> None:
        """Open a menu, of the view or of a part of it, and choose an item."""
        (within or self.page).get_by_role("button", name=menu).first.click()
        self.page.get_by_role("button", name=item).last.click()

    def show_all_findings(self) -> None:
        """Open the findings that the overview folds, if there are any."""
        self.page.locator(".attention").wait_for()
        more = self.page.get_by_role("button", name=re.compile("^Show \\d+ more"))
        if more.count() > 0:
            more.click()

    def filter(self, **fields: str) -> None:
        """Open the filter, fill in fields by their labels, and show what fits."""
        self.page.get_by_role("button", name="Filter", exact=True).click()
        form = self.page.get_by_role("form", name="Filter")
        for label, text in fields.items():
            form.get_by_label(label.replace("_", " "), exact=True).fill(text)
        form.get_by_role("button", name="Show").click()

    def search(self, text: str) -> None:
        """Open the search, and write a text into it."""
        self.page.get_by_role("button", name="Search or paste").click()
        self.page.get_by_role("searchbox").fill(text)

    def lose_second_answer(self, url: str, button: str, typed: str) -> None:
        """Confirm a change of several requests, of which the server does the second unheard."""
        sent: list[str] = []

        def lose(route: Any) -> None:
            sent.append(route.request.post_data)
            if len(sent) == 1:
                route.continue_()
            else:  # the server does it, and its answer is lost
                route.fetch()
                route.abort()

        self.is_losing = True
        self.page.route(url, lose)
        dialog = self.page.get_by_role("dialog")
        dialog.get_by_label("to confirm").fill(typed)
        dialog.get_by_role("button", name=button).click()
        dialog.get_by_text("That did not work.").wait_for()
        self.page.unroute(url)

    def says(self, text: str) -> None:
        """Wait until the view shows a text."""
        self.page.get_by_text(text).first.wait_for()


@pytest.fixture
def tab(browser: Any, server: str) -> Iterator[Tab]:
    """A tab for the open server; what the browser complains of fails the test."""
    context = browser.new_context()
    opened = Tab(context.new_page(), server)
    yield opened
    opened.check()
    context.close()
