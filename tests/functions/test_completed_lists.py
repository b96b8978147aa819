"""Completed jobs without a row of the index are listed by the stream, for every reader of lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pytest

from ojs_aws.adapters.dynamodb.columns import item_bytes, read_string
from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.adapters.dynamodb.jobs.completed_list import MAX_JOBS
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.jobs.lists import Between, JobList
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.transport.events.stream import build_stream
from tests.api import Api
from tests.aws import EmbeddedAws, changes_here, embedded

WORKER: Final = "w"
FETCH: Final = FetchRequest(("default",), worker_id=WORKER)


@dataclass
class Deployed:
    """A backend whose ACK leaves no row, and its stream.

    :ivar before: the same without the setting, as of the version before.
    :ivar clock: stands still, but for a millisecond with each ACK.
    """

    aws: EmbeddedAws
    clock: FakeClock = field(default_factory=FakeClock)
    backend: Backend = field(init=False)
    before: Backend = field(init=False)

    def __post_init__(self) -> None:
        """Build both."""
        settings = replace(
            self.aws.settings, stream_lists_completed=True, stream_deletes_messages=True
        )
        usual: Any = {"clock": self.clock, "parallel": IN_ORDER}
        self.backend = build_backend(settings, self.aws.clients, **usual)
        self.before = build_backend(self.aws.settings, self.aws.clients, **usual)
        self.stream = changes_here(self.aws)
        self.consume = build_stream(self.backend, read_image, measure=lambda *_: None)
        self.api = Api(self.backend)

    def flow(self) -> list[dict[str, str]]:
        """Let the consumer read what was committed; return what has to come again."""
        records, done = self.stream()
        done()
        return self.consume({"Records": records}, None)["batchItemFailures"]

    def complete(
        self, count: int, backend: Backend | None = None, kind: str = "a.b", **attributes: Any
    ) -> list[str]:
        """Push jobs, fetch them and complete them; return their ids, oldest first."""
        backend = backend or self.backend
        for _ in range(count):
            backend.jobs.push(Job(kind, **attributes))
        queue = attributes.get("queue", "default")
        held = backend.jobs.fetch(replace(FETCH, queues=(queue,), count=count))
        for job in held:
            self.clock.advance(ms=1)
            backend.jobs.ack(job.id, WORKER, None)
        return [job.id for job in held]

    def found(self, **query: str) -> Any:
        """Ask for completed jobs."""
        reply = self.api.get("/admin/jobs", query={"state": "completed", **query})
        assert reply.status == 200, reply.text
        return reply.json

    def ids(self, **query: str) -> list[str]:
        """Return the ids of all pages."""
        found, cursor = [], ""
        while True:
            answer = self.found(**query, **({"cursor": cursor} if cursor else {}))
            found += [job["id"] for job in answer["jobs"]]
            cursor = answer["pagination"].get("next_cursor") or ""
            if not cursor:
                return found

    def items(self) -> list[dict[str, Any]]:
        """Return the items that list completed jobs."""
        items = self.aws.clients.dynamodb.scan(TableName=self.aws.settings.table)["Items"]
        return [dict(each) for each in items if each["pk"]["S"].startswith("completed#")]


@pytest.fixture
def deployed() -> Iterator[Deployed]:
    """An empty deployment."""
    with embedded() as aws:
        yield Deployed(aws)


def test_ack_makes_one_call_and_the_stream_one_put_for_many(deployed: Deployed) -> None:
    """The job has no key of the index any more; 36 jobs fit one write unit."""
    aws, backend = deployed.aws, deployed.backend
    deployed.complete(1)
    deployed.flow()
    for _ in range(MAX_JOBS):
        backend.jobs.push(Job("email.send"))
    held = backend.jobs.fetch(replace(FETCH, count=MAX_JOBS))
    with aws.calls.counted() as calls:
        for job in held:
            backend.jobs.ack(job.id, WORKER, None)
    assert calls == {"UpdateItem": MAX_JOBS}
    with aws.calls.counted() as calls:
        deployed.flow()
    assert calls["PutItem"] == 2  # one is the chunk of the event log
    sizes = [item_bytes(item) for item in deployed.items()]
    assert (len(sizes), max(sizes) <= 1024) == (2, True)
    stored = aws.clients.dynamodb.scan(TableName=aws.settings.table)["Items"]
    jobs = [item for item in stored if item["sk"]["S"] == "job"]
    assert len(jobs) == MAX_JOBS + 1
    assert not any({"gpk", "gsk", "gc"} & item.keys() for item in jobs)


def test_completed_jobs_are_listed_once_the_stream_is_read(deployed: Deployed) -> None:
    """A stalled stream lists them late; until then each can be read by its id."""
    ids = deployed.complete(3)
    assert deployed.ids() == []
    assert deployed.api.get(f"/jobs/{ids[0]}").json["job"]["state"] == "completed"
    deployed.flow()
    assert deployed.ids() == ids[::-1]
    assert deployed.ids(order="asc", limit="2") == ids


def test_jobs_with_rows_and_without_are_listed_together(deployed: Deployed) -> None:
    """Jobs from before the upgrade, and of processes that do not have the setting."""
    old, new = deployed.complete(3, deployed.before), deployed.complete(4)
    deployed.flow()
    for limit in ("1", "3", "100"):
        assert deployed.ids(limit=limit) == (old + new)[::-1]
        assert deployed.ids(limit=limit, order="asc") == old + new


def test_filters_find_jobs_that_have_no_row(deployed: Deployed) -> None:
    """By queue, by type and by the beginning of a type."""
    mails = deployed.complete(2, kind="email.send")
    other = deployed.complete(1, queue="other")
    deployed.flow()
    assert deployed.ids(queue="default") == mails[::-1]
    assert deployed.ids(type="email.*") == mails[::-1]
    assert deployed.ids(type="a.b") == other
    assert deployed.ids(since="2099-01-01T00:00:00Z") == []


def test_many_completed_jobs_are_counted_with_those_deleted_since(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their number is named as estimated; few are read, and the totals follow the stream."""
    deployed.complete(3)
    deployed.flow()
    body = {"filter": {"state": ["completed"]}, "confirm": True, "limit": 1}
    assert deployed.api.post("/admin/jobs/bulk/delete", body).status == 200
    deployed.flow()
    few = deployed.api.get("/admin/stats", query={"queue": "default"}).json
    assert (few["jobs"]["completed"], few["estimated"]) == (2, [])
    monkeypatch.setattr("ojs_aws.services.queues.stats.MAX_READ", 2)
    many = deployed.api.get("/admin/stats", query={"queue": "default"}).json
    assert (many["jobs"]["completed"], many["estimated"]) == (3, ["completed"])
    assert deployed.api.get("/admin/stats").json["jobs"]["completed"] == 2
    first = deployed.found(limit="1")
    assert (first["total"], first["pagination"]["total_is_exact"]) == (3, False)


