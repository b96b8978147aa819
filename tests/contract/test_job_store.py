"""What every JobStore must do; each engine passes the same suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from ojs_aws.adapters.dynamodb.jobs.reservations import reservation_values
from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.bootstrap import job_store
from ojs_aws.domain.conflicts import AlreadyStoredError, StaleJobError
from ojs_aws.domain.job import Checkpoint, JobRecord, JobState, Reservation
from ojs_aws.domain.jobs import deadlines, held_job, lifecycle
from ojs_aws.domain.jobs.failures import read_failure
from ojs_aws.domain.jobs.held_job import AttemptRef, Holder
from ojs_aws.domain.jobs.lists import Between, JobList
from ojs_aws.domain.jobs.progress import Progress
from ojs_aws.domain.json_text import RawJson, parse_object
from ojs_aws.domain.retry import parse_retry_policy
from ojs_aws.domain.timestamps import Instant
from tests.aws import embedded
from tests.jobs import noise

NOW = Instant(1_760_000_000_000)
POLICY = RawJson('{"max_attempts": 5, "jitter": false, "on_exhaustion": "dead_letter"}')


KINDS = ["dynamodb", pytest.param("emulator", marks=pytest.mark.emulator)]


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest) -> Iterator[JobStore]:
    """A fresh store of each kind."""
    if request.param == "emulator":
        aws = request.getfixturevalue("emulated_aws")
        yield job_store(aws.settings, aws.clients)
        return
    with embedded() as aws:
        yield job_store(aws.settings, aws.clients)


def a_job(number: int = 1, **changes: object) -> JobRecord:
    """An available job."""
    job = JobRecord(
        id=f"01990000-0000-7000-8000-{number:012x}",
        type="demo.echo",
        queue="default",
        state=JobState.AVAILABLE,
        priority=0,
        attempt=0,
        version=1,
        order=NOW * 1000 + number,
        document=RawJson('{"args":[1.00,12345678901234567890123],"x":"\\ud83d\\ude00"}'),
        timeout_ms=1_800_000,
        created_at=NOW,
        enqueued_at=NOW,
        retry=parse_retry_policy(
            {"max_attempts": 5, "jitter": False, "on_exhaustion": "dead_letter"}
        ),
        retry_document=POLICY,
    )
    return replace(job, **changes)  # type: ignore[arg-type]


def a_reservation(worker: str = "w1", handle: str = "handle") -> Reservation:
    """Thirty seconds of a worker's time."""
    return Reservation(
        worker_id=worker,
        expires_at=Instant(NOW + 30_000),
        execution_ends_at=Instant(NOW + 60_000),
        message_handle=handle,
        message_job_id="01990000-0000-7000-8000-00000000ffff",
    )


def claimed(store: JobStore, job: JobRecord, **reservation: str) -> JobRecord:
    """Store a job and claim it."""
    store.insert(job)
    return store.claim("default", job.id, a_reservation(**reservation), NOW)


def big_document(size: int) -> RawJson:
    """A document that cannot be compressed much."""
    return RawJson('{"args":["' + noise(size) + '"]}')


def test_what_is_inserted_is_loaded_unchanged(store: JobStore) -> None:
    """Every attribute survives, the client's text to the character."""
    error = parse_object('{"message":"m","type":"T","details":{"b":1.0,"a":[null]}}')
    failure = read_failure(error, 1, NOW)
    job = a_job(
        priority=-7,
        visibility_timeout_ms=5000,
        scheduled_at=Instant(NOW - 5),
        expires_at=Instant(NOW + 10**12),
        activated_at=NOW,
        failures=(failure, failure),
        past_failures=(failure,),
        retry_delay_ms=1000,
        is_retry_queues=True,
    )
    store.insert(job)
    assert store.load(job.id) == job
    assert store.load_whole(job.id) == job
    assert store.load_many([job.id, a_job(2).id]) == {job.id: job}
    assert store.load(a_job(2).id) is None
    assert store.load_whole(a_job(2).id) is None


