"""How long reservations last, and what a heartbeat asks for jobs that nobody has read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.held_job import ASSUMED_SILENCE_MS
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workers import WorkerInfo
from ojs_aws.services.workers import (
    MAX_INTERVAL_MS,
    MAX_LEARNED,
    MIN_INTERVAL_MS,
    MISSED_HEARTBEATS,
    DrainState,
    KnownLengths,
    VisibilityTimeouts,
    alive_until,
    check_heartbeat_interval,
    moves_rows,
    unread_extension,
)
from tests.contract.test_job_store import NOW, a_job, a_reservation

DEFAULT_MS = 60_000
FIVE_S = 5_000
SILENCE_MS = MISSED_HEARTBEATS * FIVE_S
PROMISED: dict[str, Any] = {"interval_ms": FIVE_S}
BEATEN: dict[str, Any] = {"seen_before": Instant(NOW - FIVE_S)}


def a_worker(**more: Any) -> WorkerInfo:
    return WorkerInfo(**{"id": "w", "last_seen": NOW, **more})


@pytest.mark.parametrize("interval_ms", [None, MIN_INTERVAL_MS, MAX_INTERVAL_MS])
def test_an_interval_that_a_worker_can_keep_is_accepted(interval_ms: int | None) -> None:
    check_heartbeat_interval(interval_ms)


@pytest.mark.parametrize("interval_ms", [MIN_INTERVAL_MS - 1, MAX_INTERVAL_MS + 1])
def test_an_interval_that_no_worker_keeps_is_refused(interval_ms: int) -> None:
    with pytest.raises(InvalidRequestError):
        check_heartbeat_interval(interval_ms)


def test_a_process_learns_the_lengths_of_so_many_queues() -> None:
    """Those that it knows may change; the others keep the deployment's default."""
    lengths = VisibilityTimeouts(DEFAULT_MS)
    for number in range(MAX_LEARNED):
        lengths.learn(f"q{number}", 1000)
    lengths.learn("one more", 1000)
    lengths.learn("q0", 2000)
    assert [lengths.of(queue) for queue in ("q0", "q1", "one more")] == [2000, 1000, DEFAULT_MS]
    lengths.learn("q0", None)
    assert lengths.of("q0") == DEFAULT_MS


@pytest.mark.parametrize(("after_ms", "holds"), [(SILENCE_MS - 1, True), (SILENCE_MS, False)])
def test_a_worker_drains_until_it_counts_as_dead(after_ms: int, holds: bool) -> None:
    draining = DrainState()
    draining.note(a_worker(state="quiet", **PROMISED))
    assert draining.holds("w", Instant(NOW + after_ms)) is holds
    assert not draining.holds("other", NOW)


@pytest.mark.parametrize(
    ("worker", "held_alive", "requested_ms", "expected"),
    [
        ({}, None, None, None),
        ({}, None, 90_000, None),
        ({}, NOW, None, NOW + ASSUMED_SILENCE_MS),
        (PROMISED, None, None, NOW + SILENCE_MS),
        (PROMISED, None, 90_000, NOW + SILENCE_MS),
        (BEATEN, None, None, NOW + ASSUMED_SILENCE_MS),
        (BEATEN, None, 90_000, NOW + 90_000),
        (BEATEN, None, 1_000, NOW + ASSUMED_SILENCE_MS),
    ],
)
def test_a_worker_counts_as_alive_as_far_as_its_pace_is_known(
    worker: dict[str, Any], held_alive: Instant | None, requested_ms: int | None, expected: int
) -> None:
    """It promised it, now or with FETCH, or has beaten twice."""
    held = replace(a_reservation(), alive_until=held_alive)
    job = a_job(state=JobState.ACTIVE, reservation=held, started_at=NOW)
    assert alive_until(a_worker(**worker), job, requested_ms) == expected


def test_the_first_heartbeat_of_a_worker_has_no_pace_without_a_reservation() -> None:
    assert alive_until(a_worker(), a_job(), None) is None
    assert alive_until(a_worker(**PROMISED), a_job(), None) == NOW + SILENCE_MS


def asked(worker: dict[str, Any], *given: Any) -> tuple[int | None, int | None, int | None]:
    """What is asked for: the end, the worker's death, and the length it was fetched for."""
    wanted = unread_extension(a_worker(**worker), *given)
    ends = None if wanted.expires_at is None else wanted.expires_at - NOW
    return ends, None if wanted.alive_until is None else wanted.alive_until - NOW, wanted.length_ms


