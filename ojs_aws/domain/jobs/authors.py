"""Keeps with a job who changed it by hand, and which version that made.

Later changes leave it as it is, since a claim knows nothing of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ojs_aws.domain.actor import Actor, stored_actor

if TYPE_CHECKING:
    from ojs_aws.domain.job import JobRecord


def by_hand(job: JobRecord, actor: Actor | None) -> JobRecord:
    """Return a job as somebody has just made it; as it is for the backend itself."""
    return job if actor is None else replace(job, changed_by=stored_actor(actor, job.version))
