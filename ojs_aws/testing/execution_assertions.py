"""Asserts which jobs were executed, completed and failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar, Unpack, overload

from ojs_aws.testing.assertions import Assertions, CountedCriteria, JobCriteria
from ojs_aws.testing.jobs import EnqueuedJob, JobKind
from ojs_aws.testing.matching import Difference

if TYPE_CHECKING:
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
