"""Pages of workflows for callers with bounds: what they show, and where they end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ojs_aws.adapters.dynamodb.workflows.store import Workflows
from ojs_aws.domain.access import View
from ojs_aws.domain.workflows.workflow import Workflow, WorkflowPage, WorkflowState
from ojs_aws.services.workflows import list_walk, service
from ojs_aws.services.workflows.list_walk import PAGE, WorkflowWalk
from ojs_aws.services.workflows.service import WorkflowService
from tests.contract.test_job_store import NOW

MINE = View(queues=("mine",))


def a_workflow(name: str) -> Workflow:
    return Workflow(
        id=name,
        kind="chain",  # type: ignore[arg-type]
        version=1,
        state=WorkflowState.RUNNING,
        states="c",
        created_at=NOW,
        job_count=1,
        steps_total=1,
    )


@dataclass
class Kept:
    """Workflows in pages; the letters of a name say whose its jobs are."""

    pages: list[list[str]]
    sizes: list[int] = field(default_factory=list)

    def page(self, _state: WorkflowState | None, limit: int, cursor: str = "") -> WorkflowPage:
        self.sizes.append(limit)
        number = int(cursor or 0)
        following = str(number + 1) if number + 1 < len(self.pages) else ""
        return WorkflowPage(tuple(map(a_workflow, self.pages[number])), following)

    def plans_of(self, ids: Sequence[str]) -> Iterator[tuple[str, Any]]:
        queues = {"m": "mine", "h": "hers"}
        for name in ids:
            texts = [f'{{"type":"a.b","queue":"{queues[c]}","args":[]}}' for c in name if c in "mh"]
            yield name, SimpleNamespace(envelopes=dict(enumerate(texts)))

    def place_of(self, workflow: Workflow) -> str:
        return f"behind {workflow.id}"


def walked(
    *pages: list[str], limit: int = 2, skip: int = 0
) -> tuple[list[str], str, WorkflowWalk, Kept]:
    kept = Kept([*pages])
    walk = WorkflowWalk(cast("Workflows", kept), MINE, skip, limit)
    page = walk.page(None, "")
    return [each.id for each in page.workflows], page.cursor, walk, kept


@pytest.mark.parametrize(
    ("pages", "skip", "shown", "cursor"),
    [
        ([["m1", "h1", "mm2", "mh3", "m4"]], 0, ["m1", "mm2"], "behind mm2"),
        ([["m1", "m2"]], 0, ["m1", "m2"], ""),
        ([["m1", "m2", "h1"]], 0, ["m1", "m2"], ""),
        ([["m1", "m2"], ["h1"]], 0, ["m1", "m2"], "behind m2"),
        ([["m1", "m2", "h1", "h2", "m3"]], 0, ["m1", "m2"], "behind m2"),
        ([["m1"], ["m2"]], 0, ["m1", "m2"], ""),
        ([["m1"], ["h2"]], 0, ["m1"], ""),
        ([["1", "m2"]], 0, ["m2"], ""),
        ([["m1", "m2", "m3", "m4"]], 1, ["m2", "m3"], "behind m3"),
        ([["m1", "m2", "m3"]], 1, ["m2", "m3"], ""),
    ],
)
def test_a_page_shows_the_workflows_all_of_whose_jobs_the_caller_sees(
    monkeypatch: pytest.MonkeyPatch,
    pages: list[list[str]],
    skip: int,
    shown: list[str],
    cursor: str,
) -> None:
    """Its cursor goes on behind the last of them, unless nothing can follow."""
    monkeypatch.setattr(list_walk, "PART", 3)
    found, following, _, _ = walked(*pages, skip=skip)
    assert (found, following) == (shown, cursor)


def test_the_next_part_of_a_page_may_have_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not read for that."""
    monkeypatch.setattr(list_walk, "PART", 2)
    assert walked(["m1", "m2", "h1"])[1] == "behind m2"
    assert walked(["m1", "m2"])[1] == ""


def test_a_workflow_that_there_is_no_room_for_is_on_the_next_page() -> None:
    found, cursor, walk, _ = walked(["m1", "m2", "h1", "m3", "m4"])
    assert (found, cursor, walk.is_followed) == (["m1", "m2"], "behind m2", True)


@pytest.mark.parametrize(("limit", "skip", "size"), [(2, 3, 5), (90, 10, PAGE), (90, 11, PAGE)])
def test_the_first_page_is_as_long_as_what_is_asked_for(limit: int, skip: int, size: int) -> None:
    *_, kept = walked(["m1"], ["m2"], limit=limit, skip=skip)
    assert kept.sizes == [size, PAGE]


@pytest.mark.parametrize(
    ("name", "most", "examined"),
    [
        ("MAX_EXAMINED", 4, 4),
        ("MAX_EXAMINED", 5, 6),
        ("MAX_JOBS", 4, 4),
        ("MAX_JOBS", 5, 6),
        ("", 0, 8),
    ],
)
def test_a_walk_ends_between_parts_once_it_has_looked_at_enough(
    monkeypatch: pytest.MonkeyPatch, name: str, most: int, examined: int
) -> None:
    """Workflows, or their jobs; its cursor leads on behind the caller's last one."""
    monkeypatch.setattr(list_walk, "PART", 2)
    if name:
        monkeypatch.setattr(list_walk, name, most)
    found, cursor, walk, _ = walked(["m1", *(f"h{number}" for number in range(7))])
    assert (found, walk.examined) == (["m1"], examined)
    assert cursor == ("behind m1" if name else "")


@pytest.mark.parametrize(
    ("skip", "sizes", "expected"),
    [(1, [1], "1"), (2, [2, 1], "2"), (5, [2, 2, 2], None), (3, [2, 2, 1], None)],
)
def test_what_is_skipped_is_read_in_portions(
    monkeypatch: pytest.MonkeyPatch, skip: int, sizes: list[int], expected: str | None
) -> None:
    """And nothing more than is skipped; None where nothing follows."""
    monkeypatch.setattr(service, "SKIPPED_AT_ONCE", 2)
    kept = Kept([["a"], ["b"], ["c"]])
    behind = WorkflowService(cast("Workflows", kept), *[cast("Any", None)] * 4)._behind
    assert behind(None, skip, "") == expected
    assert kept.sizes == sizes
