"""Stores the limits that jobs name, so that they are shown before any job begins."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import Limits

_log = logging.getLogger(__name__)


def note_limits(limits: Callable[[], Limits], jobs: Sequence[JobRecord], now: Instant) -> None:
    """Remember the policies of jobs; failures are logged, and the first claim tries again."""
    limited = [(job.limit, job.queue) for job in jobs if job.limit is not None]
    for key, policy, queue in sorted({(x.key, encode(x.render()), q) for x, q in limited}):
        try:
            limits().note(key, policy, queue, now)
        except Exception:  # noqa: BLE001 - whatever it was, the jobs are stored
            _log.warning("Could not note the limit %s", key, exc_info=True)
