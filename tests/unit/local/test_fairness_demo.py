"""The demo of fairness keys: what it enqueues and starts, and what it shows."""

from __future__ import annotations

import os
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from ojs_aws.bootstrap import build_backend
from ojs_aws.cli import local
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.local import StartError
from ojs_aws.local import server as local_server
from ojs_aws.local.fairness_demo import (
    CUSTOMERS,
    FAIR,
    FIRST_LATE_S,
    FLOODER,
    LATE,
    LATE_JOBS,
    PLAIN,
    QUEUES,
    FairnessDemo,
)
from ojs_aws.testing.deployment import FakeClock
from tests.api import Api
from tests.aws import EmbeddedAws
from tests.commands import run_command

FLOOD = 110


def text_of(table: Table) -> str:
    """What a terminal shows of a table."""
    console = Console(width=100, file=StringIO())
    with console.capture() as shown:
        console.print(table)
    return shown.get()


@pytest.fixture
def demo(aws: EmbeddedAws) -> FairnessDemo:
    """A demo over a backend in memory, whose time moves by its sleeps."""
    clock = FakeClock()
    api = Api(build_backend(aws.settings, aws.clients, clock=clock, parallel=IN_ORDER))

    def post(path: str, body: dict[str, Any]) -> Any:
        reply = api.post(path, body)
        assert reply.status in {200, 201}, reply.text
        return reply.json

    def sleep(seconds: float) -> None:
        clock.advance(ms=round(seconds * 1000))

    begun = clock.at
    return FairnessDemo(
        post=post, clock=lambda: (clock.at - begun) / 1000, sleep=sleep, flood=FLOOD, per_s=10
    )


def test_late_customers_wait_with_and_without_keys(demo: FairnessDemo) -> None:
    shown: list[float] = []
    demo.run(lambda: shown.append(demo.elapsed()))
    fair, plain = demo.records[FAIR], demo.records[PLAIN]
    for record in (fair, plain):
        assert record.waiting == {}
        assert len(record.started) == FLOOD + len(LATE) * LATE_JOBS
    for customer in LATE:
        assert max(fair.waits(customer)) <= 0.5
        assert min(plain.waits(customer)) > 1.5
        assert len(fair.waits(customer)) == len(plain.waits(customer)) == LATE_JOBS
    at = [each.enqueued_s for each in fair.started if each.customer == LATE[0]]
    assert at == [FIRST_LATE_S + number for number in range(LATE_JOBS)]
    assert shown == [number / 10 for number in range(len(plain.started))]


@pytest.mark.thorough
def test_a_queue_without_keys_starts_jobs_in_their_order(demo: FairnessDemo) -> None:
    demo.run(lambda: None)
    started = demo.records[PLAIN].started
    assert [each.enqueued_s for each in started] == sorted(each.enqueued_s for each in started)
    assert {each.customer for each in started[:FLOOD]} == {FLOODER}


@pytest.mark.thorough
def test_shares_are_those_of_the_latest_starts(demo: FairnessDemo) -> None:
    assert demo.records[FAIR].share(FLOODER) == 0
    seen: dict[str, str] = {}

    def show() -> None:
        if demo.elapsed() == 6:
            seen["text"] = text_of(demo.shares())
            shares = [demo.records[FAIR].share(customer) for customer in CUSTOMERS]
            assert sum(shares) == 1
            assert shares[0] > 0.5
            assert [demo.records[PLAIN].share(customer) for customer in CUSTOMERS] == [1, 0, 0]

    demo.run(show)
    assert "After 6 s" in seen["text"]
    [row] = [line for line in seen["text"].splitlines() if FLOODER in line]
    assert [cell.strip() for cell in row.split("│")[5:8]] == ["100%", "█" * 10, "49"]


def test_the_waits_are_shown_as_a_table_and_as_bars(demo: FairnessDemo) -> None:
    demo.run(lambda: None)
    table, bars = text_of(demo.waits()), text_of(demo.plot()).splitlines()
    for customer in CUSTOMERS:
        assert customer in table
    rows = [line.split() for line in bars if line.rstrip().endswith(("-", "="))]
    plain = [row for row in rows if "=" in row[-1]]
    assert len(rows) == 2 * LATE_JOBS
    assert len(plain[0][-1]) == 40
    assert float(plain[0][-2]) == max(demo.records[PLAIN].waits(LATE[0]))


@pytest.mark.parametrize("command", ["local", "demo fairness"])
def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setattr(local, "find_spec", lambda name: None if name == "moto" else name)
    done = run_command(*command.split())
    assert done.exit_code == 2
    needed = f"ojs-aws {command.split(maxsplit=1)[0]} needs moto: pip install 'ojs-aws[local]'"
    assert needed in done.output


@pytest.mark.parametrize("command", ["local", "demo fairness"])
def test_a_server_that_cannot_start_is_said_by_its_command(
    monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def refused(*_: object) -> None:
        raise StartError("port 8080 is in use")

    monkeypatch.setattr(local_server, "LocalServer", refused)
    monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", "ERROR")
    done = run_command(*command.split())
    assert done.exit_code == 1
    assert f"ojs-aws {command}: port 8080 is in use" in done.output


def test_the_log_level_that_is_named_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the environment says."""
    levels: list[str] = []

    def refused(_: object, environ: dict[str, str]) -> None:
        levels.append(environ["POWERTOOLS_LOG_LEVEL"])
        raise StartError("no")

    monkeypatch.setattr(local_server, "LocalServer", refused)
    monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", "ERROR")
    run_command("local", "--log-level", "DEBUG")
    monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", "ERROR")
    run_command("local")
    assert levels == ["DEBUG", "ERROR"]


@pytest.mark.thorough
def test_the_command_runs_a_server_and_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own clock goes by sleeps, so that nobody waits."""
    for name in [name for name in os.environ if name.startswith(("OJS_", "AWS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", "ERROR")
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(local, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    done = run_command("demo", "fairness", "--port", "0", "--jobs", "30", "--per-s", "5")
    assert done.exit_code == 0, done.output
    assert "Dashboard: open http://127.0.0.1:" in done.output
    for queue in QUEUES:
        assert queue in done.output
    assert "How long jobs waited" in done.output
    assert "Each job of beta" in done.output
