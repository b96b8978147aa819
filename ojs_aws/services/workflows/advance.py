"""Moves workflows on when their jobs end (ojs-workflows, sections 4 to 9; architecture, 9).

Each step forward is one write, conditional on the version of the workflow that was read: it takes
over how jobs ended, and enqueues the jobs that begin, in one transaction. The ids of the jobs are
fixed with the workflow. So whatever repeats, comes late or comes at the same time finds the step
taken, and changes nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeVar

from ojs_aws.domain.conflicts import StaleWorkflowError
from ojs_aws.domain.errors import BackendError, NotFoundError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import lifecycle
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows.graph import WorkflowPlan
from ojs_aws.domain.workflows.progress import StepState
from ojs_aws.domain.workflows.workflow import Workflow, WorkflowState
from ojs_aws.services.stored_jobs.change import JobErrors
from ojs_aws.services.workflows.write import JobEnd, WorkflowWrite, in_writes, job_end_of

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.workflows.store import Workflows
    from ojs_aws.services.jobs.push import Push
    from ojs_aws.services.stored_jobs.change import JobChanger

MAX_ROUNDS: Final = 4
"""Writes in a row; the stream, which gets each write, continues with what is left then."""

MAX_CONFLICTS: Final = 25
MAX_CANCELS: Final = 200
"""Jobs that are cancelled at once; the stream takes up what is left."""

K = TypeVar("K")
V = TypeVar("V")

_KEPT: Final = 64


@dataclass(slots=True)
class _KnownWorkflows:
    """Caches in the process what never changes: plans, and that workflows have started."""

    plans: OrderedDict[tuple[str, Instant], WorkflowPlan] = field(default_factory=OrderedDict)
    started: OrderedDict[str, None] = field(default_factory=OrderedDict)


@dataclass(frozen=True, slots=True)
class WorkflowAdvance:
    """Moves workflows on."""

    workflows: Workflows
    push: Push
    changer: JobChanger
    _kept: _KnownWorkflows = field(default_factory=_KnownWorkflows)

    # ------------------------------------------------------------------ what is asked for
    def news_of(self, job: JobRecord) -> JobEnd | None:
        """Return what the end of a job means for its workflow; None while it has not ended.

        A result that is kept elsewhere is read.
        """
        return job_end_of(job, self.changer.store)

    def plan(self, workflow: Workflow) -> WorkflowPlan:
        """Return the plan of a workflow, read once by each process.

        :raises BackendError: it is gone.
        """
        key = workflow.id, workflow.created_at
        plan = self._kept.plans.get(key) or self.workflows.plan(workflow.id)
        if plan is None:
            raise BackendError(f"The plan of workflow '{workflow.id}' is missing.")
        _keep(self._kept.plans, key, plan)
        return plan

    def started(self, workflow_id: str, at: Instant) -> None:
        """Remember that a workflow's first job began; no call if that is known."""
        if workflow_id not in self._kept.started:
            self.advance(workflow_id, (), started_at=at)

    def advance(
        self,
        workflow_id: str,
        news: Sequence[JobEnd] = (),
        *,
        started_at: Instant | None = None,
        start: Workflow | None = None,
    ) -> Workflow | None:
        """Record how jobs ended, and enqueue what begins. Repeating it changes nothing.

        :param started_at: when a job of it began to execute, if one did.
        :param start: the workflow as last seen, to save the first read.
        :returns: the workflow after; None when there is none.
        :raises BackendError: too many others changed it at the same time, or a call failed.
        """
        begins = [each.started_at for each in news if each.started_at is not None]
        moment = min([*begins, *([] if started_at is None else [started_at])], default=None)
        current = start
        for group in in_writes(news):
            current = self._take(workflow_id, group, moment, current)
            if current is None:
                return None
        if current is not None and current.started_at is not None:
            _keep(self._kept.started, workflow_id, None)
        return current

    def _take(
        self,
        workflow_id: str,
        news: Sequence[JobEnd],
        started_at: Instant | None,
        current: Workflow | None,
    ) -> Workflow | None:
        conflicts = rounds = 0
        current = current or self.workflows.load(workflow_id)
        push = self.push.for_many()
        while current is not None:
            change = WorkflowWrite(self.workflows, push, current, self.plan(current))
            after = change.make(news, started_at)
            if after is current:
                return current
            try:
                self.workflows.save(current, after, change.results, change.jobs)
            except StaleWorkflowError as stale:
                conflicts += 1
                if conflicts > MAX_CONFLICTS:
                    raise BackendError(
                        f"Workflow '{workflow_id}' is being changed by too many at once.",
                        hint="Repeat the request.",
                    ) from None
                current = stale.current
                continue
            self.push.new_jobs.send_for(change.jobs)
            current, rounds = after, rounds + 1
            if not after.has_ready or rounds >= MAX_ROUNDS:
                return after
        return None

    def first(self, workflow: Workflow, plan: WorkflowPlan) -> tuple[Workflow, list[JobRecord]]:
        """Return a new workflow with its first jobs, not stored yet."""
        change = WorkflowWrite(self.workflows, self.push.for_many(), workflow, plan)
        after = change.make((), None)
        events = (*workflow.events, *after.events)
        return replace(after, version=workflow.version, events=events), change.jobs

    # ------------------------------------------------------------------ cancelled workflows
    def cancel_jobs(self, workflow: Workflow) -> Workflow:
        """Cancel the enqueued jobs of a cancelled workflow that nobody executes.

        Up to MAX_CANCELS of them; the end of each is taken over at once.

        :raises Exception: the first error, once all the others are cancelled.
        """
        names = [*map(workflow.job_id, workflow.outstanding(self.plan(workflow).graph))]
        news: list[JobEnd] = []
        errors = JobErrors(lambda: False)
        for at in range(0, len(names), 100):
            part = names[at : at + 100]
            for job_id, job in self.changer.settle_each(
                part, self.changer.clock.now(), errors.note
            ):
                try:
                    each = None if job is None else self.news_of(self._cancelled(job))
                except Exception as problem:  # noqa: BLE001 - one job must not hold up the others
                    errors.note(job_id, problem)
                else:
                    news += [] if each is None else [each]
            # The stream goes on after a write that counts a cancelled job, and after no other one.
            if sum(each.ended.state is StepState.CANCELLED for each in news) >= MAX_CANCELS:
                break
        if news:
            workflow = self.advance(workflow.id, news, start=workflow) or workflow
        if errors.first is not None:
            raise errors.first
        return workflow

    def _cancelled(self, job: JobRecord) -> JobRecord:
        def decide(found: JobRecord, now: Instant) -> JobRecord:
            is_left = found.state.is_terminal or found.state is JobState.ACTIVE
            return found if is_left else lifecycle.cancel(found, now)

        try:
            return self.changer.apply(job.id, decide, start=job).after
        except NotFoundError:
            return job

    def retried(self, job: JobRecord) -> None:
        """Cancel a job that waits for another attempt if its workflow is cancelled.

        Active jobs of a cancelled workflow may end, but not begin again.
        """
        workflow = self.workflows.load(job.workflow_id)
        if workflow is not None and workflow.state is WorkflowState.CANCELLED:
            self._cancelled(job)


def _keep(kept: OrderedDict[K, V], key: K, value: V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > _KEPT:
        kept.popitem(last=False)
