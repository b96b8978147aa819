"""Limits at the terminal."""

from __future__ import annotations

from ojs_aws.cli.session import ExitCode
from tests.simulation.world import World
from tests.unit.cli.conftest import Cli
from tests.unit.cli.test_commands import enqueue


def test_limits_are_set_listed_shown_and_removed(cli: Cli, world: World) -> None:
    """With what is used, and how many jobs wait."""
    policy = '{"concurrency": 5, "rate": {"limit": 100, "period": "PT1M"}}'
    assert cli.ask("rate-limits", "set", "queue:email", policy)["key"] == "queue:email"
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


def test_a_policy_that_is_no_object_is_named(cli: Cli) -> None:
    """With an example."""
    ran = cli.run("rate-limits", "set", "stripe", "5")
    assert ran.code == ExitCode.USAGE
    assert "must be a JSON object" in ran.err
    assert "Such as" in ran.err
