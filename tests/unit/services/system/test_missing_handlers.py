"""Jobs that were discarded because no worker knew their type are found."""

from __future__ import annotations

import pytest

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import encode, parse_object
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.services.events import Commit, events_of
from ojs_aws.services.system.failure_findings import missing_handlers
from ojs_aws.services.system.queue_findings import Finding
from tests.job_steps import fetched, pushed
from tests.simulation.world import World


def discard(
    world: World, kind: str, error_type: str = "NoHandlerRegistered", lacks: str = "handler"
) -> str:
    """Push a job, whose worker discards it."""
    pushed(world.backend, kind)
    (before,) = fetched(world.backend, worker_id="w")
    error: dict[str, JsonValue] = {
        "type": error_type,
        "code": "handler_error",
        "message": f"No {lacks} is registered for '{kind}'.",
        "retryable": False,
    }
    after = world.backend.jobs.fail(before.id, "w", parse_object(encode(error)))
    world.backend.failures.record(events_of(before, after, Commit(world.clock.now())))
    return before.id


def found(world: World) -> list[Finding]:
    """What needs attention because of them."""
    return [each for each in world.backend.findings().findings if each.code == "handlers_missing"]


def test_jobs_that_no_worker_knew_are_one_finding(world: World) -> None:
    """With their types, and what starts one again; until that was done."""
    ids = [discard(world, "report.new"), discard(world, "report.newer")]
    world.clock.advance(s=60)
    (finding,) = found(world)
    assert finding.message.startswith("2 jobs were discarded in the last ")
    assert finding.message.endswith("the last one 1 min ago. Among them: report.new, report.newer.")
    assert finding.hint == f"Deploy a worker with the handler, then: ojs-aws jobs retry {ids[0]}"
    assert finding.data["types"] == ["report.new", "report.newer"]
    assert (finding.data["count"], finding.data["queue"]) == (2, "default")
    for job_id in ids:
        world.backend.dead_letters.service.retry(job_id)
    assert found(world) == []


@pytest.mark.parametrize("kind", ["ValueError", "worker_death"])
def test_jobs_that_failed_otherwise_are_no_such_finding(world: World, kind: str) -> None:
    """And nothing is read of them."""
    discard(world, "report.new", kind)
    assert found(world) == []


def test_the_newest_of_several_failures_says_how_long_ago_that_was(world: World) -> None:
    """Workers of two releases have other messages, which are groups of their own."""
    discard(world, "report.new", lacks="function")
    world.clock.advance(s=600)
    discard(world, "report.newer")
    world.clock.advance(s=60)
    (finding,) = found(world)
    assert "the last one 1 min ago." in finding.message
    assert finding.data["last_at"] == format_instant(Instant(world.clock.at - 60_000))


def test_a_caller_learns_the_types_that_it_may_see(world: World) -> None:
    for kind in ("report.new", "other.secret"):
        discard(world, kind)
    report = world.backend.failures.report()
    store = world.backend.stores.store
    (finding,) = missing_handlers(store, report, lambda _, kind: kind == "report.new")
    assert finding.data["types"] == ["report.new"]
    assert "secret" not in f"{finding}"


def test_jobs_that_were_deleted_meanwhile_are_still_a_finding(world: World) -> None:
    """Nobody started them again, so that the handler is still missing."""
    job_id = discard(world, "report.new")
    world.backend.stores.store.delete(world.stored.jobs[job_id])
    (finding,) = found(world)
    assert finding.message.startswith("1 job was discarded in the last ")
    assert (finding.hint, "types" in finding.data) == ("ojs-aws errors", False)
