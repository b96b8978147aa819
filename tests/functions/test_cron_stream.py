"""Cron jobs through the real adapters: their events, and their alarms."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.events import REQUIRED_DATA, EventQuery
from ojs_aws.domain.json_text import decode
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.transport.events.stream import Handler, build_stream
from ojs_aws.transport.events.tick import build_tick
from tests.api import Api
from tests.aws import EmbeddedAws, changes_of, embedded

CRON = {"name": "minutely", "cron": "* * * * *", "type": "demo.echo", "args": [1]}


class Stream:
    """Hands the table's changes to the consumer."""

    def __init__(self, aws: EmbeddedAws, backend: Backend) -> None:
        self._read = changes_of(aws)
        self._set_aside: list[str] = []
        self._handler: Handler = build_stream(
            backend, read_image, count=lambda _, name: self._set_aside.append(name)
        )

    def flow(self) -> None:
        """Hand over everything."""
        while True:
            records, done = self._read()
            if not records:
                return
            assert self._handler({"Records": records}, None) == {"batchItemFailures": []}
            assert self._set_aside == []
            done()


def minute(backend: Backend, clock: FakeClock) -> None:
    """A minute with a tick."""
    clock.advance(s=60)
    build_tick(backend)({}, None)


def cron_events(backend: Backend) -> list[tuple[str, dict[str, Any]]]:
    """The events of cron jobs with their data."""
    events = backend.events.read(EventQuery(limit=1000)).events
    found = []
    for event in events:
        data = decode(event.data)
        if event.type.startswith("cron.") and isinstance(data, dict):
            assert event.subject == CRON["name"]
            assert set(REQUIRED_DATA[event.type]) <= set(data)
            found.append((event.type, data))
    return found


def test_cron_events_say_what_became_of_each_occurrence(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """CRON-29, CRON-30: triggered and skipped, each once."""
    stream = Stream(aws, backend)
    Api(backend).post("/cron", CRON)
    minute(backend, clock)
    [job] = backend.jobs.fetch(FetchRequest(("default",), 5, "w"))
    minute(backend, clock)
    backend.cron.service.set_enabled("minutely", is_enabled=False)
    stream.flow()
    types, (_, triggered, skipped, _) = zip(*cron_events(backend), strict=True)
    assert types == ("cron.registered", "cron.triggered", "cron.skipped", "cron.updated")
    assert (triggered["job_id"], triggered["run_count"]) == (job.id, 1)
    assert triggered["scheduled_at"] < triggered["actual_time"]
    assert (skipped["reason"], skipped["existing_job_id"]) == ("overlap_skip", job.id)


@pytest.mark.moto
def test_the_end_of_a_run_wakes_the_one_that_waits(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """By an alarm, without waiting for the tick."""
    stream = Stream(aws, backend)
    Api(backend).post("/cron", CRON | {"overlap_policy": "enqueue"})
    minute(backend, clock)
    minute(backend, clock)
    url = f"{aws.settings.queue_url_prefix}ojs-CRON"
    aws.clients.sqs.purge_queue(QueueUrl=url)
    [job] = backend.jobs.fetch(FetchRequest(("default",), 5, "w"))
    backend.jobs.ack(job.id, "w", None)
    assert backend.jobs.fetch(FetchRequest(("default",), 5, "w")) == []
    stream.flow()
    [alarm] = aws.clients.sqs.receive_message(QueueUrl=url)["Messages"]
    assert build_tick(backend)({"Records": [{"body": alarm["Body"]}]}, None)["cron_failed"] == 0
    assert len(backend.jobs.fetch(FetchRequest(("default",), 5, "w"))) == 1


def test_a_tick_with_nothing_due_costs_one_query(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """However many cron jobs wait for another day."""
    api = Api(backend)
    for number in range(5):
        api.post("/cron", CRON | {"name": f"yearly-{number}", "cron": "@yearly"})
    clock.advance(s=60)
    with aws.calls.counted() as calls:
        backend.cron.scheduler.tick()
    assert calls == {"Query": 1}


def test_an_occurrence_costs_six_calls(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """Read, claim, alarm, push (two), settle; one more read where a run has not ended.

    The settings of the queue are read once in some seconds.
    """
    Api(backend).post("/cron", CRON)
    clock.advance(s=60)
    with aws.calls.counted() as calls:
        backend.cron.scheduler.fire("minutely")
    assert calls.pop("BatchGetItem") == 1
    assert calls == {"GetItem": 1, "UpdateItem": 2, "SendMessage": 2, "PutItem": 1}


def test_many_ticks_at_once_enqueue_each_occurrence_once() -> None:
    """CRON-21: on the real adapters, with an AWS whose calls are atomic and nothing else is."""
    with embedded() as aws:
        clock = FakeClock()
        backends = [
            build_backend(aws.settings, aws.clients, clock=clock, parallel=IN_ORDER)
            for _ in range(8)
        ]
        api = Api(backends[0])
        for number in range(3):
            api.post("/cron", CRON | {"name": f"job-{number}", "overlap_policy": "allow"})
        for _ in range(3):
            clock.advance(s=60)
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda backend: backend.cron.scheduler.tick(), backends))
        clock.advance(s=10)
        backends[0].cron.scheduler.tick()
        assert [entry.run_count for entry in backends[0].cron.service.list()] == [3, 3, 3]
        jobs = backends[0].jobs.fetch(FetchRequest(("default",), 100, "w"))
        assert len(jobs) == 9
