"""What the sweep and the repair send, at the instants and numbers at which that changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ojs_aws.domain.errors import BackendError, InvalidRequestError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import Limit
from ojs_aws.domain.jobs.lists import Head, JobList, ListedJob, Page
from ojs_aws.domain.queues import Backlog, Message, QueueInfo
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.limits.check import LimitCheck
from ojs_aws.services.upkeep import sweep_queue
from ojs_aws.services.upkeep.export import Export, Exported
from ojs_aws.services.upkeep.message_resend import (
    AGAIN_AFTER_MS,
    LONGEST_AGAIN_MS,
    UNCOVERED_AFTER_MS,
    MessageResend,
)
from ojs_aws.services.upkeep.removal import Removal, Removed
from ojs_aws.services.upkeep.repair import Repair
from ojs_aws.services.upkeep.sweep_queue import SETTLE_AFTER_MS, QueueSweep
from ojs_aws.testing.deployment import FakeClock
from tests.contract.test_job_store import NOW, a_job
from tests.unit.services.jobs.fetch.scripted import row_of, some_jobs

LATE = Instant(NOW - UNCOVERED_AFTER_MS - 1)
S = JobState


def ready_since(at: Instant, number: int = 1, **more: Any) -> ListedJob:
    return row_of(a_job(number, order=at * 1000, enqueued_at=at, **more))


def waiting_row(due: Instant, number: int = 1, *, is_far: bool = True) -> ListedJob:
    row = row_of(a_job(number))
    return replace(row, sort_key=f"{due:015d}", state=S.SCHEDULED, is_far=is_far)


@dataclass
class Aws:
    """The lists of a queue, and its messages; notes what is sent and read."""

    backlog_: Backlog = field(default_factory=Backlog)
    covered: int = 0
    types: frozenset[str] = frozenset()
    pages: list[Page] = field(default_factory=list)
    sent: list[list[tuple[Message, int]]] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    is_sending: bool = True
    tenants: frozenset[str] = frozenset({"acme"})

    def backlog(self, _queue: str) -> Backlog:
        return self.backlog_

    def check(self, queue: str) -> LimitCheck:
        self.reads.append("types")
        return LimitCheck(queue, self.types, self.tenants)

    def due(self, *_: Any, **__: Any) -> Page:
        self.reads.append("due")
        if self.pages:
            return self.pages.pop(0)
        return Page(tuple(map(row_of, some_jobs(self.covered))))

    def send(self, _queue: str, messages: Sequence[tuple[Message, int]], _now: Instant) -> bool:
        self.sent.append([*messages])
        return self.is_sending


def resend_of(aws: Aws) -> MessageResend:
    given = cast("Any", aws)
    return MessageResend(given, given, given, given, given)


def resent(aws: Aws, *rows: ListedJob, limit: str = "", sent: tuple[str, ...] = ()) -> int:
    return resend_of(aws)("default", Head(rows, limit=limit), NOW, sent)


@pytest.mark.parametrize(
    ("row", "sent", "count"),
    [
        (ready_since(LATE), (), 1),
        (ready_since(Instant(LATE + 1)), (), 0),
        (ready_since(LATE), (a_job().id,), 0),
    ],
)
def test_a_message_is_sent_for_a_job_that_has_been_ready_for_long(
    row: ListedJob, sent: tuple[str, ...], count: int
) -> None:
    """Unless it got one just now."""
    aws = Aws()
    assert resent(aws, row, sent=sent) == count
    assert len(aws.sent) == count


@pytest.mark.parametrize(
    ("backlog", "limit", "types", "count", "reads"),
    [
        (Backlog(1), "", frozenset(), 0, []),
        (Backlog(0), "", frozenset(), 3, []),
        (Backlog(0, hidden=9), "", frozenset(), 3, ["types"]),
        (Backlog(0, hidden=9), "", frozenset({"type:demo.echo"}), 0, ["types", "due"]),
        (Backlog(1), "", frozenset({"type:demo.echo"}), 0, []),
        (Backlog(1), "{}", frozenset(), 2, []),
        (Backlog(0, hidden=3), "{}", frozenset(), 0, ["due"]),
    ],
)
def test_one_visible_message_is_enough_where_no_limit_makes_jobs_wait(
    backlog: Backlog, limit: str, types: frozenset[str], count: int, reads: list[str]
) -> None:
    """Else each job has its own, hidden or not; limits of types are asked for where it matters."""
    aws = Aws(backlog, types=types)
    rows = [ready_since(LATE, number) for number in range(3)]
    assert resent(aws, *rows, limit=limit) == count
    assert aws.reads == reads
    assert [len(each) for each in aws.sent] == ([count] if count else [])


@pytest.mark.parametrize(("tenant", "count"), [("acme", 0), ("beta", 3), ("", 3)])
def test_a_limit_of_a_tenant_may_make_its_jobs_wait(tenant: str, count: int) -> None:
    """Then messages that are hidden count, and else they say nothing."""
    rows = [ready_since(LATE, number, tenant=tenant) for number in range(3)]
    assert resent(Aws(Backlog(0, hidden=9)), *rows) == count


@pytest.mark.parametrize(
    ("total", "covered", "count", "is_read"),
    [(2, 9, 1, False), (3, 1, 1, True), (3, 0, 0, True), (102, 100, 1, True), (103, 100, 0, False)],
)
def test_messages_of_waiting_jobs_do_not_count_for_ready_ones(
    total: int, covered: int, count: int, is_read: bool
) -> None:
    """A page of them is read where it may change the number."""
    aws = Aws(Backlog(0, hidden=total), covered)
    limited = {"limit": Limit(key="api", concurrency=1)}
    rows = [ready_since(LATE, number, **limited) for number in range(3)]
    assert resent(aws, *rows) == count
    assert ("due" in aws.reads) is is_read


def test_the_pause_after_each_message_of_a_job_gets_longer_up_to_a_bound() -> None:
    """Another job's does not; and one that failed to be sent makes none."""
    aws = Aws(is_sending=False)
    resend, head = resend_of(aws), Head((ready_since(LATE),))
    assert resend("default", head, NOW) == 0
    aws.is_sending = True
    now, pause = NOW, AGAIN_AFTER_MS
    assert resend("default", head, now) == 1
    while pause <= LONGEST_AGAIN_MS * 2:
        length = min(pause, LONGEST_AGAIN_MS)
        assert resend("default", head, Instant(now + length - 1)) == 0
        now = Instant(now + length)
        assert resend("default", head, now) == 1
        pause *= 2


