"""Workflows at the terminal: listed, shown and cancelled."""

from __future__ import annotations

from ojs_aws.cli.terminal.session import ExitCode
from tests.unit.cli.conftest import Cli

UNKNOWN = "01990000-0000-7000-8000-00000000ffff"


def test_workflows_are_listed_shown_and_cancelled(cli: Cli) -> None:
    """With their steps."""
    body = {"type": "chain", "name": "order", "steps": [{"type": "a.b", "args": []}] * 2}
    made = cli.server.api.post("/workflows", body).json["id"]
    assert cli.ask("workflows", "list", "--state", "running")["workflows"][0]["id"] == made
    assert "order" in cli.run("workflows", "list").out
    assert "a.b" in cli.run("workflows", "show", made).out
    assert cli.ask("workflows", "show", made)["name"] == "order"
    assert "is cancelled" in cli.run("workflows", "cancel", made).out
    assert cli.run("workflows", "show", UNKNOWN).code == ExitCode.NOT_FOUND
