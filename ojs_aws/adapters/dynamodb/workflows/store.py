"""Stores workflows: each change is one conditional put, or one transaction with its jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import (
    Item,
    item_bytes,
    number,
    read_string,
    row_at,
    row_cursor,
    string,
)
from ojs_aws.adapters.dynamodb.jobs.inserts import MAX_TRANSACTION_BYTES
from ojs_aws.adapters.dynamodb.table import (
    InTable,
    Reasons,
    condition,
    first_failed,
    in_index,
    key_in,
    put_part,
)
from ojs_aws.adapters.dynamodb.update import CONFLICT_CODE, ConditionFailedError
from ojs_aws.adapters.dynamodb.workflows.codec import (
    LIST,
    MAX_PIECE_BYTES,
    PLAN,
    RESULTS,
    list_key,
    plan_items,
    plan_key,
    plan_of,
    result_items,
    results_of,
    to_item,
    workflow_key,
    workflow_of,
    workflow_pk,
)
from ojs_aws.domain.conflicts import StaleWorkflowError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.batches import MAX_ACTIONS
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.workflows.graph import WorkflowPlan
from ojs_aws.domain.workflows.workflow import Workflow, WorkflowPage, WorkflowState

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.inserts import Ahead

MAX_PAGES: Final = 10
"""Pages of the index that one look at a list reads at most."""

PLANS_AT_ONCE: Final = 25
"""Plans of one batch read: DynamoDB answers with 16 MB at most."""


class NewJobs(Protocol):
    """Makes items of new jobs."""

    def ahead(self) -> AbstractContextManager[Ahead]:
        """Return what a write stores first, and removes if it is refused."""

    def new_items(self, jobs: Sequence[JobRecord], ahead: Ahead) -> list[Item]:
        """Return the items of new jobs; documents that do not fit them are put ahead."""


@dataclass(frozen=True, slots=True)
class Workflows(InTable):
    """Stores workflows. Each write is one conditional write or transaction, safe to repeat.

    :ivar token: makes the token of a write; a write that finds its own token took effect before.
    :ivar retention_s: how long workflows that have ended are kept; 0: for ever.
    """

    jobs: NewJobs
    token: Callable[[], str]
    retention_s: int

    def create(self, workflow: Workflow, plan: WorkflowPlan, jobs: Sequence[JobRecord]) -> None:
        """Store a new workflow with up to 90 first jobs, all or nothing.

        Makes one transaction; before it a put for each piece of a plan that does not fit it.

        :raises StaleWorkflowError: its id is taken.
        """
        plans = plan_items(workflow.id, plan)
        with self.jobs.ahead() as ahead:
            items = self.jobs.new_items(jobs, ahead)
            fits = len(plans) + len(items) < MAX_ACTIONS
            if not fits or sum(map(item_bytes, [*plans, *items])) > MAX_TRANSACTION_BYTES:
                for item in plans:
                    self.put_item(item)
                plans = []
            ahead.is_sent = True
            others = [*items, *plans]
            self._write(workflow, condition("attribute_not_exists(#pk)"), others)

    def save(
        self,
        before: Workflow,
        after: Workflow,
        results: Mapping[int, RawJson],
        jobs: Sequence[JobRecord],
    ) -> None:
        """Replace one version of a workflow by the next, with its results and new jobs.

        Makes one put, or a transaction if there are results or jobs.

        :param results: of jobs by the index of their step, two megabytes at most.
        :param jobs: up to 90 that begin; they exist exactly if the change does.
        :raises StaleWorkflowError: the stored workflow is no longer ``before``.
        """
        is_same = condition("#v = :v", v=number(before.version))
        with self.jobs.ahead() as ahead:
            items = self.jobs.new_items(jobs, ahead)
            others = [*items, *result_items(after.id, after.version, results)]
            ahead.is_sent = True
            self._write(after, is_same, others)

    def _write(self, workflow: Workflow, when: Mapping[str, Any], others: Sequence[Item]) -> None:
        item = to_item(workflow, self.retention_s)
        token = string(self.token())
        item[n.TOKEN] = token
        try:
            if others:
                self._transact(item, when, others)
            else:
                self.put_item(item, when)
        except ConditionFailedError as failed:
            if not failed.is_own({n.TOKEN: token}):
                raise StaleWorkflowError(
                    workflow_of(failed.item) if failed.item else None
                ) from None

    def _transact(self, item: Item, when: Mapping[str, Any], others: Sequence[Item]) -> None:
        """Put the workflow and what comes with it, if the workflow's condition holds.

        The others need none: only this version of the workflow makes them.
        """
        plain = [put_part(self.table, other) for other in others]
        reasons = self.transact_write_items([put_part(self.table, item, when), *plain], _was_met)
        if first_failed(reasons):
            raise ConditionFailedError(reasons[0][1])
        if reasons:
            raise ConditionFailedError(self.get_item(key_in(item)))

    def load(self, workflow_id: str) -> Workflow | None:
        """Read a workflow, strongly consistent.

        Makes one consistent read.
        """
        return self.load_item(workflow_key(workflow_id), workflow_of)

    def plan(self, workflow_id: str) -> WorkflowPlan | None:
        """Read the plan of a workflow.

        Runs one query for each megabyte.
        """
        items = self._beside(workflow_id, PLAN)
        return plan_of(items) if items else None

    def plans_of(self, workflow_ids: Sequence[str]) -> Iterator[tuple[str, WorkflowPlan]]:
        """Yield the plans of some workflows one by one, in no order; absent ones are left out.

        Makes one read for each 25, which may lag, and a query for a plan of several pieces.
        """
        for at in range(0, len(workflow_ids), PLANS_AT_ONCE):
            keys = [plan_key(each) for each in workflow_ids[at : at + PLANS_AT_ONCE]]
            for item in self.get_items(keys, is_consistent=False):
                workflow_id = read_string(item, n.PK).removeprefix(workflow_pk(""))
                is_whole = len(bytes(item[n.DOCUMENT]["B"])) < MAX_PIECE_BYTES
                plan = plan_of([item]) if is_whole else self.plan(workflow_id)
                if plan is not None:
                    yield workflow_id, plan

    def results(self, workflow_id: str) -> dict[int, RawJson]:
        """Read the results of a workflow's jobs, by the index of their step.

        Runs one query for each megabyte.
        """
        found: dict[int, RawJson] = {}
        for item in self._beside(workflow_id, RESULTS):
            found |= results_of(item)
        return found

    def page(self, state: WorkflowState | None, limit: int, cursor: str = "") -> WorkflowPage:
        """Return a page of workflows, in one state if it is given; new ones may lag.

        Runs a query of the index, more to find one state, and one read of the workflows.

        The query asks for one row more, which is not read.
        """
        found: list[Item] = []
        start = row_at(LIST, cursor) if cursor else {}
        for _ in range(MAX_PAGES):
            rows, start = self._rows(limit + 1 - len(found), start)
            found += [row for row in rows if state is None or read_string(row, n.STATE) == state]
            if not start or len(found) >= limit:
                break
        if is_followed := len(found) > limit:
            start = found[limit - 1]
        keys = [key_in(row) for row in found[:limit]]
        there = {each.id: each for each in map(workflow_of, self.get_items(keys))}
        ids = (read_string(key, n.PK).removeprefix(workflow_pk("")) for key in keys)
        shown = tuple(there[each] for each in ids if each in there)
        return WorkflowPage(shown, row_cursor(start), is_followed=is_followed)

    def place_of(self, workflow: Workflow) -> str:
        """Return the cursor that goes on behind a workflow.

        Makes no call.
        """
        return row_cursor(list_key(workflow))

    def _rows(self, limit: int, start: Item) -> tuple[list[Item], Item]:
        more: Any = {"ExclusiveStartKey": start} if start else {}
        options = in_index(ScanIndexForward=False, Limit=limit, **more)
        answer = self.query("#gpk = :gpk", {"gpk": string(LIST)}, **options)
        return answer["Items"], answer.get("LastEvaluatedKey", {})

    def forget(self, workflow_id: str) -> None:
        """Remove what a deleted workflow stored beside itself; may be repeated.

        Runs one query for each megabyte, and make one delete for each item.
        """
        for item in [*self._beside(workflow_id, PLAN), *self._beside(workflow_id, RESULTS)]:
            self.delete_item(key_in(item))

    def _beside(self, workflow_id: str, prefix: str) -> list[Item]:
        values = {"pk": string(workflow_pk(workflow_id)), "prefix": string(prefix)}
        key = "#pk = :pk AND begins_with(#sk, :prefix)"
        return [*self.items(key, values, ConsistentRead=True)]


def _was_met(reasons: Reasons) -> bool:
    """Return whether another change of the workflow was first, or is about to be."""
    return first_failed(reasons) or any(code == CONFLICT_CODE for code, _ in reasons)
