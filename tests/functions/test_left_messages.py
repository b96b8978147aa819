"""Messages of completed jobs are deleted by the stream's consumer: ten in a call, none wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pytest

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.bootstrap import build_backend
from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.local.triggers import ReadStream
from ojs_aws.memory_aws.queues import MemoryQueue
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.stored_jobs.messages import STILL_HELD_MS
from ojs_aws.topology import sqs_queue_name
from ojs_aws.transport.events.stream import build_stream
from tests.aws import changes_of, embedded
from tests.simulation.world import World

LEAVING: Final = Settings(stream_deletes_messages=True, default_visibility_timeout_s=30)
RESERVED_MS: Final = 30_000
WORKER: Final = "w"
FETCH: Final = FetchRequest(("default",), worker_id=WORKER)


def records_of(stream: ReadStream) -> list[Any]:
    """Return what was committed since the last time."""
    records, done = stream()
    done()
    return records


def ended(backend: Any, count: int) -> None:
    """Push jobs, fetch them and complete them."""
    for _ in range(count):
        backend.jobs.push(Job("a.b"))
    for job in backend.jobs.fetch(replace(FETCH, count=count)):
        backend.jobs.ack(job.id, WORKER, None)


def test_ack_makes_one_call_and_the_stream_deletes_ten_messages_in_one() -> None:
    """Seven calls a job, and a tenth in the stream; without the setting eight."""
    with embedded() as aws:
        settings = replace(aws.settings, stream_deletes_messages=True)
        backend = build_backend(settings, aws.clients, parallel=IN_ORDER)
        stream = changes_of(aws)
        consume = build_stream(backend, read_image, measure=lambda *_: None)
        ended(backend, 1)
        consume({"Records": records_of(stream)}, None)
        for _ in range(10):
            backend.jobs.push(Job("a.b"))
        held = backend.jobs.fetch(replace(FETCH, count=10))
        with aws.calls.counted() as calls:
            for job in held:
                backend.jobs.ack(job.id, WORKER, None)
        assert calls == {"UpdateItem": 10}
        url = settings.queue_url_prefix + "ojs-default"
        with aws.calls.counted() as calls:
            consume({"Records": records_of(stream)}, None)
        assert calls["DeleteMessageBatch"] == 1
        assert calls["DeleteMessage"] == 0
        left = aws.clients.sqs.get_queue_attributes(
            QueueUrl=url,
            AttributeNames=["ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessages"],
        )
        assert {*left["Attributes"].values()} == {"0"}
        plain = build_backend(aws.settings, aws.clients, parallel=IN_ORDER)
        plain.jobs.push(Job("a.b"))
        (job,) = plain.jobs.fetch(FETCH)
        with aws.calls.counted() as calls:
            plain.jobs.ack(job.id, WORKER, None)
        assert calls == {"UpdateItem": 1, "DeleteMessage": 1}
        with aws.calls.counted() as calls:
            consume({"Records": records_of(stream)}, None)
        assert calls["DeleteMessage"] == calls["DeleteMessageBatch"] == 0


class AnyHandleQueue(MemoryQueue):
    """Deletes by any handle that a message was ever received with, as SQS may."""

    def delete(self, handle: str) -> None:
        """Delete the message, if it is there."""
        message = self.messages.get(handle.rpartition("#")[0])
        if message is not None:
            self.remove(message)


@dataclass
class Deployed:
    """A backend whose ACK leaves messages, and the records that its stream has.

    :ivar deleted: handles by call.
    """

    world: World = field(default_factory=lambda: World(settings=LEAVING))
    records: list[Any] = field(default_factory=list)
    deleted: list[Sequence[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Note each change of a job, and each deletion."""
        world = self.world
        name = sqs_queue_name(LEAVING.queue_prefix, "default")
        queues = world.aws.queues.queues
        queues[name] = AnyHandleQueue(name, queues[name].attributes, lambda: world.clock.at)
        world.follow_jobs(self._write)
        delete = world.messages.delete

        def noted(queue: str, handles: Sequence[str]) -> None:
            self.deleted.append(tuple(handles))
            delete(queue, handles)

        world.messages.delete = noted  # type: ignore[method-assign]

    def _write(self, before: JobRecord | None, after: JobRecord | None) -> None:
        job = after or before
        assert job is not None
        change = {
            "Keys": {"pk": job.id},
            "OldImage": before,
            "NewImage": after,
            "SequenceNumber": f"{len(self.records):06d}",
            "ApproximateCreationDateTime": self.world.clock.at / 1000,
        }
        self.records.append({"dynamodb": change})

    def consumer(self) -> Any:
        """Return a consumer in a new process."""
        read: Any = lambda image: image  # noqa: E731 - the records hold jobs
        return build_stream(self.world.backend, read, count=lambda *_: None)

    def publish(self, consume: Any = None) -> None:
        """Let a process read all records."""
        assert (consume or self.consumer())({"Records": self.records}, None) == {
            "batchItemFailures": []
        }

    def push(self) -> str:
        """Push a job."""
        record = self.world.backend.jobs.push(Job("a.b")).record
        assert record is not None
        return record.id

    def fetch(self) -> JobRecord:
        """Fetch a job."""
        (job,) = self.world.backend.jobs.fetch(FETCH)
        return job

    def messages(self) -> int:
        """Count the messages that there are."""
        return self.world.messages.backlog("default").total


