"""The backend's enqueue middleware: around the storing, whatever it does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import EnqueueRejectedError, InvalidRequestError, RateLimitedError
from ojs_aws.domain.jobs.validation import Envelope, read_envelope
from ojs_aws.domain.timestamps import Instant
from ojs_aws.middleware import EnqueueChain, EnqueueResult
from ojs_aws.middleware.enqueuer import Enqueuer
from ojs_aws.middleware.protocols import BatchNext
from ojs_aws.services.jobs import build
from ojs_aws.services.jobs.push import Push
from tests.simulation.world import World

Next = Callable[[Job], Awaitable[Job | None]]

SENT = '{"type":"a.b","queue":"q","x":1,"args":[{"b":1.00}]}'


def push_with(world: World, *middleware: object) -> Push:
    """PUSH with a chain of its own."""
    return replace(world.backend.jobs.push, enqueuing=Enqueuer(EnqueueChain(middleware)))


def test_a_middleware_sees_the_job_before_and_after_it_is_stored() -> None:
    """OP-010, MW-CHAIN-022: what it changes is stored, and call_next returns when it is."""
    world = World()
    seen: list[int] = []

    async def stamp(job: Job, call_next: Next) -> Job | None:
        job.meta["stamped"] = True
        seen.append(len(world.stored.jobs))
        stored = await call_next(job)
        seen.append(len(world.stored.jobs))
        return stored

    record = push_with(world, stamp)(Job("a.b", [1])).record
    assert record is not None
    assert '"meta":{"stamped":true}' in str(record.document)
    assert seen == [0, 1]


def test_mw_enq_018_a_dropped_job_is_not_stored_and_has_a_dropper() -> None:
    """MW-ENQ-018 to 021."""
    world = World()

    def nothing_today(_: Job, __: Next) -> None:
        return None

    pushed = push_with(world, nothing_today)(Job("a.b"))
    assert (pushed.record, pushed.dropped_by) == (None, "nothing_today")
    assert world.stored.jobs == {}


@pytest.mark.parametrize(
    ("problem", "kind"),
    [(ValueError("no"), EnqueueRejectedError), (RateLimitedError("slow"), RateLimitedError)],
)
def test_mw_enq_014_an_error_aborts_and_nothing_is_stored(
    problem: Exception, kind: type[Exception]
) -> None:
    """MW-ENQ-014 to 017: an error of ours goes through as it is."""
    world = World()

    def refuse(_: Job, __: Next) -> None:
        raise problem

    with pytest.raises(kind):
        push_with(world, refuse)(Job("a.b"))
    assert world.stored.jobs == {}


def test_an_error_after_the_storing_names_the_job() -> None:
    """The caller may cancel it."""
    world = World()

    async def late(job: Job, call_next: Next) -> Job | None:
        await call_next(job)
        raise ValueError("too late")

    with pytest.raises(EnqueueRejectedError) as refused:
        push_with(world, late)(Job("a.b"))
    assert refused.value.details["stored_job_ids"] == list(world.stored.jobs)


def test_what_a_middleware_breaks_is_refused() -> None:
    """The envelope is validated again behind the chain."""
    world = World()

    def shout(job: Job, _: Next) -> Job:
        job.queue = "LOUD!"
        return job

    with pytest.raises(InvalidRequestError, match="queue"):
        push_with(world, shout)(Job("a.b"))
    assert world.stored.jobs == {}


@pytest.mark.parametrize("is_batch", [False, True])
def test_what_no_middleware_changes_is_validated_once(
    monkeypatch: pytest.MonkeyPatch, *, is_batch: bool
) -> None:
    """To look at texts and numbers changes nothing."""
    validated: list[str] = []

    def read(job: Job, now: Instant) -> Envelope:
        validated.append(job.id)
        return read_envelope(job, now)

    async def look(job: Job, call_next: Next) -> Job | None:
        assert (job.type, job.queue, job["x"]) == ("a.b", "q", 1)
        return await call_next(job)

    monkeypatch.setattr(build, "read_envelope", read)
    push, job = push_with(World(), look), Job.from_json(SENT)
    pushed = push.all([job])[0] if is_batch else push(job)
    assert pushed.record is not None
    assert pushed.record.document == '{"x":1,"args":[{"b":1.00}],"specversion":"1.0.0-rc.1"}'
    assert validated == [job.id]


def _in_place(job: Job) -> Job:
    job.args.append("NaN is not JSON")
    return job


def _by_name(job: Job) -> Job:
    job["x"] = 2
    return job


def _removed(job: Job) -> Job:
    del job["x"]
    return job


def _kept_and_changed_later(job: Job) -> Job:
    args = job.args
    assert job.edition is None
    args[0] = 7
    return job


@pytest.mark.parametrize(
    ("change", "document"),
    [
        (_in_place, '"x":1,"args":[{"b":1.0},"NaN is not JSON"]'),
        (_by_name, '"x":2,"args":[{"b":1.00}]'),
        (_removed, '"args":[{"b":1.00}]'),
        (_kept_and_changed_later, '"x":1,"args":[7]'),
        (lambda job: job.copy(x=3), '"x":3,"args":[{"b":1.00}]'),
    ],
)
@pytest.mark.parametrize("is_batch", [False, True])
def test_every_change_of_a_middleware_is_stored(
    change: Callable[[Job], Job], document: str, *, is_batch: bool
) -> None:
    """Whichever way it makes it; what it leaves alone stays as it was sent."""
    push, job = push_with(World(), lambda job, _: change(job)), Job.from_json(SENT)
    pushed = push.all([job])[0] if is_batch else push(job)
    assert pushed.record is not None
    assert pushed.record.document == f'{{{document},"specversion":"1.0.0-rc.1"}}'


def test_a_batch_fails_when_a_middleware_raises_after_the_storing() -> None:
    """As a single PUSH does; the error names every job that is stored, and the one at fault."""
    world = World()

    async def late(job: Job, call_next: Next) -> Job | None:
        stored = await call_next(job)
        if job.type == "a.late":
            raise RuntimeError("too late")
        return stored

    with pytest.raises(EnqueueRejectedError, match="too late") as refused:
        push_with(world, late).all([Job("a.b"), Job("a.late")])
    assert refused.value.details["index"] == 1
    assert sorted(refused.value.details["stored_job_ids"]) == sorted(world.stored.jobs)  # type: ignore[arg-type,type-var]


@pytest.mark.parametrize("is_batch", [True, False])
def test_an_error_that_a_batch_middleware_swallows_is_no_drop(is_batch: bool) -> None:
    """Nothing is stored, and the caller learns why."""
    world = World()

    class Swallows:
        async def enqueue_many(self, jobs: list[Job], call_next: BatchNext) -> list[EnqueueResult]:
            try:
                return await call_next(jobs)
            except Exception:  # noqa: BLE001 - what is tested
                return []

    async def refuses(job: Job, call_next: Next) -> Job | None:
        raise RuntimeError("no")

    push = push_with(world, Swallows(), refuses)
    with pytest.raises(EnqueueRejectedError, match="no"):
        push.all([Job("a.b")]) if is_batch else push(Job("a.b"))
    assert world.stored.jobs == {}
