"""Lifecycle events: the right ones, with the data that ojs-events demands, in order, kept apart."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from ojs_aws.domain.events import REQUIRED_DATA, SOURCE, Event, bounded, event_id, render_event
from ojs_aws.domain.job import StoredElsewhere
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.queues import QueueInfo
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.domain.workers import WorkerInfo
from ojs_aws.services.events import Commit, events_of
from ojs_aws.transport.events.hooks import hook_of
from tests.api import BASE, Api
from tests.jobs import noise
from tests.simulation.world import World

ID = re.compile(
    r"evt_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.ASCII
)


@dataclass
class Watched:
    """A backend whose committed writes are published, as the table's stream does it."""

    world: World = field(default_factory=World)
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.api = Api(self.world.backend)
        store = self.world.store
        for name in ("insert", "save", "claim", "extend", "acknowledge", "delete"):
            setattr(store, name, self._recorded(getattr(store, name)))

    def _recorded(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(*arguments: Any, **named: Any) -> Any:
            jobs = self.world.stored.jobs
            before = dict(jobs)
            answer = write(*arguments, **named)
            for job_id in {*before, *jobs}:
                if jobs.get(job_id) is not before.get(job_id):
                    commit = Commit(self.world.clock.now())
                    self.events += events_of(before.get(job_id), jobs.get(job_id), commit)
            return answer

        return recorded

    def push(self, **attributes: Any) -> str:
        """Push a job; its id."""
        reply = self.api.post("/jobs", {"type": "demo.echo", "args": [1]} | attributes)
        assert reply.status == 201, reply.text
        return str(reply.json["job"]["id"])

    def fetch(self, **more: Any) -> None:
        """Fetch a job."""
        body = {"queues": ["default"], "worker_id": "w1", "visibility_timeout_ms": 10_000} | more
        assert self.api.post("/workers/fetch", body).json["jobs"]

    def post(self, path: str, **body: Any) -> None:
        """Send a request that must succeed."""
        reply = self.api.post(path, body)
        assert reply.status == 200, reply.text

    @property
    def types(self) -> list[str]:
        """Return what was published."""
        return [event.type for event in self.events]

    def data(self, kind: str) -> dict[str, Any]:
        """Data of the only event of a type."""
        (event,) = [event for event in self.events if event.type == kind]
        return dict(json.loads(event.data))


@pytest.fixture
def watched() -> Watched:
    """A fresh backend."""
    return Watched()


def completed(watched: Watched) -> None:
    job = watched.push(priority=5)
    watched.fetch()
    watched.world.clock.advance(ms=1333)
    watched.post("/workers/ack", job_id=job, worker_id="w1", result={"sum": 10**30})


def retried(watched: Watched) -> None:
    job = watched.push(retry={"max_attempts": 2, "initial_interval": "PT1S", "jitter": False})
    for _ in range(2):
        watched.fetch()
        error = {"code": "handler_error", "message": "it broke", "details": {"a": 1}}
        watched.post("/workers/nack", job_id=job, worker_id="w1", error=error)
        watched.world.clock.advance(s=2)
        watched.api.get(f"/jobs/{job}")


def lost(watched: Watched) -> None:
    job = watched.push(retry={"max_attempts": 1})
    watched.fetch()
    watched.world.clock.advance(s=20)
    watched.api.get(f"/jobs/{job}")


def dead(watched: Watched) -> None:
    job = watched.push(retry={"max_attempts": 1})
    watched.fetch(visibility_timeout_ms=600_000, heartbeat_interval_ms=5000)
    watched.world.clock.advance(s=60)
    watched.api.get(f"/jobs/{job}")


def lost_and_back(watched: Watched) -> None:
    job = watched.push()
    watched.fetch()
    watched.world.clock.advance(s=20)
    watched.api.get(f"/jobs/{job}")


def timed_out(watched: Watched) -> None:
    job = watched.push(timeout=5, retry={"max_attempts": 1})
    watched.fetch()
    watched.world.clock.advance(s=20)
    watched.api.get(f"/jobs/{job}")


def beaten(watched: Watched) -> None:
    job = watched.push()
    watched.fetch()
    watched.world.clock.advance(s=3)
    watched.post("/workers/heartbeat", worker_id="w1", active_jobs=[job])


def scheduled(watched: Watched) -> None:
    job = watched.push(scheduled_at="+PT1H")
    watched.world.clock.advance(s=3601)
    watched.api.get(f"/jobs/{job}")


def expired(watched: Watched) -> None:
    job = watched.push(expires_at="+PT5M")
    watched.world.clock.advance(s=301)
    watched.api.get(f"/jobs/{job}")


def cancelled(watched: Watched) -> None:
    path = f"{BASE}/jobs/{watched.push(scheduled_at='+PT1H')}"
    assert watched.api.send("DELETE", path).status == 200


def revived(watched: Watched) -> None:
    lost(watched)
    watched.post(f"/dead-letter/{watched.events[0].subject}/retry")


LIVES: dict[Callable[[Watched], None], list[str]] = {
    completed: ["job.enqueued", "job.started", "job.completed"],
    retried: [
        "job.enqueued",
        "job.started",
        "job.failed",
        "job.retrying",
        "job.enqueued",
        "job.started",
        "job.failed",
        "job.discarded",
    ],
    lost: ["job.enqueued", "job.started", "job.failed", "job.discarded"],
    dead: ["job.enqueued", "job.started", "job.failed", "job.discarded"],
    lost_and_back: ["job.enqueued", "job.started", "job.failed", "job.enqueued"],
    timed_out: ["job.enqueued", "job.started", "job.failed", "job.discarded"],
    beaten: ["job.enqueued", "job.started", "job.heartbeat"],
    scheduled: ["job.scheduled", "job.enqueued"],
    expired: ["job.enqueued", "job.expired"],
    cancelled: ["job.scheduled", "job.cancelled"],
    revived: ["job.enqueued", "job.started", "job.failed", "job.discarded", "job.enqueued"],
}


@pytest.mark.parametrize("life", LIVES, ids=lambda life: str(life.__name__))
def test_ext_011_each_transition_has_its_events_in_lifecycle_order(
    watched: Watched, life: Callable[[Watched], None]
) -> None:
    """Sections 3.1, 3.2 and 5.2.4; a failed attempt first, then what became of the job."""
    life(watched)
    assert watched.types == LIVES[life]
    times = [event.time for event in watched.events]
    assert times == sorted(times)
    sequence = [event.sequence for event in watched.events]
    assert sequence == sorted(sequence)


@pytest.mark.parametrize("life", LIVES, ids=lambda life: str(life.__name__))
def test_each_event_has_the_envelope_and_the_data_of_its_type(
    watched: Watched, life: Callable[[Watched], None]
) -> None:
    """Sections 2, 4 and 5.2; ids are those of a UUIDv7, and no two are the same."""
    life(watched)
    for event in watched.events:
        envelope = json.loads(render_event(event))
        data = envelope["data"]
        assert set(REQUIRED_DATA[event.type]) <= set(data), event.type
        assert (envelope["specversion"], envelope["source"]) == ("1.0", SOURCE)
        assert envelope["datacontenttype"] == "application/json"
        assert envelope["subject"] == data["job_id"] == event.subject
        assert envelope["time"] == format_instant(event.time)
        assert (data["job_type"], data["queue"]) == (event.job_type, event.queue)
        assert ID.fullmatch(envelope["id"])
        assert int(envelope["id"][4:17].replace("-", ""), 16) == event.time
        for name in ("error", "last_error"):
            if name in data:
                assert isinstance(data[name]["code"], str)
                assert isinstance(data[name]["message"], str)
                assert isinstance(data[name]["retryable"], bool)
    assert len({event.id for event in watched.events}) == len(watched.events)


def test_the_data_of_completed(watched: Watched) -> None:
    """Section 4.1: wall-clock time, attempt, and the result exactly."""
    completed(watched)
    data = watched.data("job.completed")
    assert (data["duration_ms"], data["attempt"], data["result"]) == (1333, 1, {"sum": 10**30})
    assert watched.data("job.enqueued")["priority"] == 5
    assert watched.data("job.started")["worker_id"] == "w1"


def test_a_result_that_is_kept_elsewhere_is_not_null_in_the_event(watched: Watched) -> None:
    """It is left out: null would say that there was none."""
    completed(watched)
    job = watched.world.stored.jobs[watched.events[0].subject]
    large = replace(job, result=StoredElsewhere("item", "x", 10**6))
    (event,) = events_of(None, large, Commit(Instant(0)))
    assert "result" not in json.loads(event.data)


def test_the_data_of_retrying(watched: Watched) -> None:
    """Section 4.1: when, which attempt, and of how many."""
    retried(watched)
    data = watched.data("job.retrying")
    assert (data["attempt"], data["max_attempts"]) == (1, 2)
    assert data["next_retry_at"] > format_instant(watched.events[2].time)
    assert data["error"]["details"] == {"a": 1}
    gone = watched.data("job.discarded")
    assert (gone["total_attempts"], gone["dead_letter"]) == (2, False)


@pytest.mark.parametrize(
    ("life", "kind"),
    [
        (lost, deadlines.VISIBILITY_TIMEOUT),
        (dead, deadlines.WORKER_DEATH),
        (timed_out, deadlines.TIMEOUT),
    ],
)
def test_a_lost_reservation_and_a_timeout_have_different_events(
    watched: Watched, life: Callable[[Watched], None], kind: str
) -> None:
    """By the type of the failed attempt's error; and they happened when time ended it."""
    life(watched)
    assert watched.data("job.failed")["error"]["type"] == kind
    failed = watched.events[2]
    assert failed.time < watched.world.clock.now()
    assert hook_of(failed) == ("" if kind == deadlines.TIMEOUT else "reservation_lost")


def test_the_data_of_a_heartbeat(watched: Watched) -> None:
    """Section 4.1: the new end of the reservation; reported when it was committed."""
    beaten(watched)
    data = watched.data("job.heartbeat")
    assert data["worker_id"] == "w1"
    assert watched.events[-1].time == watched.world.clock.now()
    assert data["visible_until"] > format_instant(watched.world.clock.now())


def test_two_heartbeats_have_two_ids(watched: Watched) -> None:
    """Also within the second that the stream's clock knows."""
    beaten(watched)
    watched.world.clock.advance(ms=1)
    watched.post("/workers/heartbeat", worker_id="w1", active_jobs=[watched.events[0].subject])
    assert watched.types[-2:] == ["job.heartbeat"] * 2
    assert watched.events[-1].id != watched.events[-2].id


def test_the_data_of_expiry(watched: Watched) -> None:
    """Section 4.1: the time to live that was configured, whenever it was found to be over."""
    expired(watched)
    assert watched.data("job.expired")["ttl_ms"] == 300_000


@pytest.mark.parametrize(
    ("meta", "trace"),
    [
        ({"trace_id": "4bf92f35"}, "4bf92f35"),
        ({"traceparent": f"00-{'4b' * 16}-{'f0' * 8}-01"}, "4b" * 16),
        ({"traceparent": "nonsense"}, None),
        ({"trace_id": 5}, None),
        ({}, None),
    ],
)
def test_events_of_a_job_with_a_trace_carry_its_id(
    watched: Watched, meta: dict[str, Any], trace: str | None
) -> None:
    """Section 8: whichever of the two the job has."""
    watched.push(meta=meta)
    assert watched.data("job.enqueued").get("trace_id") == trace


def test_a_trace_is_known_also_of_a_document_that_is_kept_elsewhere(watched: Watched) -> None:
    """Its place says so: no event costs a read."""
    job = watched.world.stored.jobs[watched.push()]
    elsewhere = replace(job, document=StoredElsewhere("s3", "x", 10**6, "4bf92f35"))
    (event,) = events_of(None, elsewhere, COMMIT)
    assert json.loads(event.data)["trace_id"] == "4bf92f35"


def test_half_of_a_surrogate_pair_in_a_trace_keeps_no_job_out(watched: Watched) -> None:
    """The place of a long document has the trace as text, which UTF-8 must be able to say."""
    job = watched.push(meta={"trace_id": "4b\ud800"}, args=[noise(20_000)])
    assert watched.world.stored.jobs[job].id == job
    assert watched.data("job.enqueued")["trace_id"] == "4b?"


def test_a_repeated_record_repeats_the_ids_and_another_write_does_not(watched: Watched) -> None:
    """Ids depend on the write alone, not on who reads it or when."""
    completed(watched)
    job = watched.world.stored.jobs[watched.events[0].subject]
    commit = Commit(Instant(5), "1")
    again = events_of(None, job, commit)
    assert again == events_of(None, job, commit)
    other = replace(job, version=job.version + 1)
    assert events_of(None, other, commit)[0].id != again[0].id


def test_an_id_that_is_used_again_has_events_of_its_own(watched: Watched) -> None:
    """A job that was deleted and pushed again at another time is another one."""
    job = watched.world.stored.jobs[watched.push()]
    moved = replace(job, created_at=Instant(job.created_at + 1), enqueued_at=None)
    commit = Commit(Instant(0))
    assert events_of(None, moved, commit)[0].id != watched.events[0].id


# --------------------------------------------------------------------------- workers and queues

SEEN = Instant(1_760_000_000_000)
COMMIT = Commit(Instant(SEEN + 900), "77")


def worker(**changes: Any) -> WorkerInfo:
    """A worker."""
    about = '{"queues":["default","email"],"concurrency":10,"hostname":"h"}'
    return replace(WorkerInfo(id="w1", last_seen=SEEN, about=about), **changes)


LATER = Instant(SEEN + 5000)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, worker(), ["worker.started"]),
        (worker(), worker(last_seen=LATER), ["worker.heartbeat"]),
        (
            worker(),
            worker(last_seen=LATER, state="quiet", active_jobs=3),
            ["worker.quiet", "worker.heartbeat"],
        ),
        (
            worker(state="quiet"),
            worker(state="quiet", last_seen=LATER),
            ["worker.heartbeat"],
        ),
        (worker(), worker(directive="quiet"), ["worker.directed"]),
        (
            worker(state="quiet"),
            worker(state="terminate", last_seen=LATER, active_jobs=1),
            ["worker.heartbeat"],
        ),
        (worker(), worker(state="terminate", last_seen=LATER), ["worker.stopped"]),
        (worker(state="terminate"), worker(state="terminate", last_seen=LATER), []),
        (worker(state="terminate"), worker(last_seen=LATER), ["worker.started"]),
        (worker(state="terminate"), None, []),
        (worker(), None, ["worker.stopped"]),
    ],
)
def test_the_life_of_a_worker_is_reported(
    before: WorkerInfo | None, after: WorkerInfo | None, expected: list[str]
) -> None:
    """Section 4.3, from what its heartbeats say."""
    events = events_of(before, after, COMMIT)
    assert [event.type for event in events] == expected
    for event in events:
        data = json.loads(event.data)
        assert set(REQUIRED_DATA[event.type]) <= set(data)
        assert (event.subject, data["worker_id"]) == ("w1", "w1")
    assert len({event.id for event in events}) == len(events)


