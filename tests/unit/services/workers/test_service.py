"""Workers that operators list, direct and remove: which of them, and how far a page goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.adapters.dynamodb.workers import WorkerRegistry
from ojs_aws.domain.access import View
from ojs_aws.domain.errors import ConflictError, InvalidRequestError, NotFoundError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workers import WorkerInfo
from ojs_aws.services.stored_jobs.change import JobChanger
from ojs_aws.services.workers import service
from ojs_aws.services.workers.service import (
    STALE,
    Directive,
    Selection,
    Workers,
    directive_of,
    state_of,
)
from ojs_aws.testing.deployment import FakeClock
from tests.contract.test_job_store import NOW, a_job, a_reservation
from tests.unit.services.jobs.fetch.scripted import Jobs

SILENCE_MS = 15_000
MINE = View(queues=("mine",))


def a_worker(worker_id: str, **more: Any) -> WorkerInfo:
    given = {"id": worker_id, "last_seen": NOW, "interval_ms": SILENCE_MS // 3, **more}
    return WorkerInfo(**given)


@dataclass
class Registry:
    """Some workers; notes which pages are read, and what is forgotten."""

    workers: dict[str, WorkerInfo]
    pages: list[tuple[str, int]] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    forgets: bool = True

    def page(self, after: str, limit: int, _now: Instant) -> list[WorkerInfo]:
        self.pages.append((after, limit))
        return [self.workers[key] for key in sorted(self.workers) if key > after][:limit]

    def load(self, worker_id: str, _now: Instant) -> WorkerInfo | None:
        return self.workers.get(worker_id)

    def direct(
        self, worker_id: str, directive: str, _now: Instant, _by: str = ""
    ) -> WorkerInfo | None:
        before = self.workers.get(worker_id)
        if before is not None and before.directive != Directive.TERMINATE:
            self.workers[worker_id] = replace(before, directive=directive)
        return before

    def forget(self, worker_id: str, _last_seen: Instant) -> bool:
        self.forgotten.append(worker_id)
        return self.forgets


def registry_of(*workers: WorkerInfo) -> Registry:
    return Registry({each.id: each for each in workers})


def named(count: int, **more: Any) -> list[WorkerInfo]:
    return [a_worker(f"w{number}", **more) for number in range(count)]


def service_of(registry: Registry, jobs: Jobs | None = None) -> Workers:
    changer = JobChanger(cast("JobStore", jobs or Jobs()), FakeClock(NOW))
    return Workers(cast("WorkerRegistry", registry), changer)


def ids(workers: Sequence[WorkerInfo]) -> list[str]:
    return [each.id for each in workers]


@pytest.mark.parametrize(
    ("queue", "label", "chosen"),
    [
        ("", "", True),
        ("a", "", True),
        ("b", "", False),
        ("", "x", True),
        ("", "y", False),
        ("a", "y", False),
        ("b", "x", False),
    ],
)
def test_a_selection_chooses_by_queue_and_label(queue: str, label: str, chosen: bool) -> None:
    worker = a_worker("w", about='{"queues":["a"],"labels":["x"]}')
    assert Selection(queue=queue, label=label).chooses(worker) is chosen


@pytest.mark.parametrize(
    ("limit", "cursor", "shown", "following"),
    [
        (2, "", ["w0", "w1"], "w1"),
        (2, "w1", ["w2", "w3"], "w3"),
        (2, "w3", ["w4"], ""),
        (5, "", ["w0", "w1", "w2", "w3", "w4"], ""),
        (1, "w3", ["w4"], ""),
        (2, "w4", [], ""),
        (0, "", [], ""),
    ],
)
@pytest.mark.parametrize("counted", [5, 3])
def test_pages_of_workers_go_on_behind_the_last_one(
    monkeypatch: pytest.MonkeyPatch,
    limit: int,
    cursor: str,
    shown: list[str],
    following: str,
    counted: int,
) -> None:
    """Whether all are read for the summary, or more than are counted."""
    monkeypatch.setattr(service, "MAX_COUNTED", counted)
    if counted == 3 and not cursor and limit > 2:
        limit, shown, following = 2, ["w0", "w1"], "w1"
    page = service_of(registry_of(*named(5))).list(limit, cursor)
    assert (ids(page.workers), page.cursor) == (shown, following)
    assert page.is_exact is (counted == 5)
    assert page.summary["total"] == counted


def test_a_list_that_can_be_read_whole_is_read_once() -> None:
    registry = registry_of(*named(3))
    service_of(registry).list(2, "w1")
    assert len(registry.pages) == 1


def test_the_next_page_of_very_many_workers_is_read_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With as many as it shows, and one; for a view, as far as workers are counted."""
    monkeypatch.setattr(service, "MAX_COUNTED", 3)
    registry = registry_of(*named(9))
    service_of(registry).list(2, "w1")
    assert registry.pages == [("", 4), ("w1", 3)]
    registry = registry_of(*named(9))
    service_of(registry).list(2)
    assert registry.pages == [("", 4)]


