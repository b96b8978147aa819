"""The benchmark of fair queues, with small numbers: shares, floods, and a key that is alone."""

from __future__ import annotations

import pytest

from benchmarks import fairness, inversion


def test_shares_follow_the_weights() -> None:
    """Within 5 percent of them, over a thousand starts."""
    found = fairness.shares(fairness.WEIGHTS, 1_000)
    assert found == {
        key: pytest.approx(weight / 7, rel=0.05) for key, weight in fairness.WEIGHTS.items()
    }


def test_keys_share_time_where_costs_are_learnt() -> None:
    """Where they are not, jobs four times as long have four fifths of it."""
    by_time = fairness.time_shares(2_000, learns=True)
    assert by_time == {key: pytest.approx(0.5, rel=0.05) for key in fairness.RUN_MS}
    by_starts = fairness.time_shares(1_000, learns=False)
    assert by_starts["long"] == pytest.approx(0.8, rel=0.01)


def test_a_key_behind_a_flood_starts_at_once_and_takes_turns() -> None:
    """The flood came in batches, of which one moves its key on by all its jobs."""
    order = fairness.behind(12_000, 20)
    assert order.index("late") <= 2
    assert order.count("late") == 20
    assert "late late" not in " ".join(order[2:])


def test_a_key_that_is_alone_has_all_starts() -> None:
    """Nothing is kept for others."""
    assert fairness.shares({"alone": 1.0}, 300) == {"alone": 1.0}


def test_a_new_key_of_a_wide_queue_starts_within_a_turn_of_the_lines() -> None:
    """One process has looked at all of them by then."""
    queue = fairness.WideFairQueue(lines=8)
    assert fairness.starts_before(queue, 2_000, 60)[-1] < 8
    shares = fairness.shares(fairness.WEIGHTS, 1_400, fairness.WideFairQueue(lines=4))
    assert shares["heavy"] == pytest.approx(4 / 7, rel=0.05)


def test_an_urgent_job_waits_less_than_fifty_milliseconds_for_its_line() -> None:
    """In 99 of 100 cases, at 10,000 starts a second on 64 lines; with one line it is the first."""
    for count in (1, 10):
        before = inversion.starts_before(inversion.Workers(64, count), 300)
        assert 1 < before[297] < 500
    assert set(inversion.starts_before(inversion.Workers(1, 1), 9)) == {0}


def test_a_light_key_waits_no_longer_for_a_flood() -> None:
    """In order it waits for all of it."""
    fair = [wait for _, wait in fairness.waits(is_fair=True, flood=2_000)]
    plain = [wait for _, wait in fairness.waits(is_fair=False, flood=2_000)]
    assert max(fair) < 0.1
    assert max(plain) > 10


@pytest.mark.thorough
def test_the_page_and_the_command_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """The shares of the page are those that are printed."""
    fairness.main(["--starts", "1000", "--flood", "6000"])
    shown = capsys.readouterr().out
    assert all(share in shown for share in ("14.", "28.", "57.", "100%"))
