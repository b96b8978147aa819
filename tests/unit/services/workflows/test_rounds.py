"""How many writes one request makes for a workflow, and how many conflicts it goes through."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ojs_aws.domain.conflicts import StaleWorkflowError
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.workflows.workflow import Workflow
from ojs_aws.services.workflows import advance as advancing
from ojs_aws.services.workflows.advance import MAX_CONFLICTS, MAX_ROUNDS, WorkflowAdvance
from ojs_aws.testing.deployment import FakeClock
from tests.contract.test_job_store import NOW
from tests.unit.services.workflows.test_seen_pages import a_workflow

WORKFLOW = a_workflow("w")
READY = replace(WORKFLOW, states="+")
NEWS: Any = SimpleNamespace(started_at=NOW)


@dataclass
class Kept:
    """A workflow that others change so many times first; notes its writes."""

    conflicts: int = 0
    writes: list[Workflow] = field(default_factory=list)

    def load(self, _workflow_id: str) -> Workflow:
        return WORKFLOW

    def plan(self, _workflow_id: str) -> Any:
        return SimpleNamespace(graph=None)

    def save(self, before: Workflow, after: Workflow, *_: object) -> None:
        if self.conflicts:
            self.conflicts -= 1
            raise StaleWorkflowError(before)
        self.writes.append(after)


def advance_of(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, following: Sequence[Workflow]
) -> WorkflowAdvance:
    """Moves a workflow on, whose versions come one after the other."""
    versions = iter(following)

    class Write:
        """Makes the next version, or the same one again where there is none."""

        results: dict[int, Any] = {}  # noqa: RUF012 - nobody writes it
        jobs: tuple[()] = ()

        def __init__(self, _workflows: object, _push: object, before: Workflow, _: object) -> None:
            self.before = before

        def make(self, *_: object) -> Workflow:
            if kept.conflicts:
                return replace(self.before, version=99)
            return next(versions, self.before)

    monkeypatch.setattr(advancing, "WorkflowWrite", Write)
    monkeypatch.setattr(advancing, "in_writes", lambda news: [news])
    new_jobs = SimpleNamespace(send_for=lambda *_: None)
    push = SimpleNamespace(for_many=lambda: None, new_jobs=new_jobs)
    changer = SimpleNamespace(clock=FakeClock(NOW))
    given = [cast("Any", each) for each in (kept, push, changer)]
    return WorkflowAdvance(*given)


@pytest.mark.parametrize(
    ("ready", "writes"), [(0, 1), (1, 2), (MAX_ROUNDS - 1, MAX_ROUNDS), (MAX_ROUNDS, MAX_ROUNDS)]
)
def test_a_workflow_is_written_while_steps_are_ready_within_bounds(
    monkeypatch: pytest.MonkeyPatch, ready: int, writes: int
) -> None:
    """The stream goes on with the rest."""
    kept = Kept()
    following = [replace(READY, version=number) for number in range(2, ready + 2)]
    rest = [replace(WORKFLOW, version=number) for number in (98, 99)]
    advance = advance_of(kept, monkeypatch, [*following, *rest])
    advance.advance("w", [NEWS])
    assert len(kept.writes) == writes


def test_what_changes_nothing_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept()
    assert advance_of(kept, monkeypatch, []).advance("w", [NEWS]) == WORKFLOW
    assert kept.writes == []


@pytest.mark.parametrize("conflicts", [MAX_CONFLICTS, MAX_CONFLICTS + 1])
def test_so_many_conflicts_are_gone_through(
    monkeypatch: pytest.MonkeyPatch, conflicts: int
) -> None:
    kept = Kept(conflicts)
    advance = advance_of(kept, monkeypatch, [replace(WORKFLOW, version=2)])
    if conflicts == MAX_CONFLICTS:
        advance.advance("w", [NEWS])
        assert len(kept.writes) == 1
    else:
        with pytest.raises(BackendError, match="too many"):
            advance.advance("w", [NEWS])


def test_the_oldest_plan_is_forgotten_where_there_are_too_many() -> None:
    kept: OrderedDict[int, int] = OrderedDict()
    for number in range(advancing._KEPT):
        advancing._keep(kept, number, number)
    assert len(kept) == advancing._KEPT
    advancing._keep(kept, 0, 0)
    advancing._keep(kept, -1, 0)
    assert (0 in kept, 1 in kept, len(kept)) == (True, False, advancing._KEPT)
