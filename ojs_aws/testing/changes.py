"""Turns committed changes into events, workflow steps and counters, as the table's stream does."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from ojs_aws.testing.memory import FakeClock
from ojs_aws.transport.events.stream import StreamConsumer
from ojs_aws.transport.tracing import NO_TRACING

if TYPE_CHECKING:
    from ojs_aws.services.backend import Backend

MAX_ROUNDS: Final = 10_000
"""Batches of changes that may follow from one another."""

_log = logging.getLogger(__name__)


def _count(_value: int, _function: str) -> None:
    """Publish no metric."""


@dataclass
class Changes:
    """Keeps the changes of items until what follows from them is done.

    :ivar backend: returns the services, which are made later.
    :ivar only_new: whether all these changes are of new items.
    """

    clock: FakeClock
    backend: Callable[[], Backend]
    _waiting: list[dict[str, Any]] = field(default_factory=list)
    _number: int = 0
    only_new: bool = True

    @property
    def has_any(self) -> bool:
        """Return True if there are changes that nothing was done about."""
        return bool(self._waiting)

    def note(self, key: str, before: object, after: object) -> None:
        """Note that an item was written."""
        self.only_new &= before is None
        self._number += 1
        self._waiting.append(
            {
                "dynamodb": {
                    "Keys": {"pk": key, "kind": type(after or before).__name__},
                    "OldImage": before,
                    "NewImage": after,
                    "SequenceNumber": f"{self._number:012d}",
                    "ApproximateCreationDateTime": self.clock.at / 1000,
                }
            }
        )

    def follow(self) -> None:
        """Do what follows from the changes, and from those that this makes.

        :raises RuntimeError: there is no end to it.
        """
        for _ in range(MAX_ROUNDS):
            records, self._waiting = self._waiting, []
            if not records:
                self.only_new = True
                return
            failures = self._consumer.handle({"Records": records}, None)["batchItemFailures"]
            if failures:
                first = failures[0]["itemIdentifier"]
                numbers = [each["dynamodb"]["SequenceNumber"] for each in records]
                self._waiting = records[numbers.index(first) :] + self._waiting
        raise RuntimeError("The changes of jobs and workflows have no end.")

    def clear(self) -> None:
        """Forget the changes that nothing was done about."""
        self._waiting.clear()
        self.only_new = True

    @cached_property
    def _consumer(self) -> StreamConsumer:
        return StreamConsumer(
            backend=self.backend(),
            read=lambda image: image,
            logger=cast("Any", _log),
            hooks=None,
            count=_count,
            measure=None,
            tracing=NO_TRACING,
        )
