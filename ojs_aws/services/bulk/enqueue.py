"""Enqueues many jobs, all or each; does no bulk operation twice (ojs-bulk-operations, 5 and 10)."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.attributes import invalid
from ojs_aws.domain.errors import (
    BackendError,
    BackendUnavailableError,
    ConflictError,
    DuplicateError,
    EnqueueRejectedError,
    OjsError,
)
from ojs_aws.domain.events import event_id
from ojs_aws.domain.jobs.batches import BulkRequest, check_count
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.bulk import BUDGET_MS
from ojs_aws.services.stored_jobs.messages import JobMessages

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.bulk import BulkRequests
    from ojs_aws.domain.envelope import Job
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.domain.runtime import Clock
    from ojs_aws.services.jobs.push import Push
    from ojs_aws.services.jobs.render import PushResult

MAX_ITEMS: Final = 1000
"""The most items of one bulk operation (section 9.1)."""

WOKEN_TOGETHER: Final = 100
"""Stored jobs whose messages are sent together."""

KEPT_MS: Final = 48 * 3_600_000
"""How long an answer is given again."""

MAX_KEY: Final = 256

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BulkItem:
    """Says what happened to one job of a bulk enqueue: it was stored, or it was not."""

    pushed: PushResult | None = None
    problem: OjsError | None = None


@dataclass(frozen=True, slots=True)
class DeferredMessages(JobMessages):
    """Keeps the messages of stored jobs, to send them later, ten in a call."""

    later: list[JobRecord] = field(default_factory=list)

    def send_for(self, jobs: Sequence[JobRecord], now: Instant) -> None:
        """Keep the jobs until :meth:`flush`."""
        del now
        self.later.extend(jobs)

    def flush(self, now: Instant) -> None:
        """Send the messages."""
        JobMessages.send_for(self, self.later, now)
        self.later.clear()


@dataclass(frozen=True, slots=True)
class BulkEnqueue:
    """Enqueues many jobs, and returns the outcome of each."""

    push: Push
    clock: Clock

    def each(self, jobs: Sequence[Job | OjsError]) -> list[BulkItem]:
        """Enqueue each job by itself, through the same chain as a single PUSH.

        :param jobs: in place of a job that could not be read stands its error.
        """
        check_count(len(jobs), MAX_ITEMS)
        new_jobs = self.push.new_jobs
        own = new_jobs.job_messages
        late = DeferredMessages(own.messages, own.queues, own.wide)
        push = replace(self.push, new_jobs=replace(new_jobs, job_messages=late))
        items: list[BulkItem] = []
        try:
            self._push_each(jobs, push, items, late)
        finally:
            late.flush(self.clock.now())
        return items

    def _push_each(
        self,
        jobs: Sequence[Job | OjsError],
        push: Push,
        items: list[BulkItem],
        late: DeferredMessages,
    ) -> None:
        ends_at = self.clock.now() + BUDGET_MS
        seen: dict[str, int] = {}
        for index, job in enumerate(jobs):
            if len(late.later) >= WOKEN_TOGETHER:
                late.flush(self.clock.now())
            if isinstance(job, OjsError):
                items.append(BulkItem(problem=job))
            elif job.id and seen.setdefault(job.id, index) != index:
                items.append(BulkItem(problem=_same_id(job, seen[job.id])))
            elif self.clock.now() >= ends_at:
                items.append(BulkItem(problem=_not_tried()))
            else:
                items.append(_item(partial(push, job)))

    def all(self, jobs: Sequence[Job | OjsError]) -> list[BulkItem]:
        """Enqueue all jobs or none; if one is refused, the items say which and why.

        :raises BackendError: it is unknown whether they are enqueued.
        :raises OjsError: one job was refused, but others are stored; the details name them.
        """
        check_count(len(jobs), MAX_ITEMS)
        problems = {at: job for at, job in enumerate(jobs) if isinstance(job, OjsError)}
        if not problems:
            try:
                pushed = self.push.all([job for job in jobs if not isinstance(job, OjsError)])
            except BackendError:
                raise
            except OjsError as problem:
                if problem.details.get("stored_job_ids"):
                    raise
                problems = _by_index(problem)
            else:
                return [_stored(one) for one in pushed]
        return [
            BulkItem(problem=problems.get(at) or _rolled_back(min(problems)))
            for at in range(len(jobs))
        ]


@contextmanager
def reading(items: list[Job | OjsError]) -> Iterator[None]:
    """Append the error of reading a job to the items, in place of the job."""
    try:
        yield
    except OjsError as problem:
        items.append(problem)


def _item(push: Callable[[], PushResult]) -> BulkItem:
    try:
        return _stored(push())
    except OjsError as problem:
        return BulkItem(problem=problem)


def _stored(pushed: PushResult) -> BulkItem:
    if pushed.record is not None:
        return BulkItem(pushed)
    reason = f"The middleware '{pushed.dropped_by}' dropped the job."
    details = {"dropped_by": pushed.dropped_by}
    return BulkItem(problem=EnqueueRejectedError(reason, details={**details}))


def _by_index(problem: OjsError) -> dict[int, OjsError]:
    """Return the errors by the index of their jobs; an error without an index gets index 0."""
    found: dict[int, OjsError] = {}
    listed = problem.details.get("errors")
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and isinstance(at := each.get("index"), int):
            own = type(problem)(str(each.get("message")), details=each)
            found[at] = own
    index = problem.details.get("index")
    found[index if isinstance(index, int) else 0] = problem
    return found


def _rolled_back(index: int) -> OjsError:
    return ConflictError(
        f"Not enqueued, because the job at index {index} was refused.",
        details={"index": index},
        hint="Correct or remove that job, and send all of them again.",
    )


def _same_id(job: Job, index: int) -> OjsError:
    from ojs_aws.domain.tenants import tenant_of  # few requests have this fault

    return DuplicateError(
        f"The job at index {index} has the same id.",
        details={"existing_job_id": job.id},
        existing=(job.queue, job.type, tenant_of(job)),
    )


def _not_tried() -> OjsError:
    return BackendUnavailableError(
        "There was no time left for this job.", hint="Send it again, with those that follow it."
    )


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """Holds the status and the JSON text of an answer.

    :ivar is_final: False when the backend failed on the way: then the request is worth repeating.
    """

    status: int
    text: str
    is_final: bool = True


@dataclass(frozen=True, slots=True)
class IdempotentRequests:
    """Repeats the first answer to a request that is sent again."""

    requests: BulkRequests
    clock: Clock

    def __call__(
        self,
        scope: str,
        key: str,
        body: bytes,
        work: Callable[[Callable[[int], str]], StoredAnswer],
    ) -> StoredAnswer:
        """Do the work, unless it was done under this key.

        A request whose process died, or on whose way the backend failed, is done again; its jobs
        have the ids that they had, so that what it stored is found. Two at the same time may both
        do it, with the same effect.

        :param scope: the operation, and whose key it is.
        :param work: is given what makes the id of the job at an index.
        :raises ConflictError: the key was used for another body.
        """
        if not 0 < len(key) <= MAX_KEY:
            raise invalid("idempotency_key", f"a text of 1 to {MAX_KEY} characters", key)
        now = self.clock.now()
        wanted = BulkRequest(
            key=hashlib.sha256(f"{scope}\0{key}".encode("utf-8", "surrogatepass")).hexdigest(),
            digest=hashlib.sha256(body).hexdigest(),
            begun_at=now,
        )
        begun = self.requests.begin(wanted, Instant(now - KEPT_MS))
        if begun.digest != wanted.digest:
            raise ConflictError(
                "This idempotency key was used for another request.",
                details={"field": "idempotency_key"},
                hint="Use a key of its own for each request.",
            )
        if begun.status:
            return StoredAnswer(begun.status, begun.answer)

        def id_of(index: int) -> str:
            return event_id(begun.begun_at, begun.key, index).removeprefix("evt_")

        answered = work(id_of)
        if answered.is_final:
            try:
                self.requests.answer(replace(begun, status=answered.status, answer=answered.text))
            except Exception:  # whatever it was, the operation is done
                _logger.warning("Could not keep the answer of a bulk request", exc_info=True)
        return answered
