"""Settings and depths of queues in the table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.adapters.dynamodb.queues.depths import Depths, Pressures
from ojs_aws.adapters.dynamodb.queues.settings import TENANTS, QueueSettingsStore
from ojs_aws.domain.conflicts import QueueIsFullError, StaleSettingsError
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.queues import Depth, LimitChange, Pressure, QueueSettings, QueueState
from ojs_aws.domain.queues.config import DEFAULT_POLICY
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.backend import Backend
from ojs_aws.services.events import Commit, events_of
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.testing.deployment import FakeClock
from tests.aws import EmbeddedAws

POLICY = '{"key":"queue:q","concurrency":3}'
COMMIT = Commit(Instant(1_760_000_000_000), "1")


@pytest.fixture
def book(aws: EmbeddedAws) -> QueueSettingsStore:
    """The settings."""
    tokens = iter(f"token-{number}" for number in range(100))
    return QueueSettingsStore(aws.clients.dynamodb, aws.settings.table, lambda: next(tokens))


@pytest.fixture
def depths(aws: EmbeddedAws) -> Depths:
    """The depths."""
    return Depths(aws.clients.dynamodb, aws.settings.table)


def settings(revision: int, **members: Any) -> QueueSettings:
    """Settings of a queue."""
    return QueueSettings(queue="q", members=members, revision=revision, updated_at=Instant(5))


def test_settings_come_back_as_they_were_kept(book: QueueSettingsStore) -> None:
    """One read for several queues; all of them in one query."""
    kept = settings(1, max_size=5, retention={"completed": "P1D"}, visibility_timeout=9)
    book.save(QueueSettings(queue="q"), kept)
    assert book.load(["q", "other"]) == {"q": kept}
    assert book.load(["q", "q"]) == {"q": kept}
    assert book.all() == [kept]


def test_that_tenants_may_have_settings_is_no_setting_of_a_queue(
    book: QueueSettingsStore,
) -> None:
    """PUSH finds it with what it reads; a default policy that comes later leaves it there."""
    assert book.load_for_push("q") == ({}, False)
    book.note_tenants()
    assert book.load_for_push("q") == ({}, True)
    assert book.load([DEFAULT_POLICY]) == {}
    assert book.all() == []
    image = {"pk": {"S": "settings"}, "sk": {"S": DEFAULT_POLICY}, TENANTS: {"BOOL": True}}
    assert events_of(None, read_image(image), COMMIT) == []
    policy = replace(settings(1, max_size=5), queue=DEFAULT_POLICY)
    book.save(QueueSettings(queue=DEFAULT_POLICY), policy)
    assert book.load_for_push("q") == ({DEFAULT_POLICY: policy}, True)


def test_a_change_of_what_is_no_longer_there_is_refused(book: QueueSettingsStore) -> None:
    """So that nobody's change is lost; the limit is not changed either."""
    book.save(QueueSettings(queue="q"), settings(1))
    for before in (QueueSettings(queue="q"), settings(2)):
        with pytest.raises(StaleSettingsError):
            book.save(before, settings(3), LimitChange(POLICY))
    assert book.load(["q"])["q"].revision == 1


def test_the_limit_and_the_head_of_the_list_follow_in_one_transaction(
    aws: EmbeddedAws, book: QueueSettingsStore, backend: Backend
) -> None:
    """FETCH sees both where it looks anyway, and neither is counted as a job."""
    with aws.calls.counted() as calls:
        book.save(QueueSettings(queue="q"), settings(1, visibility_timeout=9), LimitChange(POLICY))
    assert calls == {"TransactWriteItems": 1}
    head = backend.stores.store.head("q", 5)
    assert (head.jobs, head.limit, head.visibility_timeout_ms) == ((), POLICY, 9000)
    backend.queues.service.pause("q")
    assert backend.stores.store.head("q", 5).is_paused
    assert backend.queues.statistics.counts("q").depth == 0
    bucket = backend.stores.limits().load("queue:q")
    assert bucket is not None
    assert bucket.override == POLICY
    book.save(settings(1), settings(2), LimitChange(None))
    head = backend.stores.store.head("q", 5)
    assert (head.limit, head.visibility_timeout_ms) == ("", None)


