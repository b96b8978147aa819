"""What of a queue's settings is stored, shown and inherited, and when its workers are woken."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

import pytest

from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.adapters.dynamodb.queues.tallies import Tallies
from ojs_aws.domain.errors import ConflictError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.lists import JobList, ListedJob, Page
from ojs_aws.domain.queues import QueueState
from ojs_aws.domain.queues.config import DEFAULT_POLICY
from ojs_aws.domain.queues.setting_rows import SETTINGS
from ojs_aws.services.queues.config_admin import QueueConfigAdmin
from ojs_aws.services.queues.service import Queues
from ojs_aws.services.queues.stats import QueueCounts, QueueStatistics
from ojs_aws.testing.deployment import FakeClock
from tests.contract.test_job_store import a_job
from tests.simulation.world import World
from tests.unit.services.jobs.fetch.scripted import Jobs, row_of, some_jobs


@pytest.fixture
def config(world: World) -> QueueConfigAdmin:
    return world.backend.queues.config


def test_a_queue_that_was_deleted_may_be_created_again(config: QueueConfigAdmin) -> None:
    """One that is there may not."""
    config.create("q", {"max_size": 5})
    with pytest.raises(ConflictError):
        config.create("q", {})
    config.delete("q", {"strategy": "reject"})
    assert config.create("q", {"max_size": 7}).config["max_size"] == 7


@pytest.mark.parametrize(
    ("name", "patch", "wakes"),
    [
        ("q", {"concurrency": 5}, 1),
        ("q", {"default_timeout": 60}, 0),
        (DEFAULT_POLICY, {"concurrency": 5}, 0),
    ],
)
def test_workers_are_woken_when_the_limit_of_their_queue_changes(
    config: QueueConfigAdmin,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    patch: dict[str, Any],
    wakes: int,
) -> None:
    """Messages may be set aside for the limit before."""
    woken: list[str] = []
    monkeypatch.setattr(Queues, "wake", lambda _, queue: woken.append(queue))
    config.change(name, patch)
    assert woken == ["q"] * wakes
    config.change(name, patch)
    assert len(woken) == wakes


def test_only_a_draining_queue_is_let_go(world: World, config: QueueConfigAdmin) -> None:
    config.change("q", {"max_size": 5})
    before = config.states()["q"]
    config.undrain("q")
    assert config.states()["q"] == before
    config.drain("q")
    config.undrain("q")
    assert config.states()["q"].state is QueueState.ACTIVE


def test_the_default_policy_shows_its_limit_and_limits_no_queue(
    world: World, config: QueueConfigAdmin
) -> None:
    config.change(DEFAULT_POLICY, {"concurrency": 2})
    shown = config.change(DEFAULT_POLICY, {"default_timeout": 60})
    assert (shown.config["concurrency"], shown.config["default_timeout"]) == (2, 60)
    assert world.store.head(DEFAULT_POLICY, 1).limit == ""


def test_a_queue_with_settings_of_its_own_keeps_them_all(config: QueueConfigAdmin) -> None:
    """Whatever the default policy says by then; one without takes that."""
    config.change("old", {"visibility_timeout": 60, "default_timeout": 5})
    config.change(DEFAULT_POLICY, {"visibility_timeout": 30})
    kept = config.change("old", {"max_size": 3}).own
    assert kept == {"visibility_timeout": 60, "default_timeout": 5, "max_size": 3}
    assert config.change("new", {"max_size": 3}).config["visibility_timeout"] == 30


@pytest.mark.parametrize("name", ["q", DEFAULT_POLICY])
def test_each_setting_is_shown_with_what_holds(config: QueueConfigAdmin, name: str) -> None:
    """Also those that nobody has set, if there is anything to show."""
    shown = config.change(name, {"max_size": 3}).config
    wanted = {row.name for row in SETTINGS.values() if row.deployed or row.default is not ...}
    assert {*shown} >= wanted | {"retention"}
    assert isinstance(shown["retention"], dict)
    assert isinstance(shown["default_timeout"], int)


class Completed(Jobs):
    """Rows of completed jobs, some of which were deleted since."""

    def listed(self, queue: str, name: JobList, limit: int, **_: Any) -> Page:  # type: ignore[override]
        rows: list[ListedJob] = [row_of(job) for job in some_jobs(3)]
        self.listings.append(queue)
        return Page(tuple(rows))


@pytest.mark.parametrize(
    ("at_most", "counted", "most", "expected"),
    [
        (("completed",), 3, 3, 1),
        (("completed",), 3, 2, 3),
        ((), 3, 3, 3),
        (("cancelled",), 3, 3, 3),
    ],
)
def test_few_completed_jobs_are_counted_by_reading_them(
    at_most: tuple[str, ...], counted: int, most: int, expected: int
) -> None:
    """Where some may have been deleted; the other counts stay as they are."""
    table = Completed()
    table.add(a_job(1, state=JobState.COMPLETED), a_job(2))
    statistics = QueueStatistics(
        cast("JobStore", table), lambda: cast("Tallies", None), FakeClock()
    )
    counts = Counter({"completed": counted, "cancelled": 9})
    found = statistics.checked(
        "q", QueueCounts(counts=counts, estimated=("cancelled", *at_most), at_most=at_most), most
    )
    assert found.counts == {"completed": expected, "cancelled": 9}
    assert len(table.listings) == (expected == 1)
    if expected == 1:
        assert (found.estimated, found.at_most) == (("cancelled",), ())
