"""Manages dead letters: discarded jobs kept for an operator (ojs-dead-letter; binding, 12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from ojs_aws.domain.access import UNBOUND, View
from ojs_aws.domain.attributes import check_job_id, field_error, not_found, wrong_state
from ojs_aws.domain.conflicts import StaleJobError
from ojs_aws.domain.credentials import Actor, by_hand
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError, JsonValue, PayloadTooLargeError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import lifecycle
from ojs_aws.domain.jobs.lists import JobList, ListTotal
from ojs_aws.domain.json_text import ANY_DEPTH, RawJson, decode, encode, stored_texts
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.dead_letters.search import DeadLetterFilter, DeadLetterSearch
from ojs_aws.services.stored_jobs.change import JobChange, JobChanger
from ojs_aws.services.stored_jobs.messages import JobMessages

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.services.jobs.build import JobBuilder
    from ojs_aws.services.jobs.push import Push

MAX_OFFSET: Final = 1000
MAX_SAMPLED: Final = 500
"""Dead letters whose errors the statistics look at."""

MAX_COUNTED_QUEUES: Final = 50
"""Queues whose rows one request counts."""

EVERYTHING: Final = DeadLetterFilter()

ALLOWED: Final = ("args", "meta", "priority", "queue", "retry")
"""Members of an envelope that may be changed before a retry."""


@dataclass(frozen=True, slots=True)
class DeadLetterPage:
    """Holds a page of dead letters, newest first within a queue.

    :ivar cursor: empty on the last page.
    :ivar total: how many match in all.
    """

    jobs: tuple[JobRecord, ...]
    cursor: str
    total: ListTotal


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterStats:
    """Counts dead letters by kind (section 10.1).

    :ivar sampled: how many of the newest were looked at for ``by_error_type`` and ``by_type``.
    """

    total: int
    is_exact: bool
    by_queue: Mapping[str, int]
    by_error_type: Mapping[str, int]
    by_type: Mapping[str, int]
    sampled: int
    oldest_at: Instant | None
    newest_at: Instant | None


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Lists, reads, retries and deletes dead letters."""

    store: JobStore
    rows: DeadLetterSearch
    changer: JobChanger
    job_messages: JobMessages
    push: Callable[[], Push]

    def list(
        self,
        wanted: DeadLetterFilter = EVERYTHING,
        limit: int = 50,
        cursor: str = "",
        offset: int = 0,
    ) -> DeadLetterPage:
        """Return dead letters of one queue, or of all queues one after the other.

        A page may be short, even empty, and have a cursor: documents are large, or few rows match.

        :param offset: rows to skip, at most 1000; a cursor costs less.
        :raises InvalidRequestError: a bad offset or cursor.
        """
        if not 0 <= offset <= MAX_OFFSET:
            message = f"The 'offset' parameter must be from 0 to {MAX_OFFSET}; received {offset}."
            raise field_error("offset", message, "Go on with 'cursor' instead.", received=offset)
        found, total = self.rows.page(wanted, limit, cursor, offset)
        return DeadLetterPage(tuple(map(self.store.fill, found.jobs)), found.cursor, total)

    def get(self, job_id: str) -> JobRecord:
        """Return a discarded job with its whole history.

        :raises NotFoundError: there is no such job, or it is not discarded.
        """
        now = self.changer.clock.now()
        job = self.changer.load(check_job_id(job_id), now)
        if job.state is not JobState.DISCARDED:
            message = f"Job '{job_id}' is no dead letter: it is {job.state}."
            raise not_found("dead_letter", job_id, message, current_state=job.state)
        return self.store.fill(job)

    def stats(self, view: View = UNBOUND) -> DeadLetterStats:
        """Return counts by queue and by type of the latest error, and the time range.

        Of the first fifty queues by name; it is not exact where there are more.

        :param view: what the caller may see.
        """
        wanted = DeadLetterFilter(view=view)
        by_queue: dict[str, int] = {}
        instants: list[int] = []
        names = self.rows.names(wanted)
        is_exact = len(names) <= MAX_COUNTED_QUEUES
        for name in names[:MAX_COUNTED_QUEUES]:
            counted = self.store.count(name, JobList.DEAD_LETTER)
            if not counted.rows:
                continue
            by_queue[name] = counted.rows
            is_exact = is_exact and counted.is_exact
            for newest_first in (True, False):
                page = self.store.listed(name, JobList.DEAD_LETTER, 1, newest_first=newest_first)
                instants += [int(row.sort_key) for row in page.jobs]
        sample = self.rows.find(wanted, MAX_SAMPLED, "").jobs if by_queue else ()
        types = Counter(job.type for job in sample)
        kinds = Counter(job.failures[-1].type if job.failures else "Unknown" for job in sample)
        return DeadLetterStats(
            total=sum(by_queue.values()),
            is_exact=is_exact,
            by_queue=by_queue,
            by_error_type=dict(kinds.most_common()),
            by_type=dict(types.most_common()),
            sampled=len(sample),
            oldest_at=Instant(min(instants)) if instants else None,
            newest_at=Instant(max(instants)) if instants else None,
        )

    def retry(
        self,
        job_id: str,
        override: Mapping[str, JsonValue] | None = None,
        by: Actor | None = None,
    ) -> JobRecord:
        """Make a discarded job available again: attempt 0, errors cleared, history kept apart.

        :param override: members of the envelope to change first (section 6.3): ``queue``,
            ``args``, ``meta`` and ``retry`` (both merged), ``priority``.
        :param by: who does it.
        :raises InvalidRequestError: an override that the envelope could not have; nothing changes.
        :raises NotFoundError: there is no such job, or not the queue it is to go to.
        :raises ConflictError: it is not discarded.
        """
        fits, clock, changes = self.store.fits_inline, self.changer.clock, None
        if override:
            changes = EnvelopeOverride(override, fits, self.push().job_builder)

        def decide(job: JobRecord, now: Instant) -> JobRecord:
            lifecycle.require(job, "retry", JobState.DISCARDED)
            changed = changes.apply(self._with_document(job), now) if changes else job
            return by_hand(lifecycle.retry_discarded(changed, now, clock.order()), by)

        change = self.changer.apply(check_job_id(job_id), decide)
        if changes:  # it may have another limit now
            self.push().new_jobs.send_for([change.after])
            self._forget_replaced(change.before, change.after)
        else:
            self.job_messages.send_for([change.after], clock.now())
        return self.store.fill(change.after)

    def retry_now(self, job_id: str, by: Actor | None = None) -> JobChange:
        """Make a discarded job available again, or one that waits for its retry at once.

        The second one keeps its attempt and its errors.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is in another state.
        """

        def decide(job: JobRecord, now: Instant) -> JobRecord:
            is_waiting = job.state is JobState.RETRYABLE
            retried = lifecycle.retry_now if is_waiting else lifecycle.retry_discarded
            return by_hand(retried(job, now, self.changer.clock.order()), by)

        change = self.changer.apply(check_job_id(job_id), decide)
        self.job_messages.send_for([change.after], self.changer.clock.now())
        return JobChange(change.before, self.store.fill(change.after))

    def _with_document(self, job: JobRecord) -> JobRecord:
        """Return the job with its document; its checkpoint stays where it is stored."""
        whole = self.store.fill(replace(job, checkpoint=None))
        return replace(job, document=whole.document)

    def _forget_replaced(self, before: JobRecord, after: JobRecord) -> None:
        """Remove a document that an override has replaced by a smaller one."""
        text = after.document
        if isinstance(text, str) and self.store.fits_inline(text):
            self.store.forget_document(before.id, before.document)

    def delete(self, job_id: str) -> None:
        """Remove a discarded job for good.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not discarded, or was changed meanwhile.
        """
        now = self.changer.clock.now()
        job = self.changer.load(check_job_id(job_id), now)
        lifecycle.require(job, "delete", JobState.DISCARDED)
        try:
            self.store.delete(job)
        except StaleJobError as stale:
            if stale.current is not None:
                state = stale.current.state
                message = f"Job '{job_id}' was changed meanwhile: it is {state}."
                hint = "Look at it again before deleting it."
                raise wrong_state("job", job_id, state, message, hint) from None


