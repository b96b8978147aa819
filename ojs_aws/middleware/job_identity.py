"""Keep the id of a job, whatever middleware and hooks do (specification, section 3.5).

The id is compared with the one that was noted before the middleware ran: a job that is changed in
place is no other object than before. The job gets its own id back, so that whoever holds the
object, the caller included, finds the job that is meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.errors import IdChangedError


def check_id(job: Job, job_id: str, who: str, stored: Sequence[str] = ()) -> None:
    """Refuse an id that the job did not come with, and give the job its own id back.

    :param who: what changed the job, as the message names it.
    :param stored: ids of the jobs that are stored nevertheless.
    :raises IdChangedError: the job has another id; ``stored_job_ids`` names what is stored.
    """
    if job.id != job_id:
        raise _change(job, job_id, who, stored)


def check_ids(jobs: Iterable[tuple[Job, str]], who: str) -> None:
    """Check many jobs, each with the id that it came with; all of them get theirs back.

    :raises IdChangedError: of the first job that has another id.
    """
    changes = [_change(job, job_id, who, ()) for job, job_id in jobs if job.id != job_id]
    if changes:
        raise changes[0]


def _change(job: Job, job_id: str, who: str, stored: Sequence[str]) -> IdChangedError:
    whose = "the stored job's" if stored else "the job's"
    problem = IdChangedError(
        f"{who} changed {whose} id from {job_id!r} to {job.id!r}; the id must stay."
    )
    job.id = job_id
    if stored:
        problem.stored_job_ids = tuple(stored)  # type: ignore[attr-defined]
    return problem
