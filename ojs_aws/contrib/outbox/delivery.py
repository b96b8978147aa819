"""Send a batch of rows to the backend, and find the rows that it does not take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ojs_aws.client import EnqueueResult, SyncClient
from ojs_aws.contrib.outbox.staged_jobs import WaitingRow
from ojs_aws.domain.errors import (
    BackendUnavailableError,
    DuplicateError,
    OjsError,
    PayloadTooLargeError,
    RateLimitedError,
)

_SERVER_ERROR: Final = 500
_NOT_OF_A_ROW: Final = frozenset({401, 403, 404, 405, 408})
"""Answers that say something about the relay's key or URL, where they name no job."""
_SINGLE_FAILURES: Final = 3
"""Rows that fail one by one, before the backend counts as down."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """Says that the backend has a job, or never will.

    :ivar note: why there is no such job, such as a duplicate; else empty.
    """

    row: WaitingRow
    note: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """Says that the backend did not take a row.

    :ivar is_final: the same row will never be taken.
    :ivar may_park: it may be the row's fault, so that tries are counted. A full queue is not.
    """

    row: WaitingRow
    error: str
    is_final: bool
    may_park: bool


class OutageError(Exception):
    """Raised when the backend takes no row at all: it is down, or refuses the relay's key."""


class Delivery:
    """Sends rows in their order, and bisects around those that the backend does not take."""

    def __init__(self, client: SyncClient) -> None:
        """Send by a client, past its middleware: the rows have passed theirs."""
        self._client = client

    def send(self, rows: Sequence[WaitingRow]) -> Iterator[Accepted | Refused]:
        """Yield the outcome of each row, in their order, as soon as it is known.

        :raises OutageError: the backend takes none now; the rows that are left keep their place.
        """
        failures = 0
        todo = [list(rows)]
        while todo:
            batch = todo.pop()
            try:
                results = self._client.enqueue_prepared([row.job() for row in batch])
            except OjsError as problem:
                if _is_outage(problem):
                    raise OutageError(str(problem)) from problem
                if len(batch) > 1:
                    todo += _parts(batch, problem)
                    continue
                outcome = _refusal(batch[0], problem)
                failures += isinstance(outcome, Refused) and problem.status >= _SERVER_ERROR
                yield outcome
                if failures >= _SINGLE_FAILURES:
                    raise OutageError(str(problem)) from problem
            else:
                failures = 0
                for row, result in zip(batch, results, strict=True):
                    yield _outcome(row, result)


def _is_outage(problem: OjsError) -> bool:
    if "index" in problem.details:
        return False
    is_busy = isinstance(problem, (BackendUnavailableError, RateLimitedError))
    return is_busy or problem.status in _NOT_OF_A_ROW


def _parts(batch: list[WaitingRow], problem: OjsError) -> list[list[WaitingRow]]:
    """Return the parts of a batch to send next, the last one first.

    Where the error names the job, that one is alone; else the batch is halved.
    """
    place = problem.details.get("index")
    if isinstance(place, int) and 0 <= place < len(batch) and not _is_size(problem):
        parts = [batch[place + 1 :], [batch[place]], batch[:place]]
    else:
        middle = len(batch) // 2
        parts = [batch[middle:], batch[:middle]]
    return [part for part in parts if part]


def _is_size(problem: OjsError) -> bool:
    return isinstance(problem, PayloadTooLargeError) and "index" not in problem.details


def _refusal(row: WaitingRow, problem: OjsError) -> Accepted | Refused:
    """Return what an error means for the only row of a batch."""
    if isinstance(problem, DuplicateError):
        existing = str(problem.details.get("existing_job_id", ""))
        if existing != row.written.job_id:
            return Accepted(row, f"Not enqueued: job {existing} has the same unique key.")
    is_retryable = problem.retryable
    return Refused(
        row,
        f"{problem.code}: {problem}",
        is_final=not is_retryable,
        may_park=not is_retryable or problem.status >= _SERVER_ERROR,
    )


def _outcome(row: WaitingRow, result: EnqueueResult) -> Accepted | Refused:
    """Return the outcome of a row whose batch was stored."""
    if result.is_dropped:
        return Accepted(row, f"Not enqueued: the middleware {result.dropped_by!r} dropped it.")
    return Accepted(row)
