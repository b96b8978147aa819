"""Asserts which jobs a test enqueued, executed and finished."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeVar, Unpack, overload

from ojs_aws.testing import reports
from ojs_aws.testing.jobs import EnqueuedJob, JobKind
from ojs_aws.testing.matching import Check, Criteria
from ojs_aws.testing.mistakes import checked_state

if TYPE_CHECKING:
    from ojs_aws.typed_jobs.calls import JobCall
    from ojs_aws.typed_jobs.senders import Sender

R = TypeVar("R")


class HasId(Protocol):
    """Declares an object with the id of a job: the job, a handle, or a result of enqueueing."""

    @property
    def id(self) -> str:
        """Return the id of the job."""


class JobCriteria(TypedDict, total=False):
    """Lists what an assertion may say of a job, beside its type or call.

    :ivar args: all arguments, as they are on the wire; ``ANY`` stands for any value.
    :ivar queue: its queue.
    :ivar meta: members of its metadata; it may have others.
    :ivar priority: its priority.
    :ivar tags: all its tags.
    :ivar scheduled_at: when it becomes available: an aware datetime, or RFC 3339.
    :ivar delay: how long it waits from its creation on: ``"24h"`` or a timedelta.
    :ivar state: its state now.
    :ivar attempt: how often it was executed.
    """

    args: Sequence[Any]
    queue: str
    meta: Mapping[str, Any]
    priority: int
    tags: Sequence[str]
    scheduled_at: datetime | str
    delay: str | timedelta
    state: str
    attempt: int


class CountedCriteria(JobCriteria, total=False):
    """Lists what an assertion may say of jobs.

    :ivar count: how many there must be; default: one or more.
    """

    count: int


def criteria_of(
    kind: JobKind[Any], given: Mapping[str, Any], check: Check | None = None
) -> Criteria:
    """Return the criteria that a caller gave.

    :raises TypeError: a criterion is unknown, or ``count`` is no number.
    :raises ValueError: there is no such state.
    """
    attributes = dict(given)
    unknown = attributes.keys() - CountedCriteria.__annotations__.keys()
    if unknown:
        known = ", ".join(CountedCriteria.__annotations__)
        raise TypeError(f"An assertion takes {known}, and not {min(unknown)!r}.")
    count = attributes.pop("count", None)
    if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 0):
        raise TypeError(f"count is a number of jobs, such as count=1, not {count!r}.")
    state = attributes.get("state")
    if isinstance(state, str):
        checked_state(state)
    args, meta = attributes.pop("args", None), attributes.pop("meta", None)
    return Criteria(kind=kind, args=args, meta=meta, attributes=attributes, check=check)


class Assertions(ABC):
    """Asserts which jobs a test enqueued; raises ``AssertionError`` if it was otherwise."""

    @abstractmethod
    def _jobs(self) -> list[EnqueuedJob[Any]]:
        """Return all jobs, in the order in which they were enqueued."""

    def _hint(self) -> str:
        """Return what to add to the message of an assertion that fails; empty for nothing."""
        return ""

    def _assert(
        self,
        claim: str,
        kind: JobKind[Any],
        given: Mapping[str, Any],
        check: Check | None = None,
        nothing: str = "Nothing was enqueued.",
    ) -> list[EnqueuedJob[Any]]:
        """Return the jobs that match the criteria; fail if there are none, or another number.

        :param check: returns further differences between a job and the criteria.
        :param nothing: the sentence for a test that enqueued no jobs at all.
        """
        __tracebackhide__ = True
        criteria, count = criteria_of(kind, given, check), given.get("count")
        jobs = self._jobs()
        matching = [job for job in jobs if not criteria.differences(job)]
        if count is not None and len(matching) != count:
            message = reports.wrong_count(claim, criteria, count, matching, jobs)
            raise AssertionError(message + self._hint())
        if count is None and not matching:
            message = reports.not_found(claim, criteria, jobs, nothing=nothing)
            raise AssertionError(message + self._hint())
        return matching

    def _refute(
        self, claim: str, kind: JobKind[Any], given: Mapping[str, Any], check: Check | None = None
    ) -> None:
        """Fail if a job matches the criteria."""
        __tracebackhide__ = True
        criteria = criteria_of(kind, given, check)
        matching = [job for job in self._jobs() if not criteria.differences(job)]
        if matching:
            message = reports.unexpected(claim, criteria, matching)
            raise AssertionError(message + self._hint())

    @overload
    def assert_enqueued(
        self, kind: str, /, **criteria: Unpack[CountedCriteria]
    ) -> list[EnqueuedJob[Any]]: ...
    @overload
    def assert_enqueued(
        self, kind: Sender[..., R] | JobCall[R], /, **criteria: Unpack[CountedCriteria]
    ) -> list[EnqueuedJob[R]]: ...
    def assert_enqueued(
        self, kind: JobKind[Any], /, **criteria: Unpack[CountedCriteria]
    ) -> list[EnqueuedJob[Any]]:
        """Assert that a job was enqueued, whatever became of it.

        Example::

            ojs.assert_enqueued("email.send", args=["a@b.c", ANY], queue="email")
            [job] = ojs.assert_enqueued(send_email.call("a@b.c", ANY), count=1)
            assert job.arguments["order"].number == 42

        :param kind: a job type, a typed job, or a call of one, in which ``ANY`` of
            ``unittest.mock`` stands for any value.
        :param criteria: see :class:`JobCriteria`; ``count`` is how many there must be.
        :returns: the jobs that match, in the order in which they were enqueued.
        :raises AssertionError: no job matches, or another number of jobs; the message shows the
            most similar jobs, and how they differ.
        """
        __tracebackhide__ = True
        return self._assert("was enqueued", kind, criteria)

    def refute_enqueued(self, kind: JobKind[Any], /, **criteria: Unpack[JobCriteria]) -> None:
        """Assert that no such job was enqueued; see :meth:`assert_enqueued`.

        Example::

            ojs.refute_enqueued(build_report)
            ojs.refute_enqueued("email.send", args=["blocked@example.com"])

        :raises AssertionError: there is one.
        """
        __tracebackhide__ = True
        self._refute("was enqueued", kind, criteria)

    @overload
    def all_enqueued(
        self, kind: str | None = None, /, **criteria: Unpack[JobCriteria]
    ) -> list[EnqueuedJob[Any]]: ...
    @overload
    def all_enqueued(
        self, kind: Sender[..., R] | JobCall[R], /, **criteria: Unpack[JobCriteria]
    ) -> list[EnqueuedJob[R]]: ...
    def all_enqueued(
        self, kind: JobKind[Any] | None = None, /, **criteria: Unpack[JobCriteria]
    ) -> list[EnqueuedJob[Any]]:
        """Return the jobs that were enqueued, in their order, as they are now.

        :param kind: as for :meth:`assert_enqueued`; default: all of them.
        """
        chosen = criteria_of(ANY_TYPE if kind is None else kind, criteria)
        return [
            job
            for job in self._jobs()
            if not [
                each for each in chosen.differences(job) if kind is not None or each.place != "type"
            ]
        ]

    def assert_job_state(self, job: HasId | str, expected_state: str) -> None:
        """Assert that a job is in a state.

        Example::

            [job] = ojs.assert_enqueued(send_email)
            await ojs.drain()
            ojs.assert_job_state(job, "completed")

        :param job: the job, a handle of it, what ``client.enqueue`` returned, or its id.
        :raises AssertionError: it is in another state, or there is no such job.
        """
        __tracebackhide__ = True
        checked_state(expected_state)
        job_id = job if isinstance(job, str) else job.id
        found = next((each for each in self._jobs() if each.id == job_id), None)
        if found is None:
            raise AssertionError(f"There is no job {job_id}.")
        if found.state != expected_state:
            why = f"; its error: {found.error}" if found.error else ""
            raise AssertionError(
                f"Expected the state {expected_state!r}: {reports.headline(found)}{why}"
                f"{self._hint()}"
            )


ANY_TYPE = "any"
