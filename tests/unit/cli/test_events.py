"""Events at the terminal: one line each."""

from __future__ import annotations

from ojs_aws.cli.terminal.session import ExitCode
from ojs_aws.domain.json_text import parse_object
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.simulation.world import World, count_changes
from tests.unit.cli.conftest import Cli
from tests.unit.cli.made_jobs import enqueue


def test_events_are_one_line_each(cli: Cli, world: World) -> None:
    """JSON lines for scripts; --follow goes on until it is interrupted."""
    assert cli.run("events", "--type", "job.*").out == ""
    ran = cli.run("events", "--type", "nonsense")
    assert (ran.code, "nonsense" in ran.err) == (ExitCode.USAGE, True)


def test_more_than_a_page_needs_a_beginning(cli: Cli) -> None:
    """The newest ones come in one page, so that more of them would be left out in silence."""
    ran = cli.run("events", "-n", "1001")
    assert (ran.code, "--since 2h" in ran.err) == (ExitCode.USAGE, True)
    assert cli.run("events", "-n", "1001", "--since", "2h").code == 0


def test_attempts_that_are_repeated_are_among_the_failures_shown(cli: Cli, world: World) -> None:
    """Of all queues and of one: five minutes, and an hour."""
    count_changes(world)
    world.registry.ensure("email", world.clock.now())
    for _ in range(6):
        enqueue(cli, "-q", "email", "--max-attempts", "2")
        (job,) = world.backend.jobs.fetch(FetchRequest(("email",), worker_id="w"))
        world.backend.jobs.fail(job.id, "w", parse_object('{"type":"Broken","message":"m"}'))
    numbers = " ".join(cli.run("stats").out.split())
    assert "failed attempts per minute, last 5 minutes 1.2" in numbers
    shown = " ".join(cli.run("queues", "show", "email").out.split())
    assert "failed attempts per minute, last hour 0.1" in shown
