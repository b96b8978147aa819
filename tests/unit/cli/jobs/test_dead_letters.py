"""Dead letters at the terminal: listed, retried and deleted."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.cli.jobs.chosen import Consent
from ojs_aws.cli.terminal.session import ExitCode
from ojs_aws.client.areas.dead_letters import BulkResult, DeadLetterJobs
from ojs_aws.client.areas.entries import BulkOutcome
from tests.simulation.world import World
from tests.unit.cli.conftest import Cli
from tests.unit.cli.made_jobs import die, enqueue
from tests.unit.client.doubles import die as fail_one


def test_dead_letters_that_could_not_be_changed_are_named_with_why(
    cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first twenty of them."""
    ids = [die(cli, world) for _ in range(21)]
    retry_many = DeadLetterJobs.retry_many

    async def change(letters: DeadLetterJobs, *, dry_run: bool = False, **given: Any) -> BulkResult:
        if dry_run:
            return await retry_many(letters, dry_run=True, **given)
        return BulkResult([BulkOutcome(each, "failed", "Not now.") for each in ids])

    monkeypatch.setattr(DeadLetterJobs, "retry_many", change)
    ran = cli.run("dead-letter", "retry", "--all", "-y")
    assert ran.code == ExitCode.FAILED
    head, *rest = ran.out.splitlines()
    assert (head, rest[0]) == ("retry: 0 done, 21 not.", "21 dead letters could not be changed:")
    assert rest[1:] == [*(f"  {each}: Not now." for each in ids[:20]), "  and 1 more"]


def test_dead_letters_that_came_after_the_question_are_left_alone(
    cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is changed is what was counted, and agreed to."""
    die(cli, world)

    def agreed(*_: object) -> bool:
        world.clock.advance(s=1)
        fail_one(world)
        return True

    monkeypatch.setattr(Consent, "agrees", agreed)
    assert cli.ask("dead-letter", "delete", "--all")["succeeded"] == 1
    assert cli.ask("dead-letter", "list")["total"] == 1


@pytest.mark.parametrize(
    "command",
    [("jobs", "cancel"), ("jobs", "retry"), ("dead-letter", "retry"), ("dead-letter", "delete")],
)
def test_a_dry_run_of_named_jobs_is_refused_and_changes_nothing(
    cli: Cli, world: World, command: tuple[str, str]
) -> None:
    """Named jobs are changed one by one, without a count."""
    job_id = enqueue(cli) if command == ("jobs", "cancel") else die(cli, world)
    before = world.stored.jobs[job_id].state
    ran = cli.run(*command, job_id, "--dry-run")
    assert ran.code == ExitCode.USAGE
    assert "Leave out --dry-run" in ran.err
    assert world.stored.jobs[job_id].state == before


def test_dead_letters_are_looked_at_retried_and_deleted(cli: Cli, world: World) -> None:
    """By id with changes, or all of a filter."""
    first, second, third = (die(cli, world, kind=kind) for kind in ("A", "B", "B"))
    assert cli.ask("dead-letter", "list")["total"] == 3
    assert len(cli.run("dead-letter", "list", "--error-type", "B").out.splitlines()) == 3
    assert cli.ask("dead-letter", "stats")["by_error_type"] == {"A": 1, "B": 2}
    assert cli.ask("dead-letter", "show", first)["id"] == first
    again = cli.run("dead-letter", "retry", first, "--override", '{"priority": 9}')
    assert again.out == f"{first} is available.\n"
    assert world.stored.jobs[first].priority == 9
    assert cli.ask("dead-letter", "retry", "--error-type", "B", "--dry-run")["matched"] == 2
    assert cli.ask("dead-letter", "delete", second, "-y")["deleted"] is True
    assert cli.ask("dead-letter", "retry", "--all", "-y")["succeeded"] == 1
    assert world.stored.jobs[third].state == "available"


@pytest.mark.parametrize("action", ["retry", "delete"])
def test_an_unknown_dead_letter_does_not_stop_the_others(
    cli: Cli, world: World, action: str
) -> None:
    """The exit code is that of the first one that was not changed."""
    known = die(cli, world)
    unknown = "01990000-0000-7000-8000-000000000001"
    more = ("-y",) if action == "delete" else ()
    ran = cli.run("dead-letter", action, unknown, known, *more)
    assert (ran.code, unknown in ran.err) == (ExitCode.NOT_FOUND, True)
    assert known in ran.out
    assert cli.ask("dead-letter", "list")["total"] == 0


def test_changes_that_would_be_ignored_are_refused(cli: Cli, world: World) -> None:
    """A filter takes none, and what is no object says none."""
    died = die(cli, world)
    for arguments in (("--all", "-y", "--override", '{"queue":"slow"}'), (died, "--override", "1")):
        assert cli.run("dead-letter", "retry", *arguments).code == ExitCode.USAGE
    assert cli.ask("dead-letter", "list")["total"] == 1


def test_one_dead_letter_is_spoken_of_in_the_singular(cli: Cli, world: World) -> None:
    died = die(cli, world)
    assert "Delete 1 job for good?" in cli.run("dead-letter", "delete", died).err
    ran = cli.run("dead-letter", "retry", "--all", "--dry-run")
    assert ran.out == "1 dead letter matches; nothing was changed.\n"


@pytest.mark.parametrize("command", [("jobs", "retry"), ("dead-letter", "delete", "-y")])
def test_json_about_several_named_jobs_is_one_value_a_line(
    cli: Cli, world: World, command: tuple[str, ...]
) -> None:
    """An array could not be printed before the last one is changed."""
    ids = [die(cli, world), die(cli, world)]
    assert [each["id"] for each in cli.run(*command, *ids, "--json").lines] == ids


def test_json_about_one_named_job_is_one_value(cli: Cli, world: World) -> None:
    died = die(cli, world)
    assert cli.ask("jobs", "retry", died) == {"id": died, "state": "available"}
