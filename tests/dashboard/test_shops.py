"""The runnable shops: an order is confirmed by its job, and each has its own dashboard."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import pytest

from tests.dashboard.conftest import CHECKOUT, Tab
from tests.output import Output


@contextmanager
def running(shop: str) -> Iterator[str]:
    """Start a shop by its one command; yield its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"examples.{shop}", "--port", "0"],
        cwd=CHECKOUT,
        env={name: value for name, value in os.environ.items() if not name.startswith("OJS_")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    output = Output(process)
    try:
        found = re.search(r"Shop: (http://\S+)/ ", output.wait_for("Shop: "))
        assert found is not None
        yield found[1]
    finally:
        process.terminate()
        output.end()


def order_and_look(tab: Tab, address: str, sign_in: bool) -> None:
    """Order a book, see that its job ran, and find the job in the dashboard."""
    page = tab.page
    page.goto(address)
    page.get_by_role("button", name="Order a book").click()
    page.get_by_text("Order 1: is confirmed").wait_for()
    page.get_by_role("link", name="Jobs").click()
    if sign_in:
        page.get_by_label("Username").fill("ada")
        page.get_by_label("Password").fill("ada")
        page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Overview", level=1).wait_for()
    page.goto(f"{address}/jobs/#/jobs?state=completed")
    page.get_by_text("shop.confirm").first.wait_for()
    tab.check()


def test_the_django_shop_confirms_an_order_and_shows_its_jobs(browser: Any) -> None:
    """The dashboard is behind Django's login."""
    with running("django_shop") as address:
        context = browser.new_context()
        order_and_look(Tab(context.new_page(), address), address, sign_in=True)
        context.close()


def test_the_fastapi_shop_confirms_an_order_and_shows_its_jobs(browser: Any) -> None:
    """The dashboard is behind HTTP's own sign-in."""
    if find_spec("uvicorn") is None:
        pytest.skip("uvicorn is not installed; `make browser` does that")
    with running("fastapi_shop") as address:
        context = browser.new_context(http_credentials={"username": "ada", "password": "ada"})
        order_and_look(Tab(context.new_page(), address), address, sign_in=False)
        context.close()
