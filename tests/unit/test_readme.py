"""What the README says is so."""

from __future__ import annotations

import asyncio
import re
import sys
import types
from pathlib import Path

import pytest

from ojs_aws import Client
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.config import Settings, settings_table
from ojs_aws.domain.jobs.failures import HISTORY_LIMIT
from tests.simulation.world import World
from tests.unit.typed_jobs.conftest import Shop

README = (Path(__file__).parents[2] / "README.md").read_text()


def test_the_table_of_settings_is_the_settings() -> None:
    """`ojs-aws settings --markdown` prints it."""
    found = re.search(r"<!-- settings -->\n(.*?)\n<!-- /settings -->", README, re.DOTALL)
    assert found is not None
    assert found[1] == settings_table()


def test_the_limits_are_the_limits() -> None:
    """The ones that are constants of the code."""
    assert Settings().max_envelope_bytes == Settings().max_result_bytes == 1024 * 1024
    assert f"| {Settings().max_depth} levels |" in README
    assert f"| {Settings().max_batch_jobs:,} jobs, all or nothing |" in README
    assert f"| {HISTORY_LIMIT}, the latest with its backtrace" in README


async def test_the_jobs_of_the_readme_are_sent_and_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One is waited for, one comes in three days."""
    examples = dict(re.findall(r"<!-- example: (\w+) -->\n```python\n(.*?)```", README, re.DOTALL))
    shop, sender = types.ModuleType("shop"), types.ModuleType("sender")
    monkeypatch.setenv("OJS_URL", "http://127.0.0.1:8080")
    exec(examples["declare"], vars(shop))  # noqa: S102 - our own page
    monkeypatch.setitem(sys.modules, "shop", shop)
    exec(examples["send"], vars(sender))  # noqa: S102 - our own page
    world = World()
    client = Client(transport=InProcessTransport(world.backend), middleware=[])
    with client.use():
        signed_up = asyncio.ensure_future(sender.signed_up("ada@example.com"))
        while not signed_up.done():
            await Shop(world, client).work(shop.jobs, "email")
            await asyncio.sleep(0)
    await signed_up
    assert "{'sent_to': 'ada@example.com', 'template': 'welcome'}" in capsys.readouterr().out
    states = sorted(str(job.state) for job in world.store.jobs.values())
    assert states == ["completed", "scheduled"]
