"""Limits on wide queues through the real adapters: each line keeps them, whoever sets them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from ojs_aws.domain.errors import BackendUnavailableError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.queues import Message
from ojs_aws.domain.queues.config import DEFAULT_POLICY
from ojs_aws.services.jobs.fetch.claim_round import AGAIN_S
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.fetch.wide_queue import LineLook
from tests.functions.test_wide_queues import LINES, Office
from tests.job_steps import pushed

ONE: dict[str, Any] = {"concurrency": 1}


class LimitedOffice(Office):
    """A deployment with a wide queue whose jobs have limits."""

    def limits(self, queue: str = "mail") -> set[bool]:
        """Whether the lines say that the queue has a limit."""
        store = self.backend.stores.store
        return {bool(store.head(queue, 5, shard).limit) for shard in range(LINES)}

    def end(self, job: JobRecord) -> None:
        """A worker over HTTP completes a job."""
        self.backend.jobs.ack(job.id, "w", None)


@pytest.fixture
def office() -> LimitedOffice:
    """A deployment whose queue is wide."""
    return LimitedOffice()


SETTERS: dict[str, tuple[Callable[[Any], object], Callable[[Any], object]]] = {
    "a setting": (
        lambda backend: backend.queues.config.change("mail", ONE),
        lambda backend: backend.queues.config.change("mail", {"concurrency": None}),
    ),
    "the limit of a queue": (
        lambda backend: backend.limits.limit_queue("mail", ONE),
        lambda backend: backend.limits.unlimit_queue("mail"),
    ),
    "the limit of its key": (
        lambda backend: backend.limits.override("queue:mail", ONE),
        lambda backend: backend.limits.lift("queue:mail"),
    ),
}


@pytest.mark.parametrize("how", SETTERS)
def test_a_limit_holds_in_each_line_at_once(office: LimitedOffice, how: str) -> None:
    """However it is set, and it ends in each line at once."""
    begin, end = SETTERS[how]
    jobs = [office.push_into(shard) for shard in range(LINES)]
    begin(office.backend)
    assert office.limits() == {True}
    running = office.fetch(LINES)
    assert len(running) == 1
    assert office.fetch(LINES) == []
    end(office.backend)
    assert office.limits() == {False}
    office.clock.advance(s=61)
    for job in running:
        office.end(job)
    assert len(office.drain()) == len(jobs) - 1


def test_a_queue_takes_over_the_limit_of_the_default_policy_in_each_line(
    office: LimitedOffice,
) -> None:
    """With its first job."""
    office.backend.queues.config.change(DEFAULT_POLICY, ONE)
    new = office.process(wide_queues=(("new", LINES),))
    new.queues.push_settings.of("new")
    store = new.stores.store
    assert all(store.head("new", 5, shard).limit for shard in range(LINES))


def test_a_limit_that_there_was_before_is_kept_when_the_queue_becomes_wide(
    office: LimitedOffice,
) -> None:
    """Its lines say so before the first job comes to them."""
    office.process(wide_queues=()).queues.config.change("old", ONE)
    wide = office.process(wide_queues=(("old", LINES),))
    wide.queues.config.change("old", {"ordering_shards": LINES})
    assert all(wide.stores.store.head("old", 5, shard).limit for shard in range(LINES))


def test_the_sweep_evens_what_setting_a_limit_left_in_its_middle(office: LimitedOffice) -> None:
    """The process died before all lines said it; likewise for a removal."""
    for shard in range(LINES):
        office.push_into(shard)
    unaware = office.process(wide_queues=()).limits
    for is_limited in (True, False):
        if is_limited:
            unaware.limit_queue("mail", ONE)
        else:
            unaware.unlimit_queue("mail")
        assert office.limits() == {True, False}
        office.backend.upkeep.sweep.tick()
        office.clock.advance(s=61)
        assert office.limits() == {is_limited}


def test_a_limit_of_a_type_or_a_key_is_of_no_line(office: LimitedOffice) -> None:
    """It costs no copy."""
    for key in ("type:a.b", "queue:mail:type:a.b", "some-key"):
        with office.aws.calls.counted() as calls:
            office.backend.limits.override(key, ONE)
            office.backend.limits.lift(key)
        assert calls["BatchWriteItem"] + calls["BatchGetItem"] == 0
    assert office.limits() == {False}


def test_setting_a_limit_costs_a_read_a_query_and_the_rows_of_the_lines(
    office: LimitedOffice,
) -> None:
    """More than in a queue with one line; two queries in each other line count and wake."""

    def counted(queue: str) -> Any:
        with office.aws.calls.counted() as calls:
            office.backend.limits.limit_queue(queue, ONE)
        return calls

    narrow, wide = counted("default"), counted("mail")
    more = {"BatchGetItem": 1, "BatchWriteItem": 1, "Query": 1 + 2 * (LINES - 1)}
    assert {name: wide[name] - narrow[name] for name in wide if wide[name] != narrow[name]} == more


# ------------------------------------------------------------------ who ends a job wakes the next
LIMITS: dict[str, dict[str, Any]] = {
    "of the queue": {},
    "of a type": {},
    "of a tenant": {"meta": {"tenant_id": "acme"}},
    "of the jobs": {"rate_limit": {"key": "api", "concurrency": 1}},
}


def limited(office: LimitedOffice, which: str) -> dict[str, Any]:
    """Set a limit of one job at a time; return the attributes of a job that has it."""
    if which == "of the queue":
        office.backend.limits.limit_queue("mail", ONE)
    elif which == "of a type":
        office.backend.limits.override("type:demo.echo", ONE)
    elif which == "of a tenant":
        admin = office.backend.tenant_admin
        admin.change("acme", lambda before: before.with_limits({"max_concurrency": 1}))
    office.clock.advance(s=6)
    office.backend.jobs.fetch.limited_types.of("mail")
    office.backend.queues.push_settings.of("mail")
    return LIMITS[which]


def rotate_to(office: LimitedOffice, shard: int) -> None:
    """Let this line be the next one in rotation."""
    wide = office.backend.jobs.fetch.wide
    assert wide is not None
    while wide.look("mail", [], goes_further=True).further != (shard - 1) % LINES:
        pass


def one_waits(office: LimitedOffice, **job: Any) -> tuple[JobRecord, JobRecord]:
    """A job of line 3 runs, and another one of line 5 waits, whose message is hidden."""
    running = office.push_into(3, **job)
    assert [each.id for each in office.fetch()] == [running.id]
    waiting = office.push_into(5, **job)
    assert office.fetch() == []
    assert office.receive() == []
    rotate_to(office, 1)
    return running, waiting


ELSEWHERE = LINES - 2
"""Lines that a FETCH with one message looks at only if nobody else waits for the slot."""


@pytest.mark.parametrize("which", LIMITS)
def test_who_ends_a_job_wakes_the_next_one_in_whatever_line(
    office: LimitedOffice, which: str
) -> None:
    """At once, by a message more; FETCH makes a query for each other line."""
    running, waiting = one_waits(office, **limited(office, which))
    with office.aws.calls.counted() as calls:
        office.end(running)
    assert calls == {
        "UpdateItem": 1,
        "TransactWriteItems": 1,
        "DeleteMessage": 1,
        "SendMessage": 1,
    }
    with office.aws.calls.counted() as calls:
        (job,) = office.fetch()
    assert job.id == waiting.id
    assert job.reservation is not None
    assert job.reservation.message_job_id == running.id
    assert calls == {
        "ReceiveMessage": 1,
        "GetItem": 1,
        "BatchGetItem": 1,
        "Query": 4 + ELSEWHERE,
        "TransactWriteItems": 1,
    }
    office.end(job)
    office.clock.advance(s=61)
    assert office.fetch() == []


@pytest.mark.parametrize("which", LIMITS)
def test_a_function_gets_a_job_of_another_line_for_the_message_that_wakes(
    office: LimitedOffice, which: str
) -> None:
    """It gets nothing without a message; this one is the permission."""
    running, waiting = one_waits(office, **limited(office, which))
    office.end(running)
    (message,) = office.receive()
    with office.aws.calls.counted() as calls:
        (claimed,) = office.backend.jobs.fetch.claim_messages("mail", [message], "w")
    assert claimed.record is not None
    assert claimed.record.id == waiting.id
    assert claimed.keep_message
    assert calls["Query"] == 2 + LINES - 1


@pytest.mark.parametrize("how", ["fail", "give back for later", "cancel"])
def test_whatever_ends_an_attempt_wakes_the_next_one(office: LimitedOffice, how: str) -> None:
    """Whoever holds the slot no more."""
    running, waiting = one_waits(office, **limited(office, "of the queue"))
    jobs, error = office.backend.jobs, parse_object('{"type": "Broken", "message": "it broke"}')
    if how == "fail":
        jobs.fail(running.id, "w", error)
    elif how == "cancel":
        jobs.changes.cancel(running.id)
    else:
        jobs.fail.requeue(running.id, "w", error, delay_ms=30_000)
    assert [each.id for each in office.fetch()] == [waiting.id]


def test_no_other_line_is_looked_at_where_somebody_waits_for_the_slot(
    office: LimitedOffice,
) -> None:
    """In the line of the job that ended, or in the one in rotation."""
    kind = limited(office, "of the queue")
    for shard, further in ((3, 1), (5, 5)):
        running = office.push_into(3, **kind)
        assert [each.id for each in office.fetch()] == [running.id]
        waiting = office.push_into(shard, **kind)
        assert office.fetch() == []
        rotate_to(office, further)
        office.end(running)
        with office.aws.calls.counted() as calls:
            (job,) = office.fetch()
        assert job.id == waiting.id
        assert calls["Query"] == 4
        office.end(job)
        office.clock.advance(s=61)
        assert office.fetch() == []


def test_a_wide_queue_without_limits_pays_nothing(office: LimitedOffice) -> None:
    """No message more, and no query for a message of a job that has ended."""
    job = office.push_into(3)
    assert len(office.fetch()) == 1
    with office.aws.calls.counted() as calls:
        office.end(job)
    assert calls == {"UpdateItem": 1, "DeleteMessage": 1}
    office.clock.advance(s=3)
    office.backend.stores.messages.send("mail", Message(job.id, shard=3))
    with office.aws.calls.counted() as calls:
        assert office.fetch() == []
    assert calls == {"ReceiveMessage": 1, "Query": 4, "GetItem": 1, "DeleteMessage": 1}


@pytest.mark.parametrize("how", ["ack", "fail"])
def test_who_deletes_the_message_itself_wakes_by_itself(office: LimitedOffice, how: str) -> None:
    """A function that SQS invokes; else it would be two messages."""
    running, _ = one_waits(office, **limited(office, "of the jobs"))
    jobs = office.backend.jobs
    with office.aws.calls.counted() as calls:
        if how == "ack":
            jobs.ack(running.id, "w", None, has_message=False)
        else:
            jobs.fail(running.id, "w", _final(), has_message=False)
    assert calls["SendMessage"] == 0


def _final() -> Any:
    return parse_object('{"type": "Broken", "message": "it broke", "retryable": false}')


@pytest.mark.parametrize("how", ["ack", "fail", "cancel"])
def test_a_queue_with_one_line_sends_no_such_message(office: LimitedOffice, how: str) -> None:
    """Its polls see who waits."""
    backend = office.backend
    job = pushed(backend, rate_limit=LIMITS["of the jobs"]["rate_limit"])
    assert len(backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))) == 1
    with office.aws.calls.counted() as calls:
        if how == "ack":
            office.end(job)
        elif how == "fail":
            backend.jobs.fail(job.id, "w", _final())
        else:
            backend.jobs.changes.cancel(job.id)
    assert calls["SendMessage"] == 0


def test_a_message_that_wakes_is_for_those_that_wait_for_the_slot(office: LimitedOffice) -> None:
    """A job without the limit needs its own message; the one that waits comes before it."""
    running, waiting = one_waits(office, **limited(office, "of the jobs"))
    others = [office.push_into(shard) for shard in (2, 3, 6)]
    office.lose_messages()
    office.end(running)
    assert [job.id for job in office.fetch()] == [waiting.id]
    assert office.rows() == {2: 1, 3: 1, 6: 1}
    assert len(others) == 3


def test_each_message_wakes_one_job(office: LimitedOffice) -> None:
    """However many wait."""
    office.backend.limits.limit_queue("mail", {"concurrency": 2})
    running = [office.push_into(3), office.push_into(3)]
    assert len(office.fetch(2)) == 2
    waiting = [office.push_into(shard) for shard in (4, 5, 6, 7)]
    assert office.fetch(10) == []
    office.end(running[0])
    office.end(running[1])
    rotate_to(office, 1)
    woken = office.fetch(10)
    assert [job.id for job in woken] == [job.id for job in waiting[:2]]
    held = {job.reservation.message_handle for job in woken if job.reservation}
    assert len(held) == 2
    assert "" not in held


def test_a_look_at_all_lines_that_fails_is_repeated(
    office: LimitedOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message comes back for it."""
    running, waiting = one_waits(office, **limited(office, "of the queue"))
    office.end(running)

    def fails(_: object) -> NoReturn:
        raise BackendUnavailableError("DynamoDB is away")

    with monkeypatch.context() as patch:
        patch.setattr(LineLook, "elsewhere", fails)
        assert office.fetch() == []
    office.clock.advance(s=AGAIN_S)
    assert [job.id for job in office.fetch()] == [waiting.id]