# ------------------------------------------------------------------------------------ sweep
class Queue:
    """A queue that is swept: what is due, page by page, and its head."""

    def __init__(self, *pages: Page, head: tuple[ListedJob, ...] = ()) -> None:
        self.pages, self.head_ = [*pages], Head(head)
        self.reads, self.settled, self.sent = 0, 0, 0

    def due(self, _queue: str, _since: Instant, until: Instant, limit: int, **more: Any) -> Page:
        if limit == 1:
            return Page(self.pages[0].jobs[:1]) if self.pages else Page(())
        self.reads += 1
        at = int(more.get("cursor") or 0)
        return self.pages[at] if at < len(self.pages) else Page(())

    def head(self, *_: Any) -> Head:
        return self.head_

    def oldest_ready(self, _queue: str) -> None:
        return None


def sweep_of(queue: Queue) -> QueueSweep:
    store = cast("Any", queue)

    def settle_each(ids: Sequence[str], *_: Any) -> list[tuple[str, None]]:
        queue.settled += len(ids)
        return []

    def send(_name: str, messages: Sequence[Any], _now: Instant) -> bool:
        queue.sent += len(messages)
        return True

    changer = SimpleNamespace(store=store, clock=FakeClock(NOW), settle_each=settle_each)
    registry = SimpleNamespace(remember_sweep=lambda *_: None)
    messages = SimpleNamespace(send=send)
    given = [cast("Any", each) for each in (registry, changer, messages, lambda *_: 0)]
    return QueueSweep(*given)


INFO = QueueInfo(name="default")


@pytest.mark.parametrize(("late_ms", "settles"), [(SETTLE_AFTER_MS, 1), (SETTLE_AFTER_MS - 1, 0)])
def test_jobs_that_nobody_fetched_for_a_while_are_moved(late_ms: int, settles: int) -> None:
    queue = Queue(Page((waiting_row(Instant(NOW - late_ms)),)))
    sweep_of(queue)(INFO, lambda: False)
    assert queue.settled == settles


@pytest.mark.parametrize(
    ("due", "head", "is_idle"),
    [
        ((), (), True),
        ((waiting_row(NOW),), (), False),
        ((), (ready_since(NOW),), False),
    ],
)
def test_a_queue_is_idle_where_nothing_is_ready_or_due_soon(
    due: tuple[ListedJob, ...], head: tuple[ListedJob, ...], is_idle: bool
) -> None:
    report = sweep_of(Queue(Page(due), head=head))(INFO, lambda: False)
    assert report.is_idle is is_idle


def test_the_oldest_ready_job_says_how_long_a_queue_waits() -> None:
    rows = tuple(ready_since(Instant(NOW - ms), ms) for ms in (10, 900, 50))
    assert sweep_of(Queue(head=rows))(INFO, lambda: False).oldest_ms == 900


@pytest.mark.parametrize(("is_over", "pages"), [(False, 3), (True, 1)])
def test_a_sweep_ends_after_a_page_once_its_time_is_over(is_over: bool, pages: int) -> None:
    """Of those that it arms, and of those that it moves."""
    late = Instant(NOW - SETTLE_AFTER_MS)
    made = [Page((waiting_row(late, n),), str(n + 1) if n < 2 else "") for n in range(3)]
    queue = Queue(*made)
    sweep_of(queue)(INFO, lambda: is_over)
    assert (queue.sent, queue.settled, queue.reads) == (pages, pages, 2 * pages)


