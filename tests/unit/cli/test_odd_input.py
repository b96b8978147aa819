"""Input that no command can use: empty arguments, files that are none, and broken keys."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from ojs_aws import cli as command_line
from ojs_aws.cli.events import show_event
from ojs_aws.cli.terminal.output import Output
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


def test_an_instant_that_is_none_is_named_with_the_forms_of_one(cli: Cli) -> None:
    ran = cli.run("jobs", "list", "--since", "yesterday")
    assert ran.code == ExitCode.USAGE
    assert "'yesterday' is no instant." in ran.err
    assert "how long ago, such as 20m" in ran.err


@pytest.mark.parametrize("command", ["local", "demo fairness", "dashboard"])
def test_a_port_that_there_cannot_be_is_wrong_usage(command: str) -> None:
    for port in ("-1", "65536"):
        assert run_command(*command.split(), "--port", port).exit_code == ExitCode.USAGE


HALF_PAIR = "\ud83d"
"""What is left of an emoji that was cut in the middle; JSON can say it, and UTF-8 cannot."""


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("as_json", [True, False])
def test_what_stdout_cannot_write_is_escaped(
    encoding: str, *, as_json: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    said = {"text": f"é{HALF_PAIR}\N{PILE OF POO}"}
    out = Output(as_json=as_json)
    monkeypatch.setattr("ojs_aws.cli.app.app", lambda: out.fields(said))
    command_line.main()
    sys.stdout.flush()
    shown = written.getvalue().decode(encoding)
    assert json.loads(shown) == said if as_json else "\\ud83d" in shown


def test_no_text_of_a_job_steers_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Such as the message of an error, which may hold what a stranger sent."""
    out, text = Output(as_json=False), "sent\b\b\b\b"
    out.said(text, {})
    out.problem(text)
    show_event(out, {"type": "job.failed", "data": {"error": {"type": "E", "message": text}}})
    shown = "".join(capsys.readouterr())
    assert (shown.count("sent"), "\b" in shown) == (3, False)
