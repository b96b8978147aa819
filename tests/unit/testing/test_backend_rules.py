"""The backend of a test moves its clock, and what waits for it, exactly as far as asked."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from ojs_aws import Job
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.testing import Ojs, backend
from ojs_aws.testing.backend import MemoryBackend
from tests.unit.testing.orders import build_report, send_mail

NOW = 1_800_000_000_000


@pytest.fixture
def memory() -> MemoryBackend:
    made = MemoryBackend()
    made.clock.at = NOW
    return made


def entry(next_run_at: int | None, gap_at: int | None = None) -> Any:
    return SimpleNamespace(next_run_at=next_run_at, gap_at=gap_at)


# -------------------------------------------------------------------------------- cron jobs
@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], None),
        ([entry(None)], None),
        ([entry(NOW - 1, NOW)], None),
        ([entry(NOW + 2), entry(NOW, NOW + 1), entry(NOW + 3)], NOW + 1),
    ],
)
def test_the_clock_stops_next_where_the_first_cron_job_is_due(
    memory: MemoryBackend, entries: list[Any], expected: int | None
) -> None:
    """It does not stop where it is: what is due now has fired."""
    memory._changes.cron = {str(number): each for number, each in enumerate(entries)}
    assert memory._next_cron() == expected


@pytest.mark.parametrize("often", [2, 3])
def test_cron_jobs_fire_as_often_as_the_bound_says(
    memory: MemoryBackend, monkeypatch: pytest.MonkeyPatch, often: int
) -> None:
    moments = [Instant(NOW + number) for number in range(often)]
    monkeypatch.setattr(backend, "MAX_FIRED", 2)
    monkeypatch.setattr(memory, "_tick", lambda: int(memory.clock.at > NOW - 1 and bool(moments)))
    monkeypatch.setattr(memory, "_next_cron", lambda: moments.pop(0) if moments else None)
    if often == 2:
        memory.move_to(Instant(NOW + 9))
        assert memory.clock.at == NOW + 9
    else:
        with pytest.raises(RuntimeError, match="Cron jobs fired 3 times"):
            memory.move_to(Instant(NOW + 9))


# --------------------------------------------------------------------------------- due jobs
@pytest.mark.parametrize(
    ("dues", "expected"),
    [([], None), ([None, NOW], None), ([NOW - 1, NOW + 2, NOW, None, NOW + 1], NOW + 1)],
)
def test_the_next_job_that_is_due_is_the_first_one_after_now(
    memory: MemoryBackend,
    monkeypatch: pytest.MonkeyPatch,
    dues: list[int | None],
    expected: int | None,
) -> None:
    monkeypatch.setattr(deadlines, "next_due", lambda job: job.due)
    memory._changes.jobs = {
        str(number): SimpleNamespace(queue="a", due=due)  # type: ignore[misc]
        for number, due in enumerate(dues)
    }
    assert memory.next_due() == memory.next_due("a") == expected
    assert memory.next_due("b") is None


def test_a_paused_queue_has_no_job_that_becomes_due(memory: MemoryBackend) -> None:
    """Nobody could run it then."""
    at = format_instant(Instant(NOW + 5_000))
    for queue in ("mail", "reports"):
        memory.services.jobs.push(Job("a.b", [], queue=queue, scheduled_at=at))
    memory.services.queues.service.pause("mail")
    assert (memory.next_due("mail"), memory.next_due("reports")) == (None, NOW + 5_000)


# ------------------------------------------------------------------------------ what follows
@pytest.mark.parametrize("has_cron", [True, False])
def test_the_end_of_a_job_may_let_a_run_of_a_cron_job_begin(
    memory: MemoryBackend, *, has_cron: bool
) -> None:
    """What follows from other jobs can only be read, as events are."""
    memory._changes.cron = {"hourly": entry(None)} if has_cron else {}
    memory.services.jobs.push(Job("a.b", [], queue="mail"))
    memory._changes.read()
    assert memory._changes.makes_jobs is has_cron


def test_jobs_that_have_ended_count_for_no_queue(memory: MemoryBackend) -> None:
    """No queue is asked for its first job in vain."""
    memory.services.jobs.push(Job("a.b", [], queue="mail"))
    claimed = memory.claim("mail")
    assert claimed is not None
    assert +memory._changes.undone == Counter(mail=1)
    memory.services.jobs.ack(claimed.id, "test", None)
    memory._changes.read()
    assert +memory._changes.undone == Counter()


def test_what_is_due_later_is_kept_for_later(memory: MemoryBackend) -> None:
    memory._dues = [(Instant(NOW - 1), "a"), (Instant(NOW), "b"), (Instant(NOW + 1), "c")]
    memory._settle()
    assert memory._dues == [(NOW + 1, "c")]


# -------------------------------------------------------------------------------- the clock
def test_the_clock_can_be_stopped_where_it_is(memory: MemoryBackend) -> None:
    """Also if there are jobs; but it cannot go back behind them."""
    memory._changes.jobs = {"a": SimpleNamespace(queue="a")}  # type: ignore[dict-item]
    memory.set_time(Instant(NOW))
    with pytest.raises(ValueError, match="The clock cannot go back"):
        memory.set_time(Instant(NOW - 1))
    assert memory.clock.at == NOW


@pytest.mark.parametrize(
    ("behind_ms", "is_frozen", "moves"),
    [(1, False, [NOW + 1]), (0, False, []), (-1, False, []), (1, True, [])],
)
def test_only_a_running_clock_that_is_behind_the_machine_catches_up(
    memory: MemoryBackend,
    monkeypatch: pytest.MonkeyPatch,
    behind_ms: int,
    is_frozen: bool,
    moves: list[int],
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(backend, "_machine_ms", lambda: NOW + behind_ms)
    monkeypatch.setattr(memory, "move_to", seen.append)
    memory._is_frozen = is_frozen
    memory.catch_up()
    assert seen == moves


# ----------------------------------------------------------------------------------- queues
@pytest.mark.parametrize("configured", [["mail"], ["mail", "reports"]])
async def test_queues_with_settings_are_drained_in_turn(configured: list[str]) -> None:
    """The settings of a queue lie before its jobs in the table."""
    with Ojs.fake() as ojs:
        for name in configured:
            await ojs.client.queues.create(name, {"visibility_timeout": 60})
        await send_mail.enqueue("a@b.c")
        await build_report.options(queue="reports").enqueue("monday")
        report = await ojs.drain()
    assert [each.job.queue for each in report.executions] == ["mail", "reports"]


async def test_a_paused_queue_does_not_keep_others_from_a_drain() -> None:
    with Ojs.fake() as ojs:
        await ojs.client.queues.pause("mail")
        await send_mail.enqueue("a@b.c")
        await build_report.enqueue("monday")
        report = await ojs.drain()
    assert [each.job.queue for each in report.executions] == ["default"]
