"""Moving workflows on when their jobs end (ojs-workflows, sections 4 to 9; architecture, 9).

Each step forward is one write, conditional on the version of the workflow that was read: it takes
over how jobs ended, and enqueues the jobs that begin, in one transaction. The ids of the jobs are
fixed with the workflow. So whatever repeats, comes late or comes at the same time finds the step
taken, and changes nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeVar

from ojs_aws.domain import lifecycle
from ojs_aws.domain import workflow_changes as workflows
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, NotFoundError, OjsError
from ojs_aws.domain.failures import render_failure
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.json_text import RawJson, assemble, encode, parse_object
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflow import Ended, StepFailure, Workflow, WorkflowState
from ojs_aws.domain.workflow_progress import StepState
from ojs_aws.domain.workflow_results import NULL, bounded, jobs_of, parent_results, sources
from ojs_aws.ports import StaleWorkflowError, WorkflowPlan

if TYPE_CHECKING:
    from ojs_aws.ports import Clock, JobStore, Workflows
    from ojs_aws.services.changing import Changing
    from ojs_aws.services.push import Push
    from ojs_aws.services.waking import Waking

MAX_STARTS: Final = 80
"""Jobs that one write enqueues: a transaction has room for 100 items, results among them."""

MAX_ROUNDS: Final = 4
"""Writes in a row; what is left then is taken up by the stream, which is told of each write."""

MAX_CONFLICTS: Final = 25
MAX_CANCELS: Final = 200
"""Jobs that are cancelled at once; the stream takes up what is left."""

MAX_RESULT_BYTES: Final = 250_000
"""A larger result is kept as a reference to its job."""

MAX_NEWS_BYTES: Final = 1_500_000
"""Results that one write takes over."""

K = TypeVar("K")
V = TypeVar("V")

_ANY_DEPTH: Final = 1000
_KEPT: Final = 64


@dataclass(frozen=True, slots=True)
class News:
    """A job of a workflow that has ended, with what it leaves for others.

    :ivar started_at: when its last attempt began.
    """

    ended: Ended
    value: RawJson
    started_at: Instant | None = None


@dataclass(slots=True)
class _Kept:
    """What never changes again, kept in the process: plans, and that workflows have started."""

    plans: OrderedDict[tuple[str, Instant], WorkflowPlan] = field(default_factory=OrderedDict)
    started: OrderedDict[str, None] = field(default_factory=OrderedDict)


@dataclass(frozen=True, slots=True)
class Advancing:
    """Moves workflows on."""

    workflows: Workflows
    store: JobStore
    push: Push
    changing: Changing
    waking: Waking
    clock: Clock
    _kept: _Kept = field(default_factory=_Kept)

    # ------------------------------------------------------------------ what is asked for
    def news_of(self, job: JobRecord) -> News | None:
        """What the end of a job means for its workflow; None while it has not ended.

        A result that is kept elsewhere is read.
        """
        index = job.workflow_step
        ended = None if index is None else workflows.ended_job(job, index)
        if ended is None:
            return None
        if ended.state is StepState.COMPLETED:
            whole = job if isinstance(job.result, str) or job.result is None else self._filled(job)
            value = whole.result if isinstance(whole.result, str) else NULL
        else:
            value = _error_value(job, ended.failure)
        value = bounded({0: value}, {0: job.id}, MAX_RESULT_BYTES)[0]
        return News(ended, value, job.started_at)

    def _filled(self, job: JobRecord) -> JobRecord:
        try:
            return self.store.fill(job)
        except OjsError:
            if self.store.load(job.id) is not None:
                raise
            return replace(job, result=None)  # the job was removed meanwhile, and its result

    def plan(self, workflow: Workflow) -> WorkflowPlan:
        """The plan of a workflow, read once in the life of the process.

        :raises BackendError: it is gone.
        """
        key = workflow.id, workflow.created_at
        plan = self._kept.plans.get(key) or self.workflows.plan(workflow.id)
        if plan is None:
            raise BackendError(f"The plan of workflow '{workflow.id}' is missing.")
        _keep(self._kept.plans, key, plan)
        return plan

    def started(self, workflow_id: str, at: Instant) -> None:
        """Remember that a workflow's first job began to execute; no call where that is known."""
        if workflow_id not in self._kept.started:
            self.advance(workflow_id, (), started_at=at)

    def advance(
        self,
        workflow_id: str,
        news: Sequence[News] = (),
        *,
        started_at: Instant | None = None,
        start: Workflow | None = None,
    ) -> Workflow | None:
        """Take over how jobs ended, and enqueue what begins. Repeating it changes nothing.

        :param started_at: when a job of it began to execute, if one did.
        :param start: the workflow as last seen, to save the first read.
        :returns: the workflow after; None when there is none.
        :raises BackendError: too many others changed it at the same time, or a call failed.
        """
        begins = [each.started_at for each in news if each.started_at is not None]
        moment = min([*begins, *([] if started_at is None else [started_at])], default=None)
        current = start
        for group in _in_groups(news):
            current = self._take(workflow_id, group, moment, current)
            if current is None:
                return None
        if current is not None and current.started_at is not None:
            _keep(self._kept.started, workflow_id, None)
        return current

    def _take(
        self,
        workflow_id: str,
        news: Sequence[News],
        started_at: Instant | None,
        current: Workflow | None,
    ) -> Workflow | None:
        conflicts = rounds = 0
        current = current or self.workflows.load(workflow_id)
        service = replace(self, push=self.push.for_many())
        while current is not None:
            change = _Change(service, current, self.plan(current))
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
            self.waking.cover(change.jobs, self.clock.now())
            current, rounds = after, rounds + 1
            if not after.has_ready or rounds >= MAX_ROUNDS:
                return after
        return None

    def first(self, workflow: Workflow, plan: WorkflowPlan) -> tuple[Workflow, list[JobRecord]]:
        """A new workflow with its first jobs, none of which is stored yet."""
        change = _Change(replace(self, push=self.push.for_many()), workflow, plan)
        after = change.make((), None)
        told = (*workflow.told, *after.told)
        return replace(after, version=workflow.version, told=told), change.jobs

    # ------------------------------------------------------------------ cancelled workflows
    def cancel_jobs(self, workflow: Workflow) -> Workflow:
        """Cancel the enqueued jobs of a cancelled workflow that nobody executes.

        Up to MAX_CANCELS of them; the end of each is taken over at once.
        """
        graph = self.plan(workflow).graph
        ids = {workflow.job_id(index): index for index in workflow.outstanding(graph)}
        news: list[News] = []
        names = [*ids]
        for at in range(0, len(names), 100):
            for job in self.store.load_many(names[at : at + 100]).values():
                if not job.state.is_terminal:
                    job = self._cancelled(job)  # noqa: PLW2901 - the same job, later
                if (each := self.news_of(job)) is not None:
                    news.append(each)
            if len(news) >= MAX_CANCELS:
                break
        return self.advance(workflow.id, news, start=workflow) or workflow if news else workflow

    def _cancelled(self, job: JobRecord) -> JobRecord:
        def decide(found: JobRecord, now: Instant) -> JobRecord:
            is_left = found.state.is_terminal or found.state is JobState.ACTIVE
            return found if is_left else lifecycle.cancel(found, now)

        try:
            return self.changing.apply(job.id, decide, start=job).after
        except NotFoundError:
            return job

    def retried(self, job: JobRecord) -> None:
        """A job of a workflow waits for another attempt: it gets none if the workflow is cancelled.

        Active jobs of a cancelled workflow may end, but not begin again.
        """
        workflow = self.workflows.load(job.workflow_id)
        if workflow is not None and workflow.state is WorkflowState.CANCELLED:
            self._cancelled(job)

    # ------------------------------------------------------------------ jobs
    def job_of(
        self, workflow: Workflow, plan: WorkflowPlan, index: int, given: RawJson
    ) -> JobRecord:
        """The job of a step, as it is enqueued.

        :param given: the results of other steps (section 7.1).
        :raises OjsError: PUSH would refuse it by now: its queue is gone, say.
        """
        members = parse_object(plan.envelopes[index], max_depth=_ANY_DEPTH)
        envelope = Job.from_members({name: member.raw for name, member in members.items()})
        envelope.id = workflow.job_id(index)
        record = self.push.check(envelope)
        if not isinstance(record.document, str):  # pragma: no cover - nobody has stored it
            raise TypeError("a new document is a text")
        document = parse_object(record.document, max_depth=_ANY_DEPTH)
        texts = {name: member.raw for name, member in document.items()}
        texts["workflow_id"] = encode(workflow.id)
        texts["workflow_step"] = encode(plan.graph.path(index))
        texts["parent_results"] = given
        return replace(
            record,
            document=assemble(texts),
            workflow_id=workflow.id,
            workflow_step=index,
        )