@pytest.mark.parametrize(
    ("worker", "requested_ms", "default_ms", "known_ms", "expected"),
    [
        ({}, None, DEFAULT_MS, None, (DEFAULT_MS, None, 0)),
        ({}, None, DEFAULT_MS, 7_000, (7_000, None, 7_000)),
        ({}, 20_000, DEFAULT_MS, None, (20_000, None, None)),
        (PROMISED, None, SILENCE_MS, None, (None, SILENCE_MS, None)),
        (PROMISED, None, SILENCE_MS - 1, None, (SILENCE_MS - 1, SILENCE_MS, 0)),
        (PROMISED, None, DEFAULT_MS, DEFAULT_MS, (DEFAULT_MS, SILENCE_MS, DEFAULT_MS)),
        (PROMISED, 20_000, DEFAULT_MS, None, (20_000, SILENCE_MS, None)),
        (PROMISED, 20_000, DEFAULT_MS, 0, (None, SILENCE_MS, None)),
        (PROMISED, 20_000, DEFAULT_MS, 7_000, (20_000, SILENCE_MS, None)),
        (BEATEN, 90_000, DEFAULT_MS, None, (90_000, 90_000, None)),
        (BEATEN, 20_000, DEFAULT_MS, None, (20_000, ASSUMED_SILENCE_MS, None)),
    ],
)
def test_a_heartbeat_asks_for_what_most_jobs_take(
    worker: dict[str, Any],
    requested_ms: int | None,
    default_ms: int,
    known_ms: int | None,
    expected: tuple[int | None, ...],
) -> None:
    """The end stays where the worker's death comes first, for a job of the usual length."""
    assert asked(worker, requested_ms, default_ms, known_ms) == expected


@pytest.mark.parametrize(
    ("every_ms", "lasts_ms", "moved"),
    [
        (5_000, 15_000, [0, 2, 4, 6]),
        (5_000, 9_000, [0, 1, 2, 3, 4, 5, 6]),
        (5_000, 30_000, [0, 4]),
    ],
)
def test_rows_are_moved_before_their_time_comes(
    every_ms: int, lasts_ms: int, moved: list[int]
) -> None:
    """By as few of the worker's heartbeats as can be; three fifths of what they last are free."""
    worker = a_worker(seen_before=Instant(NOW - every_ms))
    found = [beat for beat in range(7) if moves_rows(replace(worker, beats=beat), lasts_ms)]
    assert found == moved


@pytest.mark.parametrize(
    ("worker", "given", "moves"),
    [
        ({"beats": 1}, (None, 1_000), True),
        ({"beats": 1}, (None, DEFAULT_MS), False),
        ({"beats": 1, "interval_ms": FIVE_S}, (1_000, DEFAULT_MS), True),
        ({"beats": 1, "interval_ms": FIVE_S}, (90_000, DEFAULT_MS), False),
        ({"beats": 2, "interval_ms": FIVE_S}, (None, DEFAULT_MS), True),
        ({"beats": 1, "interval_ms": FIVE_S}, (None, DEFAULT_MS), False),
    ],
)
def test_what_comes_first_says_how_long_an_extension_lasts(
    worker: dict[str, Any], given: tuple[Any, ...], moves: bool
) -> None:
    """Its end or the worker's death: rows of short ones are moved by each heartbeat."""
    assert unread_extension(a_worker(**worker), *given).moves_row is moves


@pytest.mark.parametrize(
    ("length_ms", "requested_ms", "ends_in_ms", "expected"),
    [
        (None, None, 30_000, None),
        (7_000, None, 30_000, 7_000),
        (None, 30_000, 30_000, None),
        (None, 29_999, 30_000, 0),
        (7_000, 30_000, 30_000, None),
    ],
)
def test_a_refused_extension_says_how_long_a_workers_jobs_are_held(
    length_ms: int | None, requested_ms: int | None, ends_in_ms: int, expected: int | None
) -> None:
    """Or that it asks for less than they have left; a job as usual is forgotten again."""
    known = KnownLengths()
    held = replace(a_reservation(), length_ms=length_ms, expires_at=Instant(NOW + ends_in_ms))
    job = a_job(state=JobState.ACTIVE, reservation=held)
    other = replace(held, length_ms=1)
    known.note(a_worker(), replace(job, reservation=other), None, DEFAULT_MS)
    assert known.of("w") == 1
    known.note(a_worker(), job, requested_ms, DEFAULT_MS)
    assert known.of("w") == expected
