"""Queues at the terminal: listed, counted, paused, configured and purged."""

from __future__ import annotations

from ojs_aws.cli.terminal.session import ExitCode
from tests.simulation.world import World, count_changes
from tests.unit.cli.conftest import Cli
from tests.unit.cli.made_jobs import enqueue


def test_queues_are_listed_counted_paused_resumed_and_purged(cli: Cli, world: World) -> None:
    """One, or all of them."""
    enqueue(cli, "-q", "email")
    world.registry.ensure("email", world.clock.now())
    assert cli.run("queues", "pause", "email").out.startswith("email is paused since")
    assert "paused" in cli.run("queues", "list").out
    (default, email) = cli.ask("queues", "list", "--counts")["queues"]
    assert (email["available"], email["paused"], default["paused"]) == (1, True, False)
    assert cli.run("queues", "resume", "--all").out == "default runs.\nemail runs.\n"
    assert cli.ask("queues", "show", "email")["available"] == 1
    assert "available" in cli.run("queues", "show", "email").out
    assert cli.run("queues", "purge", "email", "-s", "available").code == ExitCode.USAGE
    counted = cli.ask("queues", "purge", "email", "-s", "available", "--dry-run")
    assert counted == {"queue": "email", "dry_run": True, "deleted": 0, "cancelled": 1}
    said = cli.run("queues", "purge", "email", "-s", "available", "--dry-run").out
    assert said == "0 jobs would be deleted, 1 cancelled.\n"
    assert cli.ask("queues", "show", "email")["available"] == 1
    purged = cli.ask("queues", "purge", "email", "-s", "available", "--yes")
    assert purged == {"queue": "email", "deleted": 0, "cancelled": 1}
    assert cli.run("queues", "show", "never").code == ExitCode.NOT_FOUND


def test_a_queue_is_created_configured_drained_and_deleted(cli: Cli) -> None:
    """Values are JSON or texts; an empty one takes a setting away."""
    assert cli.ask("queues", "create", "bulk", "max_size=1000")["config"]["max_size"] == 1000
    changed = cli.ask("queues", "configure", "bulk", "max_size=5000")
    assert changed["config"]["max_size"] == 5000
    shown = cli.run("queues", "settings", "bulk").out
    assert ("max_size" in shown, "configuration" in shown) == (True, False)
    assert cli.ask("queues", "configure", "bulk", "max_size=")["config"]["max_size"] is None
    assert cli.run("queues", "configure", "bulk", "colour=red").code == ExitCode.USAGE
    assert cli.run("queues", "configure", "bulk", "nothing").code == ExitCode.USAGE
    assert cli.run("queues", "drain", "bulk").out == "bulk takes no new jobs.\n"
    assert cli.run("queues", "delete", "bulk").code == ExitCode.USAGE
    assert cli.run("queues", "delete", "bulk", "--yes").out == "bulk is deleted.\n"
    assert cli.run("queues", "delete", "bulk").code == ExitCode.NOT_FOUND  # and nobody is asked


def test_the_numbers_of_all_queues_are_shown(cli: Cli) -> None:
    """As a table, or as the API says them."""
    count_changes(cli.world)
    enqueue(cli)
    assert cli.ask("stats")["jobs"]["available"] == 1
    assert "completed per minute, last 5 minutes" in cli.run("stats").out
