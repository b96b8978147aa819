"""The page of the command line says what the commands say."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ojs_aws.cli.app import app, in_document, reference_of
from ojs_aws.cli.terminal.session import ExitCode
from ojs_aws.pricing import ASSUMPTIONS
from tests.unit.cli.conftest import Cli

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = (DOCS / "cli.md").read_text(encoding="utf-8")


def test_the_page_has_the_reference_of_the_commands() -> None:
    """`python scripts/cli_reference.py` writes it."""
    assert in_document(PAGE, app) == PAGE


def test_every_command_teaches_by_an_example() -> None:
    """Those that talk to a server; the example is a command that exists."""
    parts = reference_of(app).split("### ")[1:]
    assert len(parts) > 35
    for part in parts:
        name = part.split("`")[1]
        if name.split()[1] in {"local", "settings", "middleware", "cancel", "keys"}:
            continue
        assert f"\n{name}" in part.partition("```sh")[2], name


def test_the_page_names_every_exit_code() -> None:
    """And no others."""
    rows = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    assert rows == {int(code) for code in ExitCode}


def test_help_imports_neither_the_client_nor_aws() -> None:
    """`ojs-aws --help` is quick."""
    code = (
        "import sys; sys.argv = ['ojs-aws', '--help']\n"
        "try:\n    from ojs_aws.cli import main; main()\n"
        "except SystemExit: pass\n"
        "heavy = {'httpx', 'botocore', 'pydantic', 'moto', 'ojs_aws.client'}\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY []"


def test_the_cost_is_shown_with_what_is_assumed(cli: Cli) -> None:
    """As a table, or as JSON; a million jobs, and a month without any."""
    shown = cli.ask("cost", "2000000", "--failures", "0.02", "--job-ms", "100", "--rate", "5")
    standing = shown["standing_dollars_per_month"]
    metrics = next(line["dollars"] for line in shown["lines"] if line["what"] == "metrics")
    of_jobs = shown["dollars_per_month"] - standing - metrics
    assert shown["dollars_per_million_jobs"] == pytest.approx(of_jobs / 2, abs=0.5)
    assert shown["assumptions"] == list(ASSUMPTIONS)
    table = cli.run("cost")
    assert "together" in table.out
    assert "Assumed" in table.err
    assert "a month without any" in table.err.replace("\n", " ")


@pytest.mark.parametrize("command", [("local",), ("cost",), ("jobs", "list")])
def test_help_breaks_its_lines_where_the_terminal_does(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """Not where the code's lines end: each line of a paragraph but its last is nearly full."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = cli.run(*command, "--help").out
    text = re.split(r"╭|\nExample", shown.split("Usage:", 1)[1], maxsplit=1)[0]
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line.strip() for line in paragraph.strip().splitlines()]
        for line, after in itertools.pairwise(lines):
            assert len(line) + len(after.split()[0]) > 76, line
