"""Gives jobs of unknown types back: while workers are replaced, another one may know them."""

from __future__ import annotations

from typing import Final

from ojs_aws.client.retry_schedule import short
from ojs_aws.domain.envelope import Job, uncounted_attempts
from ojs_aws.worker.failure import NO_HANDLER, SnoozeError
from ojs_aws.worker.registry import NoHandlerError

WAIT_S: Final = 3600.0
"""For how long a job waits for a worker with its handler."""

FIRST_DELAY_S: Final = 15
LONGEST_DELAY_S: Final = 300
"""Each time the delay doubles, up to this: sixteen times in an hour."""


class HandlerMissingError(SnoozeError):
    """Snoozes a job of a type that this worker does not know: another worker may."""

    def __init__(self, missing: NoHandlerError, delay_s: int, wait_s: float) -> None:
        """Wait for another worker; the backend learns of a snooze like any other."""
        limit = short(round(wait_s * 1000))
        super().__init__(
            delay_s, f"{missing} The job waits up to {limit} for a worker that has its handler."
        )
        self.type = NO_HANDLER


def given_back(missing: NoHandlerError, job: Job, wait_s: float) -> HandlerMissingError | None:
    """Return the snooze of a job without a handler; None if it has waited for long enough.

    What the job has waited is known by how often it was snoozed, whatever for.

    :param wait_s: for how long jobs wait; 0 for not at all.
    """
    waited_s, delay_s = 0, FIRST_DELAY_S
    for _ in range(uncounted_attempts(job)):
        if waited_s >= wait_s:
            return None
        waited_s, delay_s = waited_s + delay_s, min(2 * delay_s, LONGEST_DELAY_S)
    return None if waited_s >= wait_s else HandlerMissingError(missing, delay_s, wait_s)
