"""Reads batches of the table's stream so that neither an outage nor a single record costs others.

Lambda repeats a batch that failed as long as the stream keeps its records, and names no pause
between two tries. So the function waits itself where AWS refuses calls. A record that ends the
function is tried a bounded number of times, which the table counts: the process does not live to
remember it. Only a record that comes alone, and is so old that it was probably tried before, is
counted, so that no other batch costs a write
(docs/decisions/0095-the-stream-is-tried-for-a-day.md).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.domain.clock import Clock
from ojs_aws.domain.errors import OjsError
from ojs_aws.transport.events.invocation_time import InvocationTime
from ojs_aws.transport.events.records import UNKNOWN, commit_of, number_of

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.watermarks import RecordTries

Record = Mapping[str, Any]

MAX_ENDED: Final = 5
"""Tries of a record that end the function: it runs out of time or memory, or raises an error."""

SUSPICIOUS_MS: Final = 360_000
"""Age from which a record that comes alone is counted. At its first try it is younger: changes are
gathered for five minutes at most."""

SHORTEST_PAUSE_S: Final = 5.0
LONGEST_PAUSE_S: Final = 20.0
"""Of the pauses after AWS refused calls; they differ, so that shards do not come together."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """Says what became of a batch.

    :ivar first_failed: the number of the record from which on it must come again; None for none.
    :ivar is_refused: whether AWS refused a call.
    """

    first_failed: str | None = None
    is_refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchUse:
    """Does what is to be done with a batch.

    :ivar consume: handles the records in the time that is left.
    :ivar leave_out: keeps a record for an operator instead, with a reason.
    """

    consume: Callable[[Sequence[Record], InvocationTime], BatchOutcome]
    leave_out: Callable[[Record, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamReader:
    """Hands batches to a consumer; pauses where AWS refuses, and leaves out what ends the function.

    :ivar tries: counts the tries of records that may end the function.
    :ivar sleep: waits for so many seconds.
    :ivar chance: returns a number from 0 to 1.
    """

    tries: RecordTries
    clock: Clock
    sleep: Callable[[float], None]
    chance: Callable[[], float]

    def __call__(
        self, records: Sequence[Record], time: InvocationTime, use: BatchUse
    ) -> BatchOutcome:
        """Handle a batch.

        :raises Exception: what the consumer raised; Lambda then halves the batch.
        """
        try:
            outcome = self._handled(records, time, use)
        except Exception:
            self._pause(time)
            raise
        if outcome.is_refused and outcome.first_failed is not None:
            self._pause(time)
        return outcome

    def _handled(
        self, records: Sequence[Record], time: InvocationTime, use: BatchUse
    ) -> BatchOutcome:
        """Handle a batch; write down before that a suspicious record is tried."""
        if not self._is_suspicious(records):
            return use.consume(records, time)
        (record,) = records
        number = number_of(record)
        try:
            ended = self.tries.begin(number, self.clock.now()) - 1
            if ended >= MAX_ENDED:
                use.leave_out(record, f"The function ended {ended} times before it was done.")
        except OjsError:
            _logger.warning("Could not count the tries of a record", exc_info=True)
            return BatchOutcome(number, is_refused=True)
        outcome = BatchOutcome() if ended >= MAX_ENDED else use.consume(records, time)
        try:
            self.tries.forget(number)
        except OjsError:
            _logger.warning("Could not forget the tries of a record", exc_info=True)
        return outcome

    def _is_suspicious(self, records: Sequence[Record]) -> bool:
        if len(records) != 1 or number_of(records[0]) == UNKNOWN:
            return False
        return self.clock.now() - commit_of(records[0]).at > SUSPICIOUS_MS

    def _pause(self, time: InvocationTime) -> None:
        wanted = SHORTEST_PAUSE_S + self.chance() * (LONGEST_PAUSE_S - SHORTEST_PAUSE_S)
        seconds = min(wanted, time.longest_pause_s())
        if seconds > 0:
            self.sleep(seconds)