def test_items_at_the_end_of_a_range_are_passed_in_few_queries(deployed: Deployed) -> None:
    """They begin within ten seconds after it, and may have no job of the range."""
    first = deployed.complete(1)
    until = deployed.clock.now()
    for _ in range(30):
        deployed.flow()
        deployed.complete(1)
    deployed.flow()
    store, between = deployed.backend.stores.store, Between(Instant(0), until)
    with deployed.aws.calls.counted() as calls:
        page = store.listed("default", JobList.COMPLETED, 1, between=between)
    assert [row.id for row in page.jobs] == first
    assert calls["Query"] <= 3


def test_a_deleted_job_is_not_listed(deployed: Deployed) -> None:
    """The item decides."""
    ids = deployed.complete(3)
    deployed.flow()
    body = {"filter": {"state": ["completed"]}, "confirm": True, "limit": 1}
    reply = deployed.api.post("/admin/jobs/bulk/delete", body)
    assert reply.status == 200, reply.text
    assert deployed.ids() == ids[:2][::-1]


def test_a_dry_run_and_its_change_find_the_same_jobs(deployed: Deployed) -> None:
    """Jobs that completed after ``as_of`` stay."""
    deployed.complete(3)
    deployed.flow()
    wanted: dict[str, Any] = {"filter": {"queue": "default", "state": ["completed"]}}
    dry = deployed.api.post("/admin/jobs/bulk/delete", {**wanted, "dry_run": True}).json
    deployed.clock.advance(s=1)
    assert dry["matched"] == 3
    later = deployed.complete(2)
    deployed.flow()
    body = {**wanted, "confirm": True, "as_of": dry["as_of"]}
    assert deployed.api.post("/admin/jobs/bulk/delete", body).json["matched"] == 3
    assert deployed.ids() == later[::-1]


