"""Storing any number of jobs, all or none (core, section 7.1; decision 24).

The jobs are written to a log that nobody reads. One record, written once, says that the batch is
committed: from then on its jobs exist. They are put into their places one by one; whoever misses
one meanwhile puts it there, and the sweep does so for a batch whose process died.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from ojs_aws.domain import lifecycle
from ojs_aws.domain.errors import BackendError, DuplicateError, OjsError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import AlreadyStoredError, Batches, OpenBatch, StagedJob
from ojs_aws.ports.batches import LogLostError, mark_of
from ojs_aws.services.batch_faults import at_index
from ojs_aws.services.batch_report import Rolled
from ojs_aws.topology import MAX_DELAY_S

if TYPE_CHECKING:
    from ojs_aws.ports import Clock, JobStore
    from ojs_aws.services.unique import Let, Same, Uniqueness, Wanted
    from ojs_aws.services.waking import Waking

A = TypeVar("A")
B = TypeVar("B")

MAX_ATTEMPTS: Final = 8
"""How often a batch is begun again because others wanted its uniqueness keys meanwhile."""

BUDGET_MS: Final = 10_000
"""How long a request puts jobs into their places; what is left is the sweep's."""

QUIET_MS: Final = 30_000
"""Batches committed since are left to the process that committed them."""

GIVE_UP_MS: Final = 3_600_000
"""A batch of whose log something is gone is given up after this time: until then somebody may
restore it."""

READ_AT_ONCE: Final = 100

_log = logging.getLogger(__name__)


class Spread(Protocol):
    """Calls a function for each item, possibly several at a time, and waits for all."""

    def __call__(self, call: Callable[[A], B], items: Sequence[A]) -> Iterable[B]:
        """The answers, in the order of the items."""


def in_order(call: Callable[[A], B], items: Sequence[A]) -> Iterable[B]:
    """The simplest :class:`Spread`."""
    return [call(item) for item in items]


@dataclass(frozen=True, slots=True)
class Placed:
    """A job of a committed batch that is in its place.

    :ivar record: the job that there is; None when it was put there before, and is gone.
    :ivar is_update: another job has its arguments and metadata now.
    :ivar replaced: the job that was cancelled for it, as it was before.
    """

    record: JobRecord | None
    is_update: bool = False
    replaced: JobRecord | None = None


