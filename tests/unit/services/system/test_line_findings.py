"""A queue near what its lines take is found, and one with far too many lines is named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.queues.tallies import DAY_MS, MINUTE_MS, WINDOW_MS, Tally, TallyKind
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.system.queue_findings import MAX_NAMED, Finding
from tests.simulation.world import World

HOUR = 60


class Office:
    """A deployment whose queue ``mail`` may have 16 lines, when five minutes begin."""

    def __init__(self, **declared: int) -> None:
        wide = tuple((declared or {"mail": 16}).items())
        self.world = World(settings=Settings(queues=("mail", "slow"), wide_queues=wide))
        self.world.clock.advance(ms=2 * DAY_MS - self.world.clock.now() % WINDOW_MS)
        self.minutes = 0

    def begins(self, per_s: float, queue: str = "mail", *, ago: int = 1, **counts: int) -> None:
        """Let so many jobs of a queue begin in each second of a minute, so many minutes ago."""
        counted = counts.pop("retried", 0)
        tally = Tally()
        tally.counts[TallyKind.STARTED] = round(per_s * 60)
        tally.counts[TallyKind.RETRIED] = counted * 60
        tally.held.update(counts)
        self.minutes += 1
        minute = Instant(self.world.clock.now() - ago * MINUTE_MS)
        self.world.backend.stores.tallies().add(queue, minute, tally, str(self.minutes))

    def begins_all_the_time(self, per_s: float, queue: str = "mail", **counts: int) -> None:
        """The same in the last five minutes."""
        for ago in (5, 4, 3, 2, 1):
            self.begins(per_s, queue, ago=ago, **counts if ago == 1 else {})

    def spread(self, lines: int) -> None:
        """Set over how many lines new jobs are spread."""
        self.world.backend.queues.config.change("mail", {"ordering_shards": lines})

    def found(self) -> list[Finding]:
        """What is found about lines."""
        findings = self.world.backend.findings().findings
        return [each for each in findings if each.code == "lines_busy"]

    def advice(self) -> str | None:
        """What is said of queues with too many lines."""
        return self.world.backend.findings(advice=True).checks.get("lines")


def test_a_queue_that_comes_near_what_its_line_takes_is_found() -> None:
    """With the command that follows, where the deployment declares the lines."""
    office = Office()
    office.begins_all_the_time(430)
    (finding,) = office.found()
    assert finding.message == (
        "The queue 'mail' has one line, and 430 of its jobs a second began in the last 5 min. A "
        "line takes 500 jobs a second, or 250 that are scheduled."
    )
    assert finding.hint == (
        "Spread new jobs over 2 lines: ojs-aws queues configure mail ordering_shards=2"
    )
    assert finding.data == {
        "queue": "mail",
        "lines": 1,
        "advised_lines": 2,
        "started_per_s": 430,
    }


def test_lines_that_are_not_declared_are_to_be_declared_first() -> None:
    """With those of the other queues in the value of the setting."""
    office = Office(slow=4)
    office.begins_all_the_time(430)
    (finding,) = office.found()
    assert finding.hint == (
        "Deploy with OJS_WIDE_QUEUES=mail=2,slow=4, upgrade all Lambda workers, then: ojs-aws "
        "queues configure mail ordering_shards=2"
    )


def test_as_many_lines_as_are_declared_need_no_deployment() -> None:
    office = Office(mail=2)
    office.begins_all_the_time(430)
    assert office.found()[0].hint.startswith("Spread new jobs over 2 lines: ")


@pytest.mark.parametrize(
    ("per_s", "counts", "advised"),
    [
        (400, {}, None),
        (402, {}, 2),
        (210, {"scheduled": 100_000}, 2),
        (210, {"scheduled": 150}, None),
        (210, {"scheduled": 200}, 2),
        (390, {"retried": 100}, 2),
        (390, {"retried": 20}, None),
    ],
)
def test_jobs_that_wait_for_a_time_fill_a_line_twice(
    per_s: float, counts: dict[str, Any], advised: int | None
) -> None:
    """Those that are scheduled at present, and those that were retried."""
    office = Office()
    office.begins_all_the_time(per_s, **counts)
    found = [each.data["advised_lines"] for each in office.found()]
    assert found == ([] if advised is None else [advised])


def test_the_rate_is_that_of_the_minutes_that_are_counted() -> None:
    """At half a minute, these are four and a half."""
    office = Office()
    office.begins_all_the_time(500)
    office.world.clock.advance(s=30)
    (finding,) = office.found()
    assert finding.data["started_per_s"] == round(500 * 4 / 4.5)
    assert "in the last 4 min 30 s" in finding.message


def test_who_follows_the_advice_gets_no_further_one() -> None:
    """Neither more, nor fewer."""
    office = Office()
    office.begins_all_the_time(4000)
    assert office.found()[0].data["advised_lines"] == 16
    office.spread(8)
    assert office.found()[0].data["lines"] == 8
    office.spread(16)
    assert office.found() == []
    assert office.advice() == "No queue has far too many lines."


def test_lines_beyond_those_that_are_declared_do_not_count() -> None:
    """A deployment declared fewer since; nobody looks into the others."""
    office = Office()
    office.spread(16)
    findings = office.world.backend.findings
    few = replace(findings, lines=replace(findings.lines, declared={"mail": 2}))
    office.begins_all_the_time(900)
    found = [each for each in few().findings if each.code == "lines_busy"]
    assert (found[0].data["lines"], found[0].data["advised_lines"]) == (2, 4)


def test_a_queue_with_far_too_many_lines_is_named_to_who_asks_for_advice() -> None:
    """It is no finding, and nobody else reads a day for it."""
    office = Office()
    office.spread(16)
    office.begins(140, ago=3 * HOUR)
    assert office.advice() == (
        "The queue 'mail' has 16 lines. One line would do for what it did in the last 24 hours: "
        "ojs-aws queues configure mail ordering_shards=1."
    )
    assert "lines" not in office.world.backend.findings().checks
    assert office.found() == []


def test_fewer_lines_are_advised_by_the_busiest_minutes_of_a_day() -> None:
    """As if each of their jobs was scheduled; what was before does not count."""
    office = Office()
    office.spread(16)
    for ago in range(25 * HOUR, 25 * HOUR - 15, -1):
        office.begins(5000, ago=ago)
    assert "One line would do" in str(office.advice())
    for ago in range(3 * HOUR, 3 * HOUR - 15, -1):
        office.begins(300, ago=ago)
    assert "2 lines would do" in str(office.advice())
    for ago in range(HOUR, HOUR - 15, -1):
        office.begins(500, ago=ago, retried=250)
    assert office.advice() == "No queue has far too many lines."


def test_the_last_minutes_count_for_fewer_lines_too() -> None:
    """Between two windows their rate may be the highest."""
    office = Office()
    office.world.clock.advance(s=120)
    office.spread(16)
    office.begins_all_the_time(610)
    assert office.advice() == "No queue has far too many lines."


def test_a_queue_that_is_declared_wide_and_has_one_line_needs_no_advice() -> None:
    office = Office()
    assert office.advice() == "No queue has far too many lines."


def test_a_deployment_without_wide_queues_gets_no_advice() -> None:
    world = World()
    assert "lines" not in world.backend.findings(advice=True).checks


def test_the_busiest_queues_are_found_first_and_no_more_than_some() -> None:
    office = Office(**{f"q{number:02}": 2 for number in range(MAX_NAMED)})
    for number in range(MAX_NAMED + 1):
        name = f"q{number:02}"
        office.world.registry.ensure(name, office.world.clock.now())
        office.begins_all_the_time(430 + number, name)
    found = [each.data["queue"] for each in office.found()]
    assert found == [f"q{number:02}" for number in range(MAX_NAMED, 0, -1)]
