"""What a batch of a thousand jobs costs: calls and write units, counted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.batch_costs import MANY, Units, jobs
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.local.patches import fast_queues
from ojs_aws.services.backend import Backend
from ojs_aws.testing.deployment import FakeClock
from tests.aws import EmbeddedAws, embedded


@pytest.fixture
def aws() -> Iterator[EmbeddedAws]:
    """A fresh AWS."""
    with embedded() as aws, fast_queues():
        yield aws


@pytest.fixture
def backend(aws: EmbeddedAws) -> Backend:
    """A backend over it, which knows the settings of its queue."""
    backend = build_backend(aws.settings, aws.clients, clock=FakeClock(), parallel=IN_ORDER)
    backend.jobs.push(Job("warm.up", []))
    return backend


def test_a_thousand_jobs_cost_a_put_each_and_a_tenth_of_a_message(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """Beside that the log's four parts, the decision, ten reads, three marks, and the end."""
    units = Units()
    units.watch(aws.clients.dynamodb)
    with aws.calls.counted() as calls:
        backend.jobs.push.all(jobs())
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
    with aws.calls.counted() as calls:
        backend.upkeep.sweep.tick()
    assert "PutItem" not in calls


def test_a_unique_job_of_a_large_batch_costs_one_unit_more(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """Its lock; alone, and in a small batch, it costs five."""
    units = Units()
    units.watch(aws.clients.dynamodb)
    with aws.calls.counted() as calls:
        backend.jobs.push.all(jobs(200, unique={"keys": ["type", "args"]}))
    assert calls["PutItem"] == 1 + 2 * 200
    assert calls["TransactWriteItems"] == 1
    assert 3 < units.per_job(200) < 3.2


def test_a_small_batch_is_one_transaction(aws: EmbeddedAws, backend: Backend) -> None:
    """And no log."""
    with aws.calls.counted() as calls:
        backend.jobs.push.all(jobs(100))
    assert calls == {"TransactWriteItems": 1, "SendMessageBatch": 10}


def test_who_asks_for_a_job_that_is_not_there_pays_a_query_and_a_read(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """It may be one of a batch, whose row is mostly empty, or have got there since."""
    with aws.calls.counted() as calls, pytest.raises(Exception, match="not found"):
        backend.jobs.info("01990000-0000-7000-8000-000000000001")
    assert calls == {"Query": 2, "GetItem": 1}


def test_a_bulk_enqueue_costs_a_put_for_each_job_and_a_tenth_of_a_message(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """Each by itself, and their messages together."""
    with aws.calls.counted() as calls:
        items = backend.bulk.enqueue.each(jobs(120))
    assert all(item.pushed for item in items)
    assert calls == {"PutItem": 120, "SendMessageBatch": 12}
