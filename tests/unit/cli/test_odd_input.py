"""Input that no command can use: empty arguments, files that are none, and broken keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from ojs_aws.cli.terminal.session import ExitCode, connect
from tests.commands import run_command
from tests.simulation.world import World
from tests.unit.cli.conftest import Cli
from tests.unit.cli.made_jobs import die

SECRET = "ojs_0123456789abcdef_secret"


@pytest.mark.parametrize(
    "command",
    [
        "get",
        "cancel",
        "jobs show",
        "jobs cancel",
        "workers show",
        "workers quiet",
        "cron show",
        "pools show",
        "rate-limits show",
        "sequences show",
        "dead-letter show",
        "dead-letter delete -y",
    ],
)
def test_an_empty_id_is_refused_and_means_no_list(cli: Cli, world: World, command: str) -> None:
    """As a variable of the shell is that was not set."""
    die(cli, world)
    ran = cli.run(*command.split(), "")
    assert ran.code == ExitCode.USAGE
    assert "is empty" in ran.err
    assert not ran.out


def test_an_argument_that_has_a_default_may_be_empty(cli: Cli) -> None:
    """The command says itself what is missing."""
    assert "Which job?" in cli.run("why", "").err


def test_a_key_with_a_line_break_is_refused_and_not_shown() -> None:
    """The client's own error would show the header."""
    for key in (f"{SECRET}\nx", f"{SECRET}ü"):
        with pytest.raises(ValueError, match="The API key has characters") as caught:
            connect("http://127.0.0.1:1", key)
        assert SECRET not in str(caught.value)
        ran = run_command("dashboard", "--no-open", "--api-key", key)
        assert (ran.exit_code, SECRET in ran.stderr) == (ExitCode.USAGE, False)


def test_white_space_around_a_key_does_no_harm() -> None:
    """Files of keys end in a line break."""
    connect("http://127.0.0.1:1", f"{SECRET}\r\n")


def test_a_project_whose_folder_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shop").touch()
    ran = run_command("init", str(tmp_path / "shop"))
    assert ran.exit_code == ExitCode.USAGE
    assert "cannot be written" in ran.stderr
