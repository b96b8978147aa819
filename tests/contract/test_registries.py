"""Queues and workers in the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ojs_aws.bootstrap import build_backend
from ojs_aws.config import Settings
from ojs_aws.domain.conflicts import ForeignWorkerError
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError, NotFoundError
from ojs_aws.domain.events import EventQuery
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.lists import Head, JobList
from ojs_aws.domain.queues import LastTick, Message, QueueInfo
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workers import WorkerInfo, WorkerReport
from ojs_aws.services.backend import Backend
from ojs_aws.services.dead_letters.search import DeadLetterFilter
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.topology import OWNER_TAG, sqs_queue_name
from tests.aws import EmbeddedAws, embedded

NOW = Instant(1_760_000_000_000)


@pytest.fixture
def aws() -> Iterator[EmbeddedAws]:
    """A fresh AWS with two declared queues."""
    with embedded(Settings(queues=("default", "email"))) as aws:
        yield aws


@pytest.fixture
def backend(aws: EmbeddedAws) -> Backend:
    """A backend over it."""
    return build_backend(aws.settings, aws.clients)


def test_declared_and_used_queues_are_listed_by_name(backend: Backend) -> None:
    """A queue exists from its first use on."""
    registry = backend.stores.queues
    registry.ensure("reports.daily", NOW)
    registry.ensure("reports.daily", Instant(NOW + 1))
    infos = registry.all()
    assert [info.name for info in infos] == ["default", "email", "reports.daily"]
    assert infos[2].created_at == NOW
    backend.stores.messages.send("reports.daily", Message("id"))


@pytest.mark.moto
def test_a_queue_of_first_use_has_the_tag_of_its_deployment(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """From the call that makes it: nothing is to find it later, and no call is added."""
    sqs = aws.clients.sqs
    with aws.calls.counted() as calls:
        backend.stores.queues.ensure("late", NOW)
    assert calls == {"UpdateItem": 1, "CreateQueue": 1}
    name = sqs_queue_name(aws.settings.queue_prefix, "late")
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    tags = sqs.list_queue_tags(QueueUrl=url)["Tags"]
    assert tags == {OWNER_TAG: aws.settings.queue_prefix}


def test_a_queue_that_exists_with_other_attributes_is_used_as_it_is(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """Two versions of the system may make it at the same time."""
    name = sqs_queue_name(aws.settings.queue_prefix, "late")
    aws.clients.sqs.create_queue(QueueName=name, Attributes={"MessageRetentionPeriod": "60"})
    backend.stores.queues.ensure("late", NOW)
    backend.stores.messages.send("late", Message("id"))


def test_an_undeclared_queue_can_be_refused(aws: EmbeddedAws) -> None:
    """A deployment may allow its declared queues only."""
    settings = replace(aws.settings, allow_undeclared_queues=False)
    registry = build_backend(settings, aws.clients).stores.queues
    with pytest.raises(NotFoundError):
        registry.ensure("other", NOW)


@pytest.mark.parametrize("allows_undeclared", [True, False])
def test_far_jobs_of_a_queue_that_is_no_longer_declared_are_swept(
    aws: EmbeddedAws, *, allows_undeclared: bool
) -> None:
    """A tick has seen the queue while it was declared; nobody else ever wrote it down."""
    clock = FakeClock()
    before = build_backend(aws.settings, aws.clients, clock=clock)
    job = before.jobs.push(Job(type="a", args=[], queue="email", scheduled_at="+PT2H")).record
    before.upkeep.sweep.tick()
    settings = replace(aws.settings, queues=("default",), allow_undeclared_queues=allows_undeclared)
    after = build_backend(settings, aws.clients, clock=clock)
    assert [info.name for info in after.stores.queues.all()] == ["default", "email"]
    clock.advance(s=6600)
    assert after.upkeep.sweep.tick().armed == 1
    clock.advance(s=660)
    after.upkeep.sweep.tick()
    assert job is not None
    assert after.jobs.info(job.id).state is JobState.AVAILABLE


def test_a_queue_keeps_the_time_of_its_first_registration(backend: Backend) -> None:
    """The sweep of any process may register a declared queue."""
    registry = backend.stores.queues
    assert registry.load("email") == QueueInfo(name="email")
    registry.register("email", NOW)
    registry.register("email", Instant(NOW + 5))
    assert registry.load("email") == QueueInfo(name="email", created_at=NOW)


def test_a_process_registers_a_queue_once(aws: EmbeddedAws, backend: Backend) -> None:
    """Every job for it notes it."""
    registry = backend.stores.queues
    with aws.calls.counted() as calls:
        for _ in range(3):
            registry.note("reports", NOW)
    assert calls == {"UpdateItem": 1}


def test_the_sweep_remembers_how_far_it_got_and_never_moves_back(backend: Backend) -> None:
    """A slow sweep that ends after a faster one changes nothing."""
    registry = backend.stores.queues
    registry.remember_sweep("email", NOW)
    registry.remember_sweep("email", Instant(NOW - 5))
    assert {info.name: info.swept_until for info in registry.all()} == {
        "default": None,
        "email": NOW,
    }


def test_the_sweep_remembers_its_place_within_an_instant(backend: Backend) -> None:
    """Until it is over it, and not from an older sweep."""
    registry = backend.stores.queues
    registry.remember_sweep("email", NOW, "place")
    registry.remember_sweep("email", Instant(NOW - 5), "older")
    (_, email) = registry.all()
    assert (email.swept_until, email.sweep_cursor) == (NOW, "place")
    registry.remember_sweep("email", Instant(NOW + 5))
    (_, email) = registry.all()
    assert (email.swept_until, email.sweep_cursor) == (NOW + 5, "")


def test_the_end_of_the_last_tick_is_known_to_all(backend: Backend) -> None:
    """The later of two, whichever comes last."""
    registry = backend.stores.queues
    assert registry.last_tick() is None
    registry.remember_tick(LastTick(NOW, 70))
    registry.remember_tick(LastTick(Instant(NOW - 1), 90))
    assert registry.last_tick() == LastTick(NOW, 70)
    registry.remember_tick(LastTick(Instant(NOW + 1), 80))
    assert registry.last_tick() == LastTick(Instant(NOW + 1), 80)
    registry.remember_tick(LastTick(Instant(NOW + 2), 0, {"email": NOW}))
    assert registry.last_tick() == LastTick(Instant(NOW + 2), 0, {"email": NOW})


def test_a_worker_is_registered_by_its_first_heartbeat(backend: Backend) -> None:
    """WRK-002, WRK-005: and asked to run."""
    workers = backend.stores.workers()
    assert workers.beat("w", WorkerReport(active_jobs=3), NOW).directive == "running"
    assert workers.beat("w", WorkerReport(active_jobs=1), Instant(NOW + 5)).last_seen == NOW + 5


def test_wrk_002_wrk_005_the_registry_keeps_what_a_worker_says(backend: Backend) -> None:
    """Last heartbeat and the one before, state, jobs, promise, and what it reports of itself."""
    workers = backend.stores.workers()
    ids = tuple(f"01990000-0000-7000-8000-{n:012d}" for n in range(40))
    report = WorkerReport(
        state="quiet",
        drain_word="shutting_down",
        active_jobs=40,
        job_ids=ids,
        interval_ms=5000,
        about='{"hostname":"h1","queues":["email"]}',
    )
    first = workers.beat("w", report, NOW)
    assert (first.seen_before, first.state, first.job_ids) == (None, "quiet", ids[:32])
    assert first.drain_word == "shutting_down"
    assert workers.load("w", NOW) == first
    again = workers.beat("w", WorkerReport(), Instant(NOW + 5000))
    assert again == WorkerInfo(
        id="w",
        last_seen=Instant(NOW + 5000),
        seen_before=NOW,
        beats=2,
        interval_ms=5000,
        about=report.about,
    )
    assert workers.load("w", NOW) == again
    assert workers.load("x", NOW) is None


def test_workers_are_listed_by_id_page_by_page(backend: Backend) -> None:
    """Without those that ended, and those not heard of for an hour."""
    workers = backend.stores.workers()
    for n in range(7):
        workers.beat(f"w{n}", WorkerReport(), NOW)
    workers.beat("w2", WorkerReport(state="terminate"), NOW)
    workers.beat("w4", WorkerReport(state="terminate", active_jobs=1), NOW)
    assert [w.id for w in workers.page("", 3, NOW)] == ["w0", "w1", "w3"]
    assert [w.id for w in workers.page("w3", 9, NOW)] == ["w4", "w5", "w6"]
    later = Instant(NOW + 3_600_000)
    assert (workers.page("", 9, later), workers.load("w1", later)) == ([], None)


def test_a_directive_reaches_its_worker_with_the_next_heartbeat(backend: Backend) -> None:
    """WRK-006, WRK-013: quiet and running again; terminate is for ever (section 2.3)."""
    workers = backend.stores.workers()
    assert workers.direct("w", "quiet", NOW) is None
    assert workers.load("w", NOW) is None
    workers.beat("w", WorkerReport(), NOW)
    for directive in ("quiet", "running", "terminate"):
        assert workers.direct("w", directive, NOW) is not None
        assert workers.beat("w", WorkerReport(), NOW).directive == directive
    refused = workers.direct("w", "running", NOW)
    assert refused is not None
    assert refused.directive == "terminate"
    assert workers.beat("w", WorkerReport(), NOW).directive == "terminate"
    assert workers.direct("w", "quiet", Instant(NOW + 3_600_000)) is None


def test_a_directive_ends_with_its_worker(backend: Backend) -> None:
    """A process that takes the id again is not ended by it."""
    workers = backend.stores.workers()
    workers.beat("w", WorkerReport(), NOW)
    workers.direct("w", "terminate", NOW)
    ending = WorkerReport(state="terminate", active_jobs=1)
    assert workers.beat("w", ending, NOW).directive == "terminate"
    workers.beat("w", WorkerReport(state="terminate"), NOW)
    assert workers.beat("w", WorkerReport(), Instant(NOW + 1)).directive == "running"


def test_a_worker_is_removed_unless_it_has_beaten_since(backend: Backend) -> None:
    """Whoever removes it has judged its last heartbeat."""
    workers = backend.stores.workers()
    workers.beat("w", WorkerReport(), NOW)
    workers.beat("w", WorkerReport(), Instant(NOW + 1))
    assert not workers.forget("w", NOW)
    assert not workers.forget("x", NOW)
    assert workers.forget("w", Instant(NOW + 1))
    assert workers.load("w", NOW) is None


@pytest.mark.parametrize("cursor", ["x", "bm9uZQ", "W10", "WyJhIiwiYiJd", "a" * 2000])
def test_a_foreign_cursor_is_refused(backend: Backend, cursor: str) -> None:
    """With the name of the parameter."""
    with pytest.raises(InvalidRequestError, match="cursor"):
        backend.events.read(EventQuery(cursor=cursor))
    with pytest.raises(InvalidRequestError, match="cursor"):
        backend.dead_letters.service.list(DeadLetterFilter(queue="default"), cursor=cursor)
    with pytest.raises(InvalidRequestError, match="cursor"):
        backend.dead_letters.service.list(cursor=cursor)


def test_a_paused_queue_is_known_from_the_head_of_its_ready_list(backend: Backend) -> None:
    """In one write, and gone with the next; counts and pages do not take it for a job."""
    registry, store = backend.stores.queues, backend.stores.store
    paused = registry.pause("email", ["t-1"], NOW)
    assert (paused.name, paused.paused_at, paused.triggers) == ("email", NOW, ("t-1",))
    assert registry.pause("email", ["t-2"], Instant(NOW + 5)).paused_at == NOW
    assert registry.load("email") == registry.pause("email", [], NOW)
    assert store.head("email", 5).is_paused
    assert store.head("default", 5) == Head(())
    assert store.count("email", JobList.READY).rows == 0
    assert store.listed("email", JobList.READY, 5).jobs == ()
    registry.forget_triggers("email")
    before = registry.resume("email")
    assert before is not None
    assert before.triggers == ("t-1", "t-2")
    assert not store.head("email", 5).is_paused
    registry.forget_triggers("email")
    after = registry.load("email")
    assert after is not None
    assert (after.paused_at, after.triggers) == (None, ())


def test_a_queue_knows_who_paused_and_resumed_it(backend: Backend) -> None:
    """In the writes that do so; who paused it first counts until it is resumed."""
    registry = backend.stores.queues
    assert registry.pause("email", [], NOW, "alice").paused_by == "alice"
    assert registry.pause("email", [], NOW, "bob").paused_by == "alice"
    registry.resume("email", "carol")
    after = registry.load("email")
    assert after is not None
    assert (after.paused_by, after.resumed_by) == ("", "carol")
    again = registry.pause("email", [], NOW)
    assert (again.paused_by, again.resumed_by) == ("", "")


def test_triggers_are_noted_of_a_paused_queue_only(backend: Backend) -> None:
    """They are forgotten once it is resumed, unless it was paused again."""
    registry = backend.stores.queues
    registry.ensure("default", NOW)
    assert not registry.note_triggers("default", ["t1"])
    registry.pause("default", ["t1"], NOW)
    assert registry.note_triggers("default", ["t2"])
    registry.forget_triggers("default")
    paused = registry.load("default")
    assert paused is not None
    assert paused.triggers == ("t1", "t2")
    registry.resume("default")
    registry.forget_triggers("default")
    resumed = registry.load("default")
    assert resumed is not None
    assert resumed.triggers == ()


def test_a_queue_without_an_item_cannot_be_resumed(backend: Backend) -> None:
    """A declared one is known nevertheless."""
    registry = backend.stores.queues
    assert registry.resume("never") is None
    assert registry.load("never") is None
    assert registry.resume("default") is None
    assert registry.load("default") == QueueInfo(name="default")


def test_a_worker_id_belongs_to_the_principal_that_registered_it(backend: Backend) -> None:
    """Until the worker is forgotten: a beat of another principal is refused and writes nothing."""
    workers = backend.stores.workers()
    workers.beat("w", WorkerReport(), NOW, "key:1")
    workers.direct("w", "quiet", NOW)
    known = workers.load("w", NOW)
    for report in (WorkerReport(active_jobs=9), WorkerReport(state="terminate")):
        with pytest.raises(ForeignWorkerError):
            workers.beat("w", report, Instant(NOW + 5), "key:2")
    assert workers.load("w", NOW) == known
    assert workers.beat("w", WorkerReport(), Instant(NOW + 5), "key:1").directive == "quiet"


def test_a_forgotten_worker_id_is_free_for_any_principal(backend: Backend) -> None:
    """When it has ended, was removed, or was silent for an hour, but not a second before."""
    workers = backend.stores.workers()
    workers.beat("ended", WorkerReport(), NOW, "key:1")
    workers.beat("ended", WorkerReport(state="terminate"), NOW, "key:1")
    workers.beat("removed", WorkerReport(), NOW, "key:1")
    assert workers.forget("removed", NOW)
    workers.beat("silent", WorkerReport(), NOW, "key:1")
    for name in ("ended", "removed"):
        workers.beat(name, WorkerReport(), Instant(NOW + 1), "key:2")
    with pytest.raises(ForeignWorkerError):
        workers.beat("silent", WorkerReport(), Instant(NOW + 3_599_000), "key:2")
    workers.beat("silent", WorkerReport(), Instant(NOW + 3_600_000), "key:2")
    with pytest.raises(ForeignWorkerError):
        workers.beat("silent", WorkerReport(), Instant(NOW + 3_600_001), "key:1")


def test_a_worker_without_a_principal_is_taken_by_the_first_one(backend: Backend) -> None:
    """It registered before an upgrade, or while access was open; open access asks for none."""
    workers = backend.stores.workers()
    workers.beat("w", WorkerReport(), NOW)
    workers.beat("w", WorkerReport(), NOW, "key:1")
    with pytest.raises(ForeignWorkerError):
        workers.beat("w", WorkerReport(), NOW, "key:2")
    workers.beat("w", WorkerReport(), NOW)
    with pytest.raises(ForeignWorkerError):
        workers.beat("w", WorkerReport(), NOW, "key:2")
