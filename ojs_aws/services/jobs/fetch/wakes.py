"""Lets messages of ended jobs begin jobs that wait for their slots, in whatever line these stand.

Who ends a limited job sends a message that names it. A FETCH of a wide queue looks at the line of
that job. If nothing there waits for one of its slots, all other lines are looked at, once, and the
message is the permission of the first that does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.queues import ReceivedMessage
from ojs_aws.services.jobs.fetch.candidates import Candidate
from ojs_aws.services.jobs.fetch.job_claims import JobClaims

_NO_SLOTS: Final[frozenset[str]] = frozenset()

_logger = logging.getLogger(__name__)


def woken(
    claims: JobClaims, line: Sequence[Candidate], elsewhere: Callable[[], Sequence[Candidate]]
) -> list[Candidate]:
    """Return the jobs of other lines that held messages wake; note which message wakes which.

    :param line: the jobs of the lines that were looked at.
    :param elsewhere: looks at the others.
    """
    freed = {each.handle: slots for each in claims.held if (slots := _freed(claims, each))}
    if not freed:
        return []
    own = {each.message.job_id for each in claims.held}
    served = _matched(claims, freed, (each for each in line if each.id not in own))
    left = {handle: slots for handle, slots in freed.items() if handle not in served.values()}
    if not left:
        return []
    try:
        found = elsewhere()
    except OjsError:
        claims.is_overtaken = True  # so that the message comes back
        _logger.warning(
            "Could not look at all lines of queue %s", claims.options.queue, exc_info=True
        )
        return []
    claims.woken = _matched(claims, left, found)
    return [each for each in found if each.id in claims.woken]


def _freed(claims: JobClaims, received: ReceivedMessage) -> frozenset[str]:
    """Return the limits whose slots the job of a message has given back; empty for any other."""
    job = None if received.message.sort_key else claims.seen.get(received.message.job_id)
    if job is None or not _has_ended(job):
        return _NO_SLOTS
    own = job.limit.key if job.limit is not None else ""
    return frozenset(claims.limiting.keys_of(own, job.type, job.tenant))


def _has_ended(job: JobRecord) -> bool:
    """Return whether an attempt of a job is over, and it is not available itself."""
    return bool(job.attempt) and (job.state.is_terminal or job.state is JobState.RETRYABLE)


def _matched(
    claims: JobClaims, freed: Mapping[str, frozenset[str]], candidates: Iterable[Candidate]
) -> dict[str, str]:
    """Return the message of each job that waits for a slot; a message is for one job."""
    left, found = dict(freed), {}
    for each in candidates:
        wanted = claims.limiting.keys_of(each.limit_key, each.type, each.tenant)
        handle = next((it for it, slots in left.items() if not slots.isdisjoint(wanted)), None)
        if handle is not None:
            found[each.id] = handle
            del left[handle]
    return found
