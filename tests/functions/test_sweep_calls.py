"""What the sweep and the count of the lists cost, whatever waits."""

from __future__ import annotations

from collections import Counter

import pytest

from ojs_aws.domain.events import HANDLED_MARK
from ojs_aws.domain.queues.tallies import MINUTE_MS, Tally
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.backend import Backend
from tests.aws import EmbeddedAws
from tests.clocks import advance
from tests.functions.counting import warm_backend
from tests.job_steps import pushed

COUNT_OF_LISTS = {"GetItem": 1, "Query": 8, "UpdateItem": 1}


@pytest.fixture
def backend(aws: EmbeddedAws) -> Backend:
    """A backend over it, in a process that has fetched before from its usual queues."""
    return warm_backend(aws)


def count_lists(backend: Backend) -> None:
    """Make the totals right for a day, as the first ticks do."""
    for _ in range(2):
        backend.upkeep.totals_recount.tick(["default"], lambda: False)


def test_a_count_of_the_lists_costs_nine_reads_and_a_write_a_day(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """Whatever waits; between two counts the tick makes no call for it."""
    pushed(backend)
    held = Tally(held=Counter(available=1))
    backend.stores.tallies().add("default", Instant(MINUTE_MS), held, "1")
    for expected in [COUNT_OF_LISTS, COUNT_OF_LISTS, {}]:
        with aws.calls.counted() as calls:
            backend.upkeep.totals_recount.tick(["default"], lambda: False)
        assert calls == expected


def test_a_difference_is_counted_again_once_the_stream_has_been_read(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """A read a minute until then, and one for how far the stream is read."""
    pushed(backend)
    costs = []
    for handled in (False, False, True):
        if handled:
            backend.stores.watermarks().move(HANDLED_MARK, backend.clock.now())
        with aws.calls.counted() as calls:
            backend.upkeep.totals_recount.tick(["default"], lambda: False)
        costs.append(dict(calls))
    assert costs == [
        {"GetItem": 1, "Query": 8},
        {"GetItem": 1},
        {"GetItem": 2, "Query": 8, "UpdateItem": 1},
    ]


def test_the_sweep_of_a_queue_with_a_far_backlog_costs_the_same(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """What waits for next week is not looked at: two queries for the queue, one for all of them.

    And one for the batches that are left.
    """
    count_lists(backend)

    def cost() -> dict[str, int]:
        with aws.calls.counted() as calls:
            backend.upkeep.sweep.tick()
        advance(backend, s=300)
        return dict(calls)

    assert cost() == {"Query": 4, "UpdateItem": 1}
    for _ in range(30):
        pushed(backend, scheduled_at="+P7D")
    assert cost() == {"Query": 4, "UpdateItem": 1}


def test_a_declared_queue_is_registered_by_its_first_sweep_alone(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """One write in the life of a queue: the sweep knows it when it is declared no more."""
    count_lists(backend)
    aws.clients.dynamodb.delete_item(
        TableName=aws.settings.table, Key={"pk": {"S": "queues"}, "sk": {"S": "default"}}
    )
    writes = []
    for _ in range(3):
        with aws.calls.counted() as calls:
            backend.upkeep.sweep.tick()
        writes.append(calls["UpdateItem"])
        advance(backend, s=300)
    assert writes == [2, 1, 1]


def test_arming_a_hundred_timers_costs_what_their_messages_do(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """Ten calls to SQS; a look at the index and a page of it, the cursor, and no job read."""
    count_lists(backend)
    for _ in range(100):
        pushed(backend, scheduled_at="+PT20M")
    advance(backend, s=600)
    with aws.calls.counted() as calls:
        assert backend.upkeep.sweep.tick().armed == 100
    assert calls["SendMessageBatch"] == 10
    assert calls["UpdateItem"] <= 3
    assert calls["Query"] <= 7
    assert "GetItem" not in calls
    with aws.calls.counted() as calls:
        assert backend.upkeep.sweep.tick().armed == 0
    assert "SendMessageBatch" not in calls


def test_a_busy_queue_costs_the_sweep_three_queries(aws: EmbeddedAws, backend: Backend) -> None:
    """Something is due soon, nothing is overdue; the cursor moves over what PUSH armed."""
    count_lists(backend)
    pushed(backend, scheduled_at="+PT5M")
    with aws.calls.counted() as calls:
        backend.upkeep.sweep.tick()
    assert calls == {"Query": 2 + 3, "UpdateItem": 2}
    advance(backend, s=60)
    with aws.calls.counted() as calls:
        backend.upkeep.sweep.tick()
    assert calls == {"Query": 2 + 3, "UpdateItem": 1}


def test_an_idle_queue_costs_the_sweep_nothing_for_some_minutes(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """One query for all queues, one for open batches, one write for the end of the tick."""
    count_lists(backend)
    backend.upkeep.sweep.tick()
    advance(backend, s=60)
    with aws.calls.counted() as calls:
        assert backend.upkeep.sweep.tick().queues == 0
    assert calls == {"Query": 2, "UpdateItem": 1}
