"""Places of jobs in fair queues, over a store of keys that can be looked into."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.fairness import COST_NS, EMPTY_STEP_MS, LEAD_NS, Charge, FairKey, empty_ns
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import FairShare
from ojs_aws.domain.jobs.ready_keys import fair_ready_key
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.fairness import HEAD_MS, HEAD_STARTS, TRIES, FairPlaces
from ojs_aws.testing.deployment import FakeClock

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.fairness import FairKeys

HEAD = 1_700_000_000_000_000_000
FIRST = HEAD - 1
"""Where the first job of a key begins."""


@dataclass
class Keys:
    """Keys as the store has them, and what was asked."""

    head: int | None = HEAD
    lasts: dict[FairKey, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    fails: set[str] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)

    def _note(self, call: str) -> None:
        self.asked.append(call)
        if call in self.fails:
            raise BackendError("throttled")

    def first(self, line: str, priority: int) -> str:
        self._note("first")
        self.lines.append(line)
        return "" if self.head is None else fair_ready_key(priority, self.head, 1, "", "")

    def move_on(self, key: FairKey, charge: Charge, _now: Instant) -> int | None:
        self._note("move_on")
        last = self.lasts.get(key)
        if last is None or not charge.at <= last <= charge.at + charge.lead:
            return None
        self.lasts[key] = last + charge.cost
        return last

    def begin(self, key: FairKey, charge: Charge, _now: Instant) -> bool:
        self._note("begin")
        last = self.lasts.get(key)
        if last is not None and charge.at <= last <= charge.at + charge.lead:
            return False
        self.lasts[key] = charge.at + charge.cost
        return True


def a_job(key: str = "a", weight: float = 1.0, **more: Any) -> JobRecord:
    """A job of a fair queue that is available."""
    values: dict[str, Any] = {
        "id": "j",
        "type": "t",
        "queue": "q",
        "state": JobState.AVAILABLE,
        "priority": 0,
        "attempt": 0,
        "version": 1,
        "order": 1,
        "document": "{}",
        "timeout_ms": 1,
        "created_at": Instant(1),
        "fairness": FairShare(key=key, weight=weight),
        **more,
    }
    return JobRecord(**values)


def start(job: JobRecord) -> int:
    """A job's virtual start."""
    assert job.fairness is not None
    return job.fairness.start


@pytest.fixture
def keys() -> Keys:
    """An empty store of keys."""
    return Keys()


@pytest.fixture
def clock() -> FakeClock:
    """A clock."""
    return FakeClock()


@pytest.fixture
def places(keys: Keys, clock: FakeClock) -> FairPlaces:
    """A process that has seen nothing."""
    return FairPlaces(lambda: cast("FairKeys", keys), clock)


def test_the_first_job_of_a_key_starts_at_the_head(places: FairPlaces, keys: Keys) -> None:
    assert start(places.place(a_job())) == FIRST
    assert keys.asked == ["first", "begin"]


def test_the_next_one_is_a_step_behind_by_one_update(places: FairPlaces, keys: Keys) -> None:
    places.place(a_job())
    keys.asked.clear()
    assert start(places.place(a_job())) == HEAD + COST_NS
    assert start(places.place(a_job())) == HEAD + 2 * COST_NS
    assert keys.asked == ["move_on", "move_on"]


