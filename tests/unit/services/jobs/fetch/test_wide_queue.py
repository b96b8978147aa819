"""What a FETCH of a wide queue looks at, and in which order it claims."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.jobs.lists import Head, ListedJob, Page
from ojs_aws.domain.jobs.ready_keys import fair_ready_key, ready_key, ready_since, ready_sort_key
from ojs_aws.domain.queues import Message, ReceivedMessage
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.jobs.fetch.candidates import (
    MARKS,
    PAGE,
    Candidate,
    QueueSnapshot,
    shown,
)
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.fetch.wide_queue import BEHIND_US, FIRST_EVERY, WideQueues, later
from ojs_aws.testing.deployment import FakeClock
from tests.contract.test_job_store import a_job
from tests.job_steps import pushed
from tests.simulation.world import World
from tests.unit.services.jobs.fetch.scripted import Jobs, claims_of, row_of

NOW = Instant(FakeClock.at)


def a_row(number: int, shard: int, priority: int = 0) -> ListedJob:
    """A row of a ready job."""
    return replace(row_of(a_job(number, priority=priority)), shard=shard)


def named(*shards: int) -> list[ReceivedMessage]:
    """Messages of jobs of some lines."""
    return [ReceivedMessage(Message(f"job-{at}", shard=at), f"handle-{at}") for at in shards]


@dataclass
class Lines:
    """A store with what each line shows."""

    heads: dict[int, Head] = field(default_factory=dict)
    due_of: dict[int, Page] = field(default_factory=dict)
    asked: list[tuple[str, str, int, int]] = field(default_factory=list)

    def head(self, queue: str, limit: int, shard: int) -> Head:
        self.asked.append(("head", queue, limit, shard))
        return self.heads.get(shard, Head(()))

    def due(self, queue: str, since: int, until: int, limit: int, *, shard: int) -> Page:
        assert (since, until) == (0, NOW)
        self.asked.append(("due", queue, limit, shard))
        return self.due_of.get(shard, Page(()))


def wide(store: Lines, lines: int = 4) -> WideQueues:
    """The lines of queue ``q``."""
    return WideQueues({"q": lines}, cast("Any", store), FakeClock(), IN_ORDER)


def test_each_named_line_is_read_once_and_one_more_in_rotation() -> None:
    """The further one goes round, past those that are named."""
    store = Lines()
    queues = wide(store)
    further = [queues.look("q", named(1, 1, 3), goes_further=True).further for _ in range(4)]
    assert {*further} == {0, 2}
    assert further[:2] == further[2:]
    look = queues.look("q", named(3, 1, 3), goes_further=False)
    assert (look.shards, look.further) == ([1, 3], None)
    look(3)
    assert store.asked == [(kind, "q", PAGE, shard) for shard in (1, 3) for kind in ("head", "due")]
    assert queues.look("q", named(0, 1, 2, 3), goes_further=True).further is None


def test_processes_begin_at_different_lines() -> None:
    """By their clocks."""
    begins = set()
    for ms in range(4):
        queues = wide(Lines())
        cast("FakeClock", queues.clock).advance(ms=ms)
        for _ in range(ms):
            queues.clock.order()
        begins.add(queues.look("q", [], goes_further=True).further)
    assert len(begins) > 1


def test_what_the_lines_show_is_merged() -> None:
    """Jobs by priority and time; what one line says of the queue holds for all."""
    store = Lines(
        {
            1: Head((a_row(4, 1), a_row(6, 1))),
            2: Head((a_row(5, 2, priority=1),), is_paused=True, limit="x", is_fair=True),
            3: Head((a_row(1, 3),), visibility_timeout_ms=7),
        },
        {1: Page((a_row(9, 1),)), 2: Page((a_row(8, 2),))},
    )
    seen = wide(store).look("q", named(1, 2, 3), goes_further=False)(1)
    assert [(row.id, row.shard) for row in seen.head.jobs] == [
        (a_job(5).id, 2),
        (a_job(1).id, 3),
        (a_job(4).id, 1),
        (a_job(6).id, 1),
    ]
    assert [row.id for row in seen.due.jobs] == [a_job(8).id, a_job(9).id]
    head = seen.head
    assert (head.is_paused, head.limit, head.is_fair) == (True, "x", True)
    assert head.visibility_timeout_ms == 7
    assert not seen.is_partial
    assert wide(Lines()).look("q", named(1), goes_further=False)(1) == QueueSnapshot(
        Head(()), Page(())
    )


def test_a_line_with_more_jobs_hides_those_behind_its_own_last() -> None:
    """And no others: the last job that is shown may be of a line that is read to its end."""
    urgent = Head(tuple(a_row(number, 1, priority=5) for number in range(1, PAGE - MARKS + 1)))
    store = Lines({1: urgent, 2: Head((a_row(99, 2),))})
    seen = wide(store).look("q", named(1, 2), goes_further=False)(1)
    assert seen.is_partial
    last = shown(seen.head.jobs[-1])
    assert last.shard == 2
    assert seen.may_hide(last)
    assert not seen.may_hide(shown(seen.head.jobs[0]))
    store = Lines({1: Head(urgent.jobs[1:])})
    assert not wide(store).look("q", named(1), goes_further=False)(1).is_partial


def test_only_its_own_line_shows_that_a_job_is_gone() -> None:
    """That of another line says nothing of it."""
    rows = (a_row(5, 1), a_row(6, 1))
    look = QueueSnapshot(Head(rows), Page(()))
    gone = Candidate(a_job(1).id, a_job(1).ready_key, None, None, shard=1)
    assert look.has_passed(gone, NOW)
    assert not look.has_passed(replace(gone, shard=2), NOW)


@pytest.mark.parametrize("rest", ["", "~limit", "~limit~tenant"])
def test_a_later_sort_key_is_of_the_same_priority(rest: str) -> None:
    """And names the same limit and tenant."""
    sort_key = ready_sort_key(7, NOW * 1000)
    moved = later(sort_key + rest)
    assert moved == ready_sort_key(7, NOW * 1000 + BEHIND_US) + rest
    assert ready_since(ready_key(moved)) == NOW + BEHIND_US // 1000


def test_equal_jobs_of_the_further_line_come_last_unless_a_claim_was_lost() -> None:
    """Then all of one priority are tried in any order, as always."""
    claims = claims_of(Jobs())
    line = wide(Lines()).look("q", named(1, 2), goes_further=True).line(claims)
    further = cast("Any", line).further
    own = Candidate("a", ready_sort_key(0, NOW * 1000), None, None, shard=1)
    older = Candidate("b", ready_sort_key(0, NOW * 1000 - 1), None, None, shard=further)
    much_older = replace(older, sort_key=ready_sort_key(0, NOW * 1000 - BEHIND_US - 1))
    urgent = replace(older, sort_key=ready_sort_key(1, NOW * 1000))
    ordered = sorted([own, older, much_older, urgent], key=line.turn)
    assert ordered == [urgent, much_older, own, older]
    claims.lost = 1
    assert line.turn(older)[1] == own.rank


def fair(shard: int, start: int, priority: int = 0) -> Candidate:
    """A fair job of a line."""
    key = fair_ready_key(priority, start, NOW * 1000, "", "")
    return Candidate(f"{shard}-{start}", key, None, None, shard=shard)


def fair_line(clock: FakeClock, *rows: Candidate) -> tuple[Any, int]:
    """What orders the jobs of lines 1 and 2, of which these were the first; the further line."""
    store = Lines()
    queues = WideQueues({"q": 4}, cast("Any", store), clock, IN_ORDER)
    look = queues.look("q", named(1, 2), goes_further=True)
    assert look.further is not None
    heads: dict[int, list[ListedJob]] = {}
    for at, row in enumerate(rows):
        shard = look.further if row.shard == 9 else row.shard
        heads.setdefault(shard, []).append(replace(a_row(at, shard), sort_key=row.sort_key))
    store.heads = {shard: Head(tuple(found), is_fair=True) for shard, found in heads.items()}
    line = look.line(claims_of(Jobs()))
    line.first(look(3))
    return line, look.further


def test_fair_jobs_of_different_lines_compare_by_the_heads_of_their_lines() -> None:
    """A line whose virtual time is behind gets no more than the others."""
    rows = [fair(1, 100), fair(1, 104), fair(2, 900), fair(2, 902), fair(9, 0)]
    line, further = fair_line(FakeClock(), *rows)
    jobs = [replace(each, shard=further if each.shard == 9 else each.shard) for each in rows]
    one, one_behind, two, two_behind, rotating = jobs
    assert line.turn(one)[1] == line.turn(two)[1]
    ordered = sorted([rotating, one_behind, two_behind, two], key=line.turn)
    assert ordered == [two, two_behind, one_behind, rotating]
    urgent = fair(further, 10**15, priority=1)
    begins = fair(further, 5)
    assert min([*jobs, begins, urgent], key=line.turn) == urgent
    assert min([*jobs, begins], key=line.turn) == begins
    assert min([fair(1, 99), begins], key=line.turn).shard == 1
    line.claims.lost = 1
    assert line.turn(one)[1] == one.rank


def test_the_line_in_rotation_goes_first_at_times_in_a_fair_queue() -> None:
    """Whosever job it is: one that has lost its message is found while others come."""
    rows = [fair(1, 100), fair(9, 5_000)]

    class Orders(FakeClock):
        at_order = 0

        def order(self) -> int:
            self.at_order += 1
            return self.at_order

    clock, first = Orders(), []
    for _ in range(4 * FIRST_EVERY):
        line, further = fair_line(clock, *rows)
        best = min([rows[0], replace(rows[1], shard=further)], key=line.turn)
        first.append(best.shard == further)
    assert sum(first) == pytest.approx(8, abs=4)


def test_the_line_with_the_most_urgent_hidden_jobs_counts() -> None:
    """A job that is less urgent than what one line may hide has to wait for another look."""
    full = PAGE - MARKS
    heads = {
        shard: Head(tuple(a_row(100 * shard + n, shard, priority) for n in range(full)))
        for shard, priority in ((1, 5), (2, 3))
    }
    seen = wide(Lines(heads)).look("q", named(1, 2), goes_further=False)(1)
    assert seen.may_hide(shown(heads[2].jobs[0]))
    assert not seen.may_hide(shown(heads[1].jobs[0]))


def test_all_other_lines_are_looked_at_for_who_waits_there() -> None:
    """One query for each, and nothing of one that is paused."""
    heads = {
        0: Head((a_row(9, 0),), is_paused=True),
        2: Head((a_row(7, 2), a_row(8, 2))),
        3: Head((a_row(5, 3), a_row(6, 3, priority=1))),
    }
    store = Lines(heads)
    look = wide(store).look("q", named(1), goes_further=False)
    found = look.elsewhere()
    assert [each.id for each in found] == [a_job(number).id for number in (6, 5, 7, 8)]
    assert [each.shard for each in found] == [3, 3, 2, 2]
    assert store.asked == [("head", "q", PAGE, shard) for shard in (0, 2, 3)]


def test_a_job_that_a_message_wakes_comes_first() -> None:
    """Behind it come the others in their order."""
    claims = claims_of(Jobs())
    line = wide(Lines()).look("q", named(1, 2), goes_further=True).line(claims)
    urgent = Candidate("a", ready_sort_key(9, NOW * 1000), None, None, shard=1)
    awake = Candidate("b", ready_sort_key(0, NOW * 1000), None, None, shard=3)
    assert min([awake, urgent], key=line.turn) == urgent
    claims.woken["b"] = "handle"
    assert min([urgent, awake], key=line.turn) == awake
    claims.lost = 1
    assert min([urgent, awake], key=line.turn) == awake


@pytest.fixture
def world() -> World:
    """A deployment with a wide queue, of which two lines are in use."""
    made = World(settings=Settings(queues=("default", "mail"), wide_queues=(("mail", 2),)))
    made.backend.queues.config.change("mail", {"ordering_shards": 2})
    return made


def test_a_queue_with_one_line_is_looked_at_without_a_message(world: World) -> None:
    """Beside a wide one, of which that is not so."""
    jobs = {name: pushed(world.backend, queue=name) for name in ("default", "mail")}
    world.lose_messages()
    fetch = world.backend.jobs.fetch
    assert [job.id for job in fetch(FetchRequest(("default",)))] == [jobs["default"].id]
    assert fetch(FetchRequest(("mail",))) == []


def test_a_fetch_of_one_job_takes_one_message(world: World) -> None:
    """Other workers find the others at once; many take ten at most."""
    for _ in range(25):
        pushed(world.backend, queue="mail")
    fetch = world.backend.jobs.fetch
    assert [len(fetch(FetchRequest(("mail",), count))) for count in (1, 1, 3, 20)] == [1, 1, 3, 20]
