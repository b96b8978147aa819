"""Selects jobs for operators, and reads the lists that can hold them (ojs-admin-api, section 7)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.access import UNBOUND, View
from ojs_aws.domain.attributes import check_queue, check_type, field_error
from ojs_aws.domain.job import Failure, JobRecord, JobState
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.jobs.failure_groups import failure_group
from ojs_aws.domain.jobs.lists import Between, Count, JobList, ListTotal, TotalKind
from ojs_aws.domain.json_text import decode, stored_texts
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.adapters.dynamodb.queues.tallies import Tallies

S = JobState

END: Final = Instant(253_402_300_799_999)  # the last instant of the year 9999

MAX_TEXT: Final = 256
"""Characters of a tag, and of a part of an error."""

_WAITING: Final = (S.SCHEDULED, S.RETRYABLE, S.ACTIVE)

_OVERTAKEN: Final = frozenset({S.AVAILABLE, S.DISCARDED})
"""What jobs of the waiting list may be by now, where time decided and nobody wrote it yet."""

_LISTS: Final[Mapping[JobState, Sequence[JobList]]] = {
    S.AVAILABLE: (JobList.READY,),
    S.PENDING: (JobList.PENDING,),
    S.DISCARDED: (JobList.DEAD_LETTER, JobList.DISCARDED),
    S.COMPLETED: (JobList.COMPLETED,),
    S.CANCELLED: (JobList.CANCELLED,),
}


@dataclass(frozen=True, slots=True)
class Part:
    """Names a list of a queue, or a range of it, to search."""

    name: JobList
    between: Between | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Selects jobs; empty members match all.

    :ivar states: any of them.
    :ivar type: a job type, or the beginning of one and ``*``.
    :ivar since: created at this instant or later.
    :ivar until: created at this instant or earlier.
    :ivar tag: one of their tags, exactly.
    :ivar error: a part of their latest error's type and message, as they are shown, ignoring case.
    :ivar as_of: in their state since this instant or earlier.
    :ivar view: what the caller may see of them.
    """

    queue: str = ""
    states: frozenset[JobState] = frozenset()
    type: str = ""
    since: Instant | None = None
    until: Instant | None = None
    tag: str = ""
    error: str = ""
    as_of: Instant | None = None
    view: View = field(default=UNBOUND, compare=False)

    def __post_init__(self) -> None:
        """Refuse a filter that can match nothing.

        :raises InvalidRequestError: a bad queue name, type or range.
        """
        if self.queue:
            check_queue(self.queue)
        if self.type and self.type != "*":
            # A beginning may end in a dot or an underscore, which no type does.
            check_type(self.type.removesuffix("*").rstrip("._-"))
        for name, text in (("tag", self.tag), ("error", self.error)):
            if len(text) > MAX_TEXT:
                message = f"The '{name}' attribute has more than {MAX_TEXT} characters."
                raise field_error(name, message, max_length=MAX_TEXT)
        check_range(self.since, self.until)
        check_range(self.since, self.as_of, "as_of")

    @property
    def is_everything(self) -> bool:
        """Return whether the filter is empty; an instant alone chooses nothing."""
        return replace(self, as_of=None) == JobFilter()

    @property
    def is_by_list(self) -> bool:
        """Return whether the lists alone decide what matches, so that rows count as jobs."""
        return (
            not (self.type or self.tag or self.error)
            and not (self.view.types or self.view.tenant)
            and (self.since, self.until, self.as_of) == (None, None, None)
        )

    def wants(self, state: JobState) -> bool:
        """Return whether jobs in a state match; a success has cleared the error."""
        if self.error and state is S.COMPLETED:
            return False
        return not self.states or state in self.states

    def parts(self, now: Instant) -> list[Part]:
        """Return the lists to search, in the order of a job's life.

        A terminal job ended after it was created, so ``since`` bounds its list, too; and it is in
        its state since it ended, so ``as_of`` does.
        """
        found = [Part(name) for name in _LISTS[S.AVAILABLE] if self.wants(S.AVAILABLE)]
        if any(map(self.wants, _WAITING)):
            found.append(Part(JobList.WAITING))
        elif any(map(self.wants, _OVERTAKEN)):
            found.append(Part(JobList.WAITING, Between(Instant(0), now)))
        for state, names in _LISTS.items():
            if state is not S.AVAILABLE and self.wants(state):
                found += [Part(name, self._range()) for name in names]
        return found

    def _range(self) -> Between | None:
        """Return the range of a list in the order of an instant that is never before creation."""
        if self.since is None and self.as_of is None:
            return None
        return Between(self.since or Instant(0), END if self.as_of is None else self.as_of)

    def accepts_row(self, queue: str, job_type: str) -> bool:
        """Return whether jobs of a queue and a type may match."""
        return self.view.shows_row(queue, job_type) and self.accepts_type(job_type)

    def accepts_type(self, job_type: str) -> bool:
        """Return whether jobs of a type match."""
        if self.type.endswith("*"):
            return job_type.startswith(self.type[:-1])
        return not self.type or job_type == self.type

    def accepts_failure(self, failure: Failure | None) -> bool:
        """Return whether jobs with this latest failure match.

        It is compared as jobs show it, and as groups of failures do, so that both can be copied.
        """
        if not self.error:
            return True
        if failure is None:
            return False
        part = self.error.casefold()
        if part in f"{failure.type}: {failure.message}".casefold():
            return True
        group = failure_group(failure.type, failure.message, "", failure.occurred_at)
        return part in f"{group.type}: {group.message}".casefold()

    def accepts_document(self, document: str) -> bool:
        """Return whether jobs with this document of their client match."""
        if not self.tag:
            return True
        text = stored_texts(document).get("tags")
        tags = None if text is None else decode(text)
        return isinstance(tags, list) and self.tag in tags

    def accepts(self, job: JobRecord) -> bool:
        """Return whether a job, as of now, matches, apart from its client's document."""
        return (
            self.wants(job.state)
            and (not self.queue or job.queue == self.queue)
            and self.view.shows_job(job)
            and self.accepts_type(job.type)
            and self.accepts_failure(job.error)
            and (self.since is None or job.created_at >= self.since)
            and (self.until is None or job.created_at <= self.until)
            and (self.as_of is None or deadlines.last_change(job) <= self.as_of)
        )