def test_what_a_worker_reported_is_loaded_unchanged(store: JobStore) -> None:
    """Its result, its progress and its checkpoint, also where a job comes with them."""
    job = a_job(
        result=RawJson('{"n":1.50}'),
        result_ttl_s=60,
        result_limit_bytes=100,
        progress=Progress(attempt=1, updated_at=NOW, fraction=0.5, message="half"),
        checkpoint=Checkpoint(state=RawJson("[1.0]"), sequence=2, created_at=NOW),
        checkpoints=2,
    )
    store.insert(job)
    assert store.load(job.id) == job
    store.save(job, replace(job, version=job.version + 1, checkpoints=3))
    assert store.load(job.id) == replace(job, version=job.version + 1, checkpoints=3)


def test_an_id_is_stored_once(store: JobStore) -> None:
    """ENV-070: the second insert meets the first job and changes nothing."""
    store.insert(a_job())
    with pytest.raises(AlreadyStoredError) as taken:
        store.insert(a_job(priority=5))
    assert taken.value.existing[0] == a_job()
    assert store.load(a_job().id) == a_job()


def test_a_batch_is_inserted_whole_or_not_at_all(store: JobStore) -> None:
    """OP-013: and it says which ids are taken."""
    store.insert(a_job(2))
    with pytest.raises(AlreadyStoredError) as taken:
        store.insert_all([a_job(1), a_job(2), a_job(3)])
    assert list(taken.value.existing) == [1]
    assert store.load(a_job(1).id) is None
    store.insert_all([a_job(number) for number in range(3, 13)])
    assert len(store.load_many([a_job(number).id for number in range(3, 13)])) == 10


def test_a_claim_is_what_the_lifecycle_says(store: JobStore) -> None:
    """STATE-009: the blind write comes to the same record as the pure function."""
    job = a_job()
    after = claimed(store, job)
    assert after == lifecycle.claim(job, a_reservation(), NOW)
    assert store.load(job.id) == after


@pytest.mark.parametrize("size", [10, 6_000, 600_000])
def test_documents_of_any_size_come_back(store: JobStore, size: int) -> None:
    """Inline, in an item of its own, and in S3."""
    job = a_job(document=big_document(size))
    after = store.fill(claimed(store, job))
    assert after.document == job.document
    assert store.load_whole(job.id) == after
    result = store.keep_result(job.id, big_document(size))
    store.acknowledge(job.id, Holder("w1"), result, NOW)
    whole = store.load_whole(job.id)
    assert whole is not None
    assert (whole.document, whole.result) == (job.document, big_document(size))


def test_a_job_is_claimed_once(store: JobStore) -> None:
    """STATE-032: the second claim meets the holder."""
    after = claimed(store, a_job())
    with pytest.raises(StaleJobError) as stale:
        store.claim("default", after.id, a_reservation("w2"), NOW)
    assert stale.value.current == after


def test_what_is_absent_expired_or_elsewhere_is_not_claimed(store: JobStore) -> None:
    """ENV-045: at the very instant of expiry."""
    with pytest.raises(StaleJobError) as stale:
        store.claim("default", a_job().id, a_reservation(), NOW)
    assert stale.value.current is None
    job = a_job(expires_at=NOW, enqueued_at=Instant(NOW - 1))
    store.insert(job)
    with pytest.raises(StaleJobError):
        store.claim("default", job.id, a_reservation(), NOW)
    assert store.claim("default", job.id, a_reservation(), Instant(NOW - 1)).attempt == 1
    store.insert(a_job(2))
    with pytest.raises(StaleJobError):
        store.claim("other", a_job(2).id, a_reservation(), NOW)


def test_an_acknowledgement_is_what_the_lifecycle_says(store: JobStore) -> None:
    """STATE-010: and it hands out the reservation that it ended."""
    held = claimed(store, a_job())
    before = store.acknowledge(held.id, Holder("w1"), RawJson("0"), NOW)
    assert before == held
    assert store.load(held.id) == lifecycle.complete(held, RawJson("0"), NOW)


@pytest.mark.parametrize(
    ("worker", "at"), [("w2", NOW), ("w1", NOW + 30_000), (None, NOW + 30_000)]
)
def test_a_late_or_foreign_acknowledgement_is_refused(
    store: JobStore, worker: str | None, at: int
) -> None:
    """OP-027: at the very instant the reservation ends."""
    held = claimed(store, a_job())
    with pytest.raises(StaleJobError):
        store.acknowledge(held.id, Holder(worker), None, Instant(at))
    assert store.load(held.id) == held


