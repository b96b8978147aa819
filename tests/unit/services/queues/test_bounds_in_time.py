"""At which instant what a process remembers of queues is looked at again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from ojs_aws.adapters.dynamodb.queues.depths import Depths
from ojs_aws.adapters.dynamodb.queues.settings import QueueSettingsStore
from ojs_aws.adapters.dynamodb.queues.tallies import Tallies
from ojs_aws.domain.errors import NotFoundError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.queues import Depth, QueueSettings, QueueState
from ojs_aws.domain.queues.config import DEFAULT_POLICY
from ojs_aws.domain.queues.tallies import StreamLag
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.queues.counters import QUIET_MS, Changed, DepthRecount, QueueCounters
from ojs_aws.services.queues.push_settings import PushSettingsCache
from ojs_aws.services.queues.rules import (
    FULL_MS,
    LOOK_AGAIN_MS,
    PENDING_MS,
    QueueRules,
    UndeclaredQueues,
)
from ojs_aws.testing.deployment import FakeClock
from tests.contract.test_job_store import NOW, a_job


@dataclass
class Registry:
    """Names of queues; counts how often they are read."""

    names: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    reads: Counter[str] = field(default_factory=Counter)

    def all(self) -> set[str]:
        self.reads["all"] += 1
        return {*self.names}

    def gone(self) -> set[str]:
        self.reads["gone"] += 1
        return {*self.deleted}


def undeclared(registry: Registry, most: int = 2) -> tuple[UndeclaredQueues, FakeClock]:
    clock = FakeClock(NOW)
    return UndeclaredQueues(most, clock, registry.all, registry.gone), clock


@pytest.mark.parametrize(("after_ms", "reads"), [(LOOK_AGAIN_MS - 1, 1), (LOOK_AGAIN_MS, 2)])
def test_the_known_queues_are_read_again_after_a_moment(after_ms: int, reads: int) -> None:
    registry = Registry()
    queues, clock = undeclared(registry)
    queues.admit("a")
    clock.advance(ms=after_ms)
    queues.admit("b")
    assert registry.reads["all"] == reads


@pytest.mark.parametrize(("after_ms", "counts"), [(PENDING_MS - 1, True), (PENDING_MS, False)])
def test_an_admitted_queue_counts_until_it_must_be_registered(after_ms: int, counts: bool) -> None:
    """Then it is looked for as any other, and leaves its place to it."""
    registry = Registry()
    queues, clock = undeclared(registry, most=1)
    assert queues.admit("a")
    clock.advance(ms=after_ms)
    assert queues.admit("b") is not counts
    assert queues.admit("a") is counts


@pytest.mark.parametrize(("after_ms", "reads"), [(PENDING_MS - 1, 1), (PENDING_MS, 2)])
def test_an_admitted_queue_needs_no_look_for_a_while(after_ms: int, reads: int) -> None:
    registry = Registry()
    queues, clock = undeclared(registry)
    assert queues.admit("a")
    clock.advance(ms=after_ms)
    assert queues.admit("a")
    assert registry.reads["all"] == reads


@pytest.mark.parametrize(("after_ms", "reads"), [(FULL_MS - 1, 1), (FULL_MS, 2)])
def test_where_there_are_too_many_queues_nothing_is_read_for_a_while(
    after_ms: int, reads: int
) -> None:
    registry = Registry({"a", "b"})
    queues, clock = undeclared(registry)
    assert not queues.admit("c")
    clock.advance(ms=after_ms)
    assert not queues.admit("c")
    assert registry.reads["all"] == reads


def test_a_registered_queue_is_known_for_good() -> None:
    """However many there are, and without another read; one that is deleted makes room."""
    registry = Registry({"a", "b", "c"})
    queues, clock = undeclared(registry)
    assert queues.admit("a")
    clock.advance(s=3600)
    assert queues.admit("a")
    assert registry.reads == {"all": 1}
    registry.deleted |= {"b", "c"}
    assert queues.admit("d")


def test_deleted_queues_are_asked_for_where_there_seem_to_be_too_many() -> None:
    registry = Registry({"a"})
    queues, _ = undeclared(registry)
    assert queues.admit("b")
    assert registry.reads["gone"] == 0


def test_only_declared_queues_are_there_where_no_others_may_be() -> None:
    rules = QueueRules(frozenset({"default"}), None)
    rules.check("default")
    rules.admit("default")
    with pytest.raises(NotFoundError):
        rules.check("other")
    queues, _ = undeclared(Registry())
    QueueRules(frozenset({"default"}), queues).check("other")


class Counted:
    """The counter of a bounded queue, and what its lists hold."""

    def __init__(self, counter: Depth | None, held: int, *, takes: bool = True) -> None:
        self.counter, self.held, self.takes = counter, held, takes
        self.corrections: list[int] = []

    def load(self, _queue: str) -> Depth | None:
        return self.counter

    def count(self, _queue: str, _most: int) -> int:
        return self.held

    def begin(self, _queue: str, missing: int) -> bool:
        self.corrections.append(missing)
        return self.takes

    def correct(self, _queue: str, jobs: int, _seen: Depth) -> bool:
        self.corrections.append(jobs)
        return self.takes


@pytest.mark.parametrize(
    ("after_ms", "held", "takes", "error", "corrections"),
    [
        (QUIET_MS - 1, 3, True, None, []),
        (QUIET_MS, 3, True, 2, [3]),
        (QUIET_MS, 5, True, 0, []),
        (QUIET_MS, 3, False, 0, [3]),
    ],
)
def test_a_counter_that_was_quiet_is_corrected_if_it_is_wrong(
    after_ms: int, held: int, takes: bool, error: int | None, corrections: list[int]
) -> None:
    """Unless something was counted just then."""
    clock, depths = FakeClock(NOW), Counted(Depth(jobs=5, version=1), held, takes=takes)
    recount = DepthRecount(lambda: cast("Depths", depths), clock)
    assert recount.recount("q") is None
    clock.advance(ms=after_ms)
    assert recount.recount("q") == error
    assert depths.corrections == corrections


def test_a_counter_that_changed_meanwhile_is_quiet_from_then_on() -> None:
    clock, depths = FakeClock(NOW), Counted(Depth(jobs=5, version=1), 3)
    recount = DepthRecount(lambda: cast("Depths", depths), clock)
    assert recount.recount("q") is None
    clock.advance(ms=QUIET_MS)
    depths.counter = Depth(jobs=5, version=2)
    assert recount.recount("q") is None
    assert depths.corrections == []


@pytest.mark.parametrize(
    ("counter", "missing"),
    [(None, [3]), (Depth(1, 1, is_whole=False), [2]), (Depth(1, 1, is_whole=True), [])],
)
def test_a_bound_counts_what_its_counter_lacks(counter: Depth | None, missing: list[int]) -> None:
    """A push may have made the counter before; one that is whole is left."""
    depths = Counted(counter, held=3)
    DepthRecount(lambda: cast("Depths", depths), FakeClock(NOW)).bound("q", 5)
    assert depths.corrections == missing


@pytest.mark.parametrize(("jobs", "minutes"), [(5_000, 1), (100_000, 20)])
def test_a_recount_of_a_quiet_queue_costs_a_query_a_minute(jobs: int, minutes: int) -> None:
    """One query reads five thousand jobs: with more, they are counted more rarely."""
    clock, depths = FakeClock(NOW), Counted(Depth(jobs=jobs, version=1), jobs)
    recount = DepthRecount(lambda: cast("Depths", depths), clock)
    assert recount.recount("q") is None
    clock.advance(ms=QUIET_MS)
    assert recount.recount("q") == 0
    clock.advance(ms=minutes * 60_000 - 1)
    assert recount.recount("q") is None
    clock.advance(ms=1)
    assert recount.recount("q") == 0


def looked_at(*settings: QueueSettings, used: Sequence[str] = ()) -> list[str]:
    """The queues that a tick counts."""
    depths = Counted(None, 0)
    seen: dict[str, None] = {}

    def load(queue: str) -> None:
        seen[queue] = None

    depths.load = load  # type: ignore[method-assign, assignment]
    DepthRecount(lambda: cast("Depths", depths), FakeClock(NOW)).tick(settings, lambda: used)
    return [*seen]


def test_queues_with_a_bound_are_counted() -> None:
    """Their own or the default policy's; deleted ones have none."""
    bound: dict[str, Any] = {"max_size": 5}
    gone = QueueState.DELETED
    own = QueueSettings(queue="own", members=bound)
    plain = QueueSettings(queue="plain")
    deleted = QueueSettings(queue="deleted", members=bound, state=gone)
    assert looked_at(own, plain, deleted, used=["used"]) == ["own"]
    default = QueueSettings(queue=DEFAULT_POLICY, members=bound)
    found = looked_at(own, plain, deleted, default, used=["used"])
    assert found == ["own", "plain", "used"]


