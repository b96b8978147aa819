"""Fair wide queues through the real adapters: each line is fair, and FETCH mixes lines rightly."""

from __future__ import annotations

from collections import Counter

import pytest

from ojs_aws.domain.fairness import COST_NS
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.jobs.ready_keys import begins_share, line_of, virtual_start
from ojs_aws.services.jobs.fetch.wide_queue import FIRST_EVERY
from tests.functions.test_wide_queues import LINES, Office


class FairOffice(Office):
    """A deployment with a wide queue whose jobs bring fairness keys."""

    def push_of(self, key: str, count: int = 1, weight: float = 1.0) -> list[JobRecord]:
        """Enqueue jobs of a key."""
        share = {"key": key, "weight": weight}
        return [self.push(type=f"job.{key}", fairness=share) for _ in range(count)]

    def started(self, count: int) -> list[str]:
        """The keys of the next starts, each by a FETCH of its own."""
        keys = []
        for _ in range(count):
            for job in self.fetch():
                keys.append(job.type.removeprefix("job."))
                self.backend.jobs.ack(job.id, "w", None)
            self.clock.advance(ms=2)
        return keys


@pytest.fixture
def office() -> FairOffice:
    """A deployment whose queue is wide."""
    return FairOffice()


def test_a_key_that_comes_behind_a_flood_starts_within_a_turn_of_the_lines(
    office: FairOffice,
) -> None:
    """Its job is the first of its line, and the rotation reaches each line."""
    office.push_of("flood", 20 * LINES)
    office.started(10)
    for number in range(4):
        office.push_of(f"late-{number}")
        office.clock.advance(ms=300)
        assert f"late-{number}" in office.started(LINES + 1)


def test_weights_give_shares(office: FairOffice) -> None:
    """Each line is off by one start of a key at most, while all keys wait in it."""
    weights = {"light": 1.0, "middle": 2.0, "heavy": 4.0}
    for key, weight in weights.items():
        office.push_of(key, 28 * LINES, weight)
    counted = Counter(office.started(28 * LINES))
    assert sum(counted.values()) == 28 * LINES
    for key, weight in weights.items():
        assert counted[key] == pytest.approx(28 * LINES * weight / 7, abs=LINES)
    rest = office.drain()
    assert len(rest) == 2 * 28 * LINES


def test_a_lone_key_gets_all(office: FairOffice) -> None:
    """Nothing waits for a key that is not there."""
    office.push_of("alone", 3 * LINES)
    assert office.started(4 * LINES) == ["alone"] * 3 * LINES


def test_the_first_job_with_a_key_makes_each_line_fair(office: FairOffice) -> None:
    """Once: by a read and a write of the settings, and a put for each further line."""
    office.push()
    with office.aws.calls.counted() as first:
        office.push_of("a")
    with office.aws.calls.counted() as second:
        office.push_of("a")
    assert first["BatchWriteItem"] + first["PutItem"] >= 1
    assert second["BatchWriteItem"] == 0
    assert second["UpdateItem"] == 1
    store = office.backend.stores.store
    assert all(store.head("mail", 5, shard).is_fair for shard in range(LINES))


def test_a_due_job_comes_before_the_backlog_of_its_line(office: FairOffice) -> None:
    """The first look at its line gives it a place, and it is the next to start there."""
    office.push_of("flood", 8 * LINES)
    due = office.push(type="job.due", scheduled_at="+PT10S", fairness={"key": "due"})
    office.clock.advance(s=11)
    started: list[JobRecord] = []
    for _ in range(8 * LINES + 1):
        for job in office.fetch():
            office.backend.jobs.ack(job.id, "w", None)
            started.append(job)
        office.clock.advance(ms=2)
    line = [job.id for job in started if job.shard == due.shard]
    assert line.index(due.id) <= 1  # behind the one whose look showed the line


def test_keys_have_virtual_times_in_each_line(office: FairOffice) -> None:
    """The first job of a key begins in each of them."""
    office.push_of("a", 6 * LINES)
    listed = office.backend.stores.store.listed
    rows = listed("mail", JobList.READY, 500, newest_first=False).jobs
    first = [row.shard for row in rows if begins_share(row.sort_key)]
    assert sorted(first) == [*range(LINES)]
    keys = office.backend.stores.fair_keys()
    for shard in range(LINES):
        own = [row.sort_key for row in rows if row.shard == shard]
        assert keys.first(line_of("mail", shard), 0) == own[0]
        assert virtual_start(own[1]) - virtual_start(own[0]) == COST_NS + 1


def test_why_says_who_starts_first_in_the_line(office: FairOffice) -> None:
    """Other lines have other virtual times."""
    office.started(1)
    office.push_of("b")
    jobs = office.push_of("a", 6 * LINES)
    last = jobs[-1]
    own = [job for job in jobs if job.shard == last.shard]
    texts = " ".join(reason.message for reason in office.backend.jobs.why(last.id).reasons)
    assert f"before it in its line, one of {LINES} of the queue." in texts
    assert f"Its key 'a' is over its share: {len(own) - 1} of them start first." in texts


def test_a_job_that_lost_its_message_is_found_while_others_come(office: FairOffice) -> None:
    """The line in rotation goes first at times, whosever job it is."""
    office.push_of("flood", 3 * LINES)
    office.lose_messages()
    lost = {row.id for row in office.backend.stores.store.listed("mail", JobList.READY, 500).jobs}
    seen: set[str] = set()
    for _ in range(40 * FIRST_EVERY):
        office.push_of("flood")
        for job in office.fetch():
            seen.add(job.id)
            office.backend.jobs.ack(job.id, "w", None)
        office.clock.advance(ms=7)
        if lost <= seen:
            return
    raise AssertionError(f"{len(lost - seen)} of {len(lost)} are stranded")
