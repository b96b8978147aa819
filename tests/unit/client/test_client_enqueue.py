"""Enqueuing one job: the middleware first, then the request, and three outcomes to tell apart."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ojs_aws.client import Client, EnqueueStatus
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.jobs.attributes import SYSTEM_ATTRIBUTES
from ojs_aws.middleware import ChainFrozenError, EnqueueChain, Hooks
from tests.unit.client.doubles import JOB_ID, FakeServer, error

Next = Callable[[Job], Awaitable[Any]]
UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


async def test_a_job_is_sent_and_the_stored_one_returned() -> None:
    """The answer's job comes back, with the state that the server gave it."""
    server = FakeServer()
    result = await server.client().enqueue("email.send", ["a@b.c", 1], queue="email", priority=5)
    assert result.status is EnqueueStatus.ENQUEUED
    assert bool(result)
    assert result.state == "available"
    (sent,) = server.bodies()
    assert (sent["type"], sent["args"], sent["queue"], sent["priority"]) == (
        "email.send",
        ["a@b.c", 1],
        "email",
        5,
    )
    assert sent["id"] == result.id


async def test_mw_enq_008_009_middleware_sees_the_complete_envelope_with_its_id() -> None:
    """MW-ENQ-008, MW-ENQ-009: a UUIDv7 id and every option are there before anything is sent."""
    server, seen = FakeServer(), {}

    async def look(job: Job, call_next: Next) -> Any:
        seen.update({name: job[name] for name in job})
        return await call_next(job)

    result = await server.client(middleware=[look]).enqueue(
        "email.send",
        ["x"],
        meta={"k": 1},
        priority=3,
        timeout_s=9,
        visibility_timeout_s=30,
        scheduled_at="2030-01-01T00:00:00Z",
        expires_at="2031-01-01T00:00:00Z",
        retry={"max_attempts": 2},
        unique={"keys": ["type"]},
        tags=["t"],
    )
    assert UUID7.fullmatch(str(seen["id"]))
    assert seen["id"] == result.id
    assert {"specversion", "type", "queue", "args", "meta", "timeout", "scheduled_at"} <= set(seen)
    assert {"expires_at", "retry", "unique", "visibility_timeout", "tags", "priority"} <= set(seen)


async def test_appendix_a_enqueue_null_cancels_silently() -> None:
    """MW-ENQ-006, MW-ENQ-018..021: no request, no exception, and the name of who dropped it."""
    server, later = FakeServer(), []

    async def dedup(job: Job, call_next: Next) -> Any:
        return None

    async def counts(job: Job, call_next: Next) -> Any:
        later.append(job.id)
        return await call_next(job)

    result = await server.client(middleware=[dedup, counts]).enqueue("email.send", [])
    assert result.status is EnqueueStatus.DROPPED
    assert not result
    assert "dedup" in result.dropped_by
    assert (server.requests, later) == ([], [])


async def test_the_chain_and_the_hooks_can_be_replaced_until_the_first_job() -> None:
    """Assigning is no way around the freeze."""

    async def drops(job: Job, call_next: Next) -> Any:
        return None

    server = FakeServer()
    client = server.client()
    client.middleware = EnqueueChain([drops])
    client.hooks = Hooks()
    assert (await client.enqueue("a.b")).dropped_by == "drops"
    assert not server.requests
    with pytest.raises(ChainFrozenError, match="first job"):
        client.middleware = EnqueueChain()
    with pytest.raises(ChainFrozenError, match="first job"):
        client.hooks = Hooks()


async def test_appendix_a_enqueue_errors_abort() -> None:
    """MW-ENQ-007, MW-ENQ-014..017: the original exception, nothing later, and nothing sent."""
    server, later, problem = FakeServer(), [], KeyError("schema")

    async def validate(job: Job, call_next: Next) -> Any:
        raise problem

    async def counts(job: Job, call_next: Next) -> Any:
        later.append(job.id)
        return await call_next(job)

    with pytest.raises(KeyError) as raised:
        await server.client(middleware=[validate, counts]).enqueue("email.send", [])
    assert raised.value is problem
    assert (server.requests, later) == ([], [])