def test_a_lost_worker_has_another_reason_than_one_that_ended() -> None:
    """The reasons of section 4.3."""
    (lost_one,) = events_of(worker(), None, COMMIT)
    (ended,) = events_of(worker(), worker(state="terminate", last_seen=LATER), COMMIT)
    assert json.loads(lost_one.data)["reason"] == "error"
    assert json.loads(ended.data)["reason"] == "shutdown"


def test_what_a_worker_said_of_itself_is_reported() -> None:
    """Queues and concurrency; none where it said nothing that can be used."""
    (event,) = events_of(None, worker(), COMMIT)
    data = json.loads(event.data)
    assert (data["queues"], data["concurrency"]) == (["default", "email"], 10)
    (event,) = events_of(None, worker(about='{"queues":5,"concurrency":"x"}'), COMMIT)
    data = json.loads(event.data)
    assert (data["queues"], data["concurrency"]) == ([], 0)


def test_pausing_and_resuming_are_the_only_events_of_a_queue_item() -> None:
    """Section 4.2; sweeps touch a queue's item each minute."""
    running = QueueInfo(name="email", created_at=SEEN)
    paused = replace(running, paused_at=LATER)
    swept = replace(paused, swept_until=LATER)
    assert [event.type for event in events_of(running, paused, COMMIT)] == ["queue.paused"]
    (resumed,) = events_of(paused, running, COMMIT)
    assert (resumed.type, resumed.queue, resumed.subject) == ("queue.resumed", "email", "email")
    assert json.loads(resumed.data) == {"queue": "email"}
    named = (
        replace(paused, paused_by=f"{LATER} alice"),
        replace(running, resumed_by="7 key:1\tbob"),
    )
    (by_alice,), (by_bob,) = events_of(running, named[0], COMMIT), events_of(*named, COMMIT)
    assert json.loads(by_alice.data) == {"queue": "email", "by": {"id": "alice", "name": "alice"}}
    assert json.loads(by_bob.data) == {"queue": "email", "by": {"id": "key:1", "name": "bob"}}
    for before, after in ((None, running), (paused, swept), (running, None)):
        assert events_of(before, after, COMMIT) == []
    assert len(events_of(None, paused, COMMIT)) == 1


def test_an_item_of_another_kind_is_an_error() -> None:
    """Whoever adds a reader must add a mapping, too."""
    with pytest.raises(KeyError):
        events_of(None, object(), COMMIT)


# ----------------------------------------------------------------------------------- bounded size


def test_data_that_is_too_large_keeps_what_its_type_requires() -> None:
    """A result goes first, then an error's details, then long texts; what is left says so."""
    error = {"code": "c", "message": "m" * 2000, "retryable": True, "details": "d" * 9000}
    data = {"job_type": "a.b", "queue": "q", "attempt": 1, "error": error, "result": "r" * 9000}
    event = Event(
        id=event_id(SEEN, 1),
        type="job.failed",
        time=SEEN,
        queue="q",
        subject="j",
        data=RawJson(json.dumps(data)),
    )
    assert bounded(event, 100_000) is event
    short = json.loads(bounded(event, 5000).data)
    assert set(REQUIRED_DATA["job.failed"]) <= set(short)
    assert short["error"] == {"code": "c", "message": "m" * 500, "retryable": True}
    assert short["truncated"] is True
