"""The files of docs/tutorial-shop.md are a shop whose tests pass and whose pages answer."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Final

import httpx
import pytest

from ojs_aws import Client
from ojs_aws.testing import Ojs
from tests.inner_tests import run_inner_tests
from tests.unit.test_docs_testing import SETTINGS

pytest_plugins = ["pytester"]

TEXT: Final = (Path(__file__).parents[2] / "docs" / "tutorial-shop.md").read_text("utf-8")
FILES: Final = dict(re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)```", TEXT, re.DOTALL))
ORDERS: Final = [
    {"number": 1, "to": "ada@example.com", "cents": 990},
    {"number": 2, "to": "bob@example.com", "cents": 200_000},
]


@pytest.fixture
def folder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with all files of the page, which can be imported."""
    monkeypatch.delenv("OJS_URL", raising=False)
    for name, text in FILES.items():
        (pytester.path / name).write_text(text)
        monkeypatch.delitem(sys.modules, name.removesuffix(".py"), raising=False)
    monkeypatch.syspath_prepend(pytester.path)
    pytester.makeini(SETTINGS)
    return pytester


def test_every_block_of_the_page_is_a_file() -> None:
    assert TEXT.count("```python") == len(FILES) == 4


def test_the_tests_of_the_shop_pass(folder: pytest.Pytester) -> None:
    run_inner_tests(folder, "test_shop_orders.py").assert_outcomes(passed=3)


@pytest.mark.usefixtures("folder")
@pytest.mark.filterwarnings("ignore:The `__get_pydantic_core_schema__` method")  # by FastAPI
async def test_the_shop_answers_as_the_page_says(ojs: Ojs, monkeypatch: pytest.MonkeyPatch) -> None:
    """One order completes and one fails, after the answers; the worker has all jobs."""
    monkeypatch.setattr(Client, "from_env", lambda: ojs.client)
    transport = httpx.ASGITransport(importlib.import_module("shop_web").app)
    async with httpx.AsyncClient(transport=transport, base_url="http://shop") as browser:
        answers = [await browser.post("/orders", json=order) for order in ORDERS]
        assert [answer.status_code for answer in answers] == [202, 202]
        await ojs.drain(raise_errors=False)
        orders = [f"/orders/{answer.json()['workflow']}" for answer in answers]
        states = [(await browser.get(order)).json()["state"] for order in orders]
        assert states == ["completed", "failed"]
        assert (await browser.get("/orders/nothing")).status_code == 404
    assert importlib.import_module("shop_worker").worker.queues == ("orders", "mail")
