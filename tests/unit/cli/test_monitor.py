"""The live view: queues, workers and failures."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.session import ExitCode
from ojs_aws.domain.events import Event
from ojs_aws.domain.json_text import RawJson, encode
from ojs_aws.domain.workers import WorkerReport
from tests.simulation.world import World, count_changes
from tests.unit.cli.conftest import Cli
from tests.unit.cli.made_jobs import die, enqueue


def furnish(cli: Cli, world: World, message: str = "refused") -> str:
    """Let there be jobs, a worker and a failure; return the id of the failed job."""
    count_changes(world)
    for queue in ("email", "email", "reports"):
        enqueue(cli, "-q", queue)
        world.registry.ensure(queue, world.clock.now())
    world.backend.queues.service.pause("reports")
    world.backend.workers.heartbeat(
        "w1", [], None, WorkerReport(about='{"concurrency":5}', active_jobs=2)
    )
    dead = die(cli, world, kind="SmtpError")
    error = encode({"type": "SmtpError", "message": message})
    failed = Event(
        id="evt_01990000-0000-7000-8000-000000000001",
        type="job.failed",
        time=world.clock.now(),
        subject=dead,
        data=RawJson(f'{{"queue":"default","job_type":"demo.echo","error":{error}}}'),
        queue="default",
        job_type="demo.echo",
    )
    world.events.append([failed], world.clock.now())
    return dead


def test_one_look_shows_queues_workers_and_failures(cli: Cli, world: World) -> None:
    """The queue with the most available jobs first."""
    dead = furnish(cli, world)
    shown = cli.run("monitor", "--once").out
    assert "available 3   active 0" in shown
    assert shown.index("email") < shown.index("reports (paused)")
    assert "w1" in shown
    assert "2 of 5" in shown
    assert dead in shown
    assert "SmtpError: refused" in shown


def test_a_narrow_screen_leaves_room_for_the_error(
    cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job's type and queue are a command away."""
    monkeypatch.setenv("COLUMNS", "80")
    message = "the server smtp.acme.test refused the connection"
    dead = furnish(cli, world, message)
    shown = cli.run("monitor", "--once").out
    assert "SmtpError: the server smtp.acme" in shown
    assert dead in shown


def test_scripts_get_the_same_as_json(cli: Cli, world: World) -> None:
    """One value, and no live view."""
    dead = furnish(cli, world)
    found = cli.ask("monitor")
    assert [queue["name"] for queue in found["queues"]] == ["email", "reports", "default"]
    assert found["totals"]["jobs"]["available"] == 3
    assert [each["id"] for each in found["workers"]] == ["w1"]
    assert [each["subject"] for each in found["failures"]] == [dead]


def test_an_empty_backend_says_so(cli: Cli) -> None:
    """And nothing fails."""
    assert cli.run("monitor", "--once").out.count("none") == 2


def test_the_live_view_ends_with_an_interrupt(
    cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After two looks, here."""
    furnish(cli, world)
    screen, looks = io.StringIO(), []

    async def interrupt(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(
        Output, "console", lambda _: Console(file=screen, width=80, force_terminal=True)
    )
    monkeypatch.setattr("ojs_aws.cli.monitor.asyncio.sleep", interrupt)
    assert cli.run("monitor", "--every-s", "2").code == ExitCode.INTERRUPTED
    assert looks == [2.0, 2.0]
    assert "Latest failures" in screen.getvalue()
