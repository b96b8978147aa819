"""Wide queues through the real adapters: what FETCH reads, what operators see, and costs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from ojs_aws.bootstrap import build_backend
from ojs_aws.config import Settings
from ojs_aws.domain.errors import BackendUnavailableError, JsonValue, UnsupportedError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.jobs.ready_keys import line_of, read_line, shard_of
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.queues import Message, ReceivedMessage
from ojs_aws.domain.queues.config import DEFAULT_POLICY
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.services.backend import Backend
from ojs_aws.services.bulk.purge import Purge
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.testing.deployment import CountingIds, FakeClock
from tests.aws import in_memory
from tests.job_steps import pushed
from tests.jobs import any_job

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.settings import QueueSettingsStore
    from ojs_aws.adapters.sqs import MessageQueue

LINES = 8
REQUEST = FetchRequest(("mail",), worker_id="w")


class Office:
    """A deployment with a wide queue, as producers, workers and operators use it.

    Its ids are the same in each run, and so are the lines that its jobs go to.
    """

    def __init__(self) -> None:
        self.clock, self.ids = FakeClock(), CountingIds()
        settings = Settings(queues=("default", "mail"), wide_queues=(("mail", LINES),))
        self.aws = in_memory(settings, lambda: self.clock.at)
        self.backend = self.process()
        self.spread(LINES)
        self.backend.queues.push_settings.of("mail")

    def process(self, **changes: Any) -> Backend:
        """Another process of the deployment."""
        settings = replace(self.aws.settings, **changes)
        made = build_backend(
            settings, self.aws.clients, clock=self.clock, ids=self.ids, parallel=IN_ORDER
        )
        made.jobs.fetch.limited_types.of("mail")
        return made

    def spread(self, shards: int) -> None:
        """Spread new jobs over so many lines."""
        self.set(ordering_shards=shards)

    def set(self, **settings: JsonValue) -> None:
        """Change settings of the queue, and let caches end."""
        self.backend.queues.config.change("mail", settings)
        self.clock.advance(s=6)
        self.backend.jobs.fetch.limited_types.of("mail")
        self.backend.queues.push_settings.of("mail")

    def push(self, **attributes: Any) -> JobRecord:
        """Enqueue a job."""
        return pushed(self.backend, queue="mail", **attributes)

    def push_into(self, shard: int, **attributes: Any) -> JobRecord:
        """Enqueue a job that stands in one line."""
        while True:
            job_id = self.backend.ids.job_id()
            if shard_of(job_id, LINES) == shard:
                return self.push(id=job_id, **attributes)

    def fetch(self, count: int = 1, backend: Backend | None = None) -> list[JobRecord]:
        """Claim jobs."""
        return (backend or self.backend).jobs.fetch(replace(REQUEST, count=count))

    def receive(self, count: int = 10) -> list[ReceivedMessage]:
        """Take messages, as a trigger of Lambda does."""
        return self.backend.stores.messages.receive("mail", count, 900)

    def lose_messages(self) -> None:
        """Delete all messages."""
        while found := self.receive():
            self.backend.stores.messages.delete("mail", [each.handle for each in found])

    def drain(self, count: int = 10) -> list[JobRecord]:
        """Run all jobs; return them as they came."""
        ran: list[JobRecord] = []
        ends_at = self.clock.at + 600_000
        while self.rows() or self.rows(JobList.WAITING):
            for job in self.fetch(count):
                ran.append(job)
                self.backend.jobs.ack(job.id, "w", None)
            self.clock.advance(s=1)
            assert self.clock.at < ends_at, "jobs are stranded"
        return ran

    def rows(self, name: JobList = JobList.READY) -> Counter[int]:
        """How many jobs of a list stand in which line."""
        store = self.backend.stores.store
        return Counter(row.shard for row in store.listed("mail", name, 500).jobs)


@pytest.fixture
def office() -> Office:
    """A deployment whose queue is wide."""
    return Office()


def test_a_line_has_a_name() -> None:
    """The first one that of the queue."""
    assert [line_of("mail", shard) for shard in (0, 3)] == ["mail", "mail~3"]
    assert [read_line(line) for line in ("mail", "mail~12")] == [("mail", 0), ("mail", 12)]
    assert {shard_of(f"id-{number}", 4) for number in range(99)} == {0, 1, 2, 3}
    assert {shard_of(f"id-{number}", 1) for number in range(9)} == {0}


# ------------------------------------------------------------------ FETCH
def test_jobs_are_spread_and_each_line_is_in_order(office: Office) -> None:
    """All run, each once."""
    jobs = [office.push() for _ in range(160)]
    rows = office.rows()
    assert len(rows) == LINES
    assert max(rows.values()) < 2 * 160 / LINES
    ran = office.drain(count=1)
    assert sorted(job.id for job in ran) == sorted(job.id for job in jobs)
    for shard in range(LINES):
        line = [job.order for job in ran if job.shard == shard]
        assert line == sorted(line)


def test_a_fetch_of_one_job_makes_two_queries_more(office: Office) -> None:
    """For the line in rotation; an empty receive costs no query."""
    for _ in range(3):
        office.push_into(3)
    for _ in range(3):
        with office.aws.calls.counted() as calls:
            (job,) = office.fetch()
        assert job.shard == 3
        assert calls == {"ReceiveMessage": 1, "Query": 4, "UpdateItem": 1}
    with office.aws.calls.counted() as calls:
        assert office.fetch() == []
    assert calls == {"ReceiveMessage": 1}


def test_a_push_into_a_wide_queue_costs_what_it_did(office: Office) -> None:
    """One conditional put, one message; ACK and FAIL the same."""
    with office.aws.calls.counted() as calls:
        office.push_into(3)
    assert calls == {"PutItem": 1, "SendMessage": 1}
    (job,) = office.fetch()
    with office.aws.calls.counted() as calls:
        office.backend.jobs.ack(job.id, "w", None)
    assert calls == {"UpdateItem": 1, "DeleteMessage": 1}


def test_other_queues_of_the_deployment_cost_what_they_did(office: Office) -> None:
    """Their FETCH looks before it knows whether there is a message."""
    backend = office.backend
    pushed(backend, queue="default")
    with office.aws.calls.counted() as calls:
        assert len(backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))) == 1
    assert calls == {"ReceiveMessage": 1, "Query": 2, "UpdateItem": 1}


def test_messages_name_the_lines_that_are_read(office: Office) -> None:
    """Each line once, however many messages name it."""
    for shard in (1, 1, 5):
        office.push_into(shard)
    with office.aws.calls.counted() as calls:
        jobs = office.fetch(3)
    assert sorted(job.shard for job in jobs) == [1, 1, 5]
    assert calls == {"ReceiveMessage": 1, "Query": 6, "UpdateItem": 3}


def test_no_line_is_in_rotation_where_all_are_named(office: Office) -> None:
    """Two queries for each line, and no more."""
    for shard in range(LINES):
        office.push_into(shard)
    with office.aws.calls.counted() as calls:
        assert len(office.fetch(LINES)) == LINES
    assert calls == {"ReceiveMessage": 1, "Query": 2 * LINES, "UpdateItem": LINES}


def test_a_more_urgent_job_of_the_line_in_rotation_comes_first(office: Office) -> None:
    """Without a message; the one that was received comes back for its own job."""
    urgent = office.push_into(2, priority=9)
    office.lose_messages()
    own = office.push_into(6)
    found: list[str] = []
    for _ in range(LINES):
        found += [job.id for job in office.fetch()]
        if urgent.id in found:
            break
        office.push_into(6)
    assert urgent.id in found
    held = office.backend.stores.store.load(urgent.id)
    assert held is not None
    assert held.reservation is not None
    assert held.reservation.message_handle == ""
    for job_id in found:
        office.backend.jobs.ack(job_id, "w", None)
    assert own.id in [*found, *(job.id for job in office.drain())]


def test_what_a_message_was_left_for_is_found(office: Office) -> None:
    """Its own job is gone, and the fetch took a job of another line: it does not go with it."""
    old = office.push_into(5)
    office.lose_messages()
    office.clock.advance(s=10)
    gone = office.push_into(1)
    (message,) = office.receive()
    office.backend.stores.messages.hide("mail", [(message.handle, 0)])
    waiting = office.push_into(1)
    (other,) = (each for each in office.receive() if each.message.job_id == waiting.id)
    office.backend.stores.messages.delete("mail", [other.handle])
    office.backend.jobs.changes.cancel(gone.id)
    office.clock.advance(s=901)
    wide = office.backend.jobs.fetch.wide
    assert wide is not None
    while wide.look("mail", [message], goes_further=True).further != 4:
        pass  # so that line 5 is the next
    assert [job.id for job in office.fetch()] == [old.id]
    assert office.fetch() == []
    office.clock.advance(s=3)
    assert [job.id for job in office.fetch()] == [waiting.id]


def test_an_equal_job_of_the_line_in_rotation_waits_for_its_message(office: Office) -> None:
    """Unless it has waited for much longer: then its message was lost."""
    first = office.push_into(2)
    office.lose_messages()
    office.clock.advance(s=4)
    for _ in range(LINES):
        office.push_into(6)
    assert {job.shard for _ in range(LINES) for job in office.fetch()} == {6}
    office.clock.advance(s=4)
    for _ in range(LINES):
        office.push_into(6)
    assert first.id in [job.id for _ in range(LINES) for job in office.fetch()]


def test_the_sweep_finds_a_job_whose_message_was_lost(office: Office) -> None:
    """Within two ticks, in whatever line it is."""
    job = office.push_into(7)
    office.lose_messages()
    assert office.fetch() == []
    for _ in range(2):
        office.clock.advance(s=59)
        office.backend.upkeep.sweep.tick()
    assert [each.id for each in office.fetch()] == [job.id]


def test_a_message_serves_a_job_of_its_own_line_only(office: Office) -> None:
    """Else the job that it names would have none, and nobody would look at its line."""
    one, two = office.push_into(1), office.push_into(2)
    messages = {each.message.job_id: each for each in office.receive()}
    claim = office.backend.jobs.fetch.claim_messages
    with office.aws.calls.counted() as calls:
        (claimed,) = claim("mail", [messages[one.id]], "w")
    assert claimed.record is not None
    assert claimed.record.id == one.id
    assert calls["Query"] == 2
    (claimed,) = claim("mail", [messages[two.id]], "w")
    assert claimed.record is not None
    assert claimed.record.id == two.id


def test_a_delivered_message_is_never_claimed_with_another_line(office: Office) -> None:
    """A function gets a job for a message, or none; nothing is claimed that nobody gets."""
    gone, *waiting = [office.push_into(shard) for shard in (1, 2, 2, 2)]
    office.backend.jobs.changes.cancel(gone.id)
    first = {each.message.job_id: each for each in office.receive()}
    batch = [first[gone.id], first[waiting[0].id]]
    outcomes = office.backend.jobs.fetch.claim_messages("mail", batch, "w")
    assert [each.record and each.record.id for each in outcomes] == [None, waiting[0].id]
    assert office.rows() == {2: 2}


def test_without_messages_a_fetch_reads_the_line_in_rotation(office: Office) -> None:
    """While SQS answers nothing at all, jobs are found, line by line."""
    jobs = [office.push_into(shard) for shard in range(LINES)]
    away = cast("MessageQueue", _Away())
    fetch = replace(office.backend.jobs.fetch, messages=away)
    found = [job.id for _ in range(LINES) for job in fetch(REQUEST)]
    assert sorted(found) == sorted(job.id for job in jobs)


class _Away:
    """An SQS that does not answer."""

    def receive(self, *_: object) -> list[ReceivedMessage]:
        raise BackendUnavailableError("SQS is away")


def test_a_process_that_knows_of_no_lines_runs_what_messages_name(office: Office) -> None:
    """During a deployment that makes the queue wide."""
    job = office.push_into(5)
    before = office.process(wide_queues=())
    assert [each.id for each in office.fetch(backend=before)] == [job.id]
    assert office.rows(JobList.WAITING) == {5: 1}


def test_a_message_of_an_older_version_names_no_line(office: Office) -> None:
    """The job is read, and claimed where it stands."""
    job = office.push_into(5)
    office.lose_messages()
    office.backend.stores.messages.send("mail", Message(job.id))
    assert [each.id for each in office.fetch()] == [job.id]
    assert office.rows(JobList.WAITING) == {5: 1}


def test_a_worker_of_one_tenant_finds_its_jobs_in_all_lines(office: Office) -> None:
    """It takes no message."""
    jobs = [office.push_into(shard, meta={"tenant_id": "acme"}) for shard in (1, 4)]
    office.push_into(1)
    found = office.backend.jobs.fetch(replace(REQUEST, count=5, tenant="acme"))
    assert sorted(job.id for job in found) == sorted(job.id for job in jobs)


# ------------------------------------------------------------------ a job's life
def test_a_job_keeps_its_line_for_life(office: Office) -> None:
    """Scheduled, active, retryable, discarded, and enqueued again."""
    retry = {"max_attempts": 2, "on_exhaustion": "dead_letter"}
    job = office.push_into(3, scheduled_at="+PT1S", retry=retry)
    assert office.rows(JobList.WAITING) == {3: 1}
    for state in (JobState.RETRYABLE, JobState.DISCARDED):
        office.clock.advance(s=60)
        assert [each.id for each in office.fetch()] == [job.id]
        assert office.rows(JobList.WAITING) == {3: 1}
        failed = office.backend.jobs.fail(job.id, "w", _failure())
        assert failed.state is state
    assert office.rows(JobList.WAITING) == {}
    office.spread(1)
    office.backend.dead_letters.service.retry(job.id)
    assert office.rows() == {3: 1}
    assert [each.id for each in office.fetch()] == [job.id]


def _failure() -> Any:
    return parse_object('{"type": "Broken", "message": "it broke"}')


def test_the_number_of_lines_changes_while_jobs_wait(office: Office) -> None:
    """Nothing is lost, moved or repeated; new jobs use the new number."""
    jobs = [office.push() for _ in range(40)]
    office.spread(2)
    jobs += [office.push() for _ in range(20)]
    assert {job.shard for job in jobs[40:]} == {0, 1}
    office.spread(1)
    jobs += [office.push() for _ in range(5)]
    assert {job.shard for job in jobs[60:]} == {0}
    assert sum(office.rows().values()) == len(jobs)
    assert sorted(job.id for job in office.drain()) == sorted(job.id for job in jobs)


def test_a_sequence_stays_in_order_while_the_lines_change(office: Office) -> None:
    """Its jobs share a line as long as the number of lines is the same."""
    jobs = [office.push(sequence="order-1") for _ in range(4)]
    assert len({job.shard for job in jobs}) == 1
    office.spread(3)
    jobs += [office.push(sequence="order-1") for _ in range(4)]
    ran: list[str] = []
    for _ in range(40):
        for job in office.fetch(5):
            ran.append(job.id)
            office.backend.jobs.ack(job.id, "w", None)
            office.backend.sequence_advance.advance("", "order-1")
        office.clock.advance(s=1)
    assert ran == [job.id for job in jobs]


def test_batches_are_spread_like_single_jobs(office: Office) -> None:
    """By one transaction, and by a log."""
    for count in (30, 130):
        office.backend.jobs.push.all([any_job("a.b", queue="mail") for _ in range(count)])
    assert len(office.rows()) == LINES
    assert sum(office.rows().values()) == 160


# ------------------------------------------------------------------ operators
def test_a_pause_holds_in_each_line_at_once(office: Office) -> None:
    """And ends in each line at once."""
    for shard in range(LINES):
        office.push_into(shard)
    office.backend.queues.service.pause("mail")
    heads = [office.backend.stores.store.head("mail", 9, shard) for shard in range(LINES)]
    assert all(head.is_paused for head in heads)
    assert office.fetch(5) == []
    assert office.rows() == dict.fromkeys(range(LINES), 1)
    office.clock.advance(s=1800)
    office.backend.queues.service.resume("mail")
    assert len(office.drain()) == LINES


def test_the_sweep_evens_what_a_pause_left_in_its_middle(office: Office) -> None:
    """The process died before all lines said it; likewise for a resume."""
    for shard in range(LINES):
        office.push_into(shard)
    store, registry = office.backend.stores.store, office.backend.stores.queues
    for is_paused in (True, False):
        if is_paused:
            registry.pause("mail", [], office.clock.now())
        else:
            registry.resume("mail")
        assert store.head("mail", 9).is_uneven
        office.backend.upkeep.sweep.tick()
        office.clock.advance(s=61)
        heads = [store.head("mail", 9, shard) for shard in range(LINES)]
        assert {head.is_paused for head in heads} == {is_paused}
        assert not store.head("mail", 9).is_uneven


def test_a_queue_that_is_paused_stays_so_in_new_lines(office: Office) -> None:
    """They say so before the first job comes to them."""
    office.process(wide_queues=()).queues.service.pause("old")
    wide = office.process(wide_queues=(("old", 4),))
    store = wide.stores.store
    settings = wide.queues.config.store
    seen: list[bool] = []

    def saved(*arguments: Any) -> None:
        seen.extend(store.head("old", 9, shard).is_paused for shard in range(4))
        settings.save(*arguments)

    config = replace(wide.queues.config, store=cast("QueueSettingsStore", _Saving(settings, saved)))
    config.change("old", {"ordering_shards": 4})
    assert seen == [True] * 4


class _Saving:
    """A store of settings, whose writes are watched."""

    def __init__(self, store: QueueSettingsStore, save: Any) -> None:
        self.load, self.save = store.load, save


def test_marks_are_written_where_they_differ(office: Office) -> None:
    """A row for each line but the first; a change that is none costs no write."""
    office.backend.queues.service.pause("mail")
    for written in (0, LINES - 1, 0):
        if written:
            office.backend.stores.queues.resume("mail")
        with office.aws.calls.counted() as calls:
            office.backend.queues.service.copy_marks("mail")
        assert calls == {"BatchGetItem": 1, "Query": 1} | ({"BatchWriteItem": 1} if written else {})
    with office.aws.calls.counted() as calls:
        office.backend.queues.service.copy_marks("default")
    assert calls == {}


def test_a_visibility_timeout_holds_in_each_line(office: Office) -> None:
    """As FETCH finds it in the line that it reads."""
    office.set(visibility_timeout=77)
    office.push_into(6)
    (job,) = office.fetch()
    assert job.reservation is not None
    assert job.reservation.expires_at == office.clock.at + 77_000
    office.set(visibility_timeout=None)
    office.push_into(6)
    (job,) = office.fetch()
    assert job.reservation is not None
    assert job.reservation.expires_at > office.clock.at + 77_000


def test_operators_see_all_lines(office: Office) -> None:
    """Counts, reasons and purges."""
    jobs = [office.push_into(shard) for shard in range(LINES)]
    counts = office.backend.queues.statistics.counts("mail").counts
    assert counts["available"] == LINES
    reasons = office.backend.jobs.why(jobs[-1].id)
    assert str(LINES - 1) in str(reasons)
    office.backend.queues.purge(Purge(queue="mail", states=(JobState.AVAILABLE,)))
    assert office.rows() == {}


def test_a_restore_sends_messages_for_all_lines(office: Office) -> None:
    """No message is part of a backup."""
    for shard in range(LINES):
        office.push_into(shard)
    office.push_into(5, scheduled_at="+PT1M")
    office.lose_messages()
    report = office.backend.upkeep.repair()
    assert (report.ready, report.waiting) == (LINES, 1)
    office.clock.advance(s=61)
    assert len(office.drain()) == LINES + 1


# ------------------------------------------------------------------ what is refused
def test_more_lines_than_are_declared_are_refused(office: Office) -> None:
    """The hint says what to do first."""
    change = office.backend.queues.config.change
    with pytest.raises(UnsupportedError) as refused:
        change("mail", {"ordering_shards": LINES + 1})
    assert refused.value.details["expected"] == f"1 to {LINES}"
    assert "OJS_WIDE_QUEUES=mail=9" in refused.value.hint
    with pytest.raises(UnsupportedError) as refused:
        change("other", {"ordering_shards": 2})
    assert refused.value.details["expected"] == "1 to 1"
    with pytest.raises(UnsupportedError):
        change(DEFAULT_POLICY, {"ordering_shards": 2})
