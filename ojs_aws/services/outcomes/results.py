"""Reads outcomes of jobs, waits for them, and reads many at once (ojs-results, 8 and 9.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.attributes import check_job_id, too_large
from ojs_aws.domain.errors import (
    InvalidRequestError,
    NotFoundError,
    ResultPendingError,
    ResultPrunedError,
)
from ojs_aws.domain.job import JobRecord, size_of
from ojs_aws.domain.jobs.outcomes import ended_at, expires_at, is_pruned
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.services.stored_jobs.change import JobChanger

MAX_IDS: Final = 100
MAX_TOGETHER_BYTES: Final = 4_000_000
"""Results that one answer holds: a Lambda function cannot answer more than 6 MB."""

FIRST_PAUSE_MS: Final = 100
LONGEST_PAUSE_MS: Final = 1000

_NO_DOCUMENT: Final = RawJson("{}")


@dataclass(frozen=True, slots=True)
class Results:
    """Reads outcomes. The jobs come without their clients' documents.

    :ivar pause: lets a number of seconds pass.
    :ivar max_wait_ms: the longest wait of one request.
    """

    changer: JobChanger
    pause: Callable[[float], None]
    max_wait_ms: int

    def __call__(self, job_id: str) -> JobRecord:
        """Return a job with its outcome, if it has one yet.

        :raises NotFoundError: there is no such job.
        :raises ResultPrunedError: it is over, and so is the time of its outcome.
        """
        now = self.changer.clock.now()
        job = self.changer.load(check_job_id(job_id), now)
        return self._whole(job, now) if job.state.is_terminal else _bare(job)

    def wait(self, job_id: str, wait_ms: int) -> JobRecord:
        """Wait until a job is over: one read first, and one after each pause.

        :param wait_ms: at most so long; the settings may allow less.
        :raises ResultPendingError: it is not over yet; asking again goes on with the waiting.
        :raises NotFoundError: there is no such job.
        :raises ResultPrunedError: it is over, and so is the time of its outcome.
        """
        allowed_ms = min(wait_ms, self.max_wait_ms)
        job = self(job_id)
        for pause_ms in pauses(allowed_ms):
            if job.state.is_terminal:
                break
            self.pause(pause_ms / 1000)
            job = self(job_id)
        if job.state.is_terminal:
            return job
        raise ResultPendingError(
            f"Job '{job_id}' is still {job.state}.",
            details={"job_id": job_id, "current_state": job.state, "waited_ms": allowed_ms},
            hint="Ask again.",
        )

    def many(self, job_ids: Sequence[str]) -> Mapping[str, JobRecord | None]:
        """Return several jobs with their outcomes: one read; two more calls if any are missing.

        :returns: by id; None where there is no such job. A job that is not over, and one whose
            outcome is pruned, come without a result.
        :raises InvalidRequestError: no ids, too many, or one that is no text.
        :raises PayloadTooLargeError: the results are more than one answer holds.
        """
        check_ids(job_ids)
        now = self.changer.clock.now()
        named = [job_id for job_id in job_ids if is_job_id(job_id)]
        loaded = self.changer.find_many(named) if named else {}
        jobs: dict[str, JobRecord | None] = dict.fromkeys(job_ids)
        for job_id in named:
            jobs[job_id] = self._settled(loaded.get(job_id), now)
        _check_together([job for job in jobs.values() if job is not None])
        return {
            job_id: job if job is None or job.result is None else self.changer.store.fill(job)
            for job_id, job in jobs.items()
        }

    def _settled(self, job: JobRecord | None, now: Instant) -> JobRecord | None:
        if job is None:
            return None
        try:
            settled = _bare(self.changer.settled(job, now))
        except NotFoundError:
            return None
        return replace(settled, result=None) if is_pruned(settled, now) else settled

    def _whole(self, job: JobRecord, now: Instant) -> JobRecord:
        if is_pruned(job, now):
            expiry = expires_at(job) or ended_at(job) or now
            raise ResultPrunedError(
                f"Result expired at {format_instant(expiry)}.",
                details={
                    "job_id": job.id,
                    "state": job.state,
                    "result_expires_at": format_instant(expiry),
                },
                hint="'result_ttl' says how many seconds an outcome is kept.",
            )
        return self.changer.store.fill(_bare(job))


def pauses(total_ms: int) -> Iterator[int]:
    """Yield the pauses of a wait: short ones first, none longer than a second."""
    pause = FIRST_PAUSE_MS
    while total_ms > 0:
        yield min(pause, total_ms)
        total_ms -= pause
        pause = min(pause * 3 // 2, LONGEST_PAUSE_MS)


def _bare(job: JobRecord) -> JobRecord:
    """Return the job without what an outcome does not need, so that this is not read."""
    return replace(job, document=_NO_DOCUMENT, checkpoint=None)


def check_ids(job_ids: Sequence[str]) -> None:
    """Refuse a request for the outcomes of no job, or of too many.

    :raises InvalidRequestError: naming the field.
    """
    if not 0 < len(job_ids) <= MAX_IDS:
        raise InvalidRequestError(
            f"The 'ids' attribute must name from 1 to {MAX_IDS} jobs; received {len(job_ids)}.",
            details={"field": "ids", "received": len(job_ids), "max_items": MAX_IDS},
        )


def is_job_id(text: str) -> bool:
    """Return whether a text can be the id of a job."""
    try:
        check_job_id(text)
    except InvalidRequestError:
        return False
    return True


def _check_together(jobs: Sequence[JobRecord]) -> None:
    size = sum(size_of(job.result) for job in jobs if job.result is not None)
    if size > (most := MAX_TOGETHER_BYTES):
        message = f"The results of these jobs have {size} bytes; one answer holds {most}."
        raise too_large("ids", size, most, message, "Ask for fewer jobs at once.")
