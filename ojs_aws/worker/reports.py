"""Reports to the backend: outcomes of jobs, and regular heartbeats."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ojs_aws.client.timer import Timer, first_of
from ojs_aws.client.transports.connection import Resends
from ojs_aws.domain.access import UnauthenticatedError
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
from ojs_aws.worker.executor import ActiveJobs, Failed, Outcome, Snoozed, Succeeded, about
from ojs_aws.worker.lifecycle import Lifecycle
from ojs_aws.worker.reservations import Reservations

PATIENCE: Final = Resends(limit=5, first_delay_s=0.5, max_delay_s=8.0)
"""A report is worth more than a request: the work is done. About a quarter of a minute in all."""
_logger = logging.getLogger(__name__)
MAX_JOBS: Final = 100
BEATS_PER_RESERVATION: Final = 3
"""So that two heartbeats may be lost before a reservation is."""
SHORTEST_S: Final = 0.2
LONGEST_BEAT_S: Final = 3600.0
"""The longest time between heartbeats that the backend takes a promise of, in seconds."""
LONGEST_RESERVATION_S: Final = 43_200.0
"""The longest visibility timeout of SQS, in seconds."""


def check_seconds(heartbeat_s: float, grace_s: float, visibility_timeout_s: float | None) -> None:
    """Check the times of a worker, which each fetch would name.

    :raises ValueError: the backend would refuse one of them, again and again.
    """
    if not 0 < heartbeat_s <= LONGEST_BEAT_S:
        most = f"{LONGEST_BEAT_S:.0f}"
        raise ValueError(f"heartbeat_s must be positive, at most {most}; got {heartbeat_s}")
    if grace_s < 0:
        raise ValueError(f"grace_s must not be negative; got {grace_s}")
    reservation_ms = round((visibility_timeout_s or 1) * 1000)
    if not 0 < reservation_ms <= LONGEST_RESERVATION_S * 1000:
        most = f"{LONGEST_RESERVATION_S:.0f}"
        given = f"at most {most}; got {visibility_timeout_s}"
        raise ValueError(f"visibility_timeout_s must be positive, {given}")


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
                _logger.warning(said, job.id, refusal, extra=about(job))
                return Reported.REFUSED
            except (BackendError, RateLimitedError, UnauthenticatedError) as problem:
                resend += 1
                if resend > self.patience.limit:
                    said = "The outcome of job %s could not be reported"
                    _logger.exception(said, job.id, extra=about(job))
                    return Reported.UNKNOWN
                _logger.warning("Reporting job %s again: %s", job.id, problem, extra=about(job))
                await self.timer.sleep(self.patience.delay_s(resend, self.timer.chance()))
            except OjsError as problem:
                if not isinstance(outcome, Succeeded):
                    said = "The failure of job %s was not accepted"
                    _logger.exception(said, job.id, extra=about(job))
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


@dataclass(frozen=True, slots=True)
class Heartbeats:
    """Beats for all jobs of a worker.

    :ivar interval_s: seconds between two beats; less while a job has a short reservation.
    :ivar obey: gets the directive of each answer.
    """

    held: Reservations
    active: ActiveJobs
    interval_s: float
    obey: Callable[[str], None]

    def next_in_s(self) -> float:
        """Return the seconds until the next heartbeat is due."""
        shortest = [own for active in self.active if (own := active.job.visibility_timeout)]
        needed = min(shortest, default=self.interval_s * BEATS_PER_RESERVATION)
        return max(min(self.interval_s, needed / BEATS_PER_RESERVATION), SHORTEST_S)

    async def beat(self, state: str) -> bool:
        """Send one heartbeat. A failure changes nothing: the next one tries again (section 4.6).

        :returns: whether the backend answered.
        """
        ids = self.active.ids()
        chunks = [ids[at : at + MAX_JOBS] for at in range(0, len(ids), MAX_JOBS)] or [[]]
        try:
            for chunk in chunks:
                await self._beat(chunk, state)
        except OjsError as problem:
            _logger.warning("A heartbeat failed: %s", problem)
            return False
        except Exception:  # without further heartbeats the worker would lose all of its jobs
            _logger.exception("A heartbeat failed")
            return False
        return True

    async def beat_on(self, lifecycle: Lifecycle, timer: Timer, woken: asyncio.Event) -> None:
        """Beat at once, at every change of state, and at the interval in between; never ends.

        :param woken: set when a job was added, which may need heartbeats sooner.
        """
        due = 0.0
        while True:
            changed = asyncio.ensure_future(lifecycle.changed())
            try:
                if timer.monotonic() >= due:
                    await self.beat(lifecycle.state)
                    due = timer.monotonic() + self.next_in_s()
                due = min(due, timer.monotonic() + self.next_in_s())
                woken.clear()
                left_s = max(0.0, due - timer.monotonic())
                await first_of(timer.sleep(left_s), changed, woken.wait())
                if changed.done():
                    due = timer.monotonic()
            finally:
                changed.cancel()

    async def _beat(self, job_ids: Sequence[str], state: str) -> None:
        known = self.active.reservation_ids(job_ids)
        reply = await self.held.heartbeat(job_ids, state, reservation_ids=known)
        self.obey(reply.directive)
        for reason, ids in (("cancelled", reply.cancelled), ("reservation lost", reply.lost)):
            for job_id in ids:
                active = self.active.get(job_id)
                if active is None or active.reservation_id != known.get(job_id, ""):
                    continue  # it was fetched again meanwhile: the answer is about the claim before
                if active.give_up(reason):
                    described = about(active.job)
                    _logger.warning("Giving up job %s: %s", job_id, reason, extra=described)