@pytest.mark.parametrize(("count", "pages"), [(3, 2), (4, 3), (5, 3)])
def test_all_workers_are_read_page_by_page(
    monkeypatch: pytest.MonkeyPatch, count: int, pages: int
) -> None:
    """A page that is not full is the last one."""
    monkeypatch.setattr(service, "_PAGE", 2)
    registry = registry_of(*named(count))
    directed = service_of(registry).direct_all(Selection(), Directive.QUIET)
    assert len(directed.directed) == count
    assert len(registry.pages) == pages


@pytest.mark.parametrize(("most", "reached"), [(3, 3), (4, 4), (5, 5)])
def test_as_many_workers_are_directed_as_one_call_may(
    monkeypatch: pytest.MonkeyPatch, most: int, reached: int
) -> None:
    """Those that refuse count; the cursor goes on behind them."""
    monkeypatch.setattr(service, "MAX_DIRECTED", most)
    first, *others = named(5)
    registry = registry_of(replace(first, directive=Directive.TERMINATE), *others)
    found = service_of(registry).direct_all(Selection(), Directive.QUIET)
    assert found.refused == ("w0",)
    assert len(found.directed) == reached - 1
    assert found.cursor == (f"w{reached - 1}" if reached < 5 else "")


def test_a_worker_that_the_caller_may_not_see_is_not_found() -> None:
    hers = a_worker("w", about='{"queues":["hers"]}')
    assert service_of(registry_of(hers)).get("w") == hers
    with pytest.raises(NotFoundError):
        service_of(registry_of(hers)).get("w", MINE)
    mine = replace(hers, about='{"queues":["mine"]}')
    assert service_of(registry_of(mine)).get("w", MINE) == mine
    with pytest.raises(NotFoundError):
        service_of(registry_of()).get("w")


@pytest.mark.parametrize("directive", [*Directive])
def test_a_directive_to_terminate_is_final(directive: Directive) -> None:
    """It may be repeated; another one is refused."""
    workers = service_of(registry_of(a_worker("w", directive=Directive.TERMINATE)))
    if directive is Directive.TERMINATE:
        workers.direct("w", directive)
    else:
        with pytest.raises(ConflictError):
            workers.direct("w", directive)
    assert service_of(registry_of(a_worker("w"))).direct("w", directive).id == "w"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("resume", Directive.RUNNING),
        ("running", Directive.RUNNING),
        ("quiet", Directive.QUIET),
        ("terminate", Directive.TERMINATE),
    ],
)
def test_actions_name_directives(name: str, expected: Directive) -> None:
    assert directive_of(name) is expected
    with pytest.raises(InvalidRequestError):
        directive_of(f"{name}s")


@pytest.mark.parametrize(("silent_ms", "is_stale"), [(SILENCE_MS - 1, False), (SILENCE_MS, True)])
def test_a_worker_is_stale_once_it_missed_its_heartbeats(silent_ms: int, is_stale: bool) -> None:
    worker = a_worker("w", last_seen=Instant(NOW - silent_ms))
    assert (state_of(worker, NOW) == STALE) is is_stale


@pytest.mark.parametrize(("silent_ms", "forgets"), [(SILENCE_MS, False), (SILENCE_MS - 1, True)])
def test_a_worker_that_beats_is_not_removed(silent_ms: int, forgets: bool) -> None:
    """Also if it began again just now."""
    registry = registry_of(a_worker("w", last_seen=Instant(NOW - silent_ms)))
    registry.forgets = forgets
    with pytest.raises(ConflictError):
        service_of(registry).deregister("w")
    assert registry.forgotten == ([] if forgets else ["w"])


def test_a_removed_worker_lets_go_of_its_own_jobs_that_are_due() -> None:
    """Another worker may hold one that it named, or nobody."""
    due = replace(a_reservation("w"), expires_at=NOW)
    jobs = Jobs()
    mine = a_job(1, state=JobState.ACTIVE, attempt=1, reservation=due, started_at=NOW)
    hers = a_job(2, state=JobState.ACTIVE, attempt=1, started_at=NOW)
    jobs.add(mine, replace(hers, reservation=replace(due, worker_id="other")), a_job(3))
    named_jobs = tuple(jobs.jobs)
    stale = a_worker("w", last_seen=Instant(NOW - SILENCE_MS), job_ids=named_jobs)
    assert service_of(registry_of(stale), jobs).deregister("w") == (mine.id,)
    assert jobs.jobs[hers.id].state is JobState.ACTIVE