@dataclass(slots=True)
class _Change:
    """One write in the making.

    :ivar results: what it keeps for later steps, by the index of the job.
    :ivar jobs: what it enqueues.
    """

    service: Advancing
    before: Workflow
    plan: WorkflowPlan
    results: dict[int, RawJson] = field(default_factory=dict)
    jobs: list[JobRecord] = field(default_factory=list)
    given: dict[tuple[int, ...], RawJson] = field(default_factory=dict)
    stored: Mapping[int, RawJson] | None = None

    def make(self, news: Sequence[News], started_at: Instant | None) -> Workflow:
        """The workflow after; the very same when there is nothing new."""
        graph, before, now = self.plan.graph, self.before, self.service.clock.now()
        one = before if started_at is None else workflows.start(before, started_at)
        two = workflows.end_jobs(one, graph, [each.ended for each in news], now)
        self.results = {
            each.ended.index: each.value
            for each in news
            if before.states[each.ended.index] != two.states[each.ended.index]
        }
        steps = two.ready(MAX_STARTS)
        if not steps:
            return before if two is before else workflows.joined(before, one, two)
        three = workflows.mark_enqueued(two, graph, steps, now)
        refused = [why for index in steps if (why := self._enqueue(index))]
        four = workflows.end_jobs(three, graph, refused, now)
        return workflows.joined(before, one, two, three, four)

    def _enqueue(self, index: int) -> Ended | None:
        """Make a step's job; what is wrong, where it cannot be enqueued any more."""
        given = self._given(index)
        try:
            self.jobs.append(self.service.job_of(self.before, self.plan, index, given))
        except BackendError:
            raise
        except OjsError as problem:
            job_id = self.before.job_id(index)
            why = StepFailure(
                index=index, job_id=job_id, code=problem.code, message=problem.message, attempt=0
            )
            self.results[index] = _error_text(why.code, why.message, 0)
            at = self.service.clock.now()
            return Ended(index=index, state=StepState.FAILED, at=at, failure=why)
        return None

    def _given(self, index: int) -> RawJson:
        graph = self.plan.graph
        others = sources(graph, index)
        if others not in self.given:
            wanted = jobs_of(graph, others)
            values = self._values(wanted)
            ids = {each: self.before.job_id(each) for each in values}
            self.given[others] = parent_results(graph, index, bounded(values, ids))
        return self.given[others]

    def _values(self, wanted: Sequence[int]) -> dict[int, RawJson]:
        """The values of jobs: those that are new, and what was stored before."""
        if self.stored is None and any(index not in self.results for index in wanted):
            self.stored = self.service.workflows.results(self.before.id)
        known = {**(self.stored or {}), **self.results}
        return {index: known[index] for index in wanted if index in known}


def _error_value(job: JobRecord, failure: StepFailure | None) -> RawJson:
    """What others are given of a job that did not complete."""
    if job.state is JobState.DISCARDED and job.failures:
        error = render_failure(job.failures[-1].without_backtrace())
        return assemble({"error": error})
    if failure is None:  # pragma: no cover - a job that did not complete has a failure
        return NULL
    return _error_text(failure.code, failure.message, failure.attempt)


def _error_text(code: str, message: str, attempt: int) -> RawJson:
    return encode({"error": {"type": code, "code": code, "message": message, "attempt": attempt}})


def _in_groups(news: Sequence[News]) -> Iterator[Sequence[News]]:
    """The news in groups that one write takes over; an empty one where there are none."""
    group: list[News] = []
    size = 0
    for each in news:
        if group and size + len(each.value) > MAX_NEWS_BYTES:
            yield group
            group, size = [], 0
        group.append(each)
        size += len(each.value)
    yield group


def _keep(kept: OrderedDict[K, V], key: K, value: V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > _KEPT:
        kept.popitem(last=False)
