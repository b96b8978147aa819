"""What a batch of a thousand jobs costs: calls and write units, counted."""

from __future__ import annotations

import pytest

from benchmarks.batch_costs import MANY, Units, jobs
from benchmarks.laboratory import Laboratory
from ojs_aws.domain.envelope import Job


@pytest.fixture
def lab() -> Laboratory:
    """A backend which knows the settings of its queue."""
    lab = Laboratory()
    lab.backend.jobs.push(Job("warm.up", []))
    lab.take()
    return lab


def test_a_thousand_jobs_cost_a_put_each_and_a_tenth_of_a_message(lab: Laboratory) -> None:
    """Beside that the log's four parts, the decision, ten reads, three marks, and the end."""
    units = Units()
    units.watch(lab.aws)
    lab.backend.jobs.push.all(jobs())
    calls = lab.take()
    assert calls == {
        "BatchGetItem": 10,  # are the ids free?
        "Query": 1,
        "PutItem": 4 + MANY,
        "TransactWriteItems": 1,
        "SendMessageBatch": 100,
        "UpdateItem": 3,
        "DeleteItem": 1,
    }
    assert 2 < units.per_job(MANY) < 2.1  # alone 2, in a small batch's transaction 3
    lab.backend.upkeep.sweep.tick()
    calls = lab.take()
    assert "PutItem" not in calls


def test_a_unique_job_of_a_large_batch_costs_one_unit_more(lab: Laboratory) -> None:
    """Its lock; alone, and in a small batch, it costs five."""
    units = Units()
    units.watch(lab.aws)
    lab.backend.jobs.push.all(jobs(200, unique={"keys": ["type", "args"]}))
    calls = lab.take()
    assert calls["PutItem"] == 1 + 2 * 200
    assert calls["TransactWriteItems"] == 1
    assert 3 < units.per_job(200) < 3.2


def test_a_small_batch_is_one_transaction(lab: Laboratory) -> None:
    """And no log."""
    lab.backend.jobs.push.all(jobs(100))
    calls = lab.take()
    assert calls == {"TransactWriteItems": 1, "SendMessageBatch": 10}


def test_who_asks_for_a_job_that_is_not_there_pays_a_query_and_a_read(lab: Laboratory) -> None:
    """It may be one of a batch, whose row is mostly empty, or have got there since."""
    with pytest.raises(Exception, match="not found"):
        lab.backend.jobs.info("01990000-0000-7000-8000-000000000001")
    calls = lab.take()
    assert calls == {"Query": 2, "GetItem": 1}


def test_a_bulk_enqueue_costs_a_put_for_each_job_and_a_tenth_of_a_message(lab: Laboratory) -> None:
    """Each by itself, and their messages together."""
    items = lab.backend.bulk.enqueue.each(jobs(120))
    calls = lab.take()
    assert all(item.pushed for item in items)
    assert calls == {"PutItem": 120, "SendMessageBatch": 12}
