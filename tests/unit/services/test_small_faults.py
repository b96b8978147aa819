"""Small faults on the way: each has an answer of its own, or none that a caller sees."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.conflicts import QueueMissingError
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, ConflictError, InvalidRequestError
from ojs_aws.domain.job import JobState, StoredElsewhere
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workers import WorkerInfo
from ojs_aws.services.events import Commit, events_of
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.schemas.registry import SchemaRegistration
from ojs_aws.services.workflows.write import job_end_of
from tests.job_steps import active
from tests.simulation.world import World
from tests.unit.services.test_overtaken_requests import REFUSED, before, refuse
from tests.unit.services.unique.test_batches import batch_of, live, push_all, unique, world_of
from tests.unit.services.workflows.test_advance import create, definition, job


# ------------------------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("text", "is_explained"),
    [
        ('{"type": "nonsense"}', True),
        ('{"$id": "http://[x"}', False),
        ('{"pattern": "a{99999999999999999999}"}', False),
        ('{"items":' * 300 + "{}" + "}" * 300, False),
    ],
    ids=["no schema", "unreadable URI", "large number", "deeply nested"],
)
def test_a_schema_that_is_none_is_refused(world: World, text: str, is_explained: bool) -> None:
    """With what is wrong with it, as far as that is known."""
    wanted = SchemaRegistration(
        type="a.b", version=1, uri=None, schema=json.loads(text), text=RawJson(text)
    )
    with pytest.raises(InvalidRequestError) as refused:
        world.backend.schemas.registry.register(wanted)
    assert refused.value.details["field"] == "schema"
    assert ("nonsense" in str(refused.value.details.get("schema_error"))) is is_explained


def test_a_cursor_that_names_no_queue_is_a_wrong_cursor(world: World) -> None:
    """The name in it is not what its sender wrote."""
    with pytest.raises(InvalidRequestError) as refused:
        world.backend.dead_letters.service.list(cursor="No Queue!x")
    assert refused.value.details == {"field": "cursor"}


def test_an_ephemeral_result_comes_too_late_for_a_cancelled_job(world: World) -> None:
    """It is cancelled between the try with the result and the one without."""
    job_id = active(world.backend, result_ttl_s=0).id
    before(world.store, "acknowledge", lambda: world.backend.jobs.cancel(job_id), call=2)
    with pytest.raises(ConflictError):
        world.backend.jobs.ack(job_id, "w", RawJson("1"))
    assert world.stored.jobs[job_id].state is JobState.CANCELLED


def test_an_error_names_the_workflow_job_that_a_middleware_broke(world: World) -> None:
    """By its place in the request."""

    async def rename(passed: Job, call_next: Callable[[Job], Awaitable[Any]]) -> Any:
        if passed.type == "b":
            passed.queue = "No Queue"
        return await call_next(passed)

    world.backend.jobs.push.enqueuing.chain.add(rename)
    body = {"type": "chain", "name": "c", "steps": [job("a"), job("b")]}
    with pytest.raises(InvalidRequestError) as refused:
        create(world, body)
    assert refused.value.details["path"] == definition(body).paths[2]
    assert world.stored.jobs == {}


# ------------------------------------------------------------------------------ what is passed by
def test_a_worker_whose_word_of_itself_is_unreadable_has_started() -> None:
    """On no queues."""
    seen = Instant(1_760_000_000_000)
    (event,) = events_of(None, WorkerInfo(id="w", last_seen=seen, about="{"), Commit(seen))
    assert event.type.endswith("worker.started")


def test_a_job_is_pushed_though_its_limit_cannot_be_noted(world: World) -> None:
    """Its first claim does that."""
    before(world.limits, "note", refuse(REFUSED))
    pushed = world.backend.jobs.push(
        Job("demo.echo", [], rate_limit={"key": "k", "concurrency": 1})
    )
    assert pushed.is_new


def test_a_limit_is_lifted_though_nobody_can_be_woken(world: World) -> None:
    """The sweep wakes them."""
    key = "type:demo.echo"
    world.backend.limits.override(key, {"concurrency": 1})
    before(world.registry, "all", refuse(REFUSED))
    world.backend.limits.lift(key)
    left = world.limits.load(key)
    assert left is None or not left.override


def test_a_queue_that_is_gone_is_made_again_with_its_messages(world: World) -> None:
    """By the sweep that misses them."""
    world.backend.jobs.push(Job("demo.echo", []))
    world.lose_messages()
    world.clock.advance(s=400)
    before(world.messages, "backlog", refuse(QueueMissingError("no such queue")))
    world.backend.upkeep.sweep.tick()
    assert len(world.messages.receive("default", 10, 30)) == 1


def test_the_result_of_a_step_that_is_removed_meanwhile_is_null(world: World) -> None:
    """One that cannot be read is an error, as long as its job is there."""
    world.backend.jobs.ack(job_id := active(world.backend).id, "w", RawJson("1"))
    place = StoredElsewhere("s3", "d", 300_000)
    kept = replace(world.stored.jobs[job_id], workflow_id="wf", workflow_step=0, result=place)
    before(world.store, "fill", refuse(REFUSED))
    with pytest.raises(BackendError):
        job_end_of(kept, world.store)
    del world.stored.jobs[job_id]
    before(world.store, "fill", refuse(REFUSED))
    news = job_end_of(kept, world.store)
    assert news is not None
    assert news.value == "null"


# ------------------------------------------------------------------------------------ unique jobs
def test_a_batch_whose_replaced_jobs_exceed_a_transaction_is_stored() -> None:
    """Each of the jobs is one write, as are its lock and the job in its place."""
    world = world_of()
    for number in range(40):
        world.backend.jobs.push(unique(number, "replace"))
    pushed = push_all(world, [unique(500 + at, "replace", key=at) for at in range(40)])
    assert [each.is_new for each in pushed] == [True] * 40
    assert [len(live(world, key)) for key in range(40)] == [1] * 40


def test_a_batch_replaces_a_job_that_a_worker_fetches_meanwhile() -> None:
    """It looks again."""
    world = world_of()
    world.backend.jobs.push(unique(7, "replace"))
    fetched: list[str] = []

    def fetch() -> None:
        request = FetchRequest(("default",), worker_id="w")
        fetched.extend(each.id for each in world.backend.jobs.fetch(request))

    before(world.unique, "admit", fetch)
    assert isinstance(push_all(world, batch_of("replace", first_key=7)), list)
    assert fetched
    assert len(live(world, 7)) == 1


def test_a_batch_finds_that_another_process_has_put_a_job_into_its_place() -> None:
    """The holder of the key has ended by then: it is a plain insert, done twice."""
    world = world_of()
    world.backend.jobs.push(unique(7, "replace"))
    batch = batch_of("replace", first_key=7)
    held, insert, twice = live(world, 7)[0], world.store.insert, list[str]()

    def faster(record: Any) -> None:
        if record.id == batch[0].id:
            twice.append(record.id)
            insert(record)
        insert(record)

    world.store.insert = faster  # type: ignore[assignment, method-assign]
    before(world.batches, "decide", lambda: world.backend.jobs.cancel(held))
    assert isinstance(push_all(world, batch), list)
    assert twice
    assert live(world, 7) == [batch[0].id]
