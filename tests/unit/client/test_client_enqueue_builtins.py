"""The built-in enqueue middleware together, in a client's chain."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.client import EnqueueStatus
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import NotFoundError, RateLimitedError, SchemaValidationError
from ojs_aws.middleware import (
    LOCALE,
    DeduplicationMiddleware,
    DefaultMetadataMiddleware,
    EnqueueChain,
    LocaleMiddleware,
    QueueRoutingMiddleware,
    RateLimitMiddleware,
    ValidationMiddleware,
)
from tests.unit.client.doubles import FakeServer, error


def chain(**more: Any) -> EnqueueChain:
    """All of them, in the order that their pages recommend."""
    schema = {"prefixItems": [{"type": "string"}], "minItems": 1}
    return EnqueueChain(
        [
            ValidationMiddleware({"email.send": schema}),
            LocaleMiddleware(),
            DefaultMetadataMiddleware({"source": "test"}),
            QueueRoutingMiddleware({"email.*": "mail"}),
            DeduplicationMiddleware(),
            RateLimitMiddleware(2, per_s=3600, key="queue", **more),
        ]
    )


async def test_mw_enq_013_what_they_change_is_sent() -> None:
    """MW-ENQ-010: the job lands in another queue, with metadata."""
    server = FakeServer()
    token = LOCALE.set("de")
    result = await server.client(middleware=chain()).enqueue("email.send", ["x"])
    LOCALE.reset(token)
    assert result.status is EnqueueStatus.ENQUEUED
    (sent,) = server.bodies()
    assert (sent["queue"], sent["meta"]) == ("mail", {"locale": "de", "source": "test"})


async def test_mw_enq_003_025_what_they_refuse_or_drop_is_never_sent() -> None:
    """Three outcomes, each without a request: invalid, duplicate, too many."""
    server = FakeServer()
    client = server.client(middleware=chain())
    with pytest.raises(SchemaValidationError):
        await client.enqueue("email.send", [1])
    assert server.requests == []
    await client.enqueue("email.send", ["x"])
    dropped = await client.enqueue("email.send", ["x"])
    assert (dropped.status, dropped.dropped_by) == (EnqueueStatus.DROPPED, "deduplication")
    await client.enqueue("email.send", ["y"])
    with pytest.raises(RateLimitedError):
        await client.enqueue("email.send", ["z"])
    assert len(server.requests) == 2


async def test_a_job_that_the_server_refuses_may_be_enqueued_again() -> None:
    """Also in a batch, whose jobs are stored together behind their chains."""
    server = FakeServer()
    client = server.client(middleware=EnqueueChain([DeduplicationMiddleware()]))
    server.script = [error(404, "not_found"), error(404, "not_found")]
    with pytest.raises(NotFoundError):
        await client.enqueue("a.b", [1])
    with pytest.raises(NotFoundError):
        await client.enqueue_many([Job("a.b", [1]), Job("a.b", [2])])
    results = await client.enqueue_many([Job("a.b", [number]) for number in (1, 2, 1)])
    assert [result.status.value for result in results] == ["enqueued", "enqueued", "dropped"]
