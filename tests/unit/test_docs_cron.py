"""Every example of docs/cron.md runs as it is printed, and its tables say what is true."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import httpx
import pytest

from ojs_aws.domain.cron.schedule import check_schedule
from ojs_aws.domain.timestamps import Instant
from tests.simulation.world import World
from tests.unit.client.doubles import ApiServer

PAGE: Final = Path(__file__).parents[2] / "docs" / "cron.md"
_FENCE: Final = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("number", range(len(_FENCE.findall(PAGE.read_text()))))
def test_an_example_runs(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As somebody who copies it into a file would run it."""
    server = ApiServer(World())

    async def handle(_: object, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return server.handle(request)

    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", handle)
    block = _FENCE.findall(PAGE.read_text())[number]
    exec(compile(block, str(PAGE), "exec"), {"__name__": "__main__"})  # noqa: S102 - our own docs


def test_the_request_is_accepted() -> None:
    """The body of the curl command."""
    (body,) = re.findall(r"-d '(.*?)'\n", PAGE.read_text(), re.DOTALL)
    assert ApiServer(World()).api.post("/cron", json.loads(body)).status == 201


def test_the_expressions_are_valid() -> None:
    """Each of the table of examples."""
    table = PAGE.read_text().partition("| expression | meaning |")[2].partition("\n\n")[0]
    expressions = re.findall(r"`([^`]+)`", re.sub(r"\|[^|]*\|$", "|", table, flags=re.MULTILINE))
    assert len(expressions) == 13
    for expression in expressions:
        check_schedule(expression, "UTC", Instant(1_760_000_000_000))