@dataclass(frozen=True, slots=True)
class Batching:
    """Stores batches of any size.

    :ivar unique: what lets in jobs with a unique policy; asked for with the first of them.
    :ivar note: told of jobs before any of them can begin.
    """

    store: JobStore
    batches: Batches
    waking: Waking
    clock: Clock
    unique: Callable[[], Uniqueness]
    note: Callable[[Sequence[JobRecord]], None]
    spread: Spread = in_order

    # ------------------------------------------------------------------ storing
    def store_all(self, wanted: Sequence[Wanted], same: Same) -> list[Let]:
        """Store jobs, all or none.

        The same request again finds the jobs that it made. Two requests with the same ids, at the
        same time, have the same batch: one of them commits it.

        :param same: the stored job with the id of a wanted one, if it is that; raises if not.
        :returns: what became of each, in order.
        :raises DuplicateError: an id is taken, or a job is kept out by its policy; the index in
            the details, and nothing is stored.
        :raises PayloadTooLargeError: a job does not fit the table; nothing is stored.
        :raises BackendError: nobody knows whether the batch is stored; the same request again
            finds out.
        """
        from ojs_aws.services.unique_batches import Reserving  # noqa: PLC0415 - large batches only

        records = [each.record for each in wanted]
        self.store.check_new(records)
        name = _name(records)
        for attempt in range(MAX_ATTEMPTS):
            if known := self._known(wanted, name, same):
                return known
            batch_id = f"{name}-{attempt}"
            reserving = Reserving(self.unique(), batch_id, same)
            plan = reserving.plan(wanted, self.spread)
            now = self.clock.now()
            if not plan.staged:
                return plan.lets({})
            token = self.batches.token()
            batch = OpenBatch(
                id=batch_id,
                token=token,
                committed_at=now,
                sizes=self.batches.stage(batch_id, token, plan.staged),
                marks=b"".join(mark_of(staged.record.id) for staged in plan.staged),
            )
            decision = self.batches.decide(batch_id, batch, now)
            if decision.token == token:
                return plan.lets(self._begin(batch, plan.staged))
        raise BackendError(
            "Too many requests want the same jobs or uniqueness keys at once.",
            hint="Repeat the request.",
        )

    def _known(self, wanted: Sequence[Wanted], name: str, same: Same) -> list[Let]:
        """The jobs of a batch that is stored already; none when no id is taken.

        :raises DuplicateError: some ids are taken and others are not, or by other jobs.
        """
        from ojs_aws.services.unique import Let  # noqa: PLC0415

        ids = [each.record.id for each in wanted]
        # Looked for in this order: the jobs of a batch that is not open any more are stored.
        for batch in self.batches.open():
            if batch.holds_any(ids):
                self.roll_forward(batch, _never)
        stored = self.store.load_many(ids)
        if not stored:
            return []
        is_whole = len(stored) == len(ids) or self._was_committed(name)
        lets: list[Let] = []
        for index, each in enumerate(wanted):
            found = stored.get(each.record.id)
            with at_index(index):
                if found is not None:
                    lets.append(Let(record=same(each.record, found)))
                    if not is_whole:
                        raise _taken(found.id)
                elif is_whole:  # a duplicate that was ignored then
                    holder = self.unique().holder(each.record.unique_key)
                    lets.append(Let(record=holder or each.record, is_duplicate=holder is not None))
        return lets

    def _was_committed(self, name: str) -> bool:
        """Whether a batch of these very ids was committed in the last days."""
        for attempt in range(MAX_ATTEMPTS):
            decision = self.batches.decided(f"{name}-{attempt}")
            if decision is None or decision.is_committed:
                return decision is not None
        return False

    # ------------------------------------------------------------------ putting jobs into place
    def _begin(self, batch: OpenBatch, staged: Sequence[StagedJob]) -> dict[str, Placed]:
        """Put the jobs of a batch that was just committed into their places.

        Whatever goes wrong now, the batch exists: what is left is done by others.
        """
        ends_at = self.clock.now() + BUDGET_MS
        placed: dict[str, Placed] = {}
        self.note([each.record for each in staged])
        at = 0
        try:
            for number, size in enumerate(batch.sizes):
                part = staged[at : at + size]
                placed |= self._place(part, batch)
                at += size
                if number + 1 < len(batch.sizes):
                    if self.clock.now() >= ends_at:
                        return placed
                    self.batches.advance(batch, number + 1)
            self.batches.close(batch)
        except OjsError:
            _log.warning("Batch %s is left to the sweep", batch.id, exc_info=True)
        return placed

    def roll_forward(self, batch: OpenBatch, is_over: Callable[[], bool]) -> bool:
        """Put the jobs of a committed batch into their places, going on where others stopped.

        :param is_over: whether the time for it is up; asked before each part.
        :returns: whether all are there.
        """
        for number in range(self.batches.done(batch), len(batch.sizes)):
            if is_over():
                return False
            part = self.batches.part(batch, number)
            self.note([each.record for each in part])
            self._place(part, batch)
            self.batches.advance(batch, number + 1)
        self.batches.close(batch)
        return True

    def tick(self, is_over: Callable[[], bool]) -> Rolled:
        """Roll the batches forward whose processes seem to have died.

        One of whose log something is gone is given up after an hour: what is left of it is put into
        its place, and nobody tries any more.
        """
        done = failed = lost = 0
        for batch in self.batches.open():
            now = self.clock.now()
            if batch.committed_at > now - QUIET_MS or is_over():
                continue
            try:
                try:
                    done += self.roll_forward(batch, is_over)
                except LogLostError:
                    if batch.committed_at > now - GIVE_UP_MS:
                        raise
                    lost += self._give_up(batch, is_over)
            except OjsError:
                _log.exception("Batch %s could not be rolled forward", batch.id)
                failed += 1
        return Rolled(done, failed, lost)

    def _give_up(self, batch: OpenBatch, is_over: Callable[[], bool]) -> bool:
        """Put what is left of a batch into its place, and set it aside; whether that is done.

        Where nobody knows which parts were in their places, none is put there again: its jobs may
        have been executed and removed since.
        """
        lost = 0
        try:
            begin = self.batches.done(batch)
        except LogLostError:
            begin, lost = len(batch.sizes), sum(batch.sizes)
        for number in range(begin, len(batch.sizes)):
            if is_over():
                return False
            try:
                part = self.batches.part(batch, number)
            except LogLostError:
                lost += batch.sizes[number]
                continue
            self.note([each.record for each in part])
            self._place(part, batch)
        self.batches.abandon(batch, self.clock.now())
        _log.error(
            "Batch %s was given up: up to %d of its %d jobs are lost",
            batch.id,
            lost,
            sum(batch.sizes),
        )
        return True

    def rescue(self, job_ids: Sequence[str]) -> dict[str, JobRecord]:
        """The jobs of committed batches that nobody has put into their places yet: now they are.

        :returns: by id, without those that do not exist.
        """
        jobs: dict[str, JobRecord] = {}
        for batch in self.batches.open():
            for job_id in job_ids:
                if job_id not in jobs and (job := self._found(batch, job_id)):
                    jobs[job_id] = job
        # Others may have got there, and their batches been closed, since the caller looked.
        left = [job_id for job_id in job_ids if job_id not in jobs]
        if len(left) == 1:
            there = self.store.load(left[0])
            return jobs if there is None else jobs | {there.id: there}
        return jobs | self.store.load_many(left) if left else jobs

    def _found(self, batch: OpenBatch, job_id: str) -> JobRecord | None:
        try:
            return self._rescued(batch, job_id)
        except LogLostError:  # the sweep gives the batch up; there is no such job now
            _log.warning("Something of the log of batch %s is gone", batch.id, exc_info=True)
            return None

    def _rescued(self, batch: OpenBatch, job_id: str) -> JobRecord | None:
        number = batch.part_of(job_id)
        if number is None or number < self.batches.done(batch):
            return None
        part = self.batches.part(batch, number)
        wanted = [staged for staged in part if staged.record.id == job_id]
        placed = self._place(wanted, batch).get(job_id)
        return placed.record if placed else None

    def _place(self, part: Sequence[StagedJob], batch: OpenBatch) -> dict[str, Placed]:
        """Put jobs into their places, and send their messages.

        :raises BackendError: some may not be there, or have no message.
        """

        def place(staged: StagedJob) -> Placed | OjsError:
            try:
                return self._placed(staged, batch)
            except OjsError as problem:
                return problem

        placed: dict[str, Placed] = {}
        failed: OjsError | None = None
        for staged, outcome in zip(part, self.spread(place, part), strict=True):
            if isinstance(outcome, OjsError):
                failed = failed or outcome
            else:
                placed[staged.record.id] = outcome
                if outcome.replaced is not None:
                    self.waking.forget(outcome.replaced)
        self._cover([each.record for each in placed.values() if each.record and not each.is_update])
        if failed is not None:
            raise failed
        return placed

    def _placed(self, staged: StagedJob, batch: OpenBatch) -> Placed:
        """One conditional put; a transaction for a job that takes another's place."""
        record = staged.record
        if staged.replaces:
            from ojs_aws.services.unique_batches import take_place  # noqa: PLC0415

            return take_place(self.unique(), record, batch.id)
        try:
            self.store.insert(record)
        except AlreadyStoredError as taken:
            existing = taken.existing[0]
            if (existing.created_at, existing.order) != (record.created_at, record.order):
                _log.error("Batch %s: another job took the id %s", batch.id, record.id)
            return Placed(existing)
        return Placed(record)

    def _cover(self, jobs: Sequence[JobRecord]) -> None:
        """Send the messages. Those of jobs that came late, the sweep may have passed."""
        now = self.clock.now()
        late = {
            job.id
            for job in jobs
            if job.state is JobState.SCHEDULED
            and lifecycle.wait_ms(job) > MAX_DELAY_S * 1000
            and (job.scheduled_at or now) <= Instant(now + MAX_DELAY_S * 1000)
        }
        self.waking.cover([job for job in jobs if job.id not in late], now)
        for job in jobs:
            if job.id in late:
                self.waking.cover_late(job, now)


def _never() -> bool:
    """No end of time."""
    return False


def _name(records: Sequence[JobRecord]) -> str:
    """The name of a batch: the same jobs have the same one."""
    ids = "\n".join(record.id for record in records)
    return hashlib.sha256(ids.encode()).hexdigest()[:32]


def _taken(job_id: str) -> DuplicateError:
    return DuplicateError(
        f"A job with the id '{job_id}' already exists.",
        details={"existing_job_id": job_id},
        hint="Give each job an id of its own, or leave the id out.",
    )
