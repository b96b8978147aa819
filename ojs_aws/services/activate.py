"""ACTIVATE: a pending job becomes available (HTTP binding, section 7.8)."""

from __future__ import annotations

from dataclasses import dataclass

from ojs_aws.domain import lifecycle
from ojs_aws.domain.validation import check_job_id
from ojs_aws.services.changing import Change, Changing
from ojs_aws.services.waking import Waking


@dataclass(frozen=True, slots=True)
class Activate:
    """Releases jobs that were enqueued with the pending flag."""

    changing: Changing
    waking: Waking

    def __call__(self, job_id: str) -> Change:
        """Make a pending job available and send its message.

        :raises InvalidRequestError: the id is no UUIDv7.
        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not pending.
        """
        clock = self.changing.clock
        change = self.changing.apply(
            check_job_id(job_id), lambda job, now: lifecycle.activate(job, now, clock.order())
        )
        self.waking.cover([change.after], clock.now())
        return change
