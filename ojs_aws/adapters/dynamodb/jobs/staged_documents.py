"""Stores documents ahead of the write that stores their jobs.

Each stands under a name of its own attempt, so that removing it can hit nobody else's. When the
write was refused they are removed; when nobody knows whether it took effect they stay.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ojs_aws.adapters.dynamodb.jobs.blobs import Blobs
from ojs_aws.domain.errors import BackendUnavailableError, OjsError
from ojs_aws.domain.job import JobRecord, StoredElsewhere

LoadMany = Callable[[Sequence[str]], Mapping[str, JobRecord]]
"""The stored jobs of some ids, strongly consistent."""

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Ahead:
    """Holds the documents of one write.

    :ivar token: of the attempt; part of the names of its documents.
    :ivar is_sent: whether the write itself was sent: from then on it may have taken effect.
    """

    blobs: Blobs
    token: str
    is_sent: bool = False
    _put: list[tuple[JobRecord, StoredElsewhere]] = field(default_factory=list)

    def life(self, job: JobRecord) -> str:
        """Return a name that separates the documents of this attempt from those of others."""
        return f"{job.created_at}:{self.token}"

    def keep(self, job: JobRecord, place: StoredElsewhere, text: str) -> None:
        """Store a document in its place, by a call of its own."""
        self.keep_all([(job, place, text)])

    def keep_all(self, documents: Sequence[tuple[JobRecord, StoredElsewhere, str]]) -> None:
        """Store documents in their places, those in the table together."""
        if not documents:
            return
        # First: a call that fails may have taken effect.
        self._put += [(job, place) for job, place, _ in documents]
        self.blobs.keep_all([((job.id, place), text) for job, place, text in documents])

    def note(self, job: JobRecord, place: StoredElsewhere) -> None:
        """Remember a document that was stored some other way."""
        self._put.append((job, place))

    def take_back(self, load_many: LoadMany) -> None:
        """Remove documents that no stored job names. Failures to remove are logged."""
        if not self._put:
            return
        try:
            stored = load_many([job.id for job, _ in self._put])
            for job, place in self._put:
                kept = stored.get(job.id)
                if kept is None or not _refers_to(kept, place):
                    self.blobs.discard(job.id, place, job.created_at)
        except OjsError:
            _logger.warning("Documents of a refused write were left behind", exc_info=True)


def _refers_to(job: JobRecord, place: StoredElsewhere) -> bool:
    return isinstance(job.document, StoredElsewhere) and job.document.digest == place.digest


def _says_nothing(problem: Exception) -> bool:
    """Return whether a write that was sent may have taken effect, or do so later."""
    return isinstance(problem, OjsError) and not isinstance(problem, BackendUnavailableError)


@contextmanager
def ahead_of(write: Ahead, load_many: LoadMany) -> Iterator[Ahead]:
    """Store documents before a write, and remove them if the write is refused."""
    try:
        yield write
    except Exception as problem:
        if not (write.is_sent and _says_nothing(problem)):
            write.take_back(load_many)
        raise
