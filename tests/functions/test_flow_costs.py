"""What orchestration costs is the cost model's rows: each is counted, and asserted, here."""

from __future__ import annotations

import pytest

from benchmarks.flow_costs import OPERATIONS
from benchmarks.laboratory import Bench
from ojs_aws.domain.job import JobRecord

pytestmark = pytest.mark.thorough

READ, WRITE, SENT = {"GetItem": 1}, {"TransactWriteItems": 1}, {"SendMessage": 1}
STEP = READ | {"Query": 1} | WRITE | SENT
"""The workflow, the results that were stored before, one transaction, one message."""

CLAIM = {"ReceiveMessage": 1, "Query": 2, "BatchGetItem": 1} | WRITE

DUE = {"ReceiveMessage": 1, "Query": 2, "GetItem": 2, "UpdateItem": 2}

OCCURRENCE = {"GetItem": 1, "BatchGetItem": 2, "UpdateItem": 2, "PutItem": 1, "SendMessage": 2}
"""The entry and the run before are read; the occurrence is claimed, its job put, and settled."""


@pytest.mark.parametrize(
    ("operation", "calls", "writes", "reads"),
    [
        # The workflow 2, its plan 2, its first job 2, in a transaction; a row of the index each.
        ("workflow created", WRITE | SENT, 8, 0),
        # The workflow 2, a result 2, the next job 2 in a transaction; the job's row of the index.
        ("chain step", STEP, 7, 2),
        ("step after a group", STEP, 7, 2),
        ("batch callback", STEP, 7, 2),
        ("step with dependencies", STEP, 7, 2),
        # The workflow and their results; a hundred small ones fit a few kilobytes together.
        ("group member alone", READ | WRITE, 4, 1),
        # The job 2 and its lock 2 in a transaction; a row of the index.
        ("unique PUSH", WRITE | SENT, 5, 0),
        ("unique PUSH, rejected", READ | WRITE, 4, 1),
        # The refused transaction 4, then three items and three rows of the index.
        ("unique PUSH, replacing", READ | {"TransactWriteItems": 2} | SENT, 13, 1),
        # The application's own transaction, and the message that the stream sends.
        ("transactional enqueue", WRITE | SENT, 3, 0),
        ("transactional, unique", READ | WRITE | SENT, 5, 1),
        # It is read and made available, then claimed; a place in two lists with each write.
        ("FETCH, scheduled job", DUE, 6, 3),
        # The claim and its end 3 each, the entry and two rows of what is due; the job 2.
        ("cron occurrence", OCCURRENCE, 8, 4),
        ("FAIL, to be retried", READ | {"UpdateItem": 1, "ChangeMessageVisibility": 1}, 3, 1),
        ("FETCH, retried job", DUE, 6, 3),
        # The job and its bucket twice each; it moves from one list to another.
        ("FETCH, job with a limit", CLAIM, 6, 3),
        ("FETCH, queue with a limit", CLAIM, 6, 3),
        # The update in vain by which ACK learns of the place, then the same.
        ("ACK, job with a limit", {"UpdateItem": 1} | WRITE, 6, 0),
    ],
)
def test_an_operation_costs_these_calls_and_units(
    operation: str, calls: dict[str, int], writes: float, reads: float
) -> None:
    """Of small jobs; a change that makes one dearer fails here until a decision says why."""
    bench = Bench()
    cost = OPERATIONS[operation](bench)
    assert cost.calls == calls
    assert (cost.writes, cost.reads) == (writes, reads)
    assert cost.requests == sum(count for name, count in calls.items() if "Message" in name)


def test_members_that_end_together_cost_a_tenth_of_a_unit_each() -> None:
    bench = Bench()
    cost = OPERATIONS["group member, 100 together"](bench)
    assert cost.calls == READ | WRITE
    assert cost.writes / cost.jobs <= 0.12


def test_a_job_of_a_batch_of_a_thousand_costs_what_a_single_one_does() -> None:
    """And a tenth of its message; the log and its marks are 0.03 units, looking for the ids one."""
    bench = Bench()
    cost = OPERATIONS["batch of 1,000"](bench)
    assert cost.calls["SendMessageBatch"] == 100
    assert 2 < cost.writes / cost.jobs < 2.1
    assert cost.reads / cost.jobs < 1.1


def test_the_meter_counts_what_a_job_is_known_to_cost() -> None:
    """Two for PUSH and ACK, three for FETCH: an item and its rows of the index."""
    bench = Bench()
    pushed = bench.cost(lambda: bench.push("demo.plain"))
    claimed: list[JobRecord] = []
    fetched = bench.cost(lambda: claimed.extend(bench.fetch(1)))
    acked = bench.cost(lambda: bench.backend.jobs.ack(claimed[0].id, "worker-1", None))
    assert [each.writes for each in (pushed, fetched, acked)] == [2, 3, 2]
    assert [each.reads for each in (pushed, fetched, acked)] == [0, 1, 0]