def check_range(since: Instant | None, until: Instant | None, name: str = "until") -> None:
    """Refuse a range of time that ends before it begins.

    :param name: of the attribute that holds the end.
    :raises InvalidRequestError: it does.
    """
    if since is not None and until is not None and until < since:
        unsent = ", which is now where it is not sent" * (name == "as_of")
        raise field_error(name, f"The 'since' attribute must not be after '{name}'{unsent}.")


MAX_COUNTED: Final = 50
"""Lists whose rows one request counts."""
NOBODY_COUNTED: Final = ListTotal(0, TotalKind.AT_LEAST)


@dataclass(frozen=True, slots=True)
class ListCounts:
    """Counts jobs without reading them."""

    store: JobStore
    tallies: Callable[[], Tallies]

    def total(
        self, queues: Sequence[str], parts: Sequence[Part], counters: Collection[str]
    ) -> ListTotal:
        """Return how many jobs some lists of some queues hold.

        :param counters: the names under which the queues count these jobs: states, or
            ``dead_letter``; empty if they do not.
        """
        if len(queues) * len(parts) <= MAX_COUNTED:
            return _sum(
                [each for q in queues for part in parts for each in self._of(q, part, counters)]
            )
        return self._by_counters(queues, counters) if counters else NOBODY_COUNTED

    def _of(self, queue: str, part: Part, counters: Collection[str]) -> list[Count]:
        if part.name is not JobList.WAITING:
            return [self.store.count(queue, part.name, part.between)]
        if part.between is not None:
            # Of what time has overtaken, the state is not known without reading it.
            late = self.store.count(queue, part.name, part.between)
            return [Count(0, is_exact=not late.rows)]
        by_state = self.store.count_waiting(queue)
        return [by_state[state] for state in _WAITING if state in counters]

    def _by_counters(self, queues: Sequence[str], counters: Collection[str]) -> ListTotal:
        """Read the totals of all queues, which follow the table's stream (decision 62)."""
        there = self.tallies().totals()
        found = [there[name] for name in queues if name in there]
        if not found:
            return NOBODY_COUNTED
        jobs = sum(max(0, each.jobs.get(name, 0)) for each in found for name in counters)
        return ListTotal(jobs, TotalKind.ESTIMATE)


def _sum(counts: Sequence[Count]) -> ListTotal:
    jobs = sum(each.rows for each in counts)
    if all(each.is_exact for each in counts):
        return ListTotal(jobs)
    is_bound = not any(each.is_most for each in counts)
    return ListTotal(jobs, TotalKind.AT_LEAST if is_bound else TotalKind.ESTIMATE)
