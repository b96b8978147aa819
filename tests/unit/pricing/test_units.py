"""Units by hand: where documents are kept, what batches of the stream hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ojs_aws.pricing import Workload, estimate, units


@pytest.mark.parametrize(
    ("size", "compression", "stored"),
    [(100, 2.0, 67), (100, 1.2, 84), (1000, 5.5, 306), (1000, 1.0, 1000), (256, 1.5, 171)],
)
def test_the_beginning_of_a_document_is_deflated_less(
    size: int, compression: float, stored: int
) -> None:
    """256 bytes by 1.5 at most, and the rest as it is said."""
    assert units.stored_bytes(size, compression) == stored


@pytest.mark.parametrize(
    ("size", "is_inline", "is_in_s3", "blob"),
    [
        (1400, True, False, 0),
        (1401, False, False, 2),
        (8192, False, False, 9),
        (8193, False, True, 0),
    ],
)
def test_documents_move_at_the_very_byte(
    size: int, is_inline: bool, is_in_s3: bool, blob: int
) -> None:
    found = (units.is_inline(size, 1.0), units.is_in_s3(size, 1.0), units.blob_units(size, 1.0))
    assert found == (is_inline, is_in_s3, blob)


@pytest.mark.parametrize(
    ("claim_s", "job_s", "together"),
    [(0.9, 0.9, 3), (1.0, 0.9, 1.5), (0.9, 1.0, 1.5), (1.0, 1.0, 1)],
)
def test_changes_come_together_that_lie_within_a_window(
    claim_s: float, job_s: float, together: float
) -> None:
    assert units.stream_batch(0.0, 1.0, claim_s, job_s) == together


def test_each_job_is_acknowledged_once_however_often_it_failed() -> None:
    """By one larger write; each failure is a FAIL and another FETCH."""

    def ack(size: int, *, has_failed: bool) -> float:
        return units.ack_units(size, 2.0, has_failed=has_failed)

    size = next(x for x in range(2800) if ack(x, has_failed=True) > ack(x, has_failed=False))
    wanted = Workload(jobs=1000, failure_rate=2, size_bytes=size, compression=2.0)
    lines = {line.what: line.amount for line in estimate(wanted)}
    move, again = (units.move_units(size, 2.0, has_failed=failed) for failed in (False, True))
    moves = 1000 * move + 2000 * (again + move)
    assert lines["FETCH, ACK and FAIL, written"] == moves + 1000 * ack(size, has_failed=True)


def test_a_workload_at_its_least_is_accepted() -> None:
    Workload(jobs=0, rate=0, compression=1, batch_jobs=1, shards=1, stream_window_s=0)
    ends = replace(Workload(), unique=1, steps=1, limited=1, batched=1, scheduled=1)
    assert ends.unique == 1
