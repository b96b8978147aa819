"""Reads how a job of a workflow ended, and builds the write for it and the next jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, OjsError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.failures import ending_failure, render_failure
from ojs_aws.domain.json_text import RawJson, assemble, encode, stored_texts
from ojs_aws.domain.runtime import in_groups
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows import changes
from ojs_aws.domain.workflows.changes import ended_job
from ojs_aws.domain.workflows.progress import StepState
from ojs_aws.domain.workflows.workflow import (
    NULL,
    Ended,
    StepFailure,
    Workflow,
    bounded,
    jobs_of,
    parent_results,
    sources,
)

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.adapters.dynamodb.workflows.store import Workflows
    from ojs_aws.domain.workflows.graph import WorkflowPlan
    from ojs_aws.services.jobs.push import Push

MAX_RESULT_BYTES: Final = 250_000
"""A larger result is kept as a reference to its job."""
MAX_NEWS_BYTES: Final = 1_500_000
"""Results that one write takes over."""
MAX_STARTS: Final = 80
"""Jobs that one write enqueues: a transaction has room for 100 items, results among them."""


@dataclass(frozen=True, slots=True)
class JobEnd:
    """Describes an ended job of a workflow, with what it leaves for others.

    :ivar started_at: when its last attempt began.
    """

    ended: Ended
    value: RawJson
    started_at: Instant | None = None


def job_end_of(job: JobRecord, store: JobStore) -> JobEnd | None:
    """Return what the end of a job means for its workflow; None while it has not ended.

    A result that is kept elsewhere is read.
    """
    index = job.workflow_step
    ended = None if index is None else ended_job(job, index)
    if ended is None:
        return None
    if ended.state is StepState.COMPLETED:
        whole = job if isinstance(job.result, str) or job.result is None else _filled(job, store)
        value = whole.result if isinstance(whole.result, str) else NULL
    else:
        value = _error_value(job, ended.failure)
    value = bounded({0: value}, {0: job.id}, MAX_RESULT_BYTES)[0]
    return JobEnd(ended, value, job.started_at)


def _filled(job: JobRecord, store: JobStore) -> JobRecord:
    try:
        return store.fill(job)
    except OjsError:
        if store.load(job.id) is not None:
            raise
        return replace(job, result=None)  # the job was removed meanwhile, and its result


def _error_value(job: JobRecord, failure: StepFailure | None) -> RawJson:
    """Return what later steps get from a job that did not complete."""
    last = ending_failure(job) if job.state is JobState.DISCARDED else None
    if last is not None:
        return assemble({"error": render_failure(last.without_backtrace())})
    if failure is None:  # pragma: no cover - a job that did not complete has a failure
        return NULL
    return error_text(failure.code, failure.message, failure.attempt)


def error_text(code: str, message: str, attempt: int) -> RawJson:
    """Return the error text of a job that never ran, or whose failure has no message."""
    return encode({"error": {"type": code, "code": code, "message": message, "attempt": attempt}})


def in_writes(news: Sequence[JobEnd]) -> Iterator[Sequence[JobEnd]]:
    """Return the ended jobs in groups that fit one write; one empty group if there are none."""
    groups = in_groups(news, lambda each: len(each.value.encode()), MAX_NEWS_BYTES)
    return groups if news else iter([()])


@dataclass(slots=True)
class WorkflowWrite:
    """Builds one write.

    :ivar results: what it keeps for later steps, by the index of the job.
    :ivar jobs: what it enqueues.
    """

    workflows: Workflows
    push: Push
    before: Workflow
    plan: WorkflowPlan
    results: dict[int, RawJson] = field(default_factory=dict)
    jobs: list[JobRecord] = field(default_factory=list)
    given: dict[tuple[int, ...], RawJson] = field(default_factory=dict)
    stored: Mapping[int, RawJson] | None = None

    def make(self, news: Sequence[JobEnd], started_at: Instant | None) -> Workflow:
        """Return the next workflow; exactly the same one if nothing is new."""
        graph, before, now = self.plan.graph, self.before, self.push.clock.now()
        one = before if started_at is None else changes.start(before, started_at)
        two = changes.end_jobs(one, graph, [each.ended for each in news], now)
        self.results = {
            each.ended.index: each.value
            for each in news
            if before.states[each.ended.index] != two.states[each.ended.index]
        }
        steps = two.ready(MAX_STARTS)
        if not steps:
            return before if two is before else changes.joined(before, one, two)
        three = changes.mark_enqueued(two, graph, steps, now)
        refused = [why for index in steps if (why := self._enqueue(index))]
        four = changes.end_jobs(three, graph, refused, now)
        return changes.joined(before, one, two, three, four)

    def _enqueue(self, index: int) -> Ended | None:
        """Make a step's job; return what is wrong if it can no longer be enqueued."""
        given = self._given(index)
        try:
            self.jobs.append(self._job_of(index, given))
        except BackendError:
            raise
        except OjsError as problem:
            job_id = self.before.job_id(index)
            why = StepFailure(
                index=index, job_id=job_id, code=problem.code, message=problem.message, attempt=0
            )
            self.results[index] = error_text(why.code, why.message, 0)
            at = self.push.clock.now()
            return Ended(index=index, state=StepState.FAILED, at=at, failure=why)
        return None

    def _job_of(self, index: int, given: RawJson) -> JobRecord:
        """Return the job of a step, as it is enqueued.

        :param given: the results of other steps (section 7.1).
        :raises OjsError: PUSH would refuse it by now: its queue is gone, say.
        """
        envelope = Job.from_members(stored_texts(self.plan.envelopes[index]))
        envelope.id = self.before.job_id(index)
        record = self.push.check(envelope)
        if record.fairness is not None:
            [record] = self.push.placed([record])
        if not isinstance(record.document, str):  # pragma: no cover - nobody has stored it
            raise TypeError("a new document is a text")
        texts = stored_texts(record.document)
        texts["workflow_id"] = encode(self.before.id)
        texts["workflow_step"] = encode(self.plan.graph.path(index))
        texts["parent_results"] = given
        return replace(
            record,
            document=assemble(texts),
            workflow_id=self.before.id,
            workflow_step=index,
            sequence=None,  # a workflow of an earlier version may name one
        )

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
        """Return the values of jobs: new ones, and those stored before."""
        if self.stored is None and any(index not in self.results for index in wanted):
            self.stored = self.workflows.results(self.before.id)
        known = {**(self.stored or {}), **self.results}
        return {index: known[index] for index in wanted if index in known}
