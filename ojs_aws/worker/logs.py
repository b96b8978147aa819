"""Adds a job's fields to log lines: all of them are found by its id (ojs-logging, 7.1)."""

from __future__ import annotations

from ojs_aws.domain.envelope import Job


def about(job: Job) -> dict[str, object]:
    """Return the fields of a line about a job; its handler's lines have them from ``ctx.log``."""
    return {"job_id": job.id, "job_type": job.type, "queue": job.queue, "attempt": job.attempt}
