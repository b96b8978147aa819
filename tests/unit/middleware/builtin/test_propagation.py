"""Context variables that travel with a job."""

from __future__ import annotations

import asyncio
import logging
from contextvars import ContextVar
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware import (
    LOCALE,
    TIMEZONE,
    ContextPropagationMiddleware,
    EnqueueChain,
    ExecutionChain,
    JobContext,
    LocaleMiddleware,
)
from ojs_aws.middleware.protocols import EnqueueSide, ExecutionSide
from tests.unit.middleware.doubles import context, job, store

_enqueues: EnqueueSide = LocaleMiddleware()
_executes: ExecutionSide = LocaleMiddleware()

tenant: ContextVar[Any] = ContextVar("tenant")
request: ContextVar[Any] = ContextVar("request", default="none")

BOTH = ContextPropagationMiddleware({"tenant": tenant, "request_id": request})


async def enqueued(middleware: Any = BOTH, **members: Any) -> Job:
    kept = await EnqueueChain([middleware]).run(job(**members), store)
    assert kept is not None
    return Job.from_json(kept.to_json())


async def executed(job: Job, middleware: Any = BOTH) -> list[Any]:
    """What a handler finds in the variables."""

    def handler(job: Job, ctx: JobContext) -> list[Any]:
        return [tenant.get("unset"), request.get(), LOCALE.get(), TIMEZONE.get()]

    found: Any = await ExecutionChain([middleware]).run(job, context(job), handler)
    assert isinstance(found, list)
    return found


async def test_mw_enq_013_values_travel_and_are_gone_afterwards() -> None:
    """A default counts as a value; None does not."""
    token = tenant.set("acme")
    travelling = await enqueued(meta={"other": 1})
    tenant.reset(token)
    assert travelling.meta == {"other": 1, "tenant": "acme", "request_id": "none"}
    travelling.meta["request_id"] = "r1"
    assert await executed(travelling) == ["acme", "r1", None, None]
    assert tenant.get("unset") == "unset"
    assert request.get() == "none"


async def test_section_10_1_locale_and_timezone_travel() -> None:
    LOCALE.set("de-AT")
    TIMEZONE.set("Europe/Vienna")
    travelling = await enqueued(LocaleMiddleware())
    assert travelling.meta == {"locale": "de-AT", "timezone": "Europe/Vienna"}
    LOCALE.set(None)
    TIMEZONE.set(None)
    assert "meta" not in await enqueued(LocaleMiddleware())
    found = await executed(travelling, LocaleMiddleware())
    assert found[2:] == ["de-AT", "Europe/Vienna"]
    assert (LOCALE.get(), TIMEZONE.get()) == (None, None)


async def test_what_a_job_has_already_is_not_replaced() -> None:
    tenant.set("mine")
    assert (await enqueued(meta={"tenant": "theirs"})).meta["tenant"] == "theirs"


async def test_variables_are_reset_after_an_error_too() -> None:
    def breaks(job: Job, ctx: JobContext) -> None:
        tenant.set("changed by the handler")
        raise KeyError("x")

    tenant.set("before")
    travelling = job(meta={"tenant": "acme"})
    with pytest.raises(KeyError):
        await ExecutionChain([BOTH]).run(travelling, context(travelling), breaks)
    assert tenant.get() == "before"


class Odd:
    """No JSON."""


@pytest.mark.parametrize("wrong", [Odd(), {1, 2}, float("nan"), "x" * 2000, {1: 2}])
async def test_a_value_that_cannot_travel_stays_behind(
    wrong: Any, caplog: pytest.LogCaptureFixture
) -> None:
    tenant.set(wrong)
    with caplog.at_level(logging.WARNING):
        assert (await enqueued()).meta == {"request_id": "none"}
    assert vars(caplog.records[0])["key"] == "tenant"
    assert "x" * 100 not in caplog.text


@pytest.mark.parametrize("meta", [{}, {"locale": 5}, {"locale": "x" * 2000}, {"locale": ["de"]}])
async def test_a_job_without_usable_values_is_executed_all_the_same(meta: Any) -> None:
    assert await executed(job(meta=meta), LocaleMiddleware()) == ["unset", "none", None, None]


async def test_metadata_that_is_no_object_harms_nobody() -> None:
    odd = Job.from_json('{"type":"a.b","args":[],"meta":"x"}')
    assert await executed(odd) == ["unset", "none", None, None]
    kept = await EnqueueChain([BOTH]).run(odd, store)
    assert kept is not None
    assert kept["meta"] == "x"


async def test_values_of_jobs_and_context_are_not_shared() -> None:
    labels: list[Any] = ["a"]
    tenant.set(labels)
    kept = await EnqueueChain([BOTH]).run(job(), store)
    labels.append("later")
    assert kept is not None
    assert kept.meta["tenant"] == ["a"]


@pytest.mark.parametrize(
    ("variables", "options"),
    [({"": tenant}, {}), ({"tenant": "no variable"}, {}), ({}, {"max_bytes": 0})],
)
def test_what_makes_no_sense_is_refused_at_configuration(variables: Any, options: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        ContextPropagationMiddleware(variables, **options)


def test_the_backend_needs_no_event_loop_for_it() -> None:
    token = tenant.set("acme")
    kept, _ = EnqueueChain([BOTH]).run_sync(job(), lambda kept: kept)
    tenant.reset(token)
    assert kept is not None
    assert kept.meta["tenant"] == "acme"


async def test_fifty_executions_at_once_see_their_own() -> None:
    chain = ExecutionChain([BOTH])

    async def handler(job: Job, ctx: JobContext) -> Any:
        await asyncio.sleep(0)
        return tenant.get()

    jobs = [job(meta={"tenant": n}) for n in range(50)]
    found = await asyncio.gather(*(chain.run(one, context(one), handler) for one in jobs))
    assert found == list(range(50))
