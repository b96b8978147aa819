"""Many jobs changed at the terminal: after a count, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.cli.jobs.chosen import Consent
from ojs_aws.cli.terminal.session import ExitCode
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.jobs import any_job
from tests.simulation.world import World
from tests.unit.cli.conftest import Cli
from tests.unit.cli.made_jobs import die, enqueue


def test_adm_007_many_jobs_are_changed_after_a_dry_run(cli: Cli, world: World) -> None:
    """Nothing happens without --yes where nobody can be asked."""
    dead = {die(cli, world, "billing") for _ in range(3)}
    dry = cli.ask("jobs", "retry", "-q", "billing", "--dry-run")
    assert dry == {"action": "retry", "dry_run": True, "matched": 3}
    refused = cli.run("jobs", "retry", "-q", "billing")
    assert (refused.code, "Say --yes" in refused.err) == (ExitCode.USAGE, True)
    assert {world.stored.jobs[each].state for each in dead} == {"discarded"}
    done = cli.ask("jobs", "retry", "-q", "billing", "--yes")
    assert (done["succeeded"], done["failed"]) == (3, 0)
    assert {world.stored.jobs[each].state for each in dead} == {"available"}
    assert cli.run("jobs", "cancel", "-q", "billing", "-y").out == "Cancelled 3 jobs.\n"
    assert cli.ask("jobs", "delete", "-q", "billing", "-y")["succeeded"] == 3
    assert not dead & set(world.stored.jobs)
    assert "0 jobs match" in cli.run("jobs", "delete", "-q", "billing", "-y").out


def test_counted_jobs_are_cancelled_though_they_retried_meanwhile(
    cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly those that were counted: each may be in another state when somebody agrees."""
    counted = [enqueue(cli, "-q", "billing") for _ in range(2)]
    agrees = Consent.agrees

    def agree(*given: Any) -> bool:
        world.backend.jobs.fetch(FetchRequest(("billing",), worker_id="w"))
        world.backend.jobs.push(any_job("demo.echo", [1], queue="billing"))
        return agrees(*given)

    monkeypatch.setattr(Consent, "agrees", agree)
    ran = cli.run("jobs", "cancel", "-q", "billing", "-s", "available", "-y")
    assert ran.out == "Cancelled 2 jobs.\n"
    states = {each.id: each.state for each in world.stored.jobs.values()}
    assert {states.pop(each) for each in counted} == {"cancelled"}
    assert [*states.values()] == ["available"]


def test_jobs_that_could_not_be_changed_are_named_with_why(
    cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job may have ended between the count and the answer; the exit code says so."""
    ended, other = enqueue(cli, "-q", "billing"), enqueue(cli, "-q", "billing")
    agrees = Consent.agrees

    def agree(*given: Any) -> bool:
        world.backend.jobs.cancel(ended)
        return agrees(*given)

    monkeypatch.setattr(Consent, "agrees", agree)
    ran = cli.run("jobs", "cancel", "-q", "billing", "-y")
    assert ran.code == ExitCode.FAILED
    assert ran.out.splitlines() == [
        "Cancelled 1 of 2 jobs.",
        "1 job could not be changed:",
        f"  {ended}: Job is in cancelled state",
    ]
    assert world.stored.jobs[other].state == "cancelled"


def test_a_bulk_change_without_a_filter_is_refused(cli: Cli) -> None:
    """Usage, and what to say."""
    enqueue(cli)
    ran = cli.run("jobs", "cancel", "--yes")
    assert (ran.code, "Which jobs?" in ran.err) == (ExitCode.USAGE, True)
    assert cli.run("dead-letter", "delete", "--yes").code == ExitCode.USAGE
    assert cli.run("workers", "quiet").code == ExitCode.USAGE
    assert cli.run("queues", "pause").code == ExitCode.USAGE


def test_a_dry_run_shows_the_jobs_that_it_would_change(cli: Cli, world: World) -> None:
    """With the latest error of each."""
    dead = die(cli, world, "billing")
    out = cli.run("jobs", "retry", "-q", "billing", "--dry-run").out
    assert out.startswith("1 job matches; nothing was changed.")
    for part in ("They are", dead, "demo.echo", "discarded"):
        assert part in out


@pytest.mark.parametrize(
    ("group", "says"),
    [
        ("jobs", "Retried 1 of 2 jobs.\n1 job no longer matched.\n"),
        ("dead-letter", "retry: 1 done, 0 not.\n1 dead letter no longer matched.\n"),
    ],
)
def test_who_has_left_since_the_count_is_counted(
    cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch, group: str, says: str
) -> None:
    """Somebody else was faster: nothing failed, and the numbers add up."""
    dead = [die(cli, world, "billing") for _ in range(2)]
    agrees = Consent.agrees

    def agree(*given: Any) -> bool:
        world.backend.dead_letters.service.retry(dead[0])
        return agrees(*given)

    monkeypatch.setattr(Consent, "agrees", agree)
    ran = cli.run(group, "retry", "-q", "billing", "-y")
    assert (ran.code, ran.out) == (0, says)


def test_all_jobs_of_a_tag_are_erased_in_any_state(cli: Cli, world: World) -> None:
    """Those that wait, run or have ended; jobs of other tags stay."""
    for _ in range(2):
        world.backend.jobs.push(any_job("a.b", [1], tags=["customer-42"]))
    world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    before = {*world.stored.jobs}
    world.backend.jobs.push(any_job("a.b", [1], tags=["customer-42"]))
    (ended,) = {*world.stored.jobs} - before
    cli.run("jobs", "cancel", ended)
    before = {*world.stored.jobs}
    world.backend.jobs.push(any_job("a.b", [1], tags=["customer-4"]))
    (other,) = {*world.stored.jobs} - before
    dry = cli.ask("jobs", "erase", "--tag", "customer-42", "--dry-run")
    assert dry == {"action": "erase", "dry_run": True, "matched": 3}
    refused = cli.run("jobs", "erase", "--tag", "customer-42")
    assert (refused.code, "Say --yes" in refused.err) == (ExitCode.USAGE, True)
    ran = cli.run("jobs", "erase", "--tag", "customer-42", "--yes")
    assert ran.out == "Erased 3 jobs.\n"
    assert "backups" in ran.err
    assert {*world.stored.jobs} == {other}
    assert cli.run("jobs", "erase").code == ExitCode.USAGE