def test_run_times_stand_beside_the_settings(book: QueueSettingsStore) -> None:
    """Who replaces them must know those that there are; a change of the settings keeps them."""
    assert not book.learn(settings(1), "{}")
    assert book.load(["q"]) == {}
    book.save(QueueSettings(queue="q"), settings(1))
    assert book.learn(settings(1), '{"t":[1,2]}')
    assert not book.learn(settings(1), "other")
    known = replace(settings(1), run_times='{"t":[1,2]}')
    assert book.load(["q"]) == {"q": known}
    book.save(known, settings(2, max_size=3))
    [found] = book.all()
    assert (found.revision, found.run_times) == (2, known.run_times)
    assert not book.learn(replace(found, run_times="x"), "other")
    assert book.learn(found, "{}")


def test_fetch_learns_that_a_queue_is_fair_from_its_head(
    book: QueueSettingsStore, backend: Backend
) -> None:
    """With or without a visibility timeout; until it is fair no more."""
    store = backend.stores.store
    book.save(QueueSettings(queue="q"), settings(1, fairness={}))
    assert (store.head("q", 5).is_fair, store.head("q", 5).visibility_timeout_ms) == (True, None)
    book.save(settings(1), settings(2, fairness={"by": "tenant"}, visibility_timeout=9))
    assert (store.head("q", 5).is_fair, store.head("q", 5).visibility_timeout_ms) == (True, 9000)
    book.save(settings(2), settings(3, visibility_timeout=9))
    assert not store.head("q", 5).is_fair


def test_a_change_by_somebody_unknown_is_not_that_of_the_one_before(
    book: QueueSettingsStore,
) -> None:
    """Nobody is held to have made a change that somebody else made."""
    first, second = settings(1), settings(2)
    book.save(QueueSettings(queue="q"), replace(first, by="alice"))
    assert book.load(["q"])["q"].by == "alice"
    book.save(first, second)
    assert book.load(["q"])["q"].by == ""


