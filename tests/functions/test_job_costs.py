"""The formulas of the estimate are what a meter measures on real operations."""

from __future__ import annotations

import pytest

from benchmarks.costs import (
    BEATS,
    FULL,
    KINDS,
    LIFE,
    SIZES,
    failed_alone,
    following,
    life,
    measured,
)
from benchmarks.documents import envelope
from benchmarks.lives import PATHS, estimated, metered
from ojs_aws.pricing import BUSY_RATE, ORDINARY_JSON, PRICES, RANDOM_TOKENS
from ojs_aws.pricing.estimate import BEAT_WRITES, GROUP_WRITES
from ojs_aws.pricing.units import (
    ack_units,
    deleted_together,
    fetch_reads,
    is_in_s3,
    listed_together,
    move_units,
    push_units,
    stream_batch,
    stream_units,
)

COMPRESSION = {"random tokens": RANDOM_TOKENS, "ordinary JSON": ORDINARY_JSON}
MESSAGES = 2
"""PUSH sends one, FETCH receives it; the stream deletes it."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES.values())
def test_envelopes_have_exactly_their_size(kind: str, size: int) -> None:
    assert len(envelope(KINDS[kind](size))) == size


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES.values())
def test_the_estimate_of_a_job_agrees_with_the_meter(kind: str, size: int) -> None:
    """From PUSH to ACK, within five percent of the dollars."""
    costs = measured(size, KINDS[kind])
    whole = life(costs)
    given = size, COMPRESSION[kind]
    estimated = (
        (push_units(*given) + move_units(*given) + ack_units(*given)) * PRICES["write unit"]
        + fetch_reads(*given) * PRICES["read unit"]
        + MESSAGES * PRICES["SQS request"]
        + is_in_s3(*given) * (PRICES["S3 PUT"] + PRICES["S3 GET"])
    )
    assert estimated * 1e6 == pytest.approx(whole.dollars, rel=0.05)


@pytest.mark.parametrize(
    ("size", "kind", "units", "dollars"),
    [
        ("0.5 KB", "random tokens", 7, 5.8),
        ("8 KB", "ordinary JSON", 9, 7),
        ("8 KB", "random tokens", 12, 9),
        ("100 KB", "random tokens", 7, 15),
        ("100 KB", "ordinary JSON", 7, 15),
    ],
)
def test_a_job_of_any_size_costs_at_most_this(
    size: str, kind: str, units: int, dollars: float
) -> None:
    """Write units, and dollars of a million for DynamoDB, SQS and S3, from PUSH to ACK."""
    costs = measured(SIZES[size], KINDS[kind])
    whole = life(costs)
    assert whole.writes <= units
    assert whole.dollars <= dollars


def test_a_small_job_costs_seven_units_and_seven_calls() -> None:
    """0.5 KB of random tokens, with a receipt handle as long as AWS makes them.

    The stream deletes its message, with nine others where jobs come fast, and lists it.
    """
    costs = measured(SIZES["0.5 KB"], KINDS["random tokens"])
    whole = life(costs)
    assert [costs[name].writes for name in LIFE] == [2, 3, 2]
    assert (whole.writes, whole.reads, sum(whole.calls.values())) == (7, 1, 7)
    beat = costs["BEAT"]
    assert (beat.writes, beat.reads, beat.calls.total()) == (
        (BEAT_WRITES + 1) * BEATS,
        0,
        3 * BEATS,
    )


@pytest.mark.parametrize("path", PATHS)
def test_the_estimate_of_a_whole_life_agrees_with_the_meter(path: str) -> None:
    """Within five percent of the dollars and of the write units, the stream's included."""
    found, said = metered(PATHS[path]), estimated(PATHS[path])
    assert said.dollars == pytest.approx(found.dollars, rel=0.05)
    assert said.units["write unit"] == pytest.approx(found.units["write unit"], rel=0.05)
    assert said.changes == found.changes


def test_a_failure_costs_the_stream_a_unit_more_for_its_group() -> None:
    """Beside the event log and the counters, as the estimate says."""
    assert failed_alone() == pytest.approx(stream_units(1) + GROUP_WRITES, abs=0.1)


@pytest.mark.parametrize(
    ("together", "rate", "window_s"), [(1, 1.0, 0.0), (3, 1.0, 1.0), (FULL, BUSY_RATE, 1.0)]
)
def test_the_estimate_of_the_stream_agrees_with_the_meter(
    together: int, rate: float, window_s: float
) -> None:
    """Single changes at a job a second without a window, three with it, full batches when busy.

    Within a seventh of a unit.
    """
    assert stream_batch(rate, window_s) == together
    found = following(together)
    assert found.changes == 3
    jobs = together / found.changes
    listed = 1 / listed_together(jobs)
    assert found.writes == pytest.approx(3 / together * stream_units(together) + listed, abs=0.15)
    assert found.requests == pytest.approx(1 / deleted_together(jobs), abs=0.1)
