"""Puts the jobs of committed batches into their places, despite any interruption.

The process that committed a batch begins. Whoever misses one of its jobs, and the sweep, go on
where it stopped; each job is one conditional write, so that none is put there twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.conflicts import AlreadyStoredError, LogLostError
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.jobs.batches import OpenBatch, RollForwardReport, StagedJob, StoredJob
from ojs_aws.domain.runtime import IN_ORDER, Parallel
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import MAX_DELAY_S

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.batches import Batches
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.domain.runtime import Clock
    from ojs_aws.services.sequences.enqueue import SequenceBatches
    from ojs_aws.services.stored_jobs.messages import JobMessages
    from ojs_aws.services.unique.admit import Uniqueness

BUDGET_MS: Final = 10_000
"""How long a request puts jobs into their places; what is left is the sweep's."""

QUIET_MS: Final = 30_000
"""Batches committed since are left to the process that committed them."""

GIVE_UP_MS: Final = 3_600_000
"""A batch of whose log something is gone is given up after this time: until then somebody may
restore it."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RollForward:
    """Puts jobs into their places.

    :ivar unique: admits jobs with a unique policy; made with the first of them.
    :ivar note: is called with jobs before any of them can begin.
    :ivar sequence_batches: puts jobs into sequences; made with the first of them.
    """

    store: JobStore
    batches: Batches
    job_messages: JobMessages
    clock: Clock
    unique: Callable[[], Uniqueness]
    note: Callable[[Sequence[JobRecord]], None]
    sequence_batches: Callable[[], SequenceBatches]
    parallel: Parallel = IN_ORDER

    def begin(self, batch: OpenBatch, staged: Sequence[StagedJob]) -> dict[str, StoredJob]:
        """Put the jobs of a newly committed batch into their places.

        Whatever goes wrong now, the batch exists: what is left is done by others.
        """
        ends_at = self.clock.now() + BUDGET_MS
        placed: dict[str, StoredJob] = {}
        at = 0
        try:
            self.note([each.record for each in staged])
            for number, size in enumerate(batch.sizes):
                part = staged[at : at + size]
                placed |= self.place(part, batch)
                at += size
                if number + 1 < len(batch.sizes):
                    if self.clock.now() >= ends_at:
                        return placed
                    self.batches.advance(batch, number + 1)
            self.batches.close(batch)
        except Exception:  # whatever it was, the batch is stored
            _logger.warning("Batch %s is left to the sweep", batch.id, exc_info=True)
        return placed

    def roll_forward(self, batch: OpenBatch, is_over: Callable[[], bool], sent: set[str]) -> bool:
        """Put the jobs of a committed batch into their places, from where others stopped.

        :param is_over: whether the time for it is up; asked before each part.
        :param sent: gets the ids of these jobs, once their messages are sent.
        :returns: whether all are there.
        """
        for number in range(self.batches.done(batch), len(batch.sizes)):
            if is_over():
                return False
            part = self.batches.part(batch, number)
            self.note([each.record for each in part])
            self.place(part, batch)
            sent.update(each.record.id for each in part)
            self.batches.advance(batch, number + 1)
        self.batches.close(batch)
        return True

    def tick(self, is_over: Callable[[], bool]) -> RollForwardReport:
        """Roll the batches forward whose processes seem to have died.

        One of whose log something is gone is given up after an hour: what is left of it is put into
        its place, and nobody tries any more.
        """
        done = failed = lost = 0
        sent: set[str] = set()
        for batch in self.batches.open():
            now = self.clock.now()
            if batch.committed_at > now - QUIET_MS or is_over():
                continue
            try:
                try:
                    done += self.roll_forward(batch, is_over, sent)
                except LogLostError:
                    if batch.committed_at > now - GIVE_UP_MS:
                        raise
                    lost += self._give_up(batch, is_over, sent)
            except Exception:  # whatever it was, the other batches must have their turn
                _logger.exception("Batch %s could not be rolled forward", batch.id)
                failed += 1
        return RollForwardReport(done, failed, lost, frozenset(sent))

    def _give_up(self, batch: OpenBatch, is_over: Callable[[], bool], sent: set[str]) -> bool:
        """Put what is left of a batch into its place and set it aside; return whether that is done.

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
            self.place(part, batch)
            sent.update(each.record.id for each in part)
        self.batches.abandon(batch, self.clock.now())
        _logger.error(
            "Batch %s was given up: up to %d of its %d jobs are lost",
            batch.id,
            lost,
            sum(batch.sizes),
        )
        return True

    def rescue(self, job_ids: Sequence[str]) -> dict[str, JobRecord]:
        """Put jobs of committed batches into their places if nobody has yet, and return them.

        :returns: by id, without those that do not exist.
        """
        jobs: dict[str, JobRecord] = {}
        for batch in self.batches.open():
            for job_id in job_ids:
                if job := self._found(batch, job_id):
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
            _logger.warning("Something of the log of batch %s is gone", batch.id, exc_info=True)
            return None

    def _rescued(self, batch: OpenBatch, job_id: str) -> JobRecord | None:
        number = batch.part_of(job_id)
        if number is None or number < self.batches.done(batch):
            return None
        part = self.batches.part(batch, number)
        wanted = [staged for staged in part if staged.record.id == job_id]
        if wanted and (place := wanted[0].record.sequence):
            from ojs_aws.services.sequences.enqueue import place_all_of  # few batches have some

            sequence = wanted[0].record.tenant, place.key
            place_all_of(sequence, batch, self.batches, self.place)
            return self.store.load(job_id)
        placed = self.place(wanted, batch).get(job_id)
        return placed.record if placed else None

    def place(self, part: Sequence[StagedJob], batch: OpenBatch) -> dict[str, StoredJob]:
        """Put jobs into their places, and send their messages.

        :raises BackendError: some may not be there, or have no message.
        """
        sequenced = [each for each in part if each.record.sequence is not None]
        if sequenced:
            placed = self.sequence_batches().place(sequenced, batch.id)
            self._cover([each.record for each in placed.values() if each.record])
            part = [each for each in part if each.record.sequence is None]
            return placed | self._place(part, batch)
        return self._place(part, batch)

    def _place(self, part: Sequence[StagedJob], batch: OpenBatch) -> dict[str, StoredJob]:
        """Put jobs that are in no sequence into their places, side by side."""

        def place(staged: StagedJob) -> StoredJob | OjsError:
            try:
                return self._placed(staged, batch)
            except OjsError as problem:
                return problem

        placed: dict[str, StoredJob] = {}
        failed: OjsError | None = None
        for staged, outcome in zip(part, self.parallel.each(place, part), strict=True):
            if isinstance(outcome, OjsError):
                failed = failed or outcome
            else:
                placed[staged.record.id] = outcome
                if outcome.replaced is not None:
                    self.job_messages.end_reservation(outcome.replaced, self.clock.now())
        self._cover([each.record for each in placed.values() if each.record and not each.is_update])
        if failed is not None:
            raise failed
        return placed

    def _placed(self, staged: StagedJob, batch: OpenBatch) -> StoredJob:
        """Make one conditional put; a transaction for a job that replaces another one."""
        record = staged.record
        if staged.replaces:
            from ojs_aws.services.unique.batches import take_place

            return take_place(self.unique(), record, batch.id)
        try:
            self.store.insert(record)
        except AlreadyStoredError as taken:
            existing = taken.existing[0]
            if (existing.created_at, existing.order) != (record.created_at, record.order):
                _logger.error("Batch %s: another job took the id %s", batch.id, record.id)
            return StoredJob(existing)
        return StoredJob(record)

    def _cover(self, jobs: Sequence[JobRecord]) -> None:
        """Send the messages. The sweep may have missed those of jobs that came late."""
        now = self.clock.now()
        late = {
            job.id
            for job in jobs
            if job.state is JobState.SCHEDULED
            and deadlines.wait_ms(job) > MAX_DELAY_S * 1000
            and (job.scheduled_at or now) <= Instant(now + MAX_DELAY_S * 1000)
        }
        self.job_messages.send_for([job for job in jobs if job.id not in late], now)
        for job in jobs:
            if job.id in late:
                self.job_messages.send_late(job, now)