def test_a_change_whose_answer_was_lost_is_not_refused(
    aws: EmbeddedAws, book: QueueSettingsStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Botocore repeats it, and it finds its own token."""
    original = aws.clients.dynamodb.transact_write_items

    def send(**arguments: Any) -> Any:
        original(**arguments)
        return original(**arguments)

    monkeypatch.setattr(aws.clients.dynamodb, "transact_write_items", send)
    book.save(QueueSettings(queue="q"), settings(1))
    assert book.load(["q"])["q"].revision == 1


def test_a_queue_takes_no_more_than_its_bound(depths: Depths) -> None:
    """One conditional write each; a job too many changes nothing."""
    assert depths.begin("q", 0)
    assert [depths.take("q", 1, 3), depths.take("q", 2, 3)] == [1, 3]
    for count in (1, 4):
        with pytest.raises(QueueIsFullError) as full:
            depths.take("q", count, 3)
        assert full.value.depth == 3
    assert depths.add("q", -1) == 2
    assert depths.take("q", 1, 3) == 3
    assert depths.load("q") == Depth(3, 5)


def test_a_queue_without_a_bound_is_not_counted(depths: Depths) -> None:
    """Until it has one."""
    assert depths.add("q", 1) is None
    assert depths.load("q") is None
    assert depths.begin("q", 5)
    assert not depths.correct("q", 9, Depth(5, 7))
    assert depths.correct("q", 9, Depth(5, 1))
    depths.forget("q")
    assert depths.load("q") is None


def test_jobs_are_counted_in_all_lists_of_those_that_have_not_ended(
    backend: Backend, depths: Depths
) -> None:
    """Ready, waiting, active and pending ones; rows that are no jobs do not count."""
    backend.queues.config.change("q", {"visibility_timeout": 9, "concurrency": 5})
    for attributes in ({}, {}, {}, {"scheduled_at": "+PT1H"}, {"pending": True}):
        backend.jobs.push(Job("demo.echo", [], queue="q", **attributes))
    (job,) = backend.jobs.fetch(FetchRequest(("q",), worker_id="w"))
    assert depths.count("q", 100) == 5
    backend.jobs.ack(job.id, "w", None)
    assert depths.count("q", 100) == 4
    assert depths.count("q", 2) == 2


def test_an_ended_job_stays_as_long_as_its_queue_said(aws: EmbeddedAws, backend: Backend) -> None:
    """When it was enqueued; ACK knows it without reading the job."""
    backend.queues.config.change(
        "q", {"retention": {"completed": "PT1H", "cancelled": "PT2H", "discarded": "PT3H"}}
    )

    def ttl(job_id: str) -> int:
        key = {"pk": {"S": f"job#{job_id}"}, "sk": {"S": "job"}}
        item = aws.clients.dynamodb.get_item(TableName=aws.settings.table, Key=key)["Item"]
        return int(item["ttl"]["N"]) - backend.clock.now() // 1000

    def push(queue: str) -> str:
        record = backend.jobs.push(Job("demo.echo", [], queue=queue)).record
        assert record is not None
        return record.id

    for queue, seconds in (("q", 3600), ("default", 7 * 86_400)):
        job_id = push(queue)
        backend.jobs.fetch(FetchRequest((queue,), worker_id="w"))
        backend.jobs.ack(job_id, "w", None)
        assert ttl(job_id) == seconds
    cancelled = push("q")
    backend.jobs.cancel(cancelled)
    assert ttl(cancelled) == 7200


def test_bp_004_the_stream_publishes_what_happens_to_a_queue(aws: EmbeddedAws) -> None:
    """Warnings, rejections and changes of settings, from the images of the items."""
    table, client = aws.settings.table, aws.clients.dynamodb
    pressures = Pressures(client, table)
    book = QueueSettingsStore(client, table, lambda: "t")

    def image(partition: str) -> object | None:
        key = {"pk": {"S": partition}, "sk": {"S": "q"}}
        item = client.get_item(TableName=table, Key=key).get("Item")
        return read_image(item) if item else None

    published: list[tuple[str, str]] = []

    def publish(partition: str, write: Any) -> None:
        before = image(partition)
        write()
        published.extend((e.type, e.data) for e in events_of(before, image(partition), COMMIT))

    def pressure(depth: int = 4, **more: Any) -> Pressure:
        return Pressure(queue="q", at=Instant(7), depth=depth, bound=4, **more)

    publish("pressure", lambda: pressures.warn(pressure(3, is_warned=True)))
    publish("pressure", lambda: pressures.warn(pressure(is_warned=True)))
    publish("pressure", lambda: pressures.reject(pressure(rejected=3, job_type="a.b")))
    publish("pressure", lambda: pressures.reject(pressure(rejected=2, job_type="a.b")))
    publish("pressure", lambda: pressures.warn(pressure(2)))
    created = QueueSettings(queue="q", revision=1, created_at=Instant(7), updated_at=Instant(7))
    publish("settings", lambda: book.save(QueueSettings(queue="q"), created))
    publish("settings", lambda: book.save(created, settings(2, max_size=5)))
    gone = QueueSettings(queue="q", revision=3, state=QueueState.DELETED)
    publish("settings", lambda: book.save(settings(2), gone))
    assert [kind for kind, _ in published] == [
        "backpressure.warning",
        "queue.full",
        "backpressure.rejected",
        "backpressure.rejected",
        "backpressure.cleared",
        "queue.created",
        "queue.config_updated",
        "queue.deleted",
    ]
    assert published[2][1] == '{"queue":"q","depth":4,"bound":4,"job_type":"a.b","count":3}'
    assert '"count":2' in published[3][1]


def test_the_oldest_available_job_is_found_in_every_priority(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """One row is read for each priority, however many jobs there are; limits do not hide it."""
    backend.queues.config.change("q", {"visibility_timeout": 9})
    store, clock = backend.stores.store, backend.clock
    assert store.oldest_ready("q") is None
    assert isinstance(clock, FakeClock)
    began = clock.now()
    limit: Any = {"key": "k", "concurrency": 1}
    for priority in (-50, 0, 100):
        for _ in range(3):
            job = Job("demo.echo", [], queue="q", priority=priority)
            job["rate_limit"] = limit
            backend.jobs.push(job)
            clock.advance(s=1)
    with aws.calls.counted() as calls:
        assert store.oldest_ready("q") == began
    assert calls == {"Query": 4}


def test_the_oldest_job_of_the_lowest_priority_is_found_below_others(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """It is the one that starves; two queries more where there are more than eight."""
    store, clock = backend.stores.store, backend.clock
    assert isinstance(clock, FakeClock)
    began = clock.now()
    for priority in (-90, -90, *range(12)):
        backend.jobs.push(Job("demo.echo", [], queue="q", priority=priority))
        clock.advance(s=1)
    with aws.calls.counted() as calls:
        assert store.oldest_ready("q") == began
    assert calls == {"Query": 10}
