"""docs/workers.md says what is so, and its examples run."""

from __future__ import annotations

import asyncio
import logging
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from ojs_aws import LambdaWorker, Worker
from ojs_aws.worker import Polls
from ojs_aws.worker.console import banner
from ojs_aws.worker.lifecycle import Lifecycle, reactions
from tests.unit.worker.doubles import FakeSource, StillTimer, job, settle

DOCS: Final = Path(__file__).parents[2] / "docs"
TEXT: Final = (DOCS / "workers.md").read_text("utf-8")


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The examples of the page, in its order."""
    monkeypatch.setenv("OJS_URL", "http://127.0.0.1:8080")
    ours, root = logging.getLogger("ojs_aws"), logging.getLogger()
    level, handlers = ours.level, list(root.handlers)
    module = types.ModuleType("jobs")
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        code = compile(block, "workers.md", "exec", dont_inherit=True)
        exec(code, vars(module))  # noqa: S102 - our own page
    yield module
    ours.setLevel(level)
    root.handlers = handlers


def test_the_workers_are_what_the_page_says(page: Any) -> None:
    """A process and a Lambda function, with the same jobs."""
    assert isinstance(page.worker, Worker)
    assert isinstance(page.lambda_worker, LambdaWorker)
    assert (page.worker.queues, page.worker.concurrency) == (("email",), 20)
    assert list(page.lambda_worker.registry) == list(page.worker.registry)
    assert page.worker.grace_s == 25


def test_the_banner_is_the_one_that_is_shown(page: Any) -> None:
    """But for the jobs that the page declares later."""
    shown = TEXT.partition("```text\n")[2].partition("```")[0].splitlines()[1:6]
    said = banner(page.worker).replace("email.send, users.count", "email.send")
    assert said.splitlines()[1:] == shown


async def test_the_pool_is_open_while_the_worker_runs(
    page: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its jobs use it, and it is closed after the last one."""
    source = FakeSource()
    source.ready = [job(1, "users.count")]
    worker = Worker(page.jobs, source=source, timer=StillTimer(), middleware=[])
    serving = asyncio.ensure_future(worker.serve())
    await settle()
    assert source.acked == {job(1).id: "3"}
    assert capsys.readouterr().out == ""
    worker.lifecycle.terminate("test")
    await settle()
    await serving
    assert capsys.readouterr().out == "the pool is closed\n"


def test_each_signal_is_in_the_table() -> None:
    """And no other one."""
    table = TEXT.partition("| signal | what the worker does |")[2].partition("\n\n")[0]
    assert set(re.findall(r"SIG[A-Z]+", table)) == set(reactions(Lifecycle()))


def test_queues_may_have_weights() -> None:
    """As the page writes them."""
    Worker("http://127.0.0.1:1", queues={"critical": 5, "default": 2, "low": 1})
    assert 'queues={"critical": 5, "default": 2, "low": 1}' in TEXT


def test_an_idle_worker_asks_as_often_as_the_page_says() -> None:
    assert Polls().longest_s == 2
    assert "within two seconds: it asks that often (`Worker(polls=...)`)" in TEXT
