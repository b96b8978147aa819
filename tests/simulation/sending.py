"""How many messages may be sent: by the sweep for ready jobs, and by all others for one job.

A message stands for one job of its queue, whichever it names: so the sweep may name the first job
in line often, while the queue has fewer messages than jobs. Beyond that, a message too many costs
an invocation each time it comes back, and so it must have a reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from ojs_aws.adapters.dynamodb.names import job_pk
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import MAX_DELAY_S

AGAIN_MS: Final = 80_000
"""Within which a process that sweeps sends no second message for the same job: 110 s from its look
at the queue, less the 30 s that the send may come after it."""

READY_MS: Final = 55_000
"""How long a job is ready before the sweep may send for it: a minute, by clocks that differ."""

RECENT_MS: Final = 60_000
"""For how long the index, and a request under way, may take a job that has ended for a live one."""

MOST_BY_OTHERS: Final = 8
"""Messages that may name one job at a time, beside as many as sweep and stream ever sent for it."""

SWEEP: Final = "tick"
LAMBDA: Final = frozenset({"lambda", "dispatch"})
"""Operations that send messages in place of those that they received, and then delete these."""

UNBOUND: Final = frozenset({SWEEP, "stream"})
"""Operations whose messages for one job are not counted: the stream gives its records again as
often as it likes, and a message for each of them; for the sweep, the queue counts."""

Sent = tuple[str, str, int, int]


@dataclass
class Sending:
    """Watches the messages that are sent.

    :ivar now: the true time, in milliseconds.
    :ivar who: the process that sends, and the kind of its operation; no process for a call that
        takes effect when nobody waits for it any more.
    :ivar is_in_batch: whether a job is of a batch that is not finished. Whoever finishes a
        batch sends for its jobs, and again for those of a part that met an error.
    :ivar pauses: which pause of a queue was the last: what was sent before is forgotten with it.
    :ivar unbound: how many messages for a job were sent by operations that may send many.
    :ivar replacing: how many messages for a job a process has sent in place of others that it has
        not deleted yet. These others stay if it dies now: no message may be lost.
    :ivar swept: when a process has last sent a message for a job, as it stands now, in its sweep.
    :ivar put: what processes have tried to store in their ticks: the jobs of cron jobs. One that a
        process stored which died then is found, and gets its message, however long it is ready.
    """

    now: Callable[[], int]
    jobs: Mapping[str, JobRecord]
    who: Callable[[], tuple[str, str]]
    is_in_batch: Callable[[str], bool]
    pauses: Callable[[str], int]
    breach: Callable[[str], None]
    unbound: Counter[str] = field(default_factory=Counter)
    replacing: dict[str, Counter[str]] = field(default_factory=dict)
    swept: dict[Sent, int] = field(default_factory=dict)
    put: set[tuple[str, str]] = field(default_factory=set)

    def sent(self, queue: str, job_id: str, named: int, total: int) -> None:
        """A message was sent; workers that set messages aside send others in their place.

        :param named: how many messages name the job now.
        :param total: how many messages the queue has.
        """
        process, kind = self.who()
        job = self.jobs.get(job_id)
        is_put = (process, job_pk(job_id)) in self.put
        self.put.discard((process, job_pk(job_id)))
        is_swept = bool(process) and kind == SWEEP and not (is_put or self.is_in_batch(job_id))
        if is_swept and job is not None and self._is_ready_for_long(job):
            self._check_swept((process, job_id, job.version, self.pauses(queue)), queue, total)
        is_late = not process and kind in LAMBDA  # what it was to replace has stayed
        self.unbound[job_id] += kind in UNBOUND or is_late
        if process and kind in LAMBDA:
            self.replacing.setdefault(process, Counter())[job_id] += 1
        doubled = sum(each[job_id] for each in self.replacing.values())
        if named > MOST_BY_OTHERS + self.unbound[job_id] + doubled:
            self.breach(f"job {job_id[-4:]} has {named} messages")

    def puts(self, partitions: Iterable[str]) -> None:
        """A process puts items of these partitions."""
        process, kind = self.who()
        self.put |= {(process, each) for each in partitions if kind == SWEEP}

    def replaced(self, process: str) -> None:
        """A process has deleted what it sent others for, or ended without a fault."""
        self.replacing.pop(process, None)

    def left(self, process: str) -> None:
        """A fault kept a process from deleting what it sent others for."""
        self.unbound += self.replacing.pop(process, Counter())

    def _check_swept(self, key: Sent, queue: str, total: int) -> None:
        before = self.swept.get(key)
        self.swept[key] = now = self.now()
        if before is None or now - before >= AGAIN_MS:
            return
        jobs = sum(self._may_need_one(job, now) for job in self.jobs.values() if job.queue == queue)
        if total > jobs:
            self.breach(
                f"the sweep sent a message for job {key[1][-4:]} again after {now - before} ms: "
                f"{total} in queue {queue}, for {jobs} jobs"
            )

    def _is_ready_for_long(self, job: JobRecord) -> bool:
        """Whether the sweep may send for it; a tick sends, too, for what its cron jobs enqueue."""
        ready = job.enqueued_at if job.state is JobState.AVAILABLE else None
        return ready is not None and self.now() - ready >= READY_MS

    def _may_need_one(self, job: JobRecord, now: int) -> bool:
        if not job.state.is_terminal:
            reach = now + MAX_DELAY_S * 1000
            is_far = (deadlines.next_due(job) or 0) > reach and deadlines.wait_ms(job) > 0
            return job.state is not JobState.PENDING and not is_far
        ended: tuple[Instant | None, ...] = (job.completed_at, job.cancelled_at, job.discarded_at)
        return max(each or 0 for each in ended) > now - RECENT_MS

    def is_uncertain(self, process: str) -> None:
        """A process may send its messages again: it does not know whether they are sent.

        Or whether it is noted that a cron job's occurrence is enqueued: then it is pushed again.
        """
        for key in [key for key in self.swept if key[0] == process]:
            del self.swept[key]