def test_an_acknowledgement_past_the_execution_deadline_is_refused(store: JobStore) -> None:
    """From the very instant on, though heartbeats have extended the reservation."""
    store.insert(a_job())
    beating = replace(a_reservation(), expires_at=Instant(NOW + 90_000))
    held = store.claim("default", a_job().id, beating, NOW)
    with pytest.raises(StaleJobError):
        store.acknowledge(held.id, Holder("w1"), None, Instant(NOW + 60_000))
    assert store.load(held.id) == held
    assert store.acknowledge(held.id, Holder("w1"), None, Instant(NOW + 59_999)) == held


def test_an_acknowledgement_of_a_worker_that_counts_as_dead_is_refused(store: JobStore) -> None:
    """Worker protocol, section 10.4: from the very instant on, though the reservation lasts."""
    store.insert(a_job())
    held = store.claim(
        "default", a_job().id, replace(a_reservation(), alive_until=Instant(NOW + 9)), NOW
    )
    assert held.reservation is not None
    assert held.reservation.alive_until == NOW + 9
    assert [row.sort_key for row in store.due("default", NOW, Instant(NOW + 9), 5).jobs] == [
        f"{NOW + 9:015d}"
    ]
    with pytest.raises(StaleJobError):
        store.acknowledge(held.id, Holder("w1"), None, Instant(NOW + 9))
    assert store.acknowledge(held.id, Holder("w1"), None, Instant(NOW + 8)) == held
    done = store.load(held.id)
    assert done is not None
    assert done.reservation is None


@pytest.mark.parametrize(
    "which", [AttemptRef(reservation_id="r2"), AttemptRef(attempt=2), AttemptRef(attempt=0)]
)
def test_an_acknowledgement_of_another_attempt_is_refused(
    store: JobStore, which: AttemptRef
) -> None:
    """By the id of its reservation as by its number, though the worker is the same."""
    store.insert(a_job())
    held = store.claim("default", a_job().id, replace(a_reservation(), id="r1"), NOW)
    with pytest.raises(StaleJobError):
        store.acknowledge(held.id, Holder("w1", which), None, NOW)
    assert store.load(held.id) == held
    own = AttemptRef(reservation_id="r1", attempt=1)
    assert store.acknowledge(held.id, Holder("w1", own), None, NOW) == held
    done = store.load(held.id)
    assert done is not None
    assert done.reservation is None


def test_attempts_that_were_given_back_are_kept_with_the_job(store: JobStore) -> None:
    """Through the claims that follow, until an operator retries the job."""
    held = claimed(store, a_job())
    back = lifecycle.requeue(held, None, Instant(NOW + 1))
    store.save(held, back)
    assert store.load(held.id) == back
    again = store.claim("default", held.id, a_reservation(), Instant(NOW + 1))
    assert (again.attempt, again.uncounted_attempts, again.counted_attempts) == (2, 1, 1)
    store.save(again, over := replace(again, version=again.version + 1, uncounted_attempts=0))
    assert store.load(held.id) == over


def test_an_id_is_not_that_of_a_reservation_without_one(store: JobStore) -> None:
    """Earlier versions claimed jobs without an id; who names one is somebody else."""
    held = claimed(store, a_job())
    with pytest.raises(StaleJobError):
        store.acknowledge(held.id, Holder("w1", AttemptRef(reservation_id="r1")), None, NOW)
    assert store.acknowledge(held.id, Holder("w1", AttemptRef(attempt=1)), None, NOW) == held


def test_a_completed_job_keeps_nothing_of_its_reservation() -> None:
    """An item that stays for days is not to be billed for it."""
    with embedded() as aws:
        store = job_store(aws.settings, aws.clients)
        store.insert(a_job())
        whole = replace(a_reservation(), id="r1", alive_until=Instant(NOW + 9))
        store.claim("default", a_job().id, whole, NOW)
        store.acknowledge(a_job().id, Holder("w1"), None, NOW)
        key = {"pk": {"S": f"job#{a_job().id}"}, "sk": {"S": "job"}}
        read = aws.clients.dynamodb.get_item(TableName=aws.settings.table, Key=key)
    written = reservation_values(a_job().id, whole)
    assert len(written) == 7
    assert not written.keys() & read["Item"].keys()


