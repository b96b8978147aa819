"""Asserts which jobs were executed, and which workflows were started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, Unpack, overload

from ojs_aws.testing.assertions import Assertions, CountedCriteria, JobCriteria
from ojs_aws.testing.jobs import EnqueuedJob, JobKind
from ojs_aws.testing.kit import Kit
from ojs_aws.testing.matching import Difference
from ojs_aws.testing.mistakes import hint_of

if TYPE_CHECKING:
    from ojs_aws.domain.workflows.graph import WorkflowPlan
    from ojs_aws.domain.workflows.workflow import Workflow
    from ojs_aws.typed_jobs.calls import JobCall
    from ojs_aws.typed_jobs.senders import Sender

R = TypeVar("R")
_NOTHING: Final = "Nothing was enqueued."


class ExecutionAssertions(Assertions):
    """Asserts what became of jobs. In fake mode they run when the test drains."""

    @overload
    def assert_performed(
        self, kind: str, /, **criteria: Unpack[CountedCriteria]
    ) -> list[EnqueuedJob[Any]]: ...
    @overload
    def assert_performed(
        self, kind: Sender[..., R] | JobCall[R], /, **criteria: Unpack[CountedCriteria]
    ) -> list[EnqueuedJob[R]]: ...
    def assert_performed(
        self, kind: JobKind[Any], /, **criteria: Unpack[CountedCriteria]
    ) -> list[EnqueuedJob[Any]]:
        """Assert that a job was executed, whether it succeeded or not.

        Example::

            await ojs.drain()
            ojs.assert_performed(send_email.call("a@b.c", ANY), count=1)

        :param kind: as for :meth:`assert_enqueued`.
        :param criteria: as for :meth:`assert_enqueued`; ``count`` is of jobs, not of executions.
        :returns: the jobs that match.
        :raises AssertionError: there is none, or another number.
        """
        __tracebackhide__ = True
        return self._assert("was executed", kind, criteria, self._not_performed, _NOTHING)

    def refute_performed(self, kind: JobKind[Any], /, **criteria: Unpack[JobCriteria]) -> None:
        """Assert that no such job was executed.

        :raises AssertionError: there is one.
        """
        __tracebackhide__ = True
        self._refute("was executed", kind, criteria, self._not_performed)

    @overload
    def assert_completed(
        self, kind: str, /, **criteria: Unpack[CountedCriteria]
    ) -> list[EnqueuedJob[Any]]: ...
    @overload
    def assert_completed(
        self, kind: Sender[..., R] | JobCall[R], /, **criteria: Unpack[CountedCriteria]
    ) -> list[EnqueuedJob[R]]: ...
    def assert_completed(
        self, kind: JobKind[Any], /, **criteria: Unpack[CountedCriteria]
    ) -> list[EnqueuedJob[Any]]:
        """Assert that a job completed.

        Example::

            [job] = ojs.assert_completed(build_report, count=1)
            assert job.returned.pages == 3

        :returns: the jobs that match.
        :raises AssertionError: there is none, or another number; the message has their errors.
        """
        __tracebackhide__ = True
        return self._assert("completed", kind, criteria, _not_completed, _NOTHING)

    @overload
    def assert_failed(
        self, kind: str, /, **criteria: Unpack[CountedCriteria]
    ) -> list[EnqueuedJob[Any]]: ...
    @overload
    def assert_failed(
        self, kind: Sender[..., R] | JobCall[R], /, **criteria: Unpack[CountedCriteria]
    ) -> list[EnqueuedJob[R]]: ...
    def assert_failed(
        self, kind: JobKind[Any], /, **criteria: Unpack[CountedCriteria]
    ) -> list[EnqueuedJob[Any]]:
        """Assert that a job failed: an attempt of it did, or it was discarded.

        Example::

            ojs.fail_next(send_email, TimeoutError("SMTP"))
            await ojs.drain()
            [job] = ojs.assert_failed(send_email)
            assert job.state == "retryable"

        :returns: the jobs that match.
        :raises AssertionError: there is none, or another number.
        """
        __tracebackhide__ = True
        return self._assert("failed", kind, criteria, self._not_failed, _NOTHING)

    def _executions(self, job: EnqueuedJob[Any]) -> int:
        """Return how often a job was executed, as far as that is known."""
        return job.attempt

    def _failures(self, job: EnqueuedJob[Any]) -> int:
        """Return how often a job failed, as far as that is known."""
        errors = job.get("errors")
        return len(errors) if isinstance(errors, list) else int(job.error is not None)

    def _not_performed(self, job: EnqueuedJob[Any]) -> Difference | None:
        return None if self._executions(job) else Difference("executions", "1 or more", 0)

    def _not_failed(self, job: EnqueuedJob[Any]) -> Difference | None:
        if job.state == "discarded" or self._failures(job):
            return None
        return Difference("failures", "1 or more", 0)


def _not_completed(job: EnqueuedJob[Any]) -> Difference | None:
    if job.state == "completed":
        return None
    error = job.error or {}
    why = f" ({error.get('type')}: {error.get('message')})" if error else ""
    return Difference("state", "completed", f"{job.state}{why}")


@dataclass(frozen=True, slots=True)
class StartedWorkflow:
    """Holds a workflow that was started, as it was when the test asked for it.

    :ivar type: ``chain``, ``group``, ``batch`` or ``dag``.
    :ivar state: ``running``, ``completed``, ``failed`` or ``cancelled``.
    :ivar step_types: of each step in its order: the type of its job, or of a workflow within.
    :ivar job_types: of all jobs, also of those in workflows within, without callbacks.
    :ivar callbacks: job types of a batch by ``on_complete``, ``on_success`` and ``on_failure``.
    """

    id: str
    type: str
    name: str
    state: str
    step_types: tuple[str, ...]
    job_types: tuple[str, ...]
    callbacks: Mapping[str, str]

    @property
    def step_count(self) -> int:
        """Return the number of steps."""
        return len(self.step_types)


class WorkflowAssertions(Kit):
    """Asserts which workflows were started."""

    def assert_workflow_created(
        self,
        type: str,  # noqa: A002 - the specification's name
        /,
        *,
        step_count: int | None = None,
        step_types: Sequence[str] | None = None,
        name: str | None = None,
        count: int | None = None,
    ) -> list[StartedWorkflow]:
        """Assert that a workflow was started.

        Example::

            ojs.assert_workflow_created("chain", step_types=["data.fetch", "data.load"], count=1)

        :param type: ``chain``, ``group``, ``batch`` or ``dag``.
        :param step_count: the number of its steps, without callbacks.
        :param step_types: the job types of its steps; a workflow within is called by its own type.
        :param count: how many there must be; default: one or more.
        :returns: the workflows that match, in the order in which they were started.
        :raises AssertionError: there is none, or another number.
        """
        __tracebackhide__ = True
        expected = {
            "type": type,
            "step_count": step_count,
            "step_types": None if step_types is None else tuple(step_types),
            "name": name,
        }
        wanted = {key: value for key, value in expected.items() if value is not None}
        found = self.all_workflows()
        matching = [each for each in found if not _differences(wanted, each)]
        if len(matching) == count or (count is None and matching):
            return matching
        shown = ", ".join(f"{key}={value!r}" for key, value in wanted.items())
        expected_count = "a workflow" if count is None else f"{count} workflows"
        lines = [f"Expected {expected_count} with {shown}, and found {len(matching)}."]
        lines += ["", "Started were:"] if found else ["No workflow was started."]
        for each in sorted(found, key=lambda each: len(_differences(wanted, each))):
            lines.append(f"  {each.type} {each.id} {each.name!r} ({each.state})")
            lines += [f"      {line}" for line in _differences(wanted, each)]
        raise AssertionError("\n".join(lines) + hint_of(self._unawaited))

    def all_workflows(self) -> list[StartedWorkflow]:
        """Return the workflows that were started, in their order, as they are now."""
        return [self._started(*each) for each in self._backend.workflows()]

    def _started(self, workflow: Workflow, plan: WorkflowPlan) -> StartedWorkflow:
        steps = plan.graph.steps
        own = [steps[index] for index in plan.graph.members]
        callbacks = [each for each in steps if each.is_callback and each.parent == 0]
        return StartedWorkflow(
            id=workflow.id,
            type=str(workflow.kind),
            name=workflow.name,
            state=str(workflow.state),
            step_types=tuple(each.type or str(each.kind) for each in own),
            job_types=tuple(steps[index].type for index in plan.graph.counted),
            callbacks={str(each.trigger): each.type for each in callbacks},
        )


def _differences(expected: Mapping[str, Any], found: StartedWorkflow) -> list[str]:
    return [
        f"{key}: expected {value!r}, is {getattr(found, key)!r}"
        for key, value in expected.items()
        if not value == getattr(found, key)  # noqa: SIM201 - ANY is on the left
    ]
