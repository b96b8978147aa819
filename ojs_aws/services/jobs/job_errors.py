"""Collects errors of single jobs in work on many: reported, counted, and skipped.

One job that cannot be read or written must not keep the others of its queue from their turn. But
where nothing can be written, each further try only costs time: then the work ends.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

MOST: Final = 25
"""Jobs that one request passes over; with one more it is not the jobs that are wrong."""

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class JobErrors:
    """Collects the errors of one pass over many jobs.

    :ivar is_late: whether no time is left to go on after an error.
    :ivar most: jobs that may be passed over.
    :ivar ids: the jobs that were passed over.
    :ivar first: the first error; None for none.
    """

    is_late: Callable[[], bool]
    most: int = MOST
    ids: set[str] = field(default_factory=set)
    first: Exception | None = None

    def note(self, job_id: str, problem: Exception) -> None:
        """Report a job that is skipped.

        :raises Exception: this error, where there are too many, or no time is left.
        """
        _logger.error("Job %s is passed over: %s", job_id, problem, exc_info=problem)
        self.ids.add(job_id)
        self.first = self.first or problem
        if len(self.ids) > self.most or self.is_late():
            raise problem
