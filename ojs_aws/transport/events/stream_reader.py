"""Reads batches of the table's stream within an invocation, and decides which records come again.

Lambda repeats a batch that failed as long as the stream keeps its records, and names no pause
between two tries. So the function waits itself where AWS refuses calls. A record that ends the
function is tried a bounded number of times, which the table counts: the process does not live to
remember it. Only a record that comes alone, and is so old that it was probably tried before, is
counted, so that no other batch costs a write
(docs/decisions/0095-the-stream-is-tried-for-a-day.md).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.runtime import Clock
from ojs_aws.transport.events.records import UNKNOWN, commit_of, number_of

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.watermarks import RecordTries

BEGIN_MS: Final = 20_000
"""No call begins later than this before the end: one that hangs takes up to 18 s."""

HOOK_MS: Final = 30_000
"""No code of users begins later than this before the end: what comes after it needs time, too."""

ANSWER_MS: Final = 10_000
"""A pause ends this long before the end."""


@dataclass(frozen=True, slots=True)
class InvocationTime:
    """Says what there is still time for; outside of Lambda there is no end.

    :ivar left_ms: returns the milliseconds until Lambda ends the invocation; None for no end.
    """

    left_ms: Callable[[], int] | None = None

    def has(self, needed_ms: int = BEGIN_MS) -> bool:
        """Return whether there is more time than this."""
        return self.left_ms is None or self.left_ms() > needed_ms

    def longest_pause_s(self) -> float:
        """Return how long a pause may last."""
        if self.left_ms is None:
            return 0.0
        return max(0.0, (self.left_ms() - ANSWER_MS) / 1000)


def time_of(context: object) -> InvocationTime:
    """Return the time of an invocation, by the context that Lambda hands over."""
    return InvocationTime(getattr(context, "get_remaining_time_in_millis", None))


MAX_TRIES: Final = 5
"""Tries of a record that our own code or a hook fails on; then it is set aside."""

PATIENCE: Final = 50
"""Tries of a record that AWS does not take, with a pause after each: about ten minutes."""

LONGEST_OUTAGE_MS: Final = 2 * 3_600_000
"""Age of a record until which it is not set aside if AWS took no other one of its batch either."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Says why a record failed, and after how many tries it is set aside.

    :ivar is_refused: whether AWS refused it, which is mostly an outage, and passes.
    :ivar is_outage: whether AWS refused all others, too: then its age counts as well.
    """

    reason: str
    tries: int = MAX_TRIES
    is_refused: bool = False
    is_outage: bool = False

    def is_over(self, tries: int, age_ms: int) -> bool:
        """Return whether a record has been tried for long enough."""
        return tries >= self.tries and not (self.is_outage and age_ms < LONGEST_OUTAGE_MS)


Failed = dict[str, Trouble | None]
"""Records that must come again, by number; None for one that only waits for an earlier one."""


def refused(reason: str, *, is_outage: bool = False) -> Trouble:
    """Return the trouble of a record that AWS did not take."""
    return Trouble(reason, PATIENCE, is_refused=True, is_outage=is_outage)


def trouble_of(problem: Exception) -> Trouble:
    """Return the kind of an error: errors of AWS pass, errors of ours do not."""
    return refused(repr(problem)) if isinstance(problem, OjsError) else Trouble(repr(problem))


MAX_REMEMBERED: Final = 20_000


class Recent:
    """Holds a set that forgets its oldest members beyond a maximum."""

    def __init__(self, size: int = MAX_REMEMBERED) -> None:
        """Start empty."""
        self._members: dict[str, None] = {}
        self._size = size

    def __contains__(self, member: str) -> bool:
        """Return whether a member is remembered."""
        return member in self._members

    def update(self, members: Iterable[str]) -> None:
        """Remember members."""
        self._members |= dict.fromkeys(members)
        while len(self._members) > self._size:
            del self._members[next(iter(self._members))]

    def forget(self, member: str) -> None:
        """Forget a member."""
        self._members.pop(member, None)


class Memory:
    """Remembers how far events and messages have got, and how often records were tried."""

    def __init__(self) -> None:
        """Start empty."""
        self.sent = Recent()
        self.logged = Recent()
        self.announced = Recent()
        self.hooked = Recent()
        self.given_up = Recent()
        self.counted = Recent()
        self.tallied = Recent()
        self.deleted = Recent()
        self.listed = Recent()
        self.released = Recent()
        self._tries: dict[str, int] = {}

    def tried(self, number: str) -> int:
        """Count a failed try of a record; return how many there were."""
        if len(self._tries) > MAX_REMEMBERED:
            self._tries.clear()
        self._tries[number] = self._tries.get(number, 0) + 1
        return self._tries[number]

    def begin_again(self, number: str) -> None:
        """Treat a record as never tried; how far its events got is kept."""
        self.given_up.forget(number)
        self._tries.pop(number, None)


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
            outcome = self._handle(records, time, use)
        except Exception:
            self._pause(time)
            raise
        if outcome.is_refused and outcome.first_failed is not None:
            self._pause(time)
        return outcome

    def _handle(
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
