"""Dead letters in the table: ranges, counts, documents that are kept elsewhere, upkeep."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ojs_aws.bootstrap import build_backend
from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue, NotFoundError, PayloadTooLargeError
from ojs_aws.domain.job import JobRecord, StoredElsewhere
from ojs_aws.domain.jobs.lists import Between, JobList, ListTotal
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.backend import Backend
from ojs_aws.services.dead_letters.search import DeadLetterFilter
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.testing.deployment import FakeClock
from tests.aws import EmbeddedAws, embedded, items_of
from tests.jobs import noise

ERROR = parse_object('{"type": "DbError", "message": "it broke"}')


@pytest.fixture
def aws() -> Iterator[EmbeddedAws]:
    """A fresh AWS."""
    with embedded(Settings(queues=("default", "email"))) as aws:
        yield aws


def die(backend: Backend, clock: FakeClock, size: int = 1, queue: str = "default") -> JobRecord:
    """Push a job of some size and fail it for good; a second passes."""
    policy: dict[str, JsonValue] = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
    job = Job("demo.echo", [noise(size)], queue=queue, retry=policy, meta={"a": 1})
    record = backend.jobs.push(job).record
    assert record is not None
    (claimed,) = backend.jobs.fetch(FetchRequest((queue,)))
    assert claimed.id == record.id
    clock.advance(s=1)
    return backend.jobs.fail(record.id, None, ERROR)


def test_rows_of_a_time_range_are_listed_and_counted(backend: Backend, clock: FakeClock) -> None:
    """Both ends included; in both orders; a page goes on after any of its rows."""
    start = clock.at
    dead = [die(backend, clock) for _ in range(5)]
    store, name = backend.stores.store, JobList.DEAD_LETTER
    middle = Between(Instant(start + 2000), Instant(start + 4000))
    rows = store.listed("default", name, 9, between=middle).jobs
    assert [row.id for row in rows] == [job.id for job in reversed(dead[1:4])]
    place = store.place_of(rows[0], name)
    after = store.listed("default", name, 9, cursor=place, between=middle).jobs
    assert [row.id for row in after] == [dead[2].id, dead[1].id]
    up = store.listed("default", name, 9, cursor=place, newest_first=False).jobs
    assert [row.id for row in up] == [dead[4].id]
    assert (store.count("default", name).rows, store.count("default", name, middle).rows) == (5, 3)
    nothing = Between(Instant(2), Instant(1))
    assert store.count("default", name, nothing).rows == 0
    assert store.listed("default", name, 9, between=nothing).jobs == ()


def test_a_document_that_is_kept_elsewhere_survives_the_way_back(
    backend: Backend, clock: FakeClock
) -> None:
    """To another queue, whole; changing it in place is refused, and changes nothing."""
    dead = die(backend, clock, size=50_000)
    assert isinstance(dead.document, StoredElsewhere)
    with pytest.raises(PayloadTooLargeError):
        backend.dead_letters.service.retry(dead.id, {"meta": {"b": 2}})
    assert backend.stores.store.load(dead.id) == dead
    backend.dead_letters.service.retry(dead.id, {"queue": "email"})
    (claimed,) = backend.jobs.fetch(FetchRequest(("email",)))
    assert len(json.loads(str(claimed.document))["args"][0]) == 50_000


def test_a_large_document_may_be_replaced_by_a_small_one(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """And leaves nothing behind."""
    dead = die(backend, clock, size=50_000)
    again = backend.dead_letters.service.retry(dead.id, {"args": [2]})
    assert json.loads(str(again.document))["args"] == [2]
    assert json.loads(str(backend.jobs.info(dead.id).document))["meta"] == {"a": 1}
    left = items_of(aws, f"job#{dead.id}")
    assert [item["sk"]["S"] for item in left] == ["job"]


def test_dlq_004_dead_letters_are_kept_longer_than_other_discarded_jobs(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """Section 4.2 and 5.2: 180 days, by the table's time to live; a retry takes it away."""
    dead = die(backend, clock)
    key = {"pk": {"S": f"job#{dead.id}"}, "sk": {"S": "job"}}

    def expires() -> int | None:
        item = aws.clients.dynamodb.get_item(TableName=aws.settings.table, Key=key)["Item"]
        return int(item["ttl"]["N"]) if "ttl" in item else None

    assert expires() == clock.at // 1000 + 180 * 86_400
    backend.dead_letters.service.retry(dead.id)
    assert expires() is None


def test_upkeep_prunes_and_replays_in_the_table(aws: EmbeddedAws, clock: FakeClock) -> None:
    """DLQ-005, DLQ-R003: with the marks that keep a rule from looking twice."""
    rules = '[{"name": "db", "filter": {"error_type": "DbError", "queue": "email"}}]'
    settings = replace(aws.settings, dead_letter_max_count=1, dead_letter_replay=rules)
    backend = build_backend(settings, aws.clients, clock=clock, parallel=IN_ORDER)
    old, young = die(backend, clock, size=50_000), die(backend, clock)
    mail = die(backend, clock, queue="email")
    clock.advance(s=300)
    report = backend.dead_letters.upkeep.tick()
    assert (report.pruned, report.replayed, report.failed) == (1, 1, 0)
    with pytest.raises(NotFoundError):
        backend.jobs.info(old.id)
    assert [job.id for job in backend.dead_letters.service.list().jobs] == [young.id]
    again = backend.jobs.info(mail.id)
    assert again.replay is not None
    assert (again.state, again.replay.count, again.replay.rule) == ("available", 1, "db")
    clock.advance(s=300)
    with aws.calls.counted() as calls:
        backend.dead_letters.upkeep.tick()
    assert set(calls) == {"Query", "GetItem", "UpdateItem"}


def test_a_page_of_dead_letters_costs_two_calls_and_a_count(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """However many lie behind it; the count only where the page is not all there is."""
    for _ in range(6):
        die(backend, clock)
    wanted = DeadLetterFilter(queue="default")
    with aws.calls.counted() as calls:
        assert len(backend.dead_letters.service.list(wanted, limit=50).jobs) == 6
    assert calls == {"Query": 1, "BatchGetItem": 1}
    with aws.calls.counted() as calls:
        assert backend.dead_letters.service.list(wanted, limit=2).total == ListTotal(6)
    assert calls == {"Query": 2, "BatchGetItem": 1}
