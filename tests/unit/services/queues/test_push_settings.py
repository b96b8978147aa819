"""A queue becomes fair by its first job with a key: once, and whoever else changes its settings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from ojs_aws.domain.conflicts import StaleSettingsError
from ojs_aws.domain.errors import BackendError, JsonValue
from ojs_aws.domain.fairness import Runs, run_times_text
from ojs_aws.domain.queues import QueueSettings
from ojs_aws.services.queues.push_settings import FAIR_TRIES, PushSettingsCache
from ojs_aws.testing.deployment import FakeClock

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.settings import QueueSettingsStore


@dataclass
class Stored:
    """Settings of queues, and how many saves find others faster."""

    found: dict[str, QueueSettings] = field(default_factory=dict)
    stale: int = 0
    saves: int = 0
    is_down: bool = False

    def load_for_push(self, queue: str) -> tuple[dict[str, QueueSettings], bool]:
        return self.load([queue]), False

    def load(self, queues: list[str]) -> dict[str, QueueSettings]:
        return {name: self.found[name] for name in queues if name in self.found}

    def save(self, before: QueueSettings, after: QueueSettings, *_: Any) -> None:
        self.saves += 1
        if self.is_down:
            raise BackendError("down")
        if self.saves <= self.stale:
            raise StaleSettingsError
        assert self.found.get(after.queue, QueueSettings(queue=after.queue)) == before
        self.found[after.queue] = after


@pytest.fixture
def stored() -> Stored:
    """Nothing is set."""
    return Stored()


@pytest.fixture
def cache(stored: Stored) -> PushSettingsCache:
    """What a process remembers."""
    return PushSettingsCache(FakeClock(), 5_000, lambda: cast("QueueSettingsStore", stored))


def test_a_queue_is_made_fair_once(cache: PushSettingsCache, stored: Stored) -> None:
    """And this process knows it at once."""
    assert cache.of("q").config.fair_by is None
    cache.make_fair("q")
    assert cache.of("q").config.fair_by == ""
    cache.make_fair("q")
    own = stored.found["q"]
    assert (own.members, own.revision, stored.saves) == ({"fairness": {}}, 1, 1)
    assert own.updated_at == FakeClock().now()


def test_costs_are_those_of_a_queue_that_learns_them(
    cache: PushSettingsCache, stored: Stored
) -> None:
    """Run times that a queue learnt before do not count once it has stopped learning."""
    times = run_times_text({"a": Runs(40, 4_000), "b": Runs(40, 40)})
    modes: list[dict[str, JsonValue]] = [{"cost": "run_time"}, {}]
    for at, (mode, learns) in enumerate(zip(modes, (True, False), strict=True)):
        members: dict[str, JsonValue] = {"fairness": mode}
        stored.found[f"q{at}"] = QueueSettings(queue=f"q{at}", members=members, run_times=times)
        assert bool(cache.of(f"q{at}").costs) is learns


def test_a_queue_is_fair_even_if_its_lines_cannot_be_told(stored: Stored) -> None:
    """The jobs are stored: the sweep tells the lines."""
    told: list[str] = []

    def fails(queue: str) -> None:
        told.append(queue)
        raise BackendError("throttled")

    store = cast("QueueSettingsStore", stored)
    cache = PushSettingsCache(FakeClock(), 5_000, lambda: store, fails)
    cache.make_fair("q")
    assert (told, cache.of("q").config.fair_by) == (["q"], "")


def test_what_was_set_before_stays(cache: PushSettingsCache, stored: Stored) -> None:
    stored.found["q"] = QueueSettings(queue="q", members={"max_size": 5}, revision=4)
    cache.make_fair("q")
    assert stored.found["q"].members == {"max_size": 5, "fairness": {}}
    assert stored.found["q"].revision == 5


def test_another_process_may_be_faster(cache: PushSettingsCache, stored: Stored) -> None:
    """Whose setting stays."""
    assert cache.of("q").config.fair_by is None
    other = QueueSettings(queue="q", members={"fairness": {"by": "tenant"}}, revision=1)
    stored.found["q"] = other
    cache.make_fair("q")
    assert (stored.found["q"], stored.saves) == (other, 0)
    assert cache.of("q").config.fair_by == "tenant"


@pytest.mark.parametrize("stale", [1, FAIR_TRIES - 1, FAIR_TRIES])
def test_changes_of_others_are_met_by_another_try(
    cache: PushSettingsCache, stored: Stored, stale: int
) -> None:
    """So many times; the next job tries again."""
    stored.stale = stale
    cache.make_fair("q")
    assert ("q" in stored.found) is (stale < FAIR_TRIES)
    assert stored.saves == min(stale + 1, FAIR_TRIES)


def test_no_job_is_stored_if_nobody_knows_whether_the_queue_is_fair(
    cache: PushSettingsCache, stored: Stored
) -> None:
    stored.is_down = True
    with pytest.raises(BackendError):
        cache.make_fair("q")
    assert replace(cache.of("q")).config.fair_by is None