def test_each_claim_brings_its_own_reservation_id(store: JobStore) -> None:
    """Also where the item has had another one before."""
    store.insert(a_job())
    first = store.claim("default", a_job().id, replace(a_reservation(), id="r1"), NOW)
    store.save(first, deadlines.settle(first, Instant(NOW + 30_000)))
    later = Instant(NOW + 30_000)
    second = store.claim("default", a_job().id, replace(a_reservation(), id="r2"), later)
    assert (second.attempt, second.reservation and second.reservation.id) == (2, "r2")
    assert store.load(second.id) == second


@pytest.mark.parametrize(
    ("wanted", "is_taken"),
    [
        ({}, True),
        ({"result_ttl_s": 60}, True),
        ({"result_ttl_s": 0}, False),
        ({"result_ttl_s": 0, "workflow_id": "w", "workflow_step": 1}, True),
        ({"result_limit_bytes": 5}, True),
        ({"result_limit_bytes": 4}, False),
        ({"result_ttl_s": 0, "result_limit_bytes": 5}, False),
    ],
    ids=str,
)
def test_a_result_comes_with_an_ack_of_a_job_that_keeps_it(
    store: JobStore, wanted: dict[str, object], *, is_taken: bool
) -> None:
    """One that keeps none, or none so large, is looked at first; workflows keep their steps'."""
    held = claimed(store, replace(a_job(), **wanted))  # type: ignore[arg-type]
    if is_taken:
        assert store.acknowledge(held.id, Holder("w1"), RawJson("12345"), NOW) == held
        return
    with pytest.raises(StaleJobError):
        store.acknowledge(held.id, Holder("w1"), RawJson("12345"), NOW)
    assert store.load(held.id) == held
    assert store.acknowledge(held.id, Holder("w1"), None, NOW) == held


def test_an_anonymous_reservation_is_anybodys(store: JobStore) -> None:
    """Many clients send no worker id."""
    held = claimed(store, a_job(), worker="")
    assert store.acknowledge(held.id, Holder("w1"), None, NOW) == held


def test_a_save_needs_the_version_that_was_read(store: JobStore) -> None:
    """And changes exactly what differs."""
    job = a_job()
    store.insert(job)
    cancelled = lifecycle.cancel(job, NOW)
    store.save(job, cancelled)
    assert store.load(job.id) == cancelled
    with pytest.raises(StaleJobError) as stale:
        store.save(job, lifecycle.cancel(job, Instant(NOW + 1)))
    assert stale.value.current == cancelled


def test_a_late_write_about_a_deleted_job_leaves_its_next_life_alone(store: JobStore) -> None:
    """The same id is stored again, and has the version that the write is about."""
    first = claimed(store, a_job())
    failure = read_failure(parse_object('{"message":"m","type":"T"}'), 1, NOW)
    over = store.save(first, lifecycle.exhausted(first, failure, NOW))
    store.delete(over)
    second = claimed(store, a_job())
    assert second.version == first.version
    with pytest.raises(StaleJobError) as stale:
        store.save(first, lifecycle.fail(first, failure, NOW, 1000))
    assert stale.value.current == second
    with pytest.raises(StaleJobError):
        store.claim_within(first, a_reservation(), [], NOW)
    store.save(second, lifecycle.exhausted(second, failure, NOW))
    with pytest.raises(StaleJobError):
        store.delete(over)


def test_a_write_is_about_what_the_write_before_it_left(store: JobStore) -> None:
    """Several changes in a row need no read; each depends on the write before it."""
    store.insert(a_job())
    first = store.load(a_job().id)
    assert first is not None
    second = store.save(first, lifecycle.reprioritise(first, 1))
    third = store.save(second, lifecycle.reprioritise(second, 2))
    assert len({first.token, second.token, third.token}) == 3
    assert store.load(first.id) == third
    store.delete(third)
    assert store.load(first.id) is None


def test_a_job_that_was_read_without_a_token_is_known_by_its_version(store: JobStore) -> None:
    """Whoever has just built a job knows no token, and earlier versions wrote none."""
    store.insert(job := a_job())
    store.save(job, after := lifecycle.reprioritise(job, 1))
    with pytest.raises(StaleJobError):
        store.save(job, after)
    store.delete(after)


