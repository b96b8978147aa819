"""Builds one write of a workflow: how jobs ended, and the jobs that begin then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, OjsError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import RawJson, assemble, encode, stored_texts
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows import changes
from ojs_aws.domain.workflows.progress import StepState
from ojs_aws.domain.workflows.results import bounded, jobs_of, parent_results, sources
from ojs_aws.domain.workflows.workflow import Ended, StepFailure, Workflow
from ojs_aws.services.workflows.job_end import JobEnd, error_text

if TYPE_CHECKING:
    from ojs_aws.ports import WorkflowPlan, Workflows
    from ojs_aws.services.jobs.push import Push

MAX_STARTS: Final = 80
"""Jobs that one write enqueues: a transaction has room for 100 items, results among them."""


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
