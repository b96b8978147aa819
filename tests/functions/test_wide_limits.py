"""Limits on wide queues through the real adapters: each line keeps them, whoever sets them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.queues.config import DEFAULT_POLICY
from tests.functions.test_wide_queues import LINES, Office

ONE: dict[str, Any] = {"concurrency": 1}


class LimitedOffice(Office):
    """A deployment with a wide queue whose jobs have limits."""

    def limits(self, queue: str = "mail") -> set[bool]:
        """Whether the lines say that the queue has a limit."""
        store = self.backend.stores.store
        return {bool(store.head(queue, 5, shard).limit) for shard in range(LINES)}

    def end(self, job: JobRecord) -> None:
        """A worker over HTTP completes a job."""
        self.backend.jobs.ack(job.id, "w", None)


@pytest.fixture
def office() -> LimitedOffice:
    """A deployment whose queue is wide."""
    return LimitedOffice()


SETTERS: dict[str, tuple[Callable[[Any], object], Callable[[Any], object]]] = {
    "a setting": (
        lambda backend: backend.queues.config.change("mail", ONE),
        lambda backend: backend.queues.config.change("mail", {"concurrency": None}),
    ),
    "the limit of a queue": (
        lambda backend: backend.limits.limit_queue("mail", ONE),
        lambda backend: backend.limits.unlimit_queue("mail"),
    ),
    "the limit of its key": (
        lambda backend: backend.limits.override("queue:mail", ONE),
        lambda backend: backend.limits.lift("queue:mail"),
    ),
}


@pytest.mark.parametrize("how", SETTERS)
def test_a_limit_holds_in_each_line_at_once(office: LimitedOffice, how: str) -> None:
    """However it is set, and it ends in each line at once."""
    begin, end = SETTERS[how]
    jobs = [office.push_into(shard) for shard in range(LINES)]
    begin(office.backend)
    assert office.limits() == {True}
    running = office.fetch(LINES)
    assert len(running) == 1
    assert office.fetch(LINES) == []
    end(office.backend)
    assert office.limits() == {False}
    office.clock.advance(s=61)
    for job in running:
        office.end(job)
    assert len(office.drain()) == len(jobs) - 1


def test_a_queue_takes_over_the_limit_of_the_default_policy_in_each_line(
    office: LimitedOffice,
) -> None:
    """With its first job."""
    office.backend.queues.config.change(DEFAULT_POLICY, ONE)
    new = office.process(wide_queues=(("new", LINES),))
    new.queues.push_settings.of("new")
    store = new.stores.store
    assert all(store.head("new", 5, shard).limit for shard in range(LINES))


def test_a_limit_that_there_was_before_is_kept_when_the_queue_becomes_wide(
    office: LimitedOffice,
) -> None:
    """Its lines say so before the first job comes to them."""
    office.process(wide_queues=()).queues.config.change("old", ONE)
    wide = office.process(wide_queues=(("old", LINES),))
    wide.queues.config.change("old", {"ordering_shards": LINES})
    assert all(wide.stores.store.head("old", 5, shard).limit for shard in range(LINES))


def test_the_sweep_evens_what_setting_a_limit_left_in_its_middle(office: LimitedOffice) -> None:
    """The process died before all lines said it; likewise for a removal."""
    for shard in range(LINES):
        office.push_into(shard)
    unaware = office.process(wide_queues=()).limits
    for is_limited in (True, False):
        if is_limited:
            unaware.limit_queue("mail", ONE)
        else:
            unaware.unlimit_queue("mail")
        assert office.limits() == {True, False}
        office.backend.upkeep.sweep.tick()
        office.clock.advance(s=61)
        assert office.limits() == {is_limited}


def test_a_limit_of_a_type_or_a_key_is_of_no_line(office: LimitedOffice) -> None:
    """It costs no copy."""
    for key in ("type:a.b", "queue:mail:type:a.b", "some-key"):
        with office.aws.calls.counted() as calls:
            office.backend.limits.override(key, ONE)
            office.backend.limits.lift(key)
        assert calls["BatchWriteItem"] == 0
    assert office.limits() == {False}


def test_setting_a_limit_costs_a_read_a_query_and_the_rows_of_the_lines(
    office: LimitedOffice,
) -> None:
    """More than in a queue with one line; two queries in each other line count and wake."""

    def counted(queue: str) -> Any:
        with office.aws.calls.counted() as calls:
            office.backend.limits.limit_queue(queue, ONE)
        return calls

    narrow, wide = counted("default"), counted("mail")
    more = {"BatchGetItem": 1, "BatchWriteItem": 1, "Query": 1 + 2 * (LINES - 1)}
    assert {name: wide[name] - narrow[name] for name in wide if wide[name] != narrow[name]} == more