def test_jobs_of_one_key_take_one_update(places: FairPlaces, keys: Keys) -> None:
    placed = places.place_all([a_job(weight=2.0), a_job("b"), a_job(weight=2.0)])
    assert [start(each) for each in placed] == [FIRST, FIRST, HEAD + COST_NS // 2]
    assert keys.asked == ["first", "begin", "begin"]
    assert keys.lasts[FairKey("q", 0, "a")] == HEAD + COST_NS


def test_jobs_that_are_not_available_have_no_place(places: FairPlaces, keys: Keys) -> None:
    later = a_job(state=JobState.SCHEDULED)
    assert places.place_all([later]) == [later]
    waits = a_job(state=JobState.SCHEDULED, fairness=FairShare(key="a", start=HEAD - 5))
    assert places.place_again(waits) is waits
    assert keys.asked == []


def test_a_job_without_a_share_uses_the_empty_key(places: FairPlaces, keys: Keys) -> None:
    assert start(places.place(a_job(fairness=None))) == FIRST
    assert [*keys.lasts] == [FairKey("q", 0, "")]


def test_the_head_serves_for_a_while(places: FairPlaces, keys: Keys, clock: FakeClock) -> None:
    places.place(a_job())
    keys.head = HEAD + 50
    clock.advance(ms=HEAD_MS - 1)
    assert start(places.place(a_job("b"))) == FIRST
    clock.advance(ms=1)
    assert start(places.place(a_job("c"))) == FIRST + 50


def test_the_head_serves_for_some_starts(places: FairPlaces, keys: Keys) -> None:
    for number in range(HEAD_STARTS):
        places.place(a_job(f"k{number}"))
    assert keys.asked.count("first") == 1
    places.place(a_job())
    assert keys.asked.count("first") == 2


def test_an_empty_list_is_at_the_clock(places: FairPlaces, keys: Keys, clock: FakeClock) -> None:
    """At the begin of a span, so that who comes at the same time stands at the same place."""
    keys.head = None
    assert start(places.place(a_job())) == empty_ns(clock.now()) - 1
    assert 0 <= clock.now() * 1_000_000 - empty_ns(clock.now()) < EMPTY_STEP_MS * 1_000_000


def test_a_key_whose_process_sees_no_flood_is_a_span_behind_at_most(
    places: FairPlaces, keys: Keys, clock: FakeClock
) -> None:
    """Decision 123 says why we accept it; a key that comes later begins at the head."""
    keys.head = None
    first = start(places.place(a_job("flood")))
    clock.advance(ms=EMPTY_STEP_MS)
    other = FairPlaces(places.keys, clock)
    assert start(other.place(a_job("b"))) - first == EMPTY_STEP_MS * 1_000_000
    assert EMPTY_STEP_MS * 1_000_000 // COST_NS == 100_000
    keys.head = first
    assert start(FairPlaces(places.keys, clock).place(a_job("c"))) == first


def test_a_key_that_is_behind_begins_at_the_head(places: FairPlaces, keys: Keys) -> None:
    keys.lasts[FairKey("q", 0, "a")] = HEAD - 1
    assert start(places.place(a_job())) == FIRST


def test_another_process_is_noticed(places: FairPlaces, keys: Keys) -> None:
    """The first form does not fit; the other one does."""
    keys.lasts[FairKey("q", 0, "a")] = HEAD + 7_000
    assert start(places.place(a_job())) == HEAD + 7_000
    assert keys.asked == ["first", "begin", "move_on"]


def test_a_key_that_begins_twice_at_a_head_begins_no_earlier(
    places: FairPlaces, keys: Keys, clock: FakeClock
) -> None:
    """The head may be the first job of a key itself: others stand beside it."""
    keys.head = FIRST
    assert [start(each) for each in places.place_all([a_job(), a_job("b")])] == [FIRST, FIRST]
    clock.advance(ms=HEAD_MS)
    assert start(places.place(a_job("c"))) == FIRST


def test_each_line_of_a_wide_queue_has_a_virtual_time_of_its_own(
    places: FairPlaces, keys: Keys
) -> None:
    """A key has an item for each line."""
    placed = places.place_all([a_job(shard=shard) for shard in (0, 3, 3)])
    assert [start(each) for each in placed] == [FIRST, FIRST, HEAD + COST_NS]
    assert {key.line for key in keys.lasts} == {"q", "q~3"}
    old = FairShare(key="a", weight=1.0, start=HEAD - 6)
    assert start(places.place_again(a_job(fairness=old, shard=2))) == HEAD
    assert keys.lines == ["q", "q~3", "q~2"]


def test_a_head_that_went_on_is_noticed(places: FairPlaces, keys: Keys, clock: FakeClock) -> None:
    """The key was ahead; by now it is behind, and begins by one update."""
    places.place(a_job())
    keys.head = HEAD + 10_000
    clock.advance(ms=HEAD_MS)
    keys.asked.clear()
    assert start(places.place(a_job())) == FIRST + 10_000
    assert keys.asked == ["first", "begin"]


def test_a_key_that_is_where_the_head_is_moves_on(
    places: FairPlaces, keys: Keys, clock: FakeClock
) -> None:
    """By one update: to be there is to be ahead."""
    places.place(a_job())
    keys.head = HEAD + COST_NS
    clock.advance(ms=HEAD_MS)
    keys.asked.clear()
    assert start(places.place(a_job())) == HEAD + COST_NS
    assert keys.asked == ["first", "move_on"]


def test_a_clock_that_is_ahead_holds_no_key_up(places: FairPlaces, keys: Keys) -> None:
    """A key that a clock has put seconds ahead begins again at the head."""
    keys.lasts[FairKey("q", 0, "a")] = HEAD + LEAD_NS + 1
    assert start(places.place(a_job())) == FIRST


def test_a_key_that_many_move_on_is_given_up(
    places: FairPlaces, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its job starts at the head rather than waiting."""
    monkeypatch.setattr(keys, "begin", lambda *_: keys.asked.append("begin"))
    monkeypatch.setattr(keys, "move_on", lambda *_: keys.asked.append("move_on"))
    assert start(places.place(a_job())) == HEAD
    assert keys.asked == ["first", *["begin", "move_on"] * (TRIES // 2)]


@pytest.mark.parametrize("call", ["begin", "first"])
def test_a_failure_costs_the_place_and_not_the_job(
    places: FairPlaces, keys: Keys, clock: FakeClock, call: str
) -> None:
    keys.fails.add(call)
    expected = HEAD if call == "begin" else empty_ns(clock.now()) - 1
    assert start(places.place(a_job())) == expected


def test_a_head_that_cannot_be_read_again_serves_on(
    places: FairPlaces, keys: Keys, clock: FakeClock
) -> None:
    places.place(a_job())
    keys.fails.add("first")
    clock.advance(ms=HEAD_MS)
    assert start(places.place(a_job("b"))) == FIRST


def test_a_job_that_waited_keeps_its_place(places: FairPlaces, keys: Keys) -> None:
    """It was charged; a place that is over is that of the head."""
    own = FairShare(key="a", weight=1.0, start=HEAD + 5)
    assert start(places.place_again(a_job(fairness=own))) == HEAD + 5
    old = replace(own, start=HEAD - 5)
    assert start(places.place_again(a_job(fairness=old))) == HEAD
    assert keys.asked == ["first"]
    new = replace(own, start=0)
    assert start(places.place_again(a_job(fairness=new))) == FIRST
    assert keys.lasts


def test_keys_have_places_of_their_own_in_each_priority(places: FairPlaces, keys: Keys) -> None:
    places.place_all([a_job(), a_job(priority=5), a_job(queue="r")])
    assert len(keys.lasts) == 3
