"""What limits of tenants cost those who have them, and nobody else."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.tenants import TenantSettings
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.aws import EmbeddedAws
from tests.functions.counting import warm_backend
from tests.job_steps import pushed

REQUEST = FetchRequest(("default",), worker_id="worker-1")
ACME: dict[str, Any] = {"meta": {"tenant_id": "acme"}}
BETA: dict[str, Any] = {"meta": {"tenant_id": "beta"}}
PUSH = {"PutItem": 1, "SendMessage": 1}
FETCH = {"ReceiveMessage": 1, "Query": 2, "UpdateItem": 1}
ACK = {"UpdateItem": 1, "DeleteMessage": 1}


@pytest.fixture
def backend(aws: EmbeddedAws) -> Backend:
    """A backend over it, in a process that has fetched before from its usual queues."""
    return warm_backend(aws)


def life(aws: EmbeddedAws, backend: Backend, job: dict[str, Any]) -> list[Counter[str]]:
    """Count the calls of PUSH, FETCH and ACK."""
    with aws.calls.counted() as push:
        made = pushed(backend, **job)
    with aws.calls.counted() as fetch:
        assert [each.id for each in backend.jobs.fetch(REQUEST)] == [made.id]
    with aws.calls.counted() as ack:
        backend.jobs.ack(made.id, "worker-1", None)
    return [push, fetch, ack]


@pytest.mark.parametrize("job", [{}, ACME])
def test_without_limits_of_tenants_no_job_costs_a_call_more(
    aws: EmbeddedAws, backend: Backend, job: dict[str, Any]
) -> None:
    """Whether it names a tenant or not; the settings that PUSH reads are the same two items."""
    assert life(aws, backend, job) == [PUSH, FETCH, ACK]
    backend.clock.advance(s=5)  # type: ignore[attr-defined]
    with aws.calls.counted() as calls:
        pushed(backend, **job)
    assert calls == {**PUSH, "BatchGetItem": 1}


def test_a_limit_of_one_tenant_costs_others_a_read_in_five_seconds(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """For each tenant that enqueues, and process; jobs without a tenant pay nothing."""
    backend.tenant_admin.change("acme", lambda _: TenantSettings(max_concurrency=2))
    backend.clock.advance(s=5)  # type: ignore[attr-defined]
    backend.queues.push_settings.of("default")
    backend.jobs.fetch.limited_types.of("default")
    assert life(aws, backend, {}) == [PUSH, FETCH, ACK]
    assert life(aws, backend, BETA) == [{**PUSH, "GetItem": 1}, FETCH, ACK]
    assert life(aws, backend, BETA) == [PUSH, FETCH, ACK]


def test_a_limit_of_its_tenant_costs_a_job_what_every_limit_does(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """A read and a transaction to begin, and one to end."""
    backend.tenant_admin.change("acme", lambda _: TenantSettings(max_concurrency=2))
    backend.clock.advance(s=5)  # type: ignore[attr-defined]
    backend.queues.push_settings.of("default")
    backend.jobs.fetch.limited_types.of("default")
    assert life(aws, backend, ACME) == [
        {**PUSH, "GetItem": 1},
        {"ReceiveMessage": 1, "Query": 2, "BatchGetItem": 1, "TransactWriteItems": 1},
        {**ACK, "TransactWriteItems": 1},
    ]


def test_a_suspended_tenant_costs_a_fetch_one_read_however_many_jobs(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """Their places name the tenant, so that they are passed by unread."""
    for _ in range(20):
        pushed(backend, **ACME)
    other = pushed(backend)
    backend.tenant_admin.change("acme", lambda _: TenantSettings(is_suspended=True))
    backend.clock.advance(s=5)  # type: ignore[attr-defined]
    backend.jobs.fetch.limited_types.of("default")
    with aws.calls.counted() as calls:
        assert [each.id for each in backend.jobs.fetch(REQUEST)] == [other.id]
    assert calls["BatchGetItem"] == 1


def limited(aws: EmbeddedAws, **limits: Any) -> Backend:
    """A backend whose tenants have limits without a row for each."""
    settings = replace(aws.settings, tenant_limits=json.dumps(limits))
    return warm_backend(replace(aws, settings=settings))


def test_a_limit_of_all_tenants_is_read_nowhere(aws: EmbeddedAws) -> None:
    """PUSH asks for no settings of the tenant; a rate is a write, as one of its own is.

    A job that names no tenant pays nothing.
    """
    backend = limited(aws, max_enqueue_rate={"limit": 5, "period": "PT1S"})
    assert life(aws, backend, ACME) == [{**PUSH, "UpdateItem": 1}, FETCH, ACK]
    assert life(aws, backend, {}) == [PUSH, FETCH, ACK]
    backend = limited(aws, max_queue_depth=3)
    assert life(aws, backend, ACME) == [{**PUSH, "GetItem": 1}, FETCH, ACK]
    assert life(aws, backend, ACME) == [PUSH, FETCH, ACK]


def test_a_limit_of_all_tenants_costs_a_start_what_every_limit_does(aws: EmbeddedAws) -> None:
    """Only for jobs that name a tenant."""
    backend = limited(aws, max_concurrency=2)
    assert life(aws, backend, {}) == [PUSH, FETCH, ACK]
    for job in (ACME, BETA):
        assert life(aws, backend, job) == [
            PUSH,
            {"ReceiveMessage": 1, "Query": 2, "BatchGetItem": 1, "TransactWriteItems": 1},
            {**ACK, "TransactWriteItems": 1},
        ]
