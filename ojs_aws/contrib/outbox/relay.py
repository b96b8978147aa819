"""Send the committed rows of an outbox to the backend (framework adapters, 6.4)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from ojs_aws.client import Client, SyncClient
from ojs_aws.config import Settings
from ojs_aws.contrib.outbox.database import POSTGRESQL, Database, Leadership, wait_for_rows
from ojs_aws.contrib.outbox.delivery import Accepted, Delivery, OutageError, Refused
from ojs_aws.contrib.outbox.staged_jobs import DEFAULT_TABLE, Clock, WaitingRow
from ojs_aws.contrib.outbox.store import OutboxStore, Overview

logger: Final = logging.getLogger("ojs_aws.outbox")

_DAY: Final = timedelta(days=1)
_LONGEST_ROW_WAIT: Final = timedelta(minutes=5)
_PRUNE_EVERY: Final = timedelta(minutes=1)
CHANNEL: Final = "ojs_outbox"


def shortest_retention() -> timedelta:
    """Return how long a backend with default settings keeps a job that has ended, at least."""
    settings = Settings()
    spans = (settings.completed_retention_s, settings.discarded_retention_s)
    return timedelta(seconds=min(span for span in spans if span))


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayOptions:
    """Says how a relay works.

    :ivar table: of the outbox.
    :ivar batch_size: rows of one request at most.
    :ivar poll_s: seconds between two looks at an empty outbox.
    :ivar max_attempts: refusals of one row, after which it is parked.
    :ivar max_outage_wait_s: longest wait, in seconds, between two tries of a backend that is down.
    :ivar sent_retention: how long rows are kept that were sent.
    :ivar job_retention: the shortest retention of ended jobs in the backend, over all queues. A row
        whose first try is older than this, less a day, is parked: its job may have run and be gone.
    :ivar listens: whether to wait by LISTEN in PostgreSQL; a proxy would pin the connection.
    """

    table: str = DEFAULT_TABLE
    batch_size: int = 100
    poll_s: float = 1.0
    max_attempts: int = 10
    max_outage_wait_s: float = 30.0
    sent_retention: timedelta = _DAY
    job_retention: timedelta | None = None
    listens: bool = True

    @property
    def oldest_first_try(self) -> timedelta:
        """Return how old the first try of a row may be that is sent again."""
        retention = self.job_retention or shortest_retention()
        return max(retention - _DAY, retention / 2)


@dataclass(frozen=True, slots=True)
class Round:
    """Says what one look at the outbox did.

    :ivar is_leader: whether this relay may send at all; another one does, otherwise.
    :ivar outage: why the backend took no row; empty if it did.
    """

    is_leader: bool = True
    sent: int = 0
    refused: int = 0
    parked: int = 0
    outage: str = ""

    @property
    def is_idle(self) -> bool:
        """Return whether there was nothing to do."""
        return not (self.sent or self.refused or self.parked)


class Relay:
    """Sends the rows of one outbox, as their only leader, in the order of insertion.

    A row that the backend refuses by itself is tried again later, so others overtake it. While the
    backend is down, all rows keep their place.

    :ivar store: the rows, for operators.
    """

    def __init__(
        self,
        database: Database,
        options: RelayOptions | None = None,
        *,
        make_client: Callable[[], Client] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Describe the relay; nothing is opened yet.

        :param make_client: makes what sends; default: the server that ``OJS_URL`` names. Its
            middleware is passed by: the rows have come through theirs.
        :param clock: instead of the database's, in tests.
        """
        self.options = options or RelayOptions()
        self._database = database
        self.store = OutboxStore(database, self.options.table)
        self._leadership = Leadership(database, self.options.table)
        self._make_client = make_client or (lambda: Client.from_env(middleware=[]))
        self._client: SyncClient | None = None
        self._clock = clock or self.store.now
        self._pruned_at: datetime | None = None
        self._taken_at: datetime | None = None
        self._listening_on = 0
        self._stopping = threading.Event()
        self._woken = threading.Event()

    def run_round(self) -> Round:
        """Send one batch, and write down what became of it.

        :raises Exception: the database failed; nothing is lost.
        """
        if not self._leadership.take():
            return Round(is_leader=False)
        now = self._clock()
        self._prune(now)
        rows = self.store.waiting(self.options.batch_size, now)
        fresh, parked = self._park_old(rows, now)
        if not fresh:
            return Round(parked=parked)
        self.store.note_first_try(fresh, now)
        done = self._send(fresh)
        return replace(done, parked=done.parked + parked)

    def drain(self, has_time: Callable[[], bool] = lambda: True) -> Round:
        """Send all rows that are due now, and return the sums; stop at an outage.

        :param has_time: whether there is time for another batch.
        """
        total = Round()
        while has_time():
            done = self.run_round()
            total = Round(
                done.is_leader,
                total.sent + done.sent,
                total.refused + done.refused,
                total.parked + done.parked,
                done.outage,
            )
            if done.is_idle or done.outage or not done.is_leader:
                break
        return total

    def run(self) -> None:
        """Send rows until :meth:`stop` is called, whatever fails."""
        outages = 0
        while not self._stopping.is_set():
            try:
                done = self.run_round()
                outages = outages + 1 if done.outage else 0
                if done.outage:
                    logger.warning("The backend takes no rows: %s", done.outage)
                if done.is_leader and not done.outage:
                    if done.is_idle:
                        self._wait_for_rows()
                    continue
            except Exception:
                outages += 1
                logger.exception("The relay failed by its database or its settings, and goes on.")
                self._database.close()
            wait_s = min(self.options.poll_s * 2 ** max(outages - 1, 0), self._longest_wait_s)
            self._stopping.wait(wait_s)  # nobody wakes it: the backend or the database is down
        self.close()

    def wake(self) -> None:
        """Let :meth:`run` look at once, if it waits: rows were committed in this process."""
        self._woken.set()

    def stop(self) -> None:
        """Let :meth:`run` return after the batch that it sends, or within a second if it waits."""
        self._stopping.set()
        self._woken.set()

    def rest(self) -> None:
        """Give up the lead and the database's connection; the next round takes them again."""
        self._leadership.release()
        self._database.close()

    def close(self) -> None:
        """Give up the lead and all connections."""
        self.rest()
        if self._client is not None:
            self._client.close()
            self._client = None

    def overview(self) -> Overview:
        """Return what the outbox holds."""
        return self.store.overview()

    @property
    def _longest_wait_s(self) -> float:
        return max(self.options.max_outage_wait_s, self.options.poll_s)

    def _send(self, rows: list[WaitingRow]) -> Round:
        if self._client is None:
            self._client = SyncClient(client=self._make_client())
        accepted: list[Accepted] = []
        refused: list[Refused] = []
        outage = ""
        try:
            for outcome in Delivery(self._client).send(rows):
                if isinstance(outcome, Accepted):
                    accepted.append(outcome)
                else:
                    refused.append(outcome)
        except OutageError as problem:
            outage = str(problem)
        now = self._clock()
        if accepted:
            self._taken_at = now
        self.store.sent([each.row.id for each in accepted if not each.note], now)
        for each in accepted:
            if each.note:
                self.store.sent([each.row.id], now, each.note)
        parked = sum(self._refuse(each, now) for each in refused)
        return Round(True, len(accepted), len(refused) - parked, parked, outage)

    def _refuse(self, refused: Refused, now: datetime) -> bool:
        """Let a row wait, or park it; return whether it is parked.

        An error of the server counts only while it takes other rows: else it is an outage.
        """
        row = refused.row
        first = row.first_try_at or now
        is_others_turn = self._taken_at is not None and self._taken_at >= first
        is_used_up = refused.may_park and row.attempts + 1 >= self.options.max_attempts
        if refused.is_final or (is_used_up and is_others_turn):
            self._park(row, refused.error, now)
            return True
        wait = min(timedelta(seconds=2.0 ** min(row.attempts, 10)), _LONGEST_ROW_WAIT)
        self.store.refused(row, refused.error, now + wait)
        return False

    def _park_old(self, rows: list[WaitingRow], now: datetime) -> tuple[list[WaitingRow], int]:
        """Park rows that may have been sent so long ago that their job has run and is gone."""
        limit = self.options.oldest_first_try
        old = [row for row in rows if row.first_try_at and now - row.first_try_at > limit]
        for row in old:
            reason = (
                f"It was first sent at {row.first_try_at}, more than {limit} ago. If that took "
                "effect, its job may have run and be gone: so it is not sent again by itself."
            )
            self._park(row, reason, now)
        return [row for row in rows if row not in old], len(old)

    def _park(self, row: WaitingRow, reason: str, now: datetime) -> None:
        self.store.parked(row, reason, now)
        logger.error(
            "Parked job %s (%s) after %d tries: %s",
            row.written.job_id,
            row.written.job_type,
            row.attempts + 1,
            reason,
        )

    def _prune(self, now: datetime) -> None:
        if self._pruned_at is not None and now - self._pruned_at < _PRUNE_EVERY:
            return
        self.store.prune(now - self.options.sent_retention)
        self._pruned_at = now

    def _wait_for_rows(self) -> None:
        """Wait until rows may be there; at most a second at a time, so that stop() is seen."""
        if self.options.listens and self._database.dialect == POSTGRESQL:
            if not 0 < self._listening_on == self._database.connection_number:
                self._database.run(f"LISTEN {CHANNEL}", {})
                self._listening_on = self._database.connection_number
                return  # what was committed before is looked for once more
            wait_for_rows(self._database, min(self.options.poll_s, 1.0))
        else:
            self._woken.wait(self.options.poll_s)
            self._woken.clear()
