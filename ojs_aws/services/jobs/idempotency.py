"""Recognises a push that was sent again because its client got no answer."""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.errors import DuplicateError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import RawJson, decode, stored_texts
from ojs_aws.domain.timestamps import Instant, parse_timestamp

_INSTANTS: Final = frozenset({"scheduled_at", "expires_at"})


def id_taken(existing: JobRecord) -> DuplicateError:
    """Return the error for an id that another job has."""
    return DuplicateError(
        f"A job with the id '{existing.id}' already exists.",
        details={"existing_job_id": existing.id},
        hint="Give each job an id of its own, or leave the id out.",
        existing=(existing.queue, existing.type, existing.tenant),
    )


def is_same_envelope(stored: JobRecord, wanted: JobRecord) -> bool:
    """Return whether a new job is the stored one, sent again.

    A relative timestamp (``+PT10S``) is kept as what it came to mean, and means a later instant
    the second time: by as much later as the second push came.

    :param stored: with its document filled in, and ``wanted`` likewise.
    """
    if (stored.type, stored.queue) != (wanted.type, wanted.queue):
        return False
    if not _is_same_retry(stored, wanted):
        return False
    later = wanted.created_at - stored.created_at
    is_shifted = all(
        _is_shifted(_written(stored, name), _written(wanted, name), later) for name in _INSTANTS
    )
    return is_shifted and _timeless(stored) == _timeless(wanted)


def _is_same_retry(stored: JobRecord, wanted: JobRecord) -> bool:
    """Return whether the client sent the same retry policy; the queue's default may differ now."""
    if stored.retry_document == wanted.retry_document:
        return True
    return _own_retry(stored) == _own_retry(wanted)


def _own_retry(job: JobRecord) -> RawJson | None:
    return None if job.is_retry_queues else job.retry_document


def _written(job: JobRecord, name: str) -> Instant | None:
    """Return the instant that the client sent; a limit or an operator may have changed it."""
    raw = _texts(job).get(name)
    return None if raw is None else parse_timestamp(decode(raw), name)


def _is_shifted(stored: Instant | None, wanted: Instant | None, later: int) -> bool:
    if stored is None or wanted is None:
        return stored is wanted
    return wanted - stored in {0, later}


def _timeless(job: JobRecord) -> list[tuple[str, str]]:
    """Return the members of the document except for the instants."""
    return [(name, raw) for name, raw in _texts(job).items() if name not in _INSTANTS]


def _texts(job: JobRecord) -> dict[str, RawJson]:
    """Return the members of a document that is in the job's item, each as its own text."""
    assert isinstance(job.document, str)  # noqa: S101 - what the parameters say
    return stored_texts(job.document)
