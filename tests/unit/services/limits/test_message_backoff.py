"""When messages come back whose jobs have to wait for a limit (RL-003, for Lambda workers)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from ojs_aws.domain.limits import LimitRefusal
from ojs_aws.domain.queues import Backlog
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.limits.check import FEW, LOOKS_PER_S, MAX_BLIND_MS, message_backoff
from ojs_aws.topology import MAX_DELAY_S
from tests.simulation.world import World
from tests.unit.services.limits.test_check import push

NOW = Instant(1_760_000_000_000)


def refused(until_ms: int, per_s: float | None = None, slot_ms: int = 1000) -> LimitRefusal:
    """A refusal that is over so long from now."""
    return LimitRefusal("rate", Instant(NOW + until_ms), per_s=per_s, slot_ms=slot_ms)


def test_few_messages_come_back_when_the_limit_opens() -> None:
    """None of them should miss its window."""
    planned = message_backoff([refused(4000, per_s=0.25, slot_ms=4000)], FEW, NOW)
    assert {planned.seconds(f"handle {each}") for each in range(FEW)} == {4}


def test_many_are_spread_over_the_windows_to_come() -> None:
    """About twice as many to each as it lets begin: no stampede, and no window is left empty."""
    planned = message_backoff([refused(1000, per_s=10)], 1000, NOW)
    at = Counter(planned.seconds(f"handle {each}") for each in range(1000))
    assert set(at) == set(range(1, 50))
    assert max(at.values()) < 5 * 10


def test_nobody_waits_longer_than_a_message_can_be_delayed() -> None:
    """However many there are."""
    planned = message_backoff([refused(3_600_000, per_s=1 / 3600, slot_ms=3_600_000)], 10**6, NOW)
    assert {planned.seconds(str(each)) for each in range(50)} == {MAX_DELAY_S}


@pytest.mark.parametrize("waiting", [0, 1, 50, 500])
def test_where_nothing_says_when_a_limit_opens_it_is_asked_within_a_minute(waiting: int) -> None:
    """Concurrency; a block that lasts for hours, too, as it may be lifted."""
    for until_ms in (5000, 86_400_000):
        planned = message_backoff([refused(until_ms)], waiting, NOW)
        latest = max(planned.seconds(str(each)) for each in range(200))
        assert latest <= MAX_BLIND_MS // 1000


@pytest.mark.parametrize("waiting", [2_000, 8_000, 500_000])
def test_the_wait_for_a_place_grows_with_the_backlog(waiting: int) -> None:
    """Ten messages come back in a second, and more only where no delay is long enough for that."""
    planned = message_backoff([refused(5000)], waiting, NOW)
    seconds = [planned.seconds(str(each)) for each in range(waiting)]
    assert max(seconds) <= MAX_DELAY_S
    busiest = max(Counter(seconds).values())
    assert busiest <= 3 * max(LOOKS_PER_S, waiting / MAX_DELAY_S)


@pytest.mark.parametrize(
    "limit", [{"concurrency": 0}, {"rate": {"limit": 5_000, "period": "PT1S"}}]
)
def test_a_large_backlog_is_delayed_and_not_hidden(
    limit: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQS allows 120,000 hidden messages in a queue, and then gives out none."""
    world = World()
    for _ in range(10):
        push(world, {"key": "k", **limit})
    world.limits.block("k", Instant(world.clock.at + 1000), "")
    monkeypatch.setattr(world.messages, "backlog", lambda *_: Backlog(delayed=500_000))
    received = world.messages.receive("default", 10, 120)
    world.backend.jobs.fetch.claim_messages("default", received, "lambda")
    monkeypatch.undo()
    assert world.messages.backlog("default") == Backlog(delayed=10)


def test_a_hundred_jobs_under_a_limit_cost_few_receives() -> None:
    """Lambda workers: each second's messages are admitted, others looked at a few times in all."""
    world = World()
    limit = {"key": "k", "rate": {"limit": 5, "period": "PT1S"}}
    for _ in range(100):
        push(world, limit)
    begun = receives = seconds = 0
    while begun < 100 and seconds < 120:
        while received := world.messages.receive("default", 10, 120):
            receives += len(received)
            for each in world.backend.jobs.fetch.claim_messages("default", received, "lambda"):
                if each.record is not None:
                    begun += 1
                    world.backend.jobs.ack(each.record.id, "lambda", None)
        world.clock.advance(s=1)
        seconds += 1
    assert begun == 100
    assert seconds <= 2 * 100 / 5
    assert receives <= 6 * 100


def test_a_worker_that_ends_a_limited_job_wakes_the_next() -> None:
    """At once, though the messages of those that wait are set aside."""
    world = World()
    for _ in range(2):
        push(world, {"key": "k", "concurrency": 1})
    received = world.messages.receive("default", 10, 120)
    first, _ = world.backend.jobs.fetch.claim_messages("default", received, "lambda")
    assert first.record is not None
    assert world.messages.receive("default", 10, 120) == []
    world.backend.jobs.ack(first.record.id, "lambda", None)
    world.backend.job_messages.pass_on(first.record, Instant(world.clock.at))
    woken = world.messages.receive("default", 10, 120)
    (next_,) = world.backend.jobs.fetch.claim_messages("default", woken, "lambda")
    assert next_.record is not None
    assert next_.record.id != first.record.id


def test_a_message_that_wakes_nobody_is_deleted() -> None:
    """Nothing of it is left in the queue."""
    world = World()
    push(world, {"key": "k", "concurrency": 1})
    received = world.messages.receive("default", 10, 120)
    (only,) = world.backend.jobs.fetch.claim_messages("default", received, "lambda")
    assert only.record is not None
    world.backend.jobs.ack(only.record.id, "lambda", None)
    world.backend.job_messages.pass_on(only.record, Instant(world.clock.at))
    woken = world.messages.receive("default", 10, 120)
    (nobody,) = world.backend.jobs.fetch.claim_messages("default", woken, "lambda")
    assert (nobody.record, nobody.keep_message) == (None, False)


def test_places_of_windows_wake_nobody() -> None:
    """They are not given back, so there is nothing to publish."""
    world = World()
    push(world, {"key": "k", "rate": {"limit": 1, "period": "PT1S"}})
    received = world.messages.receive("default", 10, 120)
    (only,) = world.backend.jobs.fetch.claim_messages("default", received, "lambda")
    assert only.record is not None
    calls = len(world.faults.calls)
    world.backend.job_messages.pass_on(only.record, Instant(world.clock.at))
    assert len(world.faults.calls) == calls
