"""Settings of queues are kept, and honoured by every operation, over the model."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    BackendError,
    ConflictError,
    DuplicateError,
    InvalidRequestError,
    JobTypeNotAllowedError,
    NotFoundError,
    QueueDrainingError,
)
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.queues import QueueState
from ojs_aws.domain.queues.config import DEFAULT_POLICY
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.jobs import any_job
from tests.simulation.world import World

AGE_S = 5


def push(world: World, queue: str = "q", **attributes: Any) -> JobRecord:
    """Push a job."""
    record = world.backend.jobs.push(any_job("demo.echo", [], queue=queue, **attributes)).record
    assert record is not None
    return record


def configure(world: World, queue: str = "q", **config: Any) -> dict[str, Any]:
    """Set something, and wait until every process follows it."""
    configured = world.backend.queues.config.change(queue, config)
    world.clock.advance(s=AGE_S)
    return configured.config


def test_a_job_takes_what_it_does_not_say_from_its_queue(world: World) -> None:
    """Timeout, retry policy and retention; what it says itself outweighs that (section 7.3)."""
    configure(
        world,
        default_timeout=60,
        default_retry={"max_attempts": 7},
        retention={"completed": "PT1H", "cancelled": "PT2H"},
    )
    job = push(world)
    assert (job.timeout_ms, job.retry.max_attempts) == (60_000, 7)
    assert (job.kept.completed_s, job.kept.cancelled_s, job.kept.discarded_s) == (3600, 7200, None)
    own = push(world, timeout=5, retry={"max_attempts": 2})
    assert (own.timeout_ms, own.retry.max_attempts) == (5000, 2)
    assert push(world, queue="other").timeout_ms == 1_800_000


@pytest.mark.parametrize(
    ("before", "after"),
    [({"max_attempts": 7}, {"max_attempts": 3}), ({"max_attempts": 7}, None), (None, {})],
)
def test_a_repeated_push_finds_its_job_whatever_its_queue_now_says(
    world: World, before: Any, after: Any
) -> None:
    """The same envelope again: the job that it made, with the policy that it was given then."""
    job_id = "01990000-0000-7000-8000-000000000001"
    configure(world, default_retry=before)
    first = push(world, id=job_id)
    configure(world, default_retry=after, default_timeout=60)
    again = world.backend.jobs.push(Job("demo.echo", [], id=job_id, queue="q"))
    assert not again.is_new
    assert again.record is not None
    assert again.record.retry == first.retry
    with pytest.raises(DuplicateError):
        push(world, id=job_id, retry={"max_attempts": 2})


def test_a_reservation_lasts_as_long_as_its_queue_says(world: World) -> None:
    """Unless the job, or the request, names another length."""
    configure(world, visibility_timeout=30)
    push(world)
    push(world)
    push(world, visibility_timeout_ms=7000)

    def lasts(request: FetchRequest) -> int:
        (job,) = world.backend.jobs.fetch(request)
        assert job.reservation is not None
        return job.reservation.expires_at - world.clock.at

    assert lasts(FetchRequest(("q",))) == 30_000
    assert lasts(FetchRequest(("q",), visibility_timeout_ms=9000)) == 9000
    assert lasts(FetchRequest(("q",))) == 7000
    configure(world, visibility_timeout=None)
    push(world)
    assert lasts(FetchRequest(("q",))) == 1_800_000


def test_concurrency_and_rate_are_the_limit_of_the_queue(world: World) -> None:
    """However they are set: the two operations show and change the same thing."""
    configure(world, concurrency=1)
    push(world)
    push(world)
    assert len(world.backend.jobs.fetch(FetchRequest(("q",), count=2))) == 1
    world.backend.limits.limit_queue("q", {"concurrency": 2})
    assert world.backend.queues.config.get("q").config["concurrency"] == 2
    assert len(world.backend.jobs.fetch(FetchRequest(("q",), count=2))) == 1
    config = configure(world, rate_limit={"limit": 5, "period": "PT1M"})
    assert config["concurrency"] == 2
    assert config["rate_limit"] == {"limit": 5, "period": "PT1M"}
    configure(world, concurrency=None, rate_limit=None)
    assert world.store.head("q", 1).limit == ""


def test_a_queue_takes_only_the_types_it_allows(world: World) -> None:
    """Section 6.5."""
    configure(world, allowed_job_types=["payment.*", "demo.ping"])
    with pytest.raises(JobTypeNotAllowedError) as refused:
        push(world)
    assert refused.value.code == "JOB_TYPE_NOT_ALLOWED"
    assert world.stored.jobs == {}
    for allowed in ("payment.charge", "demo.ping"):
        assert world.backend.jobs.push(Job(allowed, [], queue="q")).record is not None


def test_the_default_policy_holds_where_a_queue_says_nothing(world: World) -> None:
    """Sections 7.1 and 7.2; what FETCH needs is given to a queue with its first job."""
    configure(
        world,
        DEFAULT_POLICY,
        default_timeout=11,
        visibility_timeout=22,
        concurrency=1,
        retention={"completed": "P1D"},
    )
    configure(world, "own", default_timeout=33, retention={"discarded": "P2D"})
    assert push(world, "fresh").timeout_ms == 11_000
    push(world, "fresh")
    own = push(world, "own")
    assert own.timeout_ms == 33_000
    assert (own.kept.completed_s, own.kept.discarded_s) == (86_400, 2 * 86_400)
    for queue in ("fresh", "own"):
        (job,) = world.backend.jobs.fetch(FetchRequest((queue,), count=2))
        assert job.reservation is not None
        assert job.reservation.expires_at - world.clock.at == 22_000


def test_a_refused_change_changes_nothing(world: World) -> None:
    """Not even the part of it that could be followed."""
    configure(world, max_size=5)
    before = world.backend.queues.config.get("q")
    with pytest.raises(InvalidRequestError):
        world.backend.queues.config.change("q", {"max_size": 9, "concurrency": "many"})
    assert world.backend.queues.config.get("q") == before


def test_settings_older_than_five_seconds_are_read_again(world: World) -> None:
    """Not before; and while they cannot be read the old ones hold."""
    push(world)
    world.backend.queues.config.change("q", {"default_timeout": 9})
    assert push(world).timeout_ms == 1_800_000
    world.clock.advance(s=AGE_S)
    assert push(world).timeout_ms == 9000
    world.clock.advance(s=AGE_S)

    def fail(_: object) -> Any:
        raise BackendError("down")

    world.queue_settings.load_for_push = fail  # type: ignore[method-assign,assignment]
    assert push(world).timeout_ms == 9000
    with pytest.raises(BackendError):
        push(world, "unread")


def test_a_queue_can_be_created_once(world: World) -> None:
    """Section 9.2; one that is there, used or declared, is a conflict."""
    made = world.backend.queues.config.create("new", {"max_size": 10})
    assert (made.config["max_size"], made.settings.created_at) == (10, world.clock.at)
    assert "new" in [info.name for info in world.backend.queues.service.list()]
    push(world, "used", scheduled_at="+PT1H")  # the registry learns of it by that
    for name in ("new", "used", "default"):
        with pytest.raises(ConflictError):
            world.backend.queues.config.create(name, {})
    for wrong in ("Not A Queue", None, 5):
        with pytest.raises(InvalidRequestError):
            world.backend.queues.config.create(wrong, {})
    with pytest.raises(InvalidRequestError):
        world.backend.queues.config.create("half", {"max_size": "many"})
    with pytest.raises(NotFoundError):
        world.backend.queues.service.get("half")


def test_where_only_declared_queues_are_allowed_no_other_can_be_set() -> None:
    """By whichever operation."""
    world = World(settings=Settings(allow_undeclared_queues=False))
    for call in (
        lambda: world.backend.queues.config.create("other", {}),
        lambda: world.backend.queues.config.change("other", {"max_size": 1}),
        lambda: push(world, "other"),
    ):
        with pytest.raises(NotFoundError):
            call()
    assert world.backend.queues.config.change("default", {"max_size": 1}).config["max_size"] == 1


def test_a_draining_queue_takes_no_jobs_and_gives_those_it_has(world: World) -> None:
    """Until it is resumed (section 5.1)."""
    push(world, scheduled_at="+PT1M")
    ready = push(world)
    world.registry.ensure("q", world.clock.now())
    world.backend.queues.config.drain("q")
    world.clock.advance(s=AGE_S)
    with pytest.raises(QueueDrainingError) as refused:
        push(world)
    assert (refused.value.status, refused.value.details["queue"]) == (409, "q")
    assert [job.id for job in world.backend.jobs.fetch(FetchRequest(("q",), count=5))] == [ready.id]
    world.backend.queues.config.undrain("q")
    world.clock.advance(s=AGE_S)
    push(world)


def test_a_queue_with_jobs_left_is_not_deleted(world: World) -> None:
    """Strategy ``reject`` (section 5.3); ended jobs are no hindrance."""
    configure(world, max_size=5)
    job = push(world)
    with pytest.raises(ConflictError) as refused:
        world.backend.queues.config.delete("q", {"strategy": "reject"})
    assert refused.value.details["depth"] == 1
    world.backend.jobs.cancel(job.id)
    answer = world.backend.queues.config.delete("q", {"strategy": "reject"})
    assert answer["state"] == "deleted"
    with pytest.raises(NotFoundError):
        world.backend.queues.config.get("q")
    assert world.stored.depths == {}


@pytest.mark.parametrize("delay", [None, "+PT2H"])
def test_a_job_pushed_unaware_of_the_deletion_brings_its_queue_back(
    world: World, delay: str | None
) -> None:
    """It remembers the settings for some seconds; who asks for the queue looks for jobs."""
    configure(world, default_timeout=9)
    pushing = Backend(world.settings, world.backend.stores)
    first = pushing.jobs.push(any_job("demo.echo", [], queue="q")).record
    assert first is not None
    pushing.jobs.cancel(first.id)
    world.backend.queues.config.delete("q", {"strategy": "reject"})
    for _ in range(2):
        with pytest.raises(NotFoundError, match="deleted"):
            world.backend.queues.config.get("q")
    later = {} if delay is None else {"scheduled_at": delay}
    pushing.jobs.push(any_job("demo.echo", [], queue="q", **later))
    found = world.backend.queues.config.get("q")
    assert (found.settings.state, found.own) == (QueueState.ACTIVE, {})
    with pytest.raises(ConflictError, match="not ended"):
        world.backend.queues.config.delete("q", {"strategy": "reject"})


def test_a_deleted_queue_begins_again_with_its_next_job(world: World) -> None:
    """Without the settings that it had."""
    configure(world, default_timeout=9, visibility_timeout=9, concurrency=1)
    world.backend.queues.config.delete("q", {"strategy": "reject"})
    world.clock.advance(s=AGE_S)
    assert push(world).timeout_ms == 1_800_000
    assert world.backend.queues.config.get("q").own == {}
    head = world.store.head("q", 1)
    assert (head.limit, head.visibility_timeout_ms) == ("", None)


@pytest.mark.parametrize("strategy", [None, "explode", "move", "discard"])
def test_a_deletion_says_what_becomes_of_the_jobs(world: World, strategy: str | None) -> None:
    """And a declared queue is not deleted at all."""
    configure(world)
    with pytest.raises(Exception, match="strategy") as refused:
        world.backend.queues.config.delete("q", {} if strategy is None else {"strategy": strategy})
    assert getattr(refused.value, "details", {})["field"] == "strategy"
    with pytest.raises(ConflictError, match="declared"):
        world.backend.queues.config.delete("default", {"strategy": "reject"})
