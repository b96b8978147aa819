"""Sends regular heartbeats: they extend reservations and return the backend's directive."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ojs_aws.client.timer import Timer, first_of
from ojs_aws.domain.errors import OjsError
from ojs_aws.worker.active import ActiveJobs, about
from ojs_aws.worker.lifecycle import Lifecycle
from ojs_aws.worker.reservations import Reservations

MAX_JOBS: Final = 100
BEATS_PER_RESERVATION: Final = 3
"""So that two heartbeats may be lost before a reservation is."""

SHORTEST_S: Final = 0.2

_log = logging.getLogger(__name__)


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
            _log.warning("A heartbeat failed: %s", problem)
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
        pulse = await self.held.heartbeat(job_ids, state, reservation_ids=known)
        self.obey(pulse.directive)
        for reason, ids in (("cancelled", pulse.cancelled), ("reservation lost", pulse.lost)):
            for job_id in ids:
                active = self.active.get(job_id)
                if active is None or active.reservation_id != known.get(job_id, ""):
                    continue  # it was fetched again meanwhile: the answer is about the claim before
                if active.give_up(reason):
                    described = about(active.job)
                    _log.warning("Giving up job %s: %s", job_id, reason, extra=described)
