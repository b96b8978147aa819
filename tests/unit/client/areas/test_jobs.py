"""Jobs for operators: found, read with their history, and changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ojs_aws.client import Client
from ojs_aws.domain.errors import ConflictError, InvalidRequestError, NotFoundError
from ojs_aws.domain.json_text import parse_object
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.simulation.world import World
from tests.unit.client.doubles import UNKNOWN


async def test_jobs_are_found_and_read(client: Client, world: World) -> None:
    """By filter and page; the detail has the history."""
    made = [(await client.enqueue("demo.echo", [n])).id for n in range(3)]
    await client.enqueue("mail.send", [1])
    page = await client.jobs.list(queue="default", states=["available"], type="demo.*", limit=2)
    assert (len(page.jobs), bool(page.cursor), page.is_exact) == (2, True, False)
    rest = await client.jobs.list(
        queue="default", states=["available"], type="demo.*", limit=2, cursor=page.cursor
    )
    assert {job.id for job in (*page.jobs, *rest.jobs)} == set(made)
    first = (await client.jobs.list(oldest_first=True)).jobs[0]
    assert (first.id, first.type, first.state, first.attempt) == (
        made[0],
        "demo.echo",
        "available",
        0,
    )
    now = datetime.fromtimestamp(world.clock.at / 1000, UTC)
    assert not (await client.jobs.list(since=now + timedelta(seconds=1))).jobs
    detail = await client.jobs.detail(made[0], events=True)
    assert detail["history"]
    assert "events" in detail
    with pytest.raises(NotFoundError):
        await client.jobs.detail(UNKNOWN)


async def test_a_job_of_a_megabyte_is_read_whole(client: Client) -> None:
    """Its answer has the members in the wrapper alone."""
    sent = "x" * 1_000_000
    made = (await client.enqueue("demo.echo", [sent])).id
    detail = await client.jobs.detail(made)
    assert (detail["type"], detail["args"]) == ("demo.echo", [sent])
    assert detail["history"]


async def test_jobs_are_cancelled_and_retried(client: Client, world: World) -> None:
    """One by one, and all of a filter, part by part."""
    one = (await client.enqueue("demo.echo", [1])).id
    assert (await client.jobs.cancel(one)).state == "cancelled"
    with pytest.raises(ConflictError):
        await client.jobs.retry(one)
    for number in range(120):
        await client.enqueue("demo.echo", [number], queue="many")
    dry = [part async for part in client.jobs.change_all("cancel", queue="many", dry_run=True)]
    assert [part.matched for part in dry] == [120]
    done = [part async for part in client.jobs.change_all("cancel", queue="many")]
    assert [len(part.succeeded) for part in done] == [100, 20]
    assert not any(part.failed for part in done)
    assert all(job.state == "cancelled" for job in world.stored.jobs.values())
    with pytest.raises(InvalidRequestError, match="empty"):
        await client.jobs.change_some("cancel")


async def test_a_filter_that_does_not_exist_is_refused(client: Client) -> None:
    """It would choose all jobs."""
    mistake: dict[str, str] = {"qeue": "email"}
    for call in (client.jobs.list, client.dead_letter.list, client.dead_letter.delete_many):
        with pytest.raises(TypeError, match="'qeue'"):
            await call(**mistake)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'qeue'"):
        await client.jobs.change_some("delete", **mistake)  # type: ignore[arg-type]


async def test_a_job_that_waits_says_why(client: Client, world: World) -> None:
    """With codes for programs and sentences for people."""
    world.registry.ensure("default", world.clock.now())
    job = await client.enqueue("demo.echo", [1])
    await client.queues.pause("default")
    found = await client.jobs.why(job.id)
    assert (found.state, found.reasons[0].code) == ("available", "queue_paused")
    assert "'default' has been paused" in found.reasons[0].message
    assert "limits" in found.checked
    scheduled = await client.enqueue("demo.echo", [1], scheduled_at="+PT1H")
    (reason, *_) = (await client.jobs.why(scheduled.id)).reasons
    assert (reason.code, reason.until[:2]) == ("scheduled", "20")
    with pytest.raises(NotFoundError):
        await client.jobs.why(UNKNOWN)


async def test_a_change_meets_what_its_dry_run_counted(client: Client, world: World) -> None:
    """Not a job that came into its state since, even one that was in it before."""
    dead = [await _dead(client, world) for _ in range(3)]
    (counted,) = [part async for part in client.jobs.change_all("retry", queue="q", dry_run=True)]
    assert (counted.matched, len(counted.as_of) > 0) == (3, True)
    world.clock.advance(s=1)
    await client.jobs.retry(dead[0])
    _fail(world)  # it fails again: its new failure was not counted
    later = await _dead(client, world)
    changes = client.jobs.change_all("retry", queue="q", as_of=counted.as_of)
    assert [len(part.succeeded) async for part in changes] == [2]
    states = {job_id: str(world.stored.jobs[job_id].state) for job_id in (*dead, later)}
    assert list(states.values()) == ["discarded", "available", "available", "discarded"]


async def test_an_instant_alone_is_no_filter(client: Client) -> None:
    """It would mean the jobs of all queues."""
    with pytest.raises(InvalidRequestError, match="every job"):
        await client.jobs.change_some("cancel", as_of="2030-01-01T00:00:00Z")


async def _dead(client: Client, world: World) -> str:
    """Enqueue a job that fails for good; return its id."""
    job_id = (await client.enqueue("a.b", [1], queue="q", retry={"max_attempts": 1})).id
    world.registry.ensure("q", world.clock.now())
    _fail(world)
    return job_id


def _fail(world: World) -> None:
    (claimed,) = world.backend.jobs.fetch(FetchRequest(("q",), worker_id="w"))
    world.clock.advance(ms=5)
    world.backend.jobs.fail(claimed.id, "w", parse_object('{"type": "Broken", "message": "m"}'))
