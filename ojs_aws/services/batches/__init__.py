"""Stores any number of jobs, all or none (core, section 7.1; decision 24).

The jobs are written to a log that nobody reads. One record, written once, says that the batch is
committed: from then on its jobs exist. They are put into their places one by one; whoever misses
one meanwhile puts it there, and the sweep does so for a batch whose process died.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.attributes import at_index
from ojs_aws.domain.conflicts import BatchDecidedError, id_taken
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.batches import OpenBatch, mark_of
from ojs_aws.services.batches.roll_forward import RollForward

if TYPE_CHECKING:
    from ojs_aws.services.unique import Admitted, Same, WantedJob

MAX_ATTEMPTS: Final = 8
"""How often a batch is begun again because others wanted its uniqueness keys meanwhile."""


@dataclass(frozen=True, slots=True)
class BatchPush(RollForward):
    """Stores batches of any size; the roll-forward after the commit is inherited."""

    def store_all(self, wanted: Sequence[WantedJob], same: Same) -> list[Admitted]:
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
        from ojs_aws.services.unique.batches import KeyReservation  # large batches only

        records = [each.record for each in wanted]
        self.store.check_new(records)
        name = _name(records)
        for attempt in range(MAX_ATTEMPTS):
            if known := self._known(wanted, name, same):
                return known
            batch_id = f"{name}-{attempt}"
            is_decided = partial(self._is_decided, batch_id)
            reserving = KeyReservation(self.unique(), batch_id, same, is_decided)
            try:
                plan = reserving.plan(wanted, self.parallel)
            except BatchDecidedError:
                continue
            now, staged = self.clock.now(), plan.staged
            if not staged:
                return plan.lets({})
            if any(each.record.sequence for each in staged):
                staged = self.sequence_batches().announce(batch_id, staged)
            token = self.batches.token()
            batch = OpenBatch(
                id=batch_id,
                token=token,
                committed_at=now,
                sizes=self.batches.stage(batch_id, token, staged),
                marks=b"".join(mark_of(each.record.id) for each in staged),
            )
            decision = self.batches.decide(batch_id, batch, now)
            if decision.token == token:
                return plan.lets(self.begin(batch, staged))
        raise BackendError(
            "Too many requests want the same jobs or uniqueness keys at once.",
            hint="Repeat the request.",
        )

    def _is_decided(self, batch_id: str) -> bool:
        """Return whether a batch is committed or given up."""
        return self.batches.decided(batch_id) is not None

    def _known(self, wanted: Sequence[WantedJob], name: str, same: Same) -> list[Admitted]:
        """Return the jobs of a batch that is stored already; none if no id is taken.

        :raises DuplicateError: some ids are taken and others are not, or by other jobs.
        """
        from ojs_aws.services.unique import Admitted

        ids = [each.record.id for each in wanted]
        # Looked for in this order: the jobs of a batch that is not open any more are stored.
        for batch in self.batches.open():
            if batch.holds_any(ids):
                self.roll_forward(batch, lambda: False, set())
        stored = self.store.load_many(ids)
        if not stored:
            return []
        is_whole = len(stored) == len(ids) or self._was_committed(name)
        lets: list[Admitted] = []
        for index, each in enumerate(wanted):
            found = stored.get(each.record.id)
            with at_index(index):
                if found is not None:
                    lets.append(Admitted(record=same(each.record, found)))
                    if not is_whole:
                        raise id_taken(found)
                elif is_whole:  # a duplicate that was ignored then
                    holder = self.unique().holder(each.record.unique_key)
                    lets.append(
                        Admitted(record=holder or each.record, is_duplicate=holder is not None)
                    )
        return lets

    def _was_committed(self, name: str) -> bool:
        """Return whether a batch of exactly these ids was committed in the last days."""
        for attempt in range(MAX_ATTEMPTS):
            decision = self.batches.decided(f"{name}-{attempt}")
            if decision is None or decision.is_committed:
                return decision is not None
        return False


def _name(records: Sequence[JobRecord]) -> str:
    """Return the name of a batch: the same jobs have the same one."""
    ids = "\n".join(record.id for record in records)
    return hashlib.sha256(ids.encode()).hexdigest()[:32]