def test_every_transition_can_be_saved(store: JobStore) -> None:
    """The whole life, with removal of what no longer applies."""
    job = claimed(store, a_job(document=big_document(6_000)))
    job = store.fill(job)
    error = read_failure(parse_object('{"message":"m"}'), 1, NOW)
    steps: list[Callable[[JobRecord], JobRecord | None]] = [
        lambda job: lifecycle.fail(job, error, NOW),
        lambda job: deadlines.settle(job, Instant(NOW + 1000)),
        lambda job: lifecycle.claim(job, a_reservation(), Instant(NOW + 1000)),
        lambda job: held_job.extend(job, Instant(NOW + 50_000)),
        lambda job: deadlines.settle_once(job, Instant(NOW + 50_000)),
        lambda job: lifecycle.claim(job, a_reservation(handle=""), Instant(NOW + 50_000)),
        lambda job: lifecycle.fail(job, replace(error, retryable=False), Instant(NOW + 50_001)),
        lambda job: lifecycle.retry_discarded(job, Instant(NOW + 60_000), 1),
    ]
    for step in steps:
        after = step(job)
        assert after is not None
        store.save(job, after)
        assert store.load_whole(job.id) == after
        job = after


def test_a_waiting_row_has_the_priority_and_how_far_its_job_waits(store: JobStore) -> None:
    """Except of a job that was claimed without being read."""
    waiting = {"state": JobState.SCHEDULED, "enqueued_at": None}
    due = [Instant(NOW + 60_000), Instant(NOW + 60_001), Instant(NOW + 3_600_000)]
    for number, (at, priority) in enumerate(zip(due, (-100, 100, 7), strict=True), 1):
        store.insert(a_job(number, priority=priority, scheduled_at=at, **waiting))
    claimed(store, a_job(4, priority=5))
    rows = store.due("default", Instant(0), due[-1], 10).jobs
    assert [(row.due, row.priority, row.is_far) for row in rows] == [
        (NOW + 30_000, None, False),
        (due[0], -100, False),
        (due[1], 100, False),
        (due[2], 7, True),
    ]


def test_a_claim_may_insist_on_a_place_in_line(store: JobStore) -> None:
    """A message may name one that its job has lost since."""
    job = a_job(priority=3)
    store.insert(job)
    with pytest.raises(StaleJobError) as stale:
        store.claim("default", job.id, a_reservation(), NOW, a_job(priority=4).ready_key)
    assert stale.value.current == job
    assert store.claim("default", job.id, a_reservation(), NOW, job.ready_key).attempt == 1


def test_jobs_due_at_one_instant_are_paged_without_loss(store: JobStore) -> None:
    """Each once, far ones kept apart, also when the one at the page's end is gone meanwhile."""
    due, near = Instant(NOW + 3_600_000), Instant(NOW + 60_000)
    waiting = {"state": JobState.SCHEDULED, "enqueued_at": None}
    far = [a_job(number, scheduled_at=due, **waiting) for number in range(1, 8)]
    store.insert_all([*far, a_job(9, scheduled_at=near, **waiting)])
    first = store.due("default", Instant(0), due, 4)
    assert [row.is_far for row in first.jobs] == [False, True, True, True]
    assert first.jobs[-1].due == due
    last = store.load(first.jobs[-1].id)
    assert last is not None
    store.save(last, lifecycle.cancel(last, NOW))
    rest = store.due("default", due, due, 10, cursor=first.cursor)
    assert {row.id for row in (*first.jobs[1:], *rest.jobs)} == {job.id for job in far}
    assert (len(rest.jobs), rest.cursor) == (4, "")


def test_lists_show_each_job_in_its_place(store: JobStore) -> None:
    """Ready by priority and order, waiting by what is due, the rest by time."""
    store.insert_all([a_job(1), a_job(2, priority=9), a_job(3, queue="other"), a_job(4)])
    head = store.head("default", 2)
    assert [row.id for row in head.jobs] == [a_job(2).id, a_job(1).id]
    assert head.jobs[0].sort_key == a_job(2, priority=9).ready_key
    assert not head.is_paused
    store.claim("default", a_job(1).id, a_reservation(), NOW)
    due = store.due("default", Instant(0), Instant(NOW + 30_000), 10)
    assert [(row.id, row.state) for row in due.jobs] == [(a_job(1).id, JobState.ACTIVE)]
    assert store.due("default", Instant(0), Instant(NOW + 29_999), 10).jobs == ()
    store.acknowledge(a_job(1).id, Holder(None), None, NOW)
    page = store.listed("default", JobList.COMPLETED, 10)
    assert [row.id for row in page.jobs] == [a_job(1).id]