def test_a_purge_removes_jobs_and_what_lists_them(deployed: Deployed) -> None:
    """Else later lists would read the items of jobs that are gone."""
    deployed.complete(2, deployed.before)
    for _ in range(3):
        deployed.complete(20)
        deployed.flow()
    deployed.complete(1, queue="other")
    deployed.flow()
    assert len(deployed.items()) == 4
    cursor, deleted = "", 0
    while True:
        body = {"states": ["completed"], "confirm": True, **({"cursor": cursor} if cursor else {})}
        reply = deployed.api.send("DELETE", "/ojs/v1/admin/queues/default/jobs", body)
        assert reply.status == 200, reply.text
        deleted += reply.json["deleted"]
        cursor = reply.json.get("next_cursor") or ""
        if not cursor:
            break
    assert deleted == 62
    assert deployed.ids(queue="default") == []
    assert [read_string(item, "pk") for item in deployed.items()] == ["completed#other"]


def test_a_purge_removes_a_list_one_of_whose_jobs_has_expired(deployed: Deployed) -> None:
    """The table has removed it by itself; nothing else would remove the item before its time."""
    ids = deployed.complete(3)
    deployed.flow()
    key = {"pk": {"S": f"job#{ids[1]}"}, "sk": {"S": "job"}}
    table = deployed.aws.settings.table
    assert "Item" in deployed.aws.clients.dynamodb.get_item(TableName=table, Key=key)
    deployed.aws.clients.dynamodb.delete_item(TableName=table, Key=key)
    body = {"states": ["completed"], "confirm": True}
    reply = deployed.api.send("DELETE", "/ojs/v1/admin/queues/default/jobs", body)
    assert reply.json["deleted"] == 2
    assert deployed.items() == []


def test_what_could_not_be_listed_comes_again(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record is repeated, and its events are published once."""
    ids = deployed.complete(1)
    store = type(deployed.backend.stores.store)
    real = store.list_completed

    def fail(*_: object) -> None:
        monkeypatch.setattr(store, "list_completed", real)
        raise BackendError("no")

    monkeypatch.setattr(store, "list_completed", fail)
    records, done = deployed.stream()
    done()
    (failed,) = deployed.consume({"Records": records}, None)["batchItemFailures"]
    assert deployed.ids() == []
    numbers = [each["dynamodb"]["SequenceNumber"] for each in records]
    left = records[numbers.index(failed["itemIdentifier"]) :]
    for _ in range(2):
        assert deployed.consume({"Records": left}, None)["batchItemFailures"] == []
    assert deployed.ids() == ids
    assert len(deployed.items()) == 1
    events = deployed.api.get("/events", query={"types": "job.completed"}).json["events"]
    assert len(events) == 1


def test_limited_retried_and_lambda_jobs_leave_no_row(deployed: Deployed) -> None:
    """Whatever the way to the end, ACK is the same write."""
    backend = deployed.backend
    limited = deployed.complete(1, rate_limit={"key": "k", "concurrency": 1})
    backend.jobs.push(Job("a.b", retry={"max_attempts": 2, "initial_interval": "PT0.001S"}))
    (held,) = backend.jobs.fetch(FETCH)
    backend.jobs.fail(held.id, WORKER, parse_object('{"type":"Broken","message":"no"}'))
    deployed.flow()
    deployed.clock.advance(s=1)
    (again,) = backend.jobs.fetch(FETCH)
    backend.jobs.ack(again.id, WORKER, None, has_message=False)
    deployed.flow()
    assert again.id == held.id
    assert deployed.ids() == [held.id, *limited]
