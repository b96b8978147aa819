"""What server-sent events cost, and a notice where events of the real log have expired."""

from __future__ import annotations

from ojs_aws.domain.events import Event, event_id
from ojs_aws.domain.json_text import RawJson
from ojs_aws.services.backend import Backend
from ojs_aws.testing.deployment import FakeClock
from tests.api import Api
from tests.aws import EmbeddedAws
from tests.unit.transport.http.events.test_stream_handlers import frames_of, last_id


def publish(backend: Backend, clock: FakeClock, number: int, job_id: str) -> None:
    """Append an event to the log."""
    now = clock.now()
    made = Event(
        id=event_id(now, number),
        type="job.started",
        time=now,
        queue="default",
        subject=job_id,
        job_type="demo.echo",
        data=RawJson(f'{{"job_id":"{job_id}","attempt":{number}}}'),
    )
    backend.events.append([made], now)
    clock.advance(s=1)


def test_each_answer_of_a_stream_costs_one_query(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """And a read of the job or the queue that is followed; however many events there are."""
    api = Api(backend)
    job_id = api.push()
    publish(backend, clock, 0, job_id)
    for path, reads in (
        ("/events/stream", {}),
        (f"/jobs/{job_id}/events", {"GetItem": 1}),
        ("/queues/default/events", {"GetItem": 1}),
    ):
        with aws.calls.counted() as calls:
            begun = api.get(path)
        assert calls == {"Query": 1, **reads}, path
        for number in range(30):
            publish(backend, clock, number, job_id)
        with aws.calls.counted() as calls:
            reply = api.get(path, headers={"Last-Event-ID": last_id(begun)})
        assert calls == {"Query": 1, **reads}, path
        assert len(frames_of(reply)) == 30


def test_events_that_expired_meanwhile_are_a_gap(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """The notice comes first, then what is left of the log (section 5.5.1)."""
    api = Api(backend)
    job_id = api.push()
    publish(backend, clock, 0, job_id)
    place = last_id(api.get("/events/stream"))
    for number in (1, 2):
        publish(backend, clock, number, job_id)
    lost = place.partition("-")[0]
    key = {"pk": {"S": "events"}, "sk": {"S": lost}}
    aws.clients.dynamodb.delete_item(TableName=aws.settings.table, Key=key)
    reply = api.get("/events/stream", headers={"Last-Event-ID": place})
    gap, event = frames_of(reply)
    assert gap.name == "system.gap"
    assert gap.data["gap_start"] < gap.data["gap_end"] == event.data["timestamp"]
    assert event.data["attempt"] == 2