@dataclass(frozen=True, slots=True)
class EnvelopeOverride:
    """Holds changes to an envelope: objects (``meta``, ``retry``) are merged, others replaced.

    :ivar fits: whether a document stays in its job's item.
    :ivar job_builder: checks the changed envelope.
    """

    changes: Mapping[str, JsonValue]
    fits: Callable[[RawJson], bool]
    job_builder: JobBuilder

    def __post_init__(self) -> None:
        """Refuse members that cannot be changed.

        :raises InvalidRequestError: an attribute that identifies the job, or an unknown one.
        """
        unknown = sorted(set(self.changes) - set(ALLOWED))
        if unknown:
            raise InvalidRequestError(
                f"The 'override' object knows {', '.join(ALLOWED)}; received '{unknown[0][:40]}'.",
                details={"field": f"override.{unknown[0][:40]}", "allowed": [*ALLOWED]},
            )

    def apply(self, job: JobRecord, now: Instant) -> JobRecord:
        """Return the job with its envelope changed, checked like any envelope.

        :param job: with its document filled in.
        :raises InvalidRequestError: the changed envelope is not one that could be pushed.
        :raises PayloadTooLargeError: the document is too large to be changed in place.
        """
        members = stored_texts(str(job.document))
        given = members | {"type": encode(job.type), "queue": encode(job.queue)}
        if job.retry_document is not None:
            given["retry"] = job.retry_document
        for name, value in self.changes.items():
            old = decode(given[name], max_depth=ANY_DEPTH) if name in given else None
            if isinstance(old, dict) and isinstance(value, dict):
                given[name] = encode({**old, **value})
            else:
                given[name] = encode(value)
        changed_job = Job.from_members(given)
        changed = self.job_builder.changed(changed_job, job, self.changes.keys(), now)
        if changed.tenant != job.tenant:
            message = "The 'override.meta.tenant_id' attribute must be the tenant of the job."
            raise field_error("override.meta.tenant_id", message)
        document = cast("RawJson", changed.document)
        if document is not job.document and not self.fits(document):
            # One that is kept elsewhere would have to be stored by another write.
            size = len(document.encode())
            raise PayloadTooLargeError(
                f"With {size} bytes the job's document is too large to be changed in place.",
                details={"field": "override", "size_bytes": size},
                hint="Push a new job, and delete this one.",
            )
        return changed
