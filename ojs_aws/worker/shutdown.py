"""Ends a worker: its jobs may finish within the grace period, and are given back after it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from ojs_aws.client.timer import Timer, first_of, within
from ojs_aws.domain.errors import OjsError
from ojs_aws.worker.active import ActiveJob, ActiveJobs
from ojs_aws.worker.failure import shutdown_failure
from ojs_aws.worker.lifecycle import Lifecycle
from ojs_aws.worker.reservations import Reservations

LAST_WORDS_S: Final = 3.0
"""How long abandoned jobs are given back after the grace period, in seconds."""

_log = logging.getLogger(__name__)


async def drain(
    held: Reservations, active: ActiveJobs, lifecycle: Lifecycle, timer: Timer, grace_s: float
) -> None:
    """Wait for the jobs, for the grace period at most; then give them back.

    :param active: what the worker still holds.
    """
    left_s = max(0.0, grace_s - lifecycle.for_s)
    if active:
        _log.info("Running jobs: %d. They have %.0f s to finish", len(active), left_s)
    await first_of(active.empty(), timer.sleep(left_s), lifecycle.forced())
    left = [each for each in active if each.give_up("the worker shuts down")]
    if left:
        _log.warning("Jobs that were not finished, and go back: %d", len(left))
    if not lifecycle.is_forced:
        await within(timer, LAST_WORDS_S, _give_back(held, active, left))


async def _give_back(held: Reservations, active: ActiveJobs, left: Sequence[ActiveJob]) -> None:
    """Give the jobs back, so that nobody waits for the end of their reservations.

    The attempt does not count: the job did not fail. Outcomes that are being reported get the
    same time.
    """

    async def requeue(each: ActiveJob) -> None:
        with suppress(OjsError):
            await held.requeue(each.job.id, shutdown_failure(), reservation_id=each.reservation_id)

    await asyncio.gather(active.empty(), *(requeue(each) for each in left))
