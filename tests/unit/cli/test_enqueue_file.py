"""Many jobs from a file, one a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ojs_aws.cli.jobs import enqueue
from ojs_aws.cli.terminal.session import ExitCode
from tests.simulation.world import World
from tests.unit.cli.conftest import Cli

IDS = [f"01990000-0000-7000-8000-{number:012x}" for number in range(5)]


def lines(tmp_path: Path, *texts: str) -> str:
    """Write a file; return its path."""
    file = tmp_path / "jobs.ndjson"
    file.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return str(file)


def jobs(tmp_path: Path) -> str:
    """A file of five jobs with ids."""
    return lines(
        tmp_path,
        *(f'{{"id":"{each}","type":"a.b","args":[1.50],"queue":"bulk"}}' for each in IDS),
    )


def test_each_line_is_a_job_exactly_as_it_is_written(
    cli: Cli, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In several batches; sent again, no job exists twice."""
    monkeypatch.setattr(enqueue, "BATCH", 2)
    assert cli.run("enqueue", "--file", jobs(tmp_path)).out == "Enqueued 5 jobs.\n"
    assert cli.ask("enqueue", "--file", jobs(tmp_path)) == {"enqueued": 5}
    assert sorted(world.stored.jobs) == IDS
    stored = world.stored.jobs[IDS[0]]
    assert stored.queue == "bulk"
    assert "[1.50]" in str(stored.document)


def test_jobs_come_from_stdin(cli: Cli, world: World) -> None:
    """Empty lines are left out, and jobs need no id."""
    text = '{"type":"a.b","args":[]}\n\n{"type":"a.b","args":[]}\n'
    assert cli.run("enqueue", "--file", "-", stdin=text).out == "Enqueued 2 jobs.\n"
    assert len(world.stored.jobs) == 2


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("[1]", "Line 2: "),
        ("{", "Line 2: "),
        ('{"args":[]}', "Line 2 has no 'type'."),
        ('{"type":"a.b"}', "Line 2 has no 'args'."),
    ],
)
def test_a_wrong_line_is_named_and_nothing_is_enqueued(
    cli: Cli, world: World, tmp_path: Path, line: str, text: str
) -> None:
    """All lines are read before the first job is sent."""
    ran = cli.run("enqueue", "--file", lines(tmp_path, '{"type":"a.b","args":[]}', line))
    assert ran.code == ExitCode.USAGE
    assert text in ran.err
    assert not world.stored.jobs


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_a_line_of_a_file_ends_at_a_line_feed_only(
    cli: Cli, world: World, tmp_path: Path, separator: str
) -> None:
    """JSON texts may have other separators as they are; lines may end in CR LF, too."""
    job = f'{{"type":"a.b","args":["{separator}"]}}\r'
    assert cli.ask("enqueue", "--file", lines(tmp_path, job, job)) == {"enqueued": 2}
    assert all(separator in str(each.document) for each in world.stored.jobs.values())


def test_a_file_that_cannot_be_read_is_wrong_usage(cli: Cli, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        ran = cli.run("enqueue", "--file", str(path))
        assert (ran.code, f"{path} cannot be read" in ran.err) == (ExitCode.USAGE, True)


def test_a_refused_batch_says_what_was_enqueued_before(
    cli: Cli, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server checks what a line says."""
    monkeypatch.setattr(enqueue, "BATCH", 1)
    wrong = '{"type":"a.b","args":[],"priority":500}'
    ran = cli.run("enqueue", "--file", lines(tmp_path, '{"type":"a.b","args":[]}', wrong, wrong))
    assert "Jobs 2 to 2 were not enqueued, nor those after them; the 1 before them were." in ran.err
    assert len(world.stored.jobs) == 1


def test_a_type_or_a_file_is_named(cli: Cli, tmp_path: Path) -> None:
    """Neither and both say nothing."""
    assert cli.run("enqueue").code == ExitCode.USAGE
    assert cli.run("enqueue", "a.b", "--file", jobs(tmp_path)).code == ExitCode.USAGE
