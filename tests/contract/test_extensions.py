"""What every JobStore must do with a heartbeat that does not read the job."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb import names
from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.bootstrap import job_store
from ojs_aws.domain.conflicts import StaleJobError
from ojs_aws.domain.job import JobRecord, JobState, Reservation
from ojs_aws.domain.jobs import held_job, lifecycle
from ojs_aws.domain.jobs.held_job import AttemptRef, Extension
from ojs_aws.domain.timestamps import Instant
from tests.aws import EmbeddedAws
from tests.contract.extension_rules import extended
from tests.contract.test_job_store import NOW, a_job, a_reservation
from tests.contract.test_job_store import store as make_store

SILENCE = 45_000
LATER = Instant(NOW + 15_000)
store = make_store


def hold(store: JobStore, **changes: Any) -> JobRecord:
    """Store a job and claim it for a worker that promised to beat every 15 seconds."""
    held = Reservation(
        worker_id="w1",
        expires_at=Instant(NOW + 1_800_000),
        execution_ends_at=Instant(NOW + 3_600_000),
        alive_until=Instant(NOW + SILENCE),
        id="r1",
    )
    job = a_job()
    store.insert(job)
    return store.claim("default", job.id, replace(held, **changes), NOW)


def asked(**changes: Any) -> Extension:
    """What the worker asks for 15 seconds after it was given the job."""
    usual = Extension(worker_id="w1", now=LATER, alive_until=Instant(LATER + SILENCE))
    return replace(usual, **changes)


def rows(store: JobStore) -> list[Instant]:
    """Return the instants at which the waiting list shows jobs as due."""
    return [row.due for row in store.due("default", Instant(0), Instant(NOW * 2), 10).jobs]


def test_a_heartbeat_leaves_the_row_whose_time_is_far_off(store: JobStore) -> None:
    """The job is due later than it is listed, and what is loaded says both."""
    held = hold(store)
    after = store.extend(held.id, asked(moves_row=False))
    assert after.reservation is not None
    assert after.reservation.due_at == LATER + SILENCE
    assert after.reservation.row_at == NOW + SILENCE
    assert after.version == held.version + 1
    assert store.load(held.id) == after == extended(held, asked(moves_row=False))
    assert rows(store) == [NOW + SILENCE]


def test_a_heartbeat_moves_the_row_to_the_due_time(store: JobStore) -> None:
    held = hold(store)
    early = store.extend(held.id, asked(moves_row=False))
    later = asked(alive_until=Instant(LATER + SILENCE + 1))
    after = store.extend(held.id, later)
    assert after.reservation is not None
    assert after.reservation.listed_at is None
    assert store.load(held.id) == after == extended(early, later)
    assert rows(store) == [LATER + SILENCE + 1]


@pytest.mark.parametrize(
    ("moment", "is_left"), [(NOW + 27_000, True), (NOW + 27_001, False), (NOW + 44_999, False)]
)
def test_a_row_stays_for_three_fifths_of_the_silence(
    store: JobStore, moment: int, *, is_left: bool
) -> None:
    """So that the next heartbeat moves it before anybody sees it."""
    held = hold(store)
    beat = asked(now=Instant(moment), alive_until=Instant(moment + SILENCE), moves_row=False)
    if is_left:
        assert store.extend(held.id, beat).version == held.version + 1
        return
    with pytest.raises(StaleJobError) as stale:
        store.extend(held.id, beat)
    assert stale.value.current == held == store.load(held.id)


def test_a_row_that_is_later_than_the_due_time_is_moved(store: JobStore) -> None:
    """It was at the end of the reservation, and the worker beats for the first time."""
    held = hold(store, alive_until=None)
    with pytest.raises(StaleJobError):
        store.extend(held.id, asked(moves_row=False))
    store.extend(held.id, asked())
    assert rows(store) == [LATER + SILENCE]


def test_a_heartbeat_may_move_the_end_of_the_reservation(store: JobStore) -> None:
    """The worker names how long, and its reservation would end before it counts as dead."""
    held = hold(store, expires_at=Instant(NOW + 30_000), alive_until=None)
    ends = Instant(LATER + 30_000)
    stays = asked(expires_at=ends, moves_row=False)
    after = store.extend(held.id, stays)
    assert after == store.load(held.id) == extended(held, stays)
    assert after.reservation is not None
    assert (after.reservation.expires_at, after.reservation.due_at) == (ends, ends)
    assert after.reservation.alive_until == LATER + SILENCE
    assert rows(store) == [NOW + 30_000]
    moved = asked(expires_at=Instant(ends + 1), alive_until=Instant(LATER + SILENCE + 1))
    assert store.extend(held.id, moved) == extended(after, moved)
    assert rows(store) == [ends + 1]


def test_a_heartbeat_may_leave_the_end_of_the_reservation(store: JobStore) -> None:
    """It asks for the end that the reservation has: the worker counts as alive for longer."""
    ends = Instant(LATER + 60_000)
    held = hold(store, expires_at=ends)
    after = store.extend(held.id, asked(expires_at=ends))
    assert after.reservation is not None
    assert (after.reservation.expires_at, after.reservation.alive_until) == (ends, LATER + SILENCE)


def test_the_death_of_a_worker_may_come_before_the_end_that_it_asks_for(store: JobStore) -> None:
    """It promised to beat more often than its extensions last."""
    held = hold(store, expires_at=Instant(NOW + 60_000))
    after = store.extend(held.id, asked(expires_at=Instant(LATER + 60_000)))
    assert after.reservation is not None
    assert after.reservation.expires_at == LATER + 60_000
    assert rows(store) == [LATER + SILENCE]


@pytest.mark.parametrize(
    ("kept", "wanted"),
    [
        ({"expires_at": Instant(LATER + 30_001)}, {}),
        ({"expires_at": LATER}, {}),
        ({"execution_ends_at": Instant(LATER + 29_999)}, {}),
        ({}, {"now": Instant(NOW + SILENCE), "alive_until": Instant(NOW + 2 * SILENCE)}),
    ],
    ids=["shorter", "over", "beyond its execution", "worker dead"],
)
def test_an_end_that_must_not_move_is_refused(
    store: JobStore, kept: dict[str, object], wanted: dict[str, object]
) -> None:
    """No heartbeat shortens a reservation, and none that is over comes back."""
    usual = {"expires_at": Instant(NOW + 30_000), **kept}
    held = hold(store, **usual)
    beat = asked(**{"expires_at": Instant(LATER + 30_000), **wanted})
    assert extended(held, beat) is None
    with pytest.raises(StaleJobError) as stale:
        store.extend(held.id, beat)
    assert stale.value.current == held == store.load(held.id)


def test_a_claim_may_list_the_job_before_it_is_due(store: JobStore) -> None:
    """Then the first heartbeat of a worker that promised nothing leaves the row."""
    held = hold(store, alive_until=None, listed_at=Instant(NOW + SILENCE))
    assert held == store.load(held.id)
    assert rows(store) == [NOW + SILENCE]
    after = store.extend(held.id, asked(moves_row=False))
    assert rows(store) == [NOW + SILENCE]
    assert after.reservation is not None
    assert after.reservation.due_at == LATER + SILENCE


def without_pace(**changes: Any) -> Extension:
    """What a worker asks for with its first heartbeat: nobody knows how often it beats."""
    ends = Instant(LATER + 1_800_000)
    usual = Extension(worker_id="w1", now=LATER, alive_until=None, expires_at=ends, moves_row=False)
    return replace(usual, **changes)


@pytest.mark.parametrize("ends_ms", [1_800_001, 1_815_000, 3_600_000])
def test_a_heartbeat_without_a_pace_only_moves_the_end_later(store: JobStore, ends_ms: int) -> None:
    """The worker does not count as dead earlier, and the row stays for its second heartbeat.

    Also if the execution ends before: the row comes before both.
    """
    early = Instant(NOW + SILENCE)
    held = hold(
        store, alive_until=None, listed_at=early, execution_ends_at=Instant(NOW + 1_900_000)
    )
    beat = without_pace(expires_at=Instant(NOW + ends_ms))
    after = store.extend(held.id, beat)
    assert after == store.load(held.id) == extended(held, beat)
    assert after.reservation is not None
    assert (after.reservation.expires_at, after.reservation.alive_until) == (NOW + ends_ms, None)
    assert rows(store) == [early]


@pytest.mark.parametrize("is_moved", [True, False])
def test_a_heartbeat_without_a_pace_may_list_the_job_when_it_is_due(
    store: JobStore, *, is_moved: bool
) -> None:
    """It moves the row where the reservation is short; not beyond the execution's end."""
    ends = Instant(LATER + 20_000)
    runs_until = ends if is_moved else Instant(ends - 1)
    held = hold(
        store,
        alive_until=None,
        expires_at=Instant(NOW + 20_000),
        execution_ends_at=runs_until,
        length_ms=20_000,
    )
    beat = without_pace(expires_at=ends, moves_row=True, length_ms=20_000)
    if is_moved:
        assert store.extend(held.id, beat) == extended(held, beat)
        assert rows(store) == [ends]
        return
    assert extended(held, beat) is None
    with pytest.raises(StaleJobError):
        store.extend(held.id, beat)


