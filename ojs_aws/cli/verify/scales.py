"""Describes the scale of a run: the phases of its load, and what became of the jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

USED: Final = ("demo", "polled")
"""The queues of the load: a Lambda worker serves the first, requests the second."""
LAMBDA_QUEUE, POLLED_QUEUE = USED
DECLARED: Final = (LAMBDA_QUEUE,)
"""The queues of the deployment, all of which the Lambda worker serves. The other one is made at
its first use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Holds one step of the load.

    :ivar rate: jobs a second.
    :ivar seconds: how long it lasts.
    :ivar polled: the share of jobs that requests fetch; a Lambda worker gets the others.
    """

    rate: int
    seconds: int
    polled: float

    @property
    def jobs(self) -> int:
        """Return how many jobs there are."""
        return self.rate * self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Says how much a run does.

    :ivar is_judged: whether figures of the load must be as documented.
    :ivar judged_phase: the phase of which they are judged: workers of both kinds are busy in it.
    :ivar every_case: of the conformance cases every one of so many runs.
    :ivar cron_s: for how long a cron job of every second is watched.
    :ivar revoked_s: for how long a revoked key is watched.
    :ivar workers: how many workers poll during the load.
    :ivar at_once: pushes that may wait for their answers at the same time.
    :ivar settle_s: for how long nothing is sent before and after the load.
    :ivar metrics_s: how long CloudWatch may take to publish what was done.
    """

    name: str
    phases: Sequence[Phase]
    is_judged: bool
    judged_phase: int
    every_case: int
    cron_s: int
    revoked_s: int
    workers: int
    at_once: int
    settle_s: int
    metrics_s: int


FULL: Final = Scale(
    name="full",
    phases=(
        Phase(rate=1, seconds=180, polled=0.5),
        Phase(rate=50, seconds=240, polled=0.5),
        Phase(rate=300, seconds=180, polled=0.0),
    ),
    is_judged=True,
    judged_phase=1,
    every_case=1,
    cron_s=60,
    revoked_s=305,
    workers=16,
    at_once=256,
    settle_s=60,
    metrics_s=300,
)
SMALL: Final = Scale(
    name="small",
    phases=(Phase(rate=1, seconds=6, polled=0.5), Phase(rate=10, seconds=6, polled=0.5)),
    is_judged=False,
    judged_phase=1,
    every_case=20,
    cron_s=10,
    revoked_s=0,
    workers=2,
    at_once=4,
    settle_s=0,
    metrics_s=0,
)
SCALES: Final = {scale.name: scale for scale in (FULL, SMALL)}


@dataclass(frozen=True, slots=True)
class Sent:
    """Holds a push: the phase's number, the queue, and the milliseconds until its answer."""

    phase: int
    queue: str
    answered_ms: float


@dataclass(slots=True, kw_only=True)
class Loaded:
    """Says what the load did.

    :ivar since: when it began (seconds since 1970); likewise ``until``, when all had ended.
    :ivar sent: the pushes by the ids of their jobs.
    :ivar refused: what was answered to pushes that were not taken.
    :ivar killed: the jobs that a worker claimed and never reported.
    :ivar empty_polls: fetches that found nothing.
    :ivar lag: how late the stream's consumer was when the last job had been pushed, in words.
    :ivar functions: the megabytes of each function that ran, by its name.
    :ivar log_groups: where they and the gateway logged.
    :ivar events: type and instant (milliseconds) of each job's events, in the order of the log.
    """

    phases: Sequence[Phase]
    since: float = 0.0
    until: float = 0.0
    sent: dict[str, Sent] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    killed: set[str] = field(default_factory=set)
    acknowledged: set[str] = field(default_factory=set)
    empty_polls: int = 0
    lag: str = ""
    functions: Mapping[str, int] = field(default_factory=dict)
    log_groups: Sequence[str] = ()
    events: Mapping[str, Sequence[tuple[str, float]]] = field(default_factory=dict)

    def of(self, queue: str) -> dict[str, Sent]:
        """Return the pushes to a queue."""
        return {job_id: sent for job_id, sent in self.sent.items() if sent.queue == queue}

    def waits_ms(self, queue: str, phase: int) -> list[float]:
        """Return the milliseconds from each push to its start, by the server's clocks, sorted.

        Jobs of killed workers are left out, and the first tenth of the phase, in which functions
        start for the first time.
        """
        found = []
        pushed = [job_id for job_id, sent in self.of(queue).items() if sent.phase == phase]
        for job_id in {*pushed[len(pushed) // 10 :]} - self.killed:
            at = dict(reversed(self.events.get(job_id, ())))  # the first of each type
            if "job.enqueued" in at and "job.started" in at:
                found.append(at["job.started"] - at["job.enqueued"])
        return sorted(found)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which that share of the sorted values is; 0 for none."""
    return values[min(len(values) - 1, int(len(values) * share))] if values else 0.0
