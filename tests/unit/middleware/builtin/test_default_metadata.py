"""Default metadata: what is missing is added, what is there stays."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidPayloadError
from ojs_aws.middleware import DefaultMetadataMiddleware, EnqueueChain
from ojs_aws.middleware.protocols import EnqueueSide
from tests.unit.middleware.doubles import job, store

_enqueues: EnqueueSide = DefaultMetadataMiddleware({})


async def meta_of(enqueued: Job, defaults: Any, **options: Any) -> Any:
    chain = EnqueueChain([DefaultMetadataMiddleware(defaults, **options)])
    kept = await chain.run(enqueued, store)
    assert kept is not None
    return Job.from_json(kept.to_json()).get("meta")


async def test_mw_enq_013_missing_keys_are_added_and_others_stay() -> None:
    """Also MW-ENQ-010, MW-ENQ-011: the changed job is what is stored."""
    defaults = {"source": "web", "tags": ["a"], "queue_was": lambda job: job.queue}
    given = job(meta={"source": "cli", "other": 1}, queue="q")
    assert await meta_of(given, defaults) == {
        "source": "cli",
        "other": 1,
        "tags": ["a"],
        "queue_was": "q",
    }
    assert await meta_of(job(), {"source": "web"}) == {"source": "web"}


async def test_even_null_stays_unless_overwriting_is_wanted() -> None:
    assert await meta_of(job(meta={"source": None}), {"source": "web"}) == {"source": None}
    overwritten = await meta_of(job(meta={"source": "x"}), {"source": "web"}, overwrite=True)
    assert overwritten == {"source": "web"}


async def test_a_function_is_called_only_for_a_missing_key_and_may_omit_it() -> None:
    assert await meta_of(job(meta={"k": 1}), {"k": lambda job: 1 / 0}) == {"k": 1}
    assert await meta_of(job(), {"k": lambda job: None}) is None


async def test_a_function_that_fails_leaves_the_job_as_it_was() -> None:
    given = job(meta={"there": 1})
    for broken in (lambda job: 1 / 0, lambda job: {1, 2}):
        defaults: Any = {"first": "x", "then": broken}
        with pytest.raises((ZeroDivisionError, InvalidPayloadError)):
            await meta_of(given, defaults)
        assert given.meta == {"there": 1}


def test_values_that_are_not_json_are_refused_at_configuration() -> None:
    for wrong in ({"when": {1}}, {1: "x"}, {"n": float("nan")}):
        with pytest.raises(InvalidPayloadError):
            DefaultMetadataMiddleware(wrong)  # type: ignore[arg-type]


async def test_jobs_do_not_share_the_values() -> None:
    tags: Any = ["a"]
    middleware = DefaultMetadataMiddleware({"tags": tags})
    tags.append("later")
    first, second = job(), job()
    for one in (first, second):
        await EnqueueChain([middleware]).run(one, store)
    first.meta["tags"].append("mine")  # type: ignore[union-attr]
    assert second.meta["tags"] == ["a"]


async def test_metadata_that_is_no_object_is_left_to_whoever_refuses_it() -> None:
    assert await meta_of(Job.from_json('{"type":"a.b","meta":"x"}'), {"source": "web"}) == "x"


def test_it_needs_no_event_loop() -> None:
    chain = EnqueueChain([DefaultMetadataMiddleware({"source": "web"})])
    kept, _ = chain.run_sync(job(), lambda kept: kept)
    assert kept is not None
    assert kept.meta == {"source": "web"}
    assert DefaultMetadataMiddleware.never_waits


async def test_fifty_at_once_get_their_own() -> None:
    chain = EnqueueChain([DefaultMetadataMiddleware({"n": lambda job: job.args[0]})])

    async def slow(job: Job) -> Job:
        await asyncio.sleep(0)
        return job

    kept = await asyncio.gather(*(chain.run(job(n), slow) for n in range(50)))
    assert [one.meta["n"] for one in kept if one is not None] == list(range(50))
