"""Cron jobs at the terminal: registered, triggered and removed."""

from __future__ import annotations

from ojs_aws.cli.terminal.session import ExitCode
from tests.unit.cli.conftest import Cli


def test_a_cron_job_is_registered_triggered_and_removed(cli: Cli) -> None:
    """And refused with the field of the expression that is wrong."""
    made = cli.ask("cron", "register", "nightly", "0 3 * * *", "demo.echo", "[1]", "-q", "reports")
    assert (made["name"], made["queue"]) == ("nightly", "reports")
    assert "nightly" in cli.run("cron", "list").out
    assert cli.ask("cron", "trigger", "nightly")["job_id"]
    assert cli.ask("cron", "pause", "nightly")["enabled"] is False
    assert cli.ask("cron", "resume", "nightly")["enabled"] is True
    assert cli.run("cron", "show", "nightly").out.count("0 3 * * *") == 1
    wrong = cli.run("cron", "register", "x", "61 * * * *", "demo.echo")
    assert (wrong.code, "minute" in wrong.err) == (ExitCode.USAGE, True)
    assert cli.run("cron", "delete", "nightly", "-y").out == "nightly is removed.\n"
    assert cli.run("cron", "show", "nightly").code == ExitCode.NOT_FOUND
    assert cli.run("cron", "delete", "nightly").code == ExitCode.NOT_FOUND  # and nobody is asked
