"""Shows sequences to operators, and lets a stopped one go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.attributes import not_found, wrong_state
from ojs_aws.domain.errors import NotFoundError
from ojs_aws.domain.sequences import BlockedJob, Sequence, is_over

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.sequences import Sequences
    from ojs_aws.services.sequences.advance import SequenceAdvance

SHOWN: Final = 25
"""Blocked jobs that are shown of a sequence."""


@dataclass(frozen=True, slots=True)
class SequenceState:
    """Holds a sequence and the first of its blocked jobs."""

    sequence: Sequence
    blocked: tuple[BlockedJob, ...] = ()


@dataclass(frozen=True, slots=True)
class SequenceAdmin:
    """Looks after sequences for operators."""

    sequences: Sequences
    sequence_advance: SequenceAdvance

    def get(self, tenant: str, key: str) -> SequenceState:
        """Read a sequence, by one consistent query.

        :raises NotFoundError: it is idle.
        """
        seen, blocked = self.sequences.look(tenant, key, SHOWN)
        if seen is None or not seen.job_id:
            raise _idle(key)
        return SequenceState(seen, tuple(blocked))

    def skip(self, tenant: str, key: str) -> SequenceState:
        """Let a sequence go on without its head, which was discarded.

        :returns: the sequence after; as it was, with no blocked jobs, if it is idle now.
        :raises NotFoundError: it is idle already.
        :raises ConflictError: its head has not ended: it runs, or waits.
        """
        before = self.get(tenant, key)
        job_id = before.sequence.job_id
        job = self.sequence_advance.changer.find(job_id)
        if job is not None and not is_over(job):
            message = f"Cannot skip job {job_id}: it has its turn, and is {job.state}."
            raise wrong_state("job", job_id, job.state, message, f"ojs-aws jobs cancel {job_id}")
        self.sequence_advance.advance(tenant, key, passes=job_id)
        try:
            return self.get(tenant, key)
        except NotFoundError:
            return SequenceState(before.sequence)


def _idle(key: str) -> NotFoundError:
    text = f"The sequence '{key}' is idle: it has no job that has not ended."
    return not_found("sequence", key, text)
