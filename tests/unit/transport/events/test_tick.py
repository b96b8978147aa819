"""The timer's event sweeps every queue."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from ojs_aws.domain.job import JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import AGE_METRIC
from ojs_aws.topology import SUSPENDED_METRIC as SUSPENDED
from ojs_aws.transport.events.tick import build_tick
from tests.api import Api
from tests.simulation.world import World


def test_a_tick_moves_what_time_has_overtaken_and_reports_it() -> None:
    """A job that expired while nobody looked is settled by the sweep."""
    world = World()
    api = Api(world.backend)
    body = {"type": "a", "args": [], "scheduled_at": "+PT30S"}
    job_id = api.post("/jobs", body).json["id"]
    world.clock.advance(s=60)
    report = build_tick(world.backend)({"detail-type": "Scheduled Event"}, None)
    assert (report["queues"], report["settled"], report["failed"]) == (1, 1, 0)
    assert report["lag_ms"] == 0
    assert world.stored.jobs[job_id].state is JobState.AVAILABLE


@dataclass(frozen=True)
class Context:
    """An invocation of the deployed function."""

    function_name: str = "Jobs-Tick"
    left_ms: int = 55_000

    def get_remaining_time_in_millis(self) -> int:
        """Until Lambda ends it."""
        return self.left_ms


def test_the_lag_is_a_metric_with_the_function_as_its_one_dimension(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The job was due 30 s ago, beyond SQS's reach when it came, and no tick has run since."""
    world = World()
    Api(world.backend).post("/jobs", {"type": "a", "args": [], "scheduled_at": "+PT1H"})
    world.clock.advance(s=3630)
    report = build_tick(world.backend)({}, Context())
    assert (report["armed"], report["lag_ms"]) == (1, 30_000)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "_aws" in line]
    metric, age = lines
    assert (age["queue"], age[AGE_METRIC]) == ("default", [30_000.0])  # its own dimension
    (definition,) = metric["_aws"]["CloudWatchMetrics"]
    assert definition["Namespace"] == "OJS"
    assert definition["Dimensions"] == [["service"]]
    assert metric["service"] == "Jobs-Tick"
    assert metric["SweepLag"] == [30_000]
    # a metric that nobody publishes costs nothing
    assert not {"SweepLeft", "BatchesLost", "EventsLag"} & set(metric)
    assert metric[AGE_METRIC] == [
        30_000.0
    ]  # of all queues: the alarm that watches all has no queue


def test_undeclared_queues_are_counted_without_those_that_were_deleted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The alarm rings before the last one is made."""
    world = World()
    for name in ("default", "a", "b", "c"):
        world.registry.note(name, world.clock.now())
    world.backend.queues.config.delete("c", {"strategy": "reject"})
    report = build_tick(world.backend)({}, Context())
    assert report["undeclared_queues"] == 2
    [metric] = [each for each in capsys.readouterr().out.splitlines() if "UndeclaredQueues" in each]
    assert json.loads(metric)["UndeclaredQueues"] == [2.0]


def test_bindings_that_suspended_themselves_are_counted_by_queue(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And of all queues, but not those that somebody suspended; no metric where none are."""
    world, now = World(), Instant(0)
    states = world.backend.stores.queue_bindings()
    for queue, name, is_lasting in (
        ("email", "one", False),
        ("email", "two", False),
        ("media", "three", False),
        ("media", "four", True),
        ("other", "five", True),
    ):
        states.suspend(queue, name, "is not there", now, is_lasting=is_lasting)
    tick = build_tick(world.backend)
    tick({}, Context())
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "_aws" in line]
    counts = [(each.get("queue"), each[SUSPENDED]) for each in lines if SUSPENDED in each]
    assert counts == [("email", [2.0]), ("media", [1.0]), (None, [3.0])]
    for queue, name in (("email", "one"), ("email", "two"), ("media", "three")):
        states.resume(queue, name)
    tick({}, Context())
    assert SUSPENDED not in capsys.readouterr().out


def test_a_tick_without_time_begins_nothing_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Rather than being ended in the middle of something."""
    world = World()
    report = build_tick(world.backend)({}, Context(left_ms=4_000))
    assert (report["queues"], report["skipped"]) == (0, 1)
    [metric] = [each for each in capsys.readouterr().out.splitlines() if "SweepLag" in each]
    assert json.loads(metric)["SweepLeft"] == [1.0]
