"""What the faults have found, each by itself: a scenario, a call, and what happens to it."""

from __future__ import annotations

from typing import Final

import pytest

from tests.faults.fault_injection import Kind
from tests.faults.running import Fault, broken_by, some, without_faults
from tests.faults.scenarios import SCENARIOS
from tests.faults.world import World

FOUND: Final = (
    # The first message of a queue that nobody declared: it could not be sent, and the sweep did
    # not know of the queue, either. Lambda workers never heard of the job.
    ("push-undeclared", "SendMessage", Kind.THROTTLED),
    ("push-undeclared", "SendMessage", Kind.LATE),
    # A deleted job's result that is kept by itself stayed for ever.
    ("bulk-delete", "DeleteItem", Kind.DIES_AFTER),
    ("bulk-delete", "DeleteObject", Kind.DIES_BEFORE),
    # A purge left a list when a page of it was empty and went on.
    ("purge", "Query", Kind.EMPTY),
)


def first(name: str, operation: str, kind: Kind) -> tuple[Fault, list[str]]:
    """Inject a fault into the first call of an operation; return what breaks."""
    scenario = next(each for each in SCENARIOS if each.name == name)
    wanted, faults = without_faults(scenario)
    fault = next(each for each in faults if (each.operation, each.kind) == (operation, kind))
    return fault, [*broken_by(fault, wanted)]


@pytest.mark.parametrize(("name", "operation", "kind"), FOUND)
def test_what_was_found_stays_mended(name: str, operation: str, kind: Kind) -> None:
    """Each of these was red before it was fixed."""
    fault, broken = first(name, operation, kind)
    assert broken == [], str(fault)


def test_a_deletion_that_took_effect_says_so() -> None:
    """That a document could not be removed is no failure of it: the stream's consumer does that."""
    fault, broken = first("bulk-delete", "DeleteObject", Kind.FAILS)
    assert broken == [], str(fault)


def test_an_atomic_retry_by_a_slow_clock_comes_after_what_it_retries() -> None:
    """The others did already; found with a clock that was set back."""
    world = World()
    job_id = world.push(retry={"max_attempts": 1})
    world.fetch()
    world.fail(job_id)
    failed_at = world.jobs[job_id].discarded_at
    world.clock.advance(s=-2)
    body = {"job_ids": [job_id], "atomicity": "atomic"}
    world.ask("POST", "/jobs/bulk/retry", body, kind="retry")
    assert world.jobs[job_id].enqueued_at == failed_at
    assert world.judge.broken == []


@pytest.mark.parametrize("most", [4, pytest.param(0, id="all", marks=pytest.mark.slow)])
def test_a_page_that_is_empty_and_goes_on_ends_no_sweep(most: int) -> None:
    """A query ends where it has read enough: it may have found nothing by then."""
    scenario = next(each for each in SCENARIOS if each.name == "tick-far")
    wanted, faults = without_faults(scenario)
    empty = some([fault for fault in faults if fault.kind is Kind.EMPTY], most)
    assert empty
    assert [found for fault in empty for found in broken_by(fault, wanted)] == []
