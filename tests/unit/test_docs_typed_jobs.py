"""docs/typed-jobs.md and docs/send-a-job.md say what is so, and their examples run."""

from __future__ import annotations

import asyncio
import re
import sys
import types
from collections.abc import Awaitable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ojs_aws import Client
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.domain.errors import DuplicateError
from ojs_aws.domain.json_text import encode
from ojs_aws.worker.typed_handlers import MOST_SNOOZES, SNOOZE_S
from tests.simulation.world import World
from tests.unit.typed_jobs.conftest import Shop

ROOT = Path(__file__).parents[2]
TEXT = "\n".join(
    (ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in ("typed-jobs", "send-a-job")
)


@pytest.fixture
def page() -> types.ModuleType:
    """The examples of both pages, in their order."""
    module = types.ModuleType("shop")
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        code = compile(block, "typed-jobs.md", "exec", dont_inherit=True)
        exec(code, vars(module))  # noqa: S102 - our own page
    return module


@pytest.fixture
def shop(world: World) -> Shop:
    """A backend over the model."""
    return Shop(world, Client(transport=InProcessTransport(world.backend), middleware=[]))


@pytest.fixture
def world() -> World:
    """A fresh model."""
    return World()


async def ended(shop: Shop, page: Any, work: Awaitable[Any]) -> Any:
    """Await something while a worker works on all queues."""
    task = asyncio.ensure_future(work)
    while not task.done():
        for queue in ("email", "default"):
            await shop.work(page.jobs, queue)
        for workflow in (await shop.client.workflows.list()).workflows:
            await shop.client.workflows.get(workflow.id)
        await asyncio.sleep(0)
    return task.result()


async def test_the_examples_do_what_the_page_says(page: Any, shop: Shop) -> None:
    order = page.Order(number=1, total=Decimal("9.90"))
    with shop.client.use():
        await page.order_paid(order)
        await page.remind(order)
        receipt = await ended(shop, page, page.send_and_wait(order))
        assert receipt == page.Receipt(sent_to="ada@example.com")
        assert await page.send_all(["a@b.c", "d@e.f"], order) == 2
        assert await ended(shop, page, page.after_the_order(order)) == 10
        assert (await ended(shop, page, page.side_by_side(order)))[1] == 10
        await page.register_schemas(shop.client)
        handle = await page.run_import.enqueue("a.csv")
        audited = await page.audit.enqueue("x")
        assert await ended(shop, page, handle.result()) == 100
        assert await ended(shop, page, audited.result()) is None
        deleted = await page.delete_user.enqueue(5)
        with page.pool.use(page.Pool()):
            assert await ended(shop, page, deleted.result()) == "DELETE FROM users WHERE id = 5"
    assert page.worker.queues == page.lambda_worker.queues == ("email", "default")


def test_the_table_of_the_wire_says_what_is_sent(page: Any) -> None:
    """Each row is a call and its arguments."""
    rows = re.findall(r"\| `(\w+)\.enqueue\((.*)\)` \| `(\[.*\])` \|", TEXT)
    order = page.Order(number=1, total=Decimal("9.90"))
    assert len(rows) == 5
    for name, given, wire in rows:
        call = eval(f"page.{name}.call({given})", {"page": page, "order": order})  # noqa: S307
        assert encode(call.to_job().args) == wire.replace(", ", ",").replace(": ", ":")


def test_a_unique_job_sends_its_defaults(page: Any) -> None:
    build = page.build_once
    assert build.call("x").to_job().args == build.call("x", 10).to_job().args == ["x", 10]


async def test_some_arguments_make_a_job_unique(page: Any, shop: Shop) -> None:
    """By place and by name; a default that is left out counts as itself."""
    with shop.client.use():
        await page.build_for.enqueue("x", 5)
        await page.build_for.enqueue("x", kind="short")
        for same in ({}, {"limit": 7}, {"kind": "full"}):
            with pytest.raises(DuplicateError):
                await page.build_for.enqueue("x", **same)


def test_the_page_says_how_long_a_job_waits_for_a_newer_worker() -> None:
    assert f"due again after {SNOOZE_S} seconds" in TEXT
    assert SNOOZE_S * MOST_SNOOZES == 3600
    assert "within\nabout an hour" in TEXT


async def test_python_says_what_the_page_explains(page: Any) -> None:
    """Of mistakes with `await`; before 3.14, in these words."""
    listed = TEXT.partition("## When Python complains")[2]
    if sys.version_info < (3, 14):
        with pytest.raises(TypeError) as not_async:
            await page.build_report("2026-01-31")
        assert f"`{not_async.value}`" in listed
    order = page.Order(number=1, total=Decimal("9.90"))
    forgotten = page.send_email.enqueue("ada@example.com", order)
    with pytest.raises(AttributeError) as no_handle:
        forgotten.id  # noqa: B018 - the mistake
    assert f"`{no_handle.value}`" in listed
    assert f"`coroutine '{forgotten.__qualname__}' was never awaited`" in listed
    forgotten.close()
    with pytest.raises(RuntimeError) as no_loop:
        await asyncio.to_thread(page.send_email.handle, "1")
    assert f"`{no_loop.value}`" in listed