@pytest.mark.parametrize(
    ("kept", "wanted"),
    [
        ({"alive_until": Instant(NOW + SILENCE)}, {}),
        ({"alive_until": Instant(LATER + 1_800_000)}, {}),
        ({"expires_at": Instant(LATER + 1_800_000)}, {}),
        ({"expires_at": Instant(LATER + 1_800_001)}, {}),
        ({"expires_at": LATER}, {}),
        ({"execution_ends_at": LATER}, {}),
        ({"listed_at": Instant(LATER + SILENCE * 2 // 5 - 1)}, {}),
        ({"length_ms": 30_000}, {"length_ms": 0}),
        ({"length_ms": 30_000}, {"length_ms": 30_001}),
        ({}, {"length_ms": 30_000}),
    ],
    ids=[
        *("promised", "promised for long", "as late", "later", "over", "execution over"),
        *("row", "unlike the default", "another length", "the default"),
    ],
)
def test_a_heartbeat_without_a_pace_is_refused_where_it_must_be_read(
    store: JobStore, kept: dict[str, object], wanted: dict[str, object]
) -> None:
    """It was fetched for another time, its end would not be later, or its row must be moved."""
    held = hold(store, **{"alive_until": None, "listed_at": Instant(NOW + SILENCE), **kept})
    beat = without_pace(**wanted)
    assert extended(held, beat) is None
    with pytest.raises(StaleJobError) as stale:
        store.extend(held.id, beat)
    assert stale.value.current == held == store.load(held.id)


@pytest.mark.parametrize(("own", "fetched"), [(None, None), (None, 30_000), (30_000, None)])
@pytest.mark.parametrize("asked_ms", [None, 0, 30_000])
def test_a_heartbeat_may_depend_on_what_the_job_was_fetched_for(
    store: JobStore, own: int | None, fetched: int | None, asked_ms: int | None
) -> None:
    """The job's own visibility timeout counts as well; 0 stands for the default."""
    job = a_job(visibility_timeout_ms=own)
    store.insert(job)
    early = Instant(NOW + SILENCE)
    reservation = Reservation(
        worker_id="w1",
        expires_at=early,
        execution_ends_at=Instant(NOW + 3_600_000),
        id="r1",
        length_ms=fetched,
    )
    held = store.claim("default", job.id, reservation, NOW)
    beat = without_pace(length_ms=asked_ms)
    is_right = asked_ms in {None, own or fetched or 0}
    assert (extended(held, beat) is not None) is is_right
    if is_right:
        assert store.extend(job.id, beat) == extended(held, beat)
        return
    with pytest.raises(StaleJobError):
        store.extend(job.id, beat)


def test_a_claim_forgets_what_the_job_was_fetched_for_before(store: JobStore) -> None:
    """Each claim says it again, and what has ended keeps nothing of it."""
    held = hold(store, length_ms=30_000)
    back = lifecycle.requeue(held, None, LATER)
    store.save(held, back)
    usual = Reservation(
        worker_id="w1", expires_at=Instant(NOW + 90_000), execution_ends_at=Instant(NOW + 90_000)
    )
    again = store.claim("default", held.id, usual, LATER)
    assert again.reservation == usual


def test_a_claim_forgets_a_length_that_an_earlier_version_left(aws: EmbeddedAws) -> None:
    """Its FAIL did not know of the attribute, which is about the attempt before."""
    store = job_store(aws.settings, aws.clients)
    store.insert(a_job())
    key = {"pk": {"S": f"job#{a_job().id}"}, "sk": {"S": "job"}}
    aws.clients.dynamodb.update_item(
        TableName=aws.settings.table,
        Key=key,
        UpdateExpression="SET #for = :ms",
        ExpressionAttributeNames={"#for": names.RESERVED_FOR},
        ExpressionAttributeValues={":ms": {"N": "30000"}},
    )
    again = store.claim("default", a_job().id, a_reservation(), NOW)
    assert again.reservation == a_reservation()
    assert store.load(again.id) == again


@pytest.mark.parametrize(
    "wrong",
    [
        {"worker_id": "w2"},
        {"which": AttemptRef(reservation_id="r2")},
        {"which": AttemptRef(attempt=2)},
        {"now": Instant(NOW + SILENCE), "alive_until": Instant(NOW + 2 * SILENCE)},
        {"alive_until": Instant(NOW + SILENCE)},
        {"alive_until": Instant(NOW + 1_800_001)},
        {"length_ms": 30_000},
    ],
    ids=["worker", "reservation", "attempt", "over", "no later", "beyond its end", "length"],
)
def test_an_extension_that_needs_the_record_is_refused(
    store: JobStore, wrong: dict[str, object]
) -> None:
    """Another's job, another attempt, a time that is over, another deadline before this one."""
    held = hold(store)
    with pytest.raises(StaleJobError) as stale:
        store.extend(held.id, asked(**wrong))
    assert stale.value.current == held == store.load(held.id)
    right = asked(which=AttemptRef(reservation_id="r1", attempt=1), length_ms=0)
    assert store.extend(held.id, right).version == held.version + 1


def test_only_active_jobs_are_extended(store: JobStore) -> None:
    """Not a missing one either; the caller learns what was found."""
    with pytest.raises(StaleJobError) as stale:
        store.extend(a_job().id, asked())
    assert stale.value.current is None
    held = hold(store)
    cancelled = lifecycle.cancel(held, LATER)
    store.save(held, cancelled)
    with pytest.raises(StaleJobError) as stale:
        store.extend(held.id, asked())
    assert stale.value.current == cancelled


def test_functions_of_an_earlier_version_move_early_rows(store: JobStore) -> None:
    """They do not know that a row may be early, and write it at the due time; then we go on."""
    held = hold(store)
    early = store.extend(held.id, asked(moves_row=False))
    assert early.reservation is not None
    known = replace(early, reservation=replace(early.reservation, listed_at=None))
    alive_until = Instant(LATER + SILENCE + 5_000)
    store.save(known, held_job.extend(known, Instant(0), alive_until))
    assert rows(store) == [alive_until]
    now = Instant(LATER + 20_000)
    beat = asked(now=now, alive_until=Instant(now + SILENCE), moves_row=False)
    assert store.extend(held.id, beat).reservation == replace(
        early.reservation, alive_until=Instant(now + SILENCE), listed_at=alive_until
    )


def test_a_job_with_an_early_row_ends_and_comes_back_like_others(store: JobStore) -> None:
    """Whatever is written next goes by where the row is."""
    held = hold(store)
    early = store.extend(held.id, asked(moves_row=False))
    listed = held_job.list_when_due(early)
    store.save(early, listed)
    assert store.load(held.id) == listed
    assert rows(store) == [LATER + SILENCE]
    again = store.extend(held.id, asked(now=Instant(LATER + 1), alive_until=LATER + SILENCE + 1))
    failed = lifecycle.requeue(again, None, LATER)
    store.save(again, failed)
    assert rows(store) == []
    loaded = store.load(held.id)
    assert loaded is not None
    assert (loaded.state, loaded.reservation) == (JobState.AVAILABLE, None)
