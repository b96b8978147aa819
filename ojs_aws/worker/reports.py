"""Reports the outcomes of jobs to the backend."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ojs_aws.client.timer import Timer
from ojs_aws.client.transports.connection import Resends
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    BackendError,
    ConflictError,
    InvalidRequestError,
    JsonValue,
    NotFoundError,
    OjsError,
    RateLimitedError,
)
from ojs_aws.worker.active import about
from ojs_aws.worker.executor import Failed, Outcome, Snoozed, Succeeded
from ojs_aws.worker.reservations import Reservations

PATIENCE: Final = Resends(limit=5, first_delay_s=0.5, max_delay_s=8.0)
"""A report is worth more than a request: the work is done. About a quarter of a minute in all."""

_log = logging.getLogger(__name__)


class Reported(Enum):
    """Names how a report ended."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Reporter:
    """Reports outcomes; repeats while the backend cannot be reached."""

    timer: Timer
    patience: Resends = PATIENCE

    async def report(
        self, held: Reservations, job: Job, outcome: Outcome, reservation_id: str = ""
    ) -> Reported:
        """Acknowledge or fail a job.

        :param reservation_id: what the backend calls the claim; empty where it gave none.
        :returns: REFUSED when the job is not this worker's any more; UNKNOWN when the backend
            could not be reached, and then the job comes back by itself.
        """
        resend = 0
        while True:
            try:
                await self._send(held, job, outcome, reservation_id)
            except (ConflictError, NotFoundError) as refusal:
                said = "The outcome of job %s no longer counts: %s"
                _log.warning(said, job.id, refusal, extra=about(job))
                return Reported.REFUSED
            except (BackendError, RateLimitedError) as problem:
                resend += 1
                if resend > self.patience.limit:
                    said = "The outcome of job %s could not be reported"
                    _log.exception(said, job.id, extra=about(job))
                    return Reported.UNKNOWN
                _log.warning("Reporting job %s again: %s", job.id, problem, extra=about(job))
                await self.timer.sleep(self.patience.delay_s(resend, self.timer.chance()))
            except OjsError as problem:
                if not isinstance(outcome, Succeeded):
                    said = "The failure of job %s was not accepted"
                    _log.exception(said, job.id, extra=about(job))
                    return Reported.UNKNOWN
                outcome = Failed(_unacceptable(problem))
            else:
                return Reported.ACCEPTED

    async def _send(
        self, held: Reservations, job: Job, outcome: Outcome, reservation_id: str
    ) -> None:
        if isinstance(outcome, Succeeded):
            await held.ack(job.id, outcome.result, reservation_id=reservation_id)
            return
        send = held.requeue if isinstance(outcome, Snoozed) else held.fail
        # Named only where there is one: a source of somebody's own may not know of delays.
        delay = {} if outcome.delay_ms is None else {"delay_ms": outcome.delay_ms}
        await send(job.id, outcome.error, reservation_id=reservation_id, **delay)


def _unacceptable(problem: OjsError) -> dict[str, JsonValue]:
    """Return the failure of a job whose result the backend refuses (too large, too deep)."""
    kind = "ResultRefused" if isinstance(problem, InvalidRequestError) else type(problem).__name__
    return {
        "type": kind,
        "code": "handler_error",
        "message": f"The result was refused: {problem.message}",
        "details": problem.details,
    }
