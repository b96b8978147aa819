"""``ojs-aws bindings``: the functions of the stack, and the job types that they run."""

from __future__ import annotations

import pytest

from ojs_aws.cli.terminal.session import ExitCode
from ojs_aws.config import Settings
from tests.simulation.world import World
from tests.unit.cli.conftest import Cli

TARGETS = '{"mailer": {"queues": ["default"], "types": ["email.*"]}}'


@pytest.fixture
def world() -> World:
    """A backend whose stack allows a function."""
    return World(settings=Settings(binding_targets=TARGETS))


def test_a_config_is_set_shown_and_replaced(cli: Cli) -> None:
    """By options; a call without them registers none."""
    options = ("--max-concurrency", "9", "--timeout", "30s")
    errors = ("--no-retry", "card.*", "--no-retry", "exit.3")
    cli.run("bindings", "set", "default", "mailer", "a", *options, *errors)
    retry = {"non_retryable_errors": ["card.*", "exit.3"]}
    config = {"max_concurrency": 9, "timeout_ms": 30_000, "retry": retry}
    assert cli.ask("bindings", "show", "default", "mailer")["config"] == config
    assert "30000" in cli.run("bindings", "list", "default").out
    cli.run("bindings", "set", "default", "mailer", "a", "--timeout", "2m")
    shown = cli.ask("bindings", "show", "default", "mailer")["config"]
    assert shown == {"timeout_ms": 120_000}
    cli.run("bindings", "set", "default", "mailer", "a")
    assert "config" not in cli.ask("bindings", "show", "default", "mailer")
    refused = cli.run("bindings", "set", "default", "mailer", "a", "--timeout", "soon")
    assert refused.code != ExitCode.DONE
    assert "timeout" in refused.err


def test_bindings_are_listed_set_suspended_and_resumed(cli: Cli) -> None:
    """By the names that the stack gives them."""
    assert "email.*" in cli.run("bindings", "list", "default").out
    said = cli.run("bindings", "set", "default", "mailer", "email.send", "news.*").out
    assert said == "The binding mailer runs email.send, news.* of the queue default.\n"
    assert cli.ask("bindings", "show", "default", "mailer")["is_registered"] is True
    assert cli.run("bindings", "suspend", "default", "mailer").out == (
        "The binding mailer is suspended.\n"
    )
    assert "suspended by" in cli.run("bindings", "list", "default").out
    assert cli.ask("bindings", "resume", "default", "mailer")["state"] == "active"
    said = cli.run("bindings", "delete", "default", "mailer").out
    assert said == "The binding mailer runs what the stack says: email.*.\n"
    assert cli.run("bindings", "delete", "default", "mailer").code == ExitCode.NOT_FOUND
    assert cli.run("bindings", "set", "default", "other", "a").code == ExitCode.NOT_FOUND
