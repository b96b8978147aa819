"""Limits at the terminal."""

from __future__ import annotations

import pytest

from ojs_aws.cli.terminal.session import ExitCode
from tests.simulation.world import World
from tests.unit.cli.conftest import Cli
from tests.unit.cli.made_jobs import enqueue


def test_limits_are_set_listed_shown_and_removed(cli: Cli, world: World) -> None:
    """With what is used, and how many jobs wait."""
    options = ("--concurrency", "5", "--rate", "100/1m")
    assert cli.ask("rate-limits", "set", "queue:email", *options)["key"] == "queue:email"
    world.registry.ensure("email", world.clock.now())
    enqueue(cli, "-q", "email")
    shown = cli.run("rate-limits", "list").out
    assert "0 of 5" in shown
    assert "0 of 100 in PT1M" in shown
    (only,) = cli.ask("rate-limits", "list")["rate_limits"]
    assert (only["key"], only["waiting_count"]) == ("queue:email", 1)
    assert "concurrency" in cli.run("rate-limits", "show", "queue:email").out
    removed = cli.run("rate-limits", "remove", "queue:email").out
    assert removed == "queue:email has no limit of its own.\n"
    assert cli.run("rate-limits", "list").out == "No limits.\n"
    assert cli.run("rate-limits", "show", "queue:email").code == ExitCode.NOT_FOUND


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((), "Say the limit by --concurrency, --rate or --throttle."),
        (("--rate", "5"), "such as 100/1m, not '5'"),
        (("--throttle", "x/1s"), "such as 100/1m, not 'x/1s'"),
    ],
)
def test_a_limit_that_says_nothing_is_refused(
    cli: Cli, options: tuple[str, ...], text: str
) -> None:
    """With an example."""
    ran = cli.run("rate-limits", "set", "stripe", *options)
    assert ran.code == ExitCode.USAGE
    assert text in " ".join(ran.err.replace("│", " ").split())


def test_a_key_that_looks_like_a_queue_is_explained(cli: Cli) -> None:
    """It is easy to forget the prefix."""
    ran = cli.run("rate-limits", "set", "reports", "--throttle", "10/1s")
    assert "for a queue, set queue:reports" in ran.err
    assert "for a queue" not in cli.run("rate-limits", "set", "type:a", "--concurrency", "1").err
