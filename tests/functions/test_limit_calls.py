"""What limits cost those who have them, and nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.limits.check import LOOK_EACH_MS
from tests.aws import EmbeddedAws
from tests.functions.counting import warm_backend
from tests.job_steps import pushed

REQUEST = FetchRequest(("default",), worker_id="worker-1")
LIMITED = {"key": "api", "concurrency": 1, "rate": {"limit": 9, "period": "PT1S"}}


@pytest.fixture
def backend(aws: EmbeddedAws) -> Backend:
    """A backend over it, in a process that has fetched before from its usual queues."""
    return warm_backend(aws)


def test_a_limit_costs_those_who_have_it(aws: EmbeddedAws, backend: Backend) -> None:
    """One note for each policy and process; a read and a transaction to begin; ACK one more."""
    with aws.calls.counted() as calls:
        job = pushed(backend, rate_limit=LIMITED)
    assert calls == {"PutItem": 1, "SendMessage": 1, "UpdateItem": 1}
    with aws.calls.counted() as calls:
        pushed(backend, rate_limit=LIMITED)
    assert calls == {"PutItem": 1, "SendMessage": 1}
    with aws.calls.counted() as calls:
        assert len(backend.jobs.fetch(REQUEST)) == 1
    assert calls == {
        "ReceiveMessage": 1,
        "Query": 2,
        "BatchGetItem": 1,
        "TransactWriteItems": 1,
    }
    with aws.calls.counted() as calls:
        backend.jobs.ack(job.id, "worker-1", None)
    assert calls == {"UpdateItem": 1, "TransactWriteItems": 1, "DeleteMessage": 1}


def test_jobs_that_wait_for_a_limit_cost_one_look_however_many_they_are(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """Their place in line names the bucket, so that they are passed by unread."""
    for _ in range(60):
        pushed(backend, rate_limit=LIMITED)
    assert len(backend.jobs.fetch(REQUEST)) == 1
    with aws.calls.counted() as calls:
        assert backend.jobs.fetch(REQUEST) == []
    # The head, one page behind it (which is the last), and what is overdue. The first look says
    # that the limit is exceeded, and all of them how many messages there are to be spread.
    aside = {"ChangeMessageVisibility": 1, "GetQueueAttributes": 1}
    look = {"ReceiveMessage": 1, "Query": 3, "BatchGetItem": 1} | aside
    assert calls == look | {"UpdateItem": 1}
    with aws.calls.counted() as calls:
        assert backend.jobs.fetch(REQUEST) == []
    assert calls == look


def test_a_type_with_a_limit_is_known_from_one_read_in_five_seconds(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """However many jobs are fetched, and whether there is one or not."""
    moved: Any = backend.clock
    for _ in range(2):
        pushed(backend)
        moved.advance(ms=LOOK_EACH_MS)
        with aws.calls.counted() as calls:
            assert len(backend.jobs.fetch(REQUEST)) == 1
            assert backend.jobs.fetch(REQUEST) == []
        assert calls.pop("GetItem") == 1
    with aws.calls.counted() as calls:
        backend.limits.override("type:demo.echo", {"concurrency": 9})
    # The types that have one; to lay it down; what it counts; who waits, and waking them.
    assert calls["TransactWriteItems"] == 1
    pushed(backend)
    moved.advance(ms=LOOK_EACH_MS)
    with aws.calls.counted() as calls:
        assert len(backend.jobs.fetch(REQUEST)) == 1
    assert calls == {
        "GetItem": 1,
        "ReceiveMessage": 1,
        "Query": 2,
        "BatchGetItem": 1,
        "TransactWriteItems": 1,
    }


def test_a_limited_queue_is_known_from_the_head_of_its_ready_list(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """No call asks whether a queue has a limit."""
    backend.limits.limit_queue("default", {"concurrency": 1})
    first, _ = pushed(backend), pushed(backend)
    assert [job.id for job in backend.jobs.fetch(FetchRequest(("default",), 5))] == [first.id]
    assert backend.jobs.fetch(REQUEST) == []
    counted = backend.limits.get("queue:default")
    assert counted.bucket.active == 1
    backend.jobs.ack(first.id, None, None)
    assert backend.limits.get("queue:default").bucket.active == 0
    backend.limits.unlimit_queue("default")
    with aws.calls.counted() as calls:
        assert len(backend.jobs.fetch(REQUEST)) == 1
    assert calls == {"ReceiveMessage": 1, "Query": 2, "UpdateItem": 1}