def test_pages_follow_each_other_without_gap_or_repeat(store: JobStore) -> None:
    """Newest first, by cursor."""
    store.insert_all([a_job(number) for number in range(1, 8)])
    seen: list[str] = []
    cursor = ""
    for _ in range(4):
        page = store.listed("default", JobList.READY, 2, cursor=cursor)
        seen += [row.id for row in page.jobs]
        cursor = page.cursor
    assert cursor == ""
    assert seen == [a_job(number).id for number in range(7, 0, -1)]


def test_a_cursor_of_another_range_begins_within_the_range(store: JobStore) -> None:
    """Who asks for other times with the cursor of a page gets what follows it, and no error."""
    for number in range(1, 6):
        store.insert(a_job(number, state=JobState.PENDING, created_at=Instant(NOW + number)))

    def shown(since: int, until: int, cursor: str, *, newest_first: bool) -> list[int]:
        between = Between(Instant(NOW + since), Instant(NOW + until))
        page = store.listed(
            "default",
            JobList.PENDING,
            9,
            cursor=cursor,
            newest_first=newest_first,
            between=between,
        )
        return [row.due - NOW for row in page.jobs]

    first = store.listed("default", JobList.PENDING, 2, newest_first=False)
    assert shown(1, 9, first.cursor, newest_first=False) == [3, 4, 5]
    assert shown(4, 9, first.cursor, newest_first=False) == [4, 5]
    assert shown(0, 1, first.cursor, newest_first=False) == []
    last = store.listed("default", JobList.PENDING, 2)
    assert shown(0, 9, last.cursor, newest_first=True) == [3, 2, 1]
    assert shown(0, 2, last.cursor, newest_first=True) == [2, 1]
    assert shown(5, 9, last.cursor, newest_first=True) == []


def test_a_deleted_job_is_gone_with_its_documents(store: JobStore) -> None:
    """And only the version that was read is deleted."""
    job = a_job(document=big_document(6_000))
    held = claimed(store, job)
    with pytest.raises(StaleJobError):
        store.delete(job)
    store.delete(held)
    assert store.load_whole(job.id) is None


def test_nothing_happens_to_a_job_before_what_happened_already(store: JobStore) -> None:
    """Clocks differ: a claim or an ACK that gets too early an instant is refused."""
    job = a_job()
    store.insert(job)
    with pytest.raises(StaleJobError) as stale:
        store.claim("default", job.id, a_reservation(), Instant(NOW - 1))
    assert stale.value.current == job
    held = store.claim("default", job.id, a_reservation(), NOW)
    with pytest.raises(StaleJobError) as stale:
        store.acknowledge(job.id, Holder("w1"), None, Instant(NOW - 1))
    assert stale.value.current == held
    assert store.acknowledge(job.id, Holder("w1"), None, NOW) == held


def test_ready_jobs_are_counted_by_priority(store: JobStore) -> None:
    """Those of the queue, and none that waits for time."""
    for number, priority in enumerate((0, 0, 100, -100, -7), 1):
        store.insert(a_job(number, priority=priority))
    store.insert(a_job(8, queue="other"))
    assert store.count_priorities("default") == ({0: 2, 100: 1, -100: 1, -7: 1}, True)
    assert store.count_priorities("none") == ({}, True)


def test_a_job_with_another_priority_has_another_place(store: JobStore) -> None:
    """Behind those who were there before it in the new one."""
    jobs = [a_job(number, priority=priority) for number, priority in ((1, 0), (2, 5), (3, 0))]
    for job in jobs:
        store.insert(job)
    store.save(jobs[2], lifecycle.reprioritise(jobs[2], 5))
    assert [row.id for row in store.head("default", 5).jobs] == [jobs[n].id for n in (1, 2, 0)]