def test_a_message_is_deleted_until_its_reservation_nearly_ends() -> None:
    """The instant before is late enough; from then on the message may be somebody's."""
    for late_ms, left in ((0, 0), (RESERVED_MS - STILL_HELD_MS, 0)):
        deployed = Deployed()
        deployed.push()
        deployed.world.backend.jobs.ack(deployed.fetch().id, WORKER, None)
        assert deployed.messages() == 1
        deployed.world.clock.advance(ms=late_ms)
        deployed.publish()
        assert deployed.messages() == left
    deployed = Deployed()
    deployed.push()
    deployed.world.backend.jobs.ack(deployed.fetch().id, WORKER, None)
    deployed.world.clock.advance(ms=RESERVED_MS - STILL_HELD_MS + 1)
    deployed.publish()
    assert deployed.messages() == 1


def test_a_late_stream_deletes_no_message_of_another_job() -> None:
    """It came back, another job runs under it, and the old handle would delete it, too."""
    deployed = Deployed()
    deployed.push()
    deployed.world.backend.jobs.ack(deployed.fetch().id, WORKER, None)
    deployed.world.clock.advance(ms=RESERVED_MS + 1)
    second = deployed.push()
    queue = deployed.world.queue()
    assert queue is not None
    queue.remove([*queue.messages.values()][-1])  # its own message was lost
    held = deployed.fetch()
    assert held.id == second
    assert held.reservation is not None
    assert held.reservation.message_handle
    deployed.publish()
    assert deployed.messages() == 1
    assert deployed.deleted == []
    deployed.world.backend.jobs.ack(second, WORKER, None)
    deployed.publish()
    assert deployed.messages() == 0


def test_a_message_that_comes_back_is_found_to_be_stray() -> None:
    """Nobody reads the stream: the next FETCH deletes it, and no job runs a second time."""
    deployed = Deployed()
    done = deployed.push()
    deployed.world.backend.jobs.ack(deployed.fetch().id, WORKER, None)
    deployed.world.clock.advance(ms=RESERVED_MS + 1)
    assert deployed.world.backend.jobs.fetch(FETCH) == []
    assert deployed.messages() == 0
    job = deployed.world.stored.jobs[done]
    assert (job.state, job.attempt) == (JobState.COMPLETED, 1)


def test_a_repeated_record_deletes_nothing_twice_in_one_process() -> None:
    """Another process repeats the call; SQS does not mind."""
    deployed = Deployed()
    for _ in range(12):
        deployed.push()
    for _ in range(12):
        deployed.world.backend.jobs.ack(deployed.fetch().id, WORKER, None)
    consume = deployed.consumer()
    deployed.publish(consume)
    assert [len(handles) for handles in deployed.deleted] == [12]
    deployed.publish(consume)
    assert len(deployed.deleted) == 1
    deployed.publish()
    assert len(deployed.deleted) == 2
    assert deployed.messages() == 0


def test_a_message_that_cannot_be_deleted_holds_up_no_event() -> None:
    """It comes back and is found to be stray."""
    deployed = Deployed()
    deployed.push()
    deployed.world.backend.jobs.ack(deployed.fetch().id, WORKER, None)

    def refuse(queue: str, handles: Sequence[str]) -> None:
        raise BackendError(f"{queue}: {handles}")

    deployed.world.messages.delete = refuse  # type: ignore[method-assign]
    deployed.publish()
    assert [event.type for event in deployed.world.published()][-1] == "job.completed"
    assert deployed.messages() == 1


@pytest.mark.parametrize("ending", ["fail", "cancel", "lambda"])
def test_only_an_ack_over_http_leaves_its_message(ending: str) -> None:
    """The trigger of a Lambda worker deletes by itself, and other endings delete at once."""
    deployed = Deployed()
    deployed.push()
    job = deployed.fetch()
    jobs = deployed.world.backend.jobs
    if ending == "lambda":
        jobs.ack(job.id, WORKER, None, has_message=False)
    elif ending == "cancel":
        jobs.cancel(job.id)
    else:
        jobs.fail(job.id, WORKER, parse_object('{"code": "x", "message": "x", "retryable": false}'))
    before = len(deployed.deleted)
    deployed.publish()
    assert len(deployed.deleted) == before
    assert not deployed.world.stored.jobs[job.id].is_message_left


def test_a_job_that_an_earlier_version_completed_has_no_message_left() -> None:
    """Its item lacks the attribute, so its message is not deleted again."""
    deployed = Deployed()
    deployed.push()
    deployed.world.backend.jobs.ack(deployed.fetch().id, WORKER, None)
    change = deployed.records[-1]["dynamodb"]
    change["NewImage"] = replace(change["NewImage"], is_message_left=False)
    deployed.publish()
    assert deployed.deleted == []
