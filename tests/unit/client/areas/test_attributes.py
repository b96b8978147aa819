"""Operations for operators that stand apart from those of producers."""

from __future__ import annotations

import httpx
import pytest

from ojs_aws.client import Resends
from ojs_aws.domain.errors import BackendUnavailableError
from tests.unit.client.doubles import JOB_ID, FakeServer, answer, answered_job


async def test_dead_letters_are_paged() -> None:
    """Queue, limit and cursor are passed on; the next cursor comes back."""
    server = FakeServer()
    server.script = [
        answer(
            200,
            {
                "jobs": [{"id": JOB_ID, "type": "a.b", "state": "discarded"}],
                "pagination": {"total": 3, "next_cursor": "c2", "has_more": True},
            },
        )
    ]
    page = await server.client().admin.dead_letters("email", limit=1, cursor="c1")
    assert [dead.id for dead in page.jobs] == [JOB_ID]
    assert (page.cursor, page.total) == ("c2", 3)
    assert dict(server.requests[0].url.params) == {"queue": "email", "limit": "1", "cursor": "c1"}


async def test_dead_letters_are_retried_and_deleted() -> None:
    """Binding, sections 12.2 and 12.3."""
    server = FakeServer()
    server.script = [answered_job("available"), answer(200, {"deleted": True, "job_id": JOB_ID})]
    admin = server.client().admin
    assert (await admin.retry_dead_letter(JOB_ID)).state == "available"
    await admin.delete_dead_letter(JOB_ID)
    assert [request.method for request in server.requests] == ["POST", "DELETE"]
    assert server.requests[0].url.path == f"/ojs/v1/dead-letter/{JOB_ID}/retry"


async def test_queues_and_health() -> None:
    """An unhealthy server is an answer, a missing one is an error."""
    server = FakeServer()
    server.script = [
        answer(200, {"queues": [{"name": "email"}]}),
        answer(503, {"status": "degraded"}),
        httpx.ConnectError("refused"),
    ]
    admin = server.client(resends=Resends(limit=0)).admin
    assert await admin.queues() == [{"name": "email"}]
    assert (await admin.health())["status"] == "degraded"
    with pytest.raises(BackendUnavailableError):
        await admin.health()