class Book:
    """Settings as an operator set them; counts reads and writes."""

    def __init__(self, *settings: QueueSettings) -> None:
        self.kept = {each.queue: each for each in settings}
        self.reads = 0
        self.saved: list[QueueSettings] = []

    def load_for_push(self, queue: str) -> tuple[dict[str, QueueSettings], bool]:
        self.reads += 1
        return {queue: self.kept[queue]} if queue in self.kept else {}, False

    def save(self, _before: QueueSettings, after: QueueSettings, *_: object) -> None:
        self.saved.append(after)


def cache_of(book: Book, age_ms: int) -> tuple[PushSettingsCache, FakeClock]:
    clock = FakeClock(NOW)
    reading: Callable[[], QueueSettingsStore] = lambda: cast("QueueSettingsStore", book)  # noqa: E731
    return PushSettingsCache(clock, age_ms, reading), clock


@pytest.mark.parametrize(("after_ms", "reads"), [(999, 1), (1000, 2)])
def test_settings_are_read_again_once_they_are_as_old_as_they_may_be(
    after_ms: int, reads: int
) -> None:
    book = Book()
    cache, clock = cache_of(book, 1000)
    cache.of("q")
    clock.advance(ms=after_ms)
    cache.of("q")
    assert book.reads == reads


@pytest.mark.parametrize(
    ("state", "revived"),
    [(QueueState.ACTIVE, 0), (QueueState.DRAINING, 0), (QueueState.DELETED, 1)],
)
def test_a_deleted_queue_begins_again_with_its_next_job(state: QueueState, revived: int) -> None:
    """Another one stays as it is."""
    book = Book(QueueSettings(queue="q", state=state, revision=3))
    cache, _ = cache_of(book, 0)
    cache.of("q")
    assert [each.state for each in book.saved] == [QueueState.ACTIVE] * revived


def test_the_lag_of_the_stream_is_that_of_the_oldest_change() -> None:
    found: list[StreamLag] = []

    class Adds:
        """Keeps the lag."""

        def add(self, *given: Any) -> None:
            found.append(given[-1])

    counters = QueueCounters(lambda: cast("Tallies", Adds()), pytest.fail, FakeClock(NOW), IN_ORDER)
    done = a_job(state=JobState.COMPLETED, completed_at=NOW)
    changes = [
        Changed(str(ago_ms), Instant(NOW - ago_ms), a_job(), done) for ago_ms in (5, 700, 60)
    ]
    counters(changes)
    assert found == [StreamLag(NOW, 700)]
