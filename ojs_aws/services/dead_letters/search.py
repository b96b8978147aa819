"""Finding dead letters: queue after queue, by what an operator asks for, in bounded steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.validation import check_queue, check_type
from ojs_aws.ports import Between, JobList, JobStore, ListedJob, QueueRegistry

PAGE: Final = 100
MAX_EXAMINED: Final = 1000
"""Rows that one request looks at; a filter that matches few is gone on with by the cursor."""

MAX_QUEUES: Final = 200
"""Queues that one search looks into, empty ones included."""

MAX_BYTES: Final = 3_000_000
"""Documents of one page, and one more: Lambda answers with 6 MB at most."""

MAX_ERROR_TYPE: Final = 256
_END: Final = Instant(253_402_300_799_999)  # the last instant of the year 9999


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterFilter:
    """Which dead letters are meant (ojs-dead-letter, section 9.1); what is empty matches all.

    :ivar error_type: type, code or class of the latest failure.
    :ivar since: discarded at this instant or later.
    :ivar until: discarded at this instant or earlier.
    """

    queue: str = ""
    type: str = ""
    error_type: str = ""
    since: Instant | None = None
    until: Instant | None = None

    def __post_init__(self) -> None:
        """Refuse what can match nothing.

        :raises InvalidRequestError: a bad queue name, type, error type or range.
        """
        if self.queue:
            check_queue(self.queue)
        if self.type:
            check_type(self.type)
        if len(self.error_type) > MAX_ERROR_TYPE:
            raise InvalidRequestError(
                f"The 'error_type' attribute has more than {MAX_ERROR_TYPE} characters.",
                details={"field": "error_type", "max_length": MAX_ERROR_TYPE},
            )
        if self.since is not None and self.until is not None and self.until < self.since:
            raise InvalidRequestError(
                "The 'until' attribute must not be before 'since'.", details={"field": "until"}
            )

    @property
    def between(self) -> Between | None:
        """The time range, if there is one."""
        if self.since is None and self.until is None:
            return None
        until = _END if self.until is None else self.until
        return Between(self.since or Instant(0), until)

    @property
    def is_by_row(self) -> bool:
        """Whether the index alone tells what matches, so that a count of rows is the answer."""
        return not self.type and not self.error_type

    def accepts(self, job: JobRecord) -> bool:
        """Whether a job matches, all but its queue and its time."""
        failure = job.failures[-1] if job.failures else None
        names = {failure.type, failure.code, failure.error_class} if failure else set()
        return (
            job.state is JobState.DISCARDED
            and job.is_dead_letter
            and (not self.type or job.type == self.type)
            and (not self.error_type or self.error_type in names)
        )


@dataclass(frozen=True, slots=True)
class FoundRows:
    """Dead letters, and where to go on.

    :ivar cursor: empty when nothing is left.
    """

    jobs: tuple[JobRecord, ...]
    cursor: str


@dataclass(frozen=True, slots=True)
class DeadLetterSearch:
    """Walks the dead letters of one queue, or of all queues by name; newest first within each."""

    store: JobStore
    queues: QueueRegistry

    def names(self, wanted: DeadLetterFilter) -> list[str]:
        """The queues to look at."""
        return [wanted.queue] if wanted.queue else [info.name for info in self.queues.all()]

    def find(self, wanted: DeadLetterFilter, limit: int, cursor: str, skip: int = 0) -> FoundRows:
        """Up to ``limit`` matching dead letters, without the documents that are kept elsewhere.

        Ends earlier where the documents grow large, after a thousand rows, or after two hundred
        queues; then the cursor leads on.

        :raises InvalidRequestError: not a cursor that this server gave out.
        """
        names, place = self._start(wanted, cursor)
        size_of_page = PAGE if wanted.error_type else min(PAGE, limit + skip)
        found: list[JobRecord] = []
        examined = size = 0
        for position, name in enumerate(names):
            if position >= MAX_QUEUES:
                return FoundRows(tuple(found), f"{name}!")
            for rows, is_last in self._pages(name, wanted, place, size_of_page):
                jobs = self._loaded(rows, wanted)
                for row in rows:
                    examined += 1
                    job = jobs.get(row.id)
                    if job is not None and skip > 0:
                        skip -= 1
                    elif job is not None:
                        found.append(job)
                        size += job.document_bytes
                    is_full = len(found) >= limit or size >= MAX_BYTES or examined >= MAX_EXAMINED
                    if is_full and not (is_last and row is rows[-1]):
                        here = self.store.place_of(row, JobList.DEAD_LETTER)
                        return FoundRows(tuple(found), f"{name}!{here}")
                    if is_full:
                        rest = names[position + 1 :]
                        return FoundRows(tuple(found), f"{rest[0]}!" if rest else "")
            place = ""
        return FoundRows(tuple(found), "")

    def _start(self, wanted: DeadLetterFilter, cursor: str) -> tuple[list[str], str]:
        names = self.names(wanted)
        if not cursor:
            return names, ""
        current, mark, place = cursor.partition("!")
        if not mark or (wanted.queue and current != wanted.queue):
            raise _foreign_cursor()
        check_cursor_queue(current)
        return [name for name in names if name >= current], place if current in names else ""

    def _pages(
        self, queue: str, wanted: DeadLetterFilter, place: str, size: int
    ) -> Iterator[tuple[Sequence[ListedJob], bool]]:
        while True:
            page = self.store.listed(
                queue, JobList.DEAD_LETTER, size, cursor=place, between=wanted.between
            )
            if page.jobs:
                yield page.jobs, not page.cursor
            if not page.cursor:
                return
            place = page.cursor

    def _loaded(self, rows: Sequence[ListedJob], wanted: DeadLetterFilter) -> dict[str, JobRecord]:
        """The matching jobs among some rows: one read for all."""
        ids = [row.id for row in rows if not wanted.type or row.type == wanted.type]
        jobs = self.store.load_many(ids) if ids else {}
        return {job_id: job for job_id, job in jobs.items() if wanted.accepts(job)}


def check_cursor_queue(name: str) -> None:
    """Refuse a cursor that names no queue.

    :raises InvalidRequestError: it was not given out by this server.
    """
    try:
        check_queue(name)
    except InvalidRequestError:
        raise _foreign_cursor() from None


def _foreign_cursor() -> InvalidRequestError:
    return InvalidRequestError(
        "The 'cursor' parameter is not one that this server gave out.",
        details={"field": "cursor"},
        hint="Pass next_cursor of the previous page as it is.",
    )
