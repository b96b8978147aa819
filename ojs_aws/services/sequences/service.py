"""Shows sequences to operators, says what blocked jobs wait for, and lets stopped ones go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.attributes import not_found, wrong_state
from ojs_aws.domain.errors import JsonValue, NotFoundError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.reasons import Reason, ReasonCode
from ojs_aws.domain.sequences import BlockedJob, Sequence, is_over, place_of
from ojs_aws.domain.timestamps import Instant, format_instant, span_text

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.sequences import Sequences
    from ojs_aws.services.sequences.advance import SequenceAdvance

SHOWN: Final = 25
"""Blocked jobs that are shown of a sequence."""

PICKED: Final = 100
"""Rows that are read at once where some of them are passed."""

MAX_PAGES: Final = 10
"""Pages of these that one request reads."""


@dataclass(frozen=True, slots=True)
class SequenceState:
    """Holds a sequence and the first of its blocked jobs."""

    sequence: Sequence
    blocked: tuple[BlockedJob, ...] = ()


@dataclass(frozen=True, slots=True)
class StoppedSequence:
    """Holds a stopped sequence and its discarded job; None if that is gone."""

    sequence: Sequence
    job: JobRecord | None


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
            text = f"The sequence '{key}' is idle: it has no job that has not ended."
            raise not_found("sequence", key, text)
        return SequenceState(seen, tuple(blocked))

    def stopped(
        self, limit: int, after: str = "", tenant: str | None = None, queue: str = ""
    ) -> tuple[list[StoppedSequence], str]:
        """Return stopped sequences, those stopped first at the begin, and where to go on.

        Makes a query and two reads; up to ten times as many where others are passed.

        :param after: where the page before ended.
        :param tenant: whose they are; None for everybody's.
        :param queue: the queue of their discarded jobs; empty for any.
        """
        is_picking = tenant is not None or bool(queue)
        most = max(limit, PICKED) if is_picking else limit
        found: list[StoppedSequence] = []
        for _ in range(MAX_PAGES):
            page = self.sequences.stopped.page(most, after, tenant)
            ids = [each.job_id for _, each in page.sequences]
            jobs = self.sequences.store.load_many(ids) if ids else {}
            for place, each in page.sequences:
                job = jobs.get(each.job_id)
                if queue and (job is None or job.queue != queue):
                    continue
                if len(found) == limit:
                    return found, after
                found.append(StoppedSequence(each, job))
                after = place
            if not page.cursor or len(found) == limit:
                return found, page.cursor
            after = page.cursor
        return found, after

    def skip(self, tenant: str, key: str) -> SequenceState:
        """Let a sequence go on without its head, which was discarded.

        :returns: the sequence after; as it was, with no blocked jobs, if it is idle now.
        :raises NotFoundError: it is idle already.
        :raises ConflictError: its head has not ended: it runs, or waits.
        """
        before = self.get(tenant, key)
        job_id = before.sequence.job_id
        job = self.sequence_advance.settled(self.sequence_advance.changer.find(job_id))
        if job is not None and not is_over(job):
            message = f"Cannot skip job {job_id}: it has its turn, and is {job.state}."
            raise wrong_state("job", job_id, job.state, message, f"ojs-aws jobs cancel {job_id}")
        self.sequence_advance.advance(tenant, key, passes=job_id)
        try:
            return self.get(tenant, key)
        except NotFoundError:
            return SequenceState(before.sequence)


def why_blocked(
    sequences: Sequences, job: JobRecord, now: Instant, *, names_others: bool
) -> Reason:
    """Return which job has the turn of a blocked job's sequence, by one consistent read.

    :param names_others: whether the caller may see the ids of other jobs.
    """
    place = place_of(job)
    seen = sequences.load(job.tenant, place.key)
    data: dict[str, JsonValue] = {"key": place.key, "position": place.position}
    if seen is None:
        text = f"The jobs before it in sequence '{place.key}' have ended; its turn comes now."
        return Reason(ReasonCode.IN_SEQUENCE, text, data=data)
    whom = f"job {seen.job_id}" if names_others else "another job"
    data |= {"head": seen.head} | ({"job_id": seen.job_id} if names_others else {})
    if seen.stopped_at is None:
        text = (
            f"It waits for {whom} of sequence '{place.key}', which is at position {seen.head}; "
            f"its own is {place.position}."
        )
        hint = f"ojs-aws why {seen.job_id}" if names_others else ""
        return Reason(ReasonCode.IN_SEQUENCE, text, data=data, hint=hint)
    data["stopped_at"] = format_instant(seen.stopped_at)
    text = (
        f"Its sequence '{place.key}' has been stopped for {span_text(now - seen.stopped_at)} on "
        f"{whom}, which was discarded."
    )
    hint = ""
    if names_others:
        of = f" --tenant {job.tenant}" if job.tenant else ""
        hint = f"ojs-aws jobs retry {seen.job_id}, or ojs-aws sequences skip {place.key}{of}"
    return Reason(ReasonCode.SEQUENCE_STOPPED, text, data=data, hint=hint)
