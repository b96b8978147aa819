"""Dead letters: inspected, filtered, counted, retried and removed."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ojs_aws.client import Client
from ojs_aws.domain.errors import InvalidRequestError, NotFoundError
from tests.simulation.world import World
from tests.unit.client.doubles import die


async def test_dead_letters_are_inspected_retried_and_removed(world: World, client: Client) -> None:
    """One at a time."""
    job_id = die(world, "DbError", meta={"a": 1})
    dead = await client.dead_letter.get(job_id)
    assert dead.state == "discarded"
    again = await client.dead_letter.retry(job_id, {"meta": {"b": 2}})
    assert (again.state, dict(again.meta)) == ("available", {"a": 1, "b": 2})
    with pytest.raises(NotFoundError):
        await client.dead_letter.get(job_id)
    with pytest.raises(InvalidRequestError):
        await client.dead_letter.retry(die(world, queue="other"), {"id": "x"})
    world.stored.jobs.clear()
    gone = die(world)
    await client.dead_letter.delete(gone)
    assert world.stored.jobs == {}


async def test_dead_letters_are_filtered_and_counted(world: World, client: Client) -> None:
    """By error, type and time; the statistics beside it."""
    first = die(world, "DbError")
    moment = datetime.fromtimestamp(world.clock.at / 1000, UTC)
    second = die(world, "Other", type="c.d")
    letters = client.dead_letter
    assert [job.id for job in (await letters.list(error_type="DbError")).jobs] == [first]
    assert [job.id for job in (await letters.list(since=moment)).jobs] == [second]
    assert [job.id for job in (await letters.list(type="c.d", queue="default")).jobs] == [second]
    page = await letters.list(limit=1)
    assert (len(page.jobs), page.total, page.is_exact, bool(page.cursor)) == (1, 2, True, True)
    assert len((await letters.list(limit=1, cursor=page.cursor)).jobs) == 1
    assert (await letters.list(error_type="Db", limit=1)).jobs == []
    assert (await letters.stats())["by_error_type"] == {"DbError": 1, "Other": 1}


async def test_many_dead_letters_are_changed_in_steps(world: World, client: Client) -> None:
    """Named ones, matching ones, all of them; each with its outcome."""
    letters = client.dead_letter
    named = die(world)
    unknown = "01990000-0000-7000-8000-ffffffffffff"
    result = await letters.retry_many(ids=[named, unknown])
    assert [(o.job_id, o.status) for o in result.outcomes] == [
        (named, "done"),
        (unknown, "not_found"),
    ]
    world.stored.jobs.clear()
    for _ in range(3):
        die(world, "DbError")
    step = await letters.retry_many(error_type="DbError", limit=2)
    assert (step.done, bool(step.cursor)) == (2, True)
    rest = await letters.delete_many(limit=2, cursor=step.cursor)
    assert (rest.done, rest.cursor) == (1, "")


async def test_a_change_meets_what_its_dry_run_counted(world: World, client: Client) -> None:
    """By its ``as_of``; what died since is left alone."""
    letters = client.dead_letter
    for _ in range(2):
        die(world, "DbError")
    counted = await letters.retry_many(dry_run=True, error_type="DbError")
    assert (counted.matched, counted.done) == (2, 0)
    world.clock.advance(s=1)
    later = die(world, "DbError")
    changed = await letters.delete_many(as_of=counted.as_of)
    assert (changed.done, changed.matched, changed.as_of) == (2, 0, counted.as_of)
    assert [job.id for job in (await letters.list()).jobs] == [later]