@pytest.mark.parametrize(("most", "pages"), [(1, 1), (2, 2), (9, 3)])
def test_a_sweep_arms_and_moves_so_many_jobs(
    monkeypatch: pytest.MonkeyPatch, most: int, pages: int
) -> None:
    monkeypatch.setattr(sweep_queue, "MAX_ARMED", most)
    monkeypatch.setattr(sweep_queue, "MAX_SETTLED", most)
    late = Instant(NOW - SETTLE_AFTER_MS)
    made = [Page((waiting_row(late, n),), str(n + 1) if n < 2 else "") for n in range(3)]
    queue = Queue(*made)
    sweep_of(queue)(INFO, lambda: False)
    assert (queue.sent, queue.settled) == (pages, pages)


# ------------------------------------------------------------------------------------ repair
@dataclass
class Restored(Aws):
    """One queue after a restore."""

    ready: tuple[ListedJob, ...] = ()
    info: QueueInfo = INFO

    def all(self) -> list[QueueInfo]:
        return [self.info]

    def listed(self, *_: Any, **__: Any) -> Page:
        return Page(self.ready)

    def list(self, *_: Any) -> Any:
        return SimpleNamespace(workflows=(), cursor="")


def repair_of(aws: Restored) -> Repair:
    given = cast("Any", aws)
    return Repair(given, given, given, FakeClock(NOW), lambda: given)


@pytest.mark.parametrize("is_dry", [True, False])
def test_a_repair_sends_what_a_dry_run_counts(is_dry: bool) -> None:
    """And nothing where nothing is missing."""
    far = waiting_row(NOW, is_far=False)
    aws = Restored(ready=(ready_since(NOW),), pages=[Page((far,))])
    report = repair_of(aws)(is_dry=is_dry)
    assert (report.ready, report.waiting) == (1, 1)
    assert [len(each) for each in aws.sent] == ([] if is_dry else [1, 1])
    empty = Restored()
    repair_of(empty)(is_dry=is_dry)
    assert empty.sent == []


@pytest.mark.parametrize(
    ("due", "is_far", "count"),
    [(Instant(NOW + 1), True, 0), (NOW, True, 1), (Instant(NOW + 1), False, 1)],
)
def test_a_far_job_that_the_sweep_has_not_come_to_is_left_to_it(
    due: Instant, is_far: bool, count: int
) -> None:
    info = replace(INFO, swept_until=NOW)
    aws = Restored(info=info, pages=[Page((waiting_row(due, is_far=is_far),))])
    assert repair_of(aws)().waiting == count


@pytest.mark.parametrize("cursor", ["default|workflows|", "|ready|", "other|ready|", "x"])
def test_a_cursor_of_no_part_is_refused(cursor: str) -> None:
    """Workflows are of no queue, and lists are of one."""
    with pytest.raises(InvalidRequestError, match="cursor"):
        repair_of(Restored())(cursor)
    for known in ("|workflows|", f"default|{JobList.READY}|"):
        repair_of(Restored())(known)


# -------------------------------------------------------------------------- export, removal
def ended_jobs(*queues: str) -> list[JobRecord]:
    return [
        a_job(number, queue=queue, state=S.COMPLETED, completed_at=NOW)
        for number, queue in enumerate(queues)
    ]


@pytest.mark.parametrize(
    ("times", "expected", "written"),
    [
        ([True] * 9, Exported(2, 3), 2),
        ([False] * 9, Exported(1, 1), 1),
        ([True, False] + [True] * 9, Exported(2, 2), 2),
        ([True, True, False], Exported(1, 1), 1),
    ],
)
def test_an_export_writes_what_there_is_time_for(
    times: list[bool], expected: Exported, written: int
) -> None:
    """One job and one file at least; it says from which job on to begin again."""
    files: list[str] = []
    left = iter(times)
    jobs = ended_jobs("a", "b", "a")
    assert Export(lambda key, _: files.append(key))(jobs, lambda: next(left)) == expected
    assert len(files) == written


@pytest.mark.parametrize("is_there", [True, False])
def test_a_job_is_exported_without_documents_that_went_with_it(*, is_there: bool) -> None:
    """As long as it is there, the export fails and comes again."""
    (job,) = ended_jobs("a")
    files: list[str] = []

    def fail(_: JobRecord) -> JobRecord:
        raise BackendError("down")

    store = SimpleNamespace(fill=fail, load=lambda _: job if is_there else None)
    export = Export(lambda _, text: files.append(text), cast("Any", store))
    if is_there:
        with pytest.raises(BackendError):
            export([job])
        assert files == []
    else:
        assert export([job]) == Exported(1, 1)
        assert job.id in files[0]


@pytest.mark.parametrize("goes_with_stack", [True, False])
def test_only_a_bucket_that_goes_with_its_stack_is_emptied(goes_with_stack: bool) -> None:
    buckets = SimpleNamespace(
        goes_with_stack=lambda _: goes_with_stack, empty=lambda _: iter([3, 4])
    )
    removal = Removal(cast("Any", buckets), lambda: [2])
    expected = Removed(7, 2) if goes_with_stack else Removed()
    assert removal("bucket", lambda: True, with_queues=True) == expected
    if goes_with_stack:
        with pytest.raises(BackendError, match="time to delete 3 objects"):
            removal("bucket", lambda: False, with_queues=True)