async def test_mw_enq_010_changes_of_the_middleware_are_sent() -> None:
    """MW-ENQ-011: what a middleware changed is what the server gets."""
    server = FakeServer()

    async def route(job: Job, call_next: Next) -> Any:
        job.meta["trace"] = "1"
        job.queue = "bulk"
        return await call_next(job)

    await server.client(middleware=[route]).enqueue("email.send", [])
    assert server.bodies()[0]["meta"] == {"trace": "1"}
    assert server.bodies()[0]["queue"] == "bulk"


async def test_a_drop_by_the_backend_has_its_own_outcome() -> None:
    """A backend's middleware may drop too; the client says which."""
    server = FakeServer()
    server.script = [lambda: _json(200, {"job": None, "dropped_by": "dedup"})]
    result = await server.client().enqueue("email.send", [])
    assert (result.status, result.dropped_by) == (EnqueueStatus.DROPPED, "dedup")


async def test_system_attributes_are_never_sent() -> None:
    """Core, 5.3: a job that was read can be enqueued again without its old state."""
    server = FakeServer()
    old = Job.from_json(
        f'{{"type":"a.b","args":[],"id":"{JOB_ID}","state":"completed","attempt":3,"result":1,'
        '"created_at":"2020-01-01T00:00:00Z","errors":[]}'
    )
    await server.client().enqueue(old.copy(id=None))
    (sent,) = server.bodies()
    assert not SYSTEM_ATTRIBUTES & set(sent)
    assert sent["id"] != JOB_ID


async def test_the_callers_job_is_left_alone() -> None:
    """One Job object may be enqueued twice: as two jobs."""
    server, job = FakeServer(), Job("a.b", [1])
    client = server.client()
    first, second = await client.enqueue(job), await client.enqueue(job)
    assert first.id != second.id
    assert job.id == ""


async def test_big_integers_and_unknown_attributes_are_sent_as_they_are() -> None:
    """A client's data survives byte for byte."""
    server = FakeServer()
    text = '{"type":"a.b","args":[123456789012345678901234567890,1.50,"\\u00e9"],"x_a":{"b":[]}}'
    await server.client().enqueue(Job.from_json(text))
    sent = server.requests[0].content.decode()
    assert '[123456789012345678901234567890,1.50,"\\u00e9"]' in sent
    assert '"x_a":{"b":[]}' in sent


async def test_a_hyphen_in_the_type_is_warned_about() -> None:
    """Other OJS backends refuse it; this one does not."""
    with pytest.warns(UserWarning, match="hyphen"):
        await FakeServer().client().enqueue("a-b.c", [])


async def test_arguments_beside_a_whole_job_are_refused() -> None:
    """They would be ignored otherwise."""
    with pytest.raises(TypeError, match="belong to the Job"):
        await FakeServer().client().enqueue(Job("a.b"), [1])


async def test_the_server_s_refusal_is_raised() -> None:
    """The caller gets the error of the catalogue."""
    from ojs_aws.domain.errors import InvalidRequestError

    server = FakeServer()
    server.script = [error(400, "invalid_request", details={"field": "type"}, hint="do this")]
    with pytest.raises(InvalidRequestError, match="invalid_request!") as raised:
        await server.client().enqueue("a.b", [])
    assert raised.value.details == {"field": "type"}
    assert raised.value.hint == "do this"


def test_a_client_needs_exactly_one_way_to_the_backend() -> None:
    """A URL or a transport."""
    with pytest.raises(ValueError, match="URL"):
        Client()
    with pytest.raises(ValueError, match="no URL of an OJS server"):
        Client("jobs.example.com")


def test_from_env_needs_a_url_or_a_table() -> None:
    """The environment says where the backend is."""
    with pytest.raises(ValueError, match="OJS_URL"):
        Client.from_env({})
    assert isinstance(
        Client.from_env({"OJS_URL": "http://localhost:8080", "OJS_TOKEN": "t"}), Client
    )


def _json(status: int, body: dict[str, Any]) -> Any:
    from tests.unit.client.doubles import answer

    return answer(status, body)


async def test_ver_002_the_version_may_stand_behind_the_type() -> None:
    """As over HTTP, so that the middleware sees the type and the version apart."""
    server = FakeServer()
    await server.client().enqueue("invoice.generate@2.0", [])
    (body,) = server.bodies()
    assert (body["type"], body["version"]) == ("invoice.generate", "2.0")
