"""Creates, reads, lists and cancels workflows (ojs-workflows, section 11)."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.access import UNBOUND, View
from ojs_aws.domain.attributes import field_error, invalid, unknown_workflow
from ojs_aws.domain.conflicts import StaleWorkflowError
from ojs_aws.domain.credentials import Actor
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    BackendUnavailableError,
    DuplicateError,
    NotFoundError,
)
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import RawJson, assemble
from ojs_aws.domain.workflows import changes as workflow_changes
from ojs_aws.domain.workflows.definition import ID_PATTERN, Definition
from ojs_aws.domain.workflows.graph import Graph, WorkflowPlan, dump_graph
from ojs_aws.domain.workflows.workflow import Workflow, WorkflowPage, WorkflowState
from ojs_aws.services.workflows.advance import MAX_CONFLICTS, WorkflowAdvance
from ojs_aws.services.workflows.enqueue import check_jobs, pass_middleware
from ojs_aws.services.workflows.list_walk import MAX_READS, WorkflowWalk, jobs_of

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.workflows.store import Workflows
    from ojs_aws.domain.runtime import IdGenerator
    from ojs_aws.services.jobs.push import Push
    from ojs_aws.services.stored_jobs.change import JobChanger

MAX_SHOWN: Final = 1000
"""Steps of a workflow that one answer shows, and jobs whose times it has."""

FIRST_STEPS: Final = range(1, 1 + MAX_SHOWN)
"""The steps that are shown where nobody asks for others; the workflow itself is step 0."""

SKIPPED_AT_ONCE: Final = 100

_ID: Final = re.compile(ID_PATTERN, re.ASCII)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkflowView:
    """Holds a workflow with all that is known of its steps.

    :ivar jobs: jobs by the index of their step.
    :ivar results: what jobs left, by the same.
    :ivar enqueued: further steps whose jobs exist, though they were not read.
    :ivar envelopes: the jobs as they are or will be enqueued, by the index of their step.
    """

    workflow: Workflow
    graph: Graph
    jobs: Mapping[int, JobRecord]
    results: Mapping[int, RawJson]
    enqueued: frozenset[int] = frozenset()
    envelopes: Mapping[int, RawJson] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreatedWorkflow:
    """Holds a workflow, and whether this request made it."""

    view: WorkflowView
    is_new: bool


@dataclass(frozen=True, slots=True)
class WorkflowService:
    """Implements the operations of clients."""

    workflows: Workflows
    push: Push
    changer: JobChanger
    workflow_advance: WorkflowAdvance
    ids: IdGenerator

    # ------------------------------------------------------------------ creating
    def create(self, definition: Definition) -> CreatedWorkflow:
        """Store a workflow and enqueue what begins with it, all or nothing.

        Every job passes the enqueue middleware now, once; what begins later is enqueued as the
        middleware left it.

        :raises InvalidWorkflowError: it or one of its jobs cannot be followed; nothing is stored.
        :raises EnqueueRejectedError: a middleware refused or dropped a job; nothing is stored.
        :raises DuplicateError: another workflow has this id.
        :raises TenantLimitError: its tenant may not enqueue what begins with it.
        """
        workflow_id = definition.id or self.ids.job_id()
        made = workflow_changes.create(
            definition.graph,
            workflow_id,
            self.changer.clock.now(),
            name=definition.name,
            digest=_digest(definition),
        )
        push = self.push.for_many()
        known = check_jobs(definition, push)
        if definition.id and (before := self.workflows.load(workflow_id)) is not None:
            return self._again(made, before)
        kept: list[CreatedWorkflow] = []
        graph = definition.graph
        pass_middleware(
            push, made, definition, known, lambda jobs: kept.append(self._keep(made, graph, jobs))
        )
        return kept[0]

    def _keep(self, made: Workflow, graph: Graph, jobs: Mapping[int, Job]) -> CreatedWorkflow:
        plan = WorkflowPlan(_retyped(graph, jobs), _envelopes(jobs))
        first, records = self.workflow_advance.first(made, plan)
        self.push.admit(records)
        try:
            self.workflows.create(first, plan, records)
        except StaleWorkflowError as stale:
            return self._again(made, stale.current)
        self.push.new_jobs.send_for(records)
        if first.has_ready:
            try:
                first = self.workflow_advance.advance(first.id, start=first) or first
            except Exception:  # it is stored: the stream goes on with it
                _logger.warning("Workflow %s is left to the stream", first.id, exc_info=True)
        by_step = {job.workflow_step: job for job in records if job.workflow_step is not None}
        view = WorkflowView(first, plan.graph, by_step, {}, envelopes=plan.envelopes)
        return CreatedWorkflow(view, is_new=True)

    def _again(self, made: Workflow, known: Workflow | None) -> CreatedWorkflow:
        """Return the workflow that the same request made before."""
        if known is None or known.digest != made.digest:
            raise DuplicateError(
                f"A workflow with the id '{made.id}' already exists.",
                details={"existing_workflow_id": made.id},
                hint="Give each workflow an id of its own, or leave the id out.",
            )
        return CreatedWorkflow(self.get(made.id), is_new=False)

    # ------------------------------------------------------------------ reading
    def get(self, workflow_id: str, shown: range = FIRST_STEPS) -> WorkflowView:
        """Return a workflow as of now: jobs that ended but are not recorded yet are counted.

        :param shown: the steps that are of interest: their jobs are read, and those that run.
        :raises NotFoundError: there is none.
        """
        workflow = self._found(workflow_id)
        plan = self.workflow_advance.plan(workflow)
        graph = plan.graph
        jobs = self._jobs(workflow, graph, shown)
        running = {*workflow.outstanding(graph)}
        news = [
            each
            for index, job in jobs.items()
            if index in running and (each := self.workflow_advance.news_of(job)) is not None
        ]
        begun = [job.started_at for job in jobs.values() if job.started_at is not None]
        at = min(begun, default=None) if workflow.started_at is None else None
        if news or at is not None:
            workflow = (
                self.workflow_advance.advance(workflow_id, news, started_at=at, start=workflow)
                or workflow
            )
        results = self.workflows.results(workflow_id)
        return WorkflowView(workflow, graph, jobs, results, envelopes=plan.envelopes)

    def jobs_of(self, workflow_id: str) -> list[tuple[str, str, str]]:
        """Return queue, type and tenant of each job that a workflow has; none if there is none."""
        plan = self.workflows.plan(workflow_id) if _ID.fullmatch(workflow_id) else None
        return [] if plan is None else [*jobs_of(plan)]

    def _jobs(self, workflow: Workflow, graph: Graph, shown: range) -> dict[int, JobRecord]:
        """Return the jobs of enqueued steps as of now, those that have not ended first."""
        running = sorted(workflow.outstanding(graph), key=lambda index: index not in shown)
        others = [i for i in graph.jobs if i in shown and workflow.states[i] in "cfx"]
        wanted = [*running, *others][:MAX_SHOWN]
        loaded = self.changer.store.load_many([workflow.job_id(index) for index in wanted])
        now = self.changer.clock.now()
        jobs: dict[int, JobRecord] = {}
        for index in wanted:
            job = loaded.get(workflow.job_id(index))
            if job is None:
                continue
            try:
                jobs[index] = self.changer.settled(job, now)
            except NotFoundError:
                continue
        return jobs

    def list(
        self, state: str, limit: int, cursor: str, *, skip: int = 0, view: View = UNBOUND
    ) -> WorkflowPage:
        """Return a page of workflows, newest first.

        :param state: only those in this state; empty for all.
        :param skip: workflows to leave out first; a cursor costs less.
        :param view: what the caller may see: a workflow is seen if all of its jobs are.
        :raises InvalidRequestError: there is no such state; or a bad cursor; or too many to skip.
        """
        wanted = None
        if state == "pending":  # a state of the specification that no workflow is ever in here
            return WorkflowPage(())
        if state == "active":  # what some documents call it
            state = WorkflowState.RUNNING
        if state:
            if state not in [*WorkflowState]:
                expected = "one of " + ", ".join(WorkflowState)
                raise invalid("state", expected, state)
            wanted = WorkflowState(state)
        if view != UNBOUND:
            return WorkflowWalk(self.workflows, view, skip, limit).page(wanted, cursor)
        place = self._behind(wanted, skip, cursor) if skip else cursor
        return WorkflowPage(()) if place is None else self.workflows.page(wanted, limit, place)

    def _behind(self, wanted: WorkflowState | None, skip: int, cursor: str) -> str | None:
        """Return the cursor behind so many workflows; None if no more follow.

        :raises InvalidRequestError: they are too far apart for one request.
        """
        for _ in range(MAX_READS):
            before = self.workflows.page(wanted, min(skip, SKIPPED_AT_ONCE), cursor)
            cursor, skip = before.cursor, skip - len(before.workflows)
            if not cursor:
                return None
            if skip <= 0:
                return cursor
        message = "The 'offset' skips more workflows than one request can read."
        raise field_error("offset", message, "Go on with the 'cursor' of a page instead.")

    def _found(self, workflow_id: str) -> Workflow:
        workflow = self.workflows.load(workflow_id) if _ID.fullmatch(workflow_id) else None
        if workflow is None:
            raise unknown_workflow(workflow_id)
        return workflow

    # ------------------------------------------------------------------ cancelling
    def cancel(self, workflow_id: str, by: Actor | None = None) -> WorkflowView:
        """Cancel a workflow: what waits for a worker or for other steps never runs.

        Jobs that workers execute may end (section 11.3).

        :param by: who does it.
        :raises NotFoundError: there is none.
        :raises ConflictError: it is in a terminal state; nothing changes.
        """
        view = self.get(workflow_id)
        workflow, graph = view.workflow, view.graph
        for _ in range(MAX_CONFLICTS):
            after = workflow_changes.cancel(workflow, graph, self.changer.clock.now(), by)
            try:
                self.workflows.save(workflow, after, {}, ())
            except StaleWorkflowError as stale:
                workflow = stale.current or self._found(workflow_id)
                continue
            after = self.workflow_advance.cancel_jobs(after)
            enqueued = frozenset({*workflow.outstanding(graph), *view.jobs})
            return WorkflowView(after, graph, {}, {}, enqueued, view.envelopes)
        raise BackendUnavailableError(
            f"Workflow '{workflow_id}' is being changed by too many at once.",
            hint="Repeat the request.",
        )


def _retyped(graph: Graph, jobs: Mapping[int, Job]) -> Graph:
    """Return the graph with the job types as the middleware left them."""
    steps = [*graph.steps]
    for index, job in jobs.items():
        if steps[index].type != job.type:
            steps[index] = replace(steps[index], type=job.type)
    return Graph(tuple(steps))


def _envelopes(jobs: Mapping[int, Job]) -> dict[int, RawJson]:
    return {
        index: assemble({name: raw for name, raw in job.members().items() if name != "id"})
        for index, job in jobs.items()
    }


def _digest(definition: Definition) -> str:
    """Return a digest that differs for different requests."""
    texts = [definition.name, dump_graph(definition.graph)]
    texts += [assemble(job.members()) for job in definition.jobs.values()]
    return hashlib.sha256("\n".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
