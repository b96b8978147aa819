"""Asking the system for something: what all users of a run have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ojs_aws.domain.errors import BackendError, OjsError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.held_job import ANY_ATTEMPT, AttemptRef, attempt_of
from ojs_aws.domain.json_text import parse_object
from tests.simulation.chains import Chain
from tests.simulation.processes import Process
from tests.simulation.promises import Cause
from tests.simulation.simulation import FAR, NOBODYS, Action, Simulation

ERRORS: Final = (
    parse_object('{"type": "Broken", "message": "it broke"}'),
    parse_object('{"type": "Fatal", "message": "for ever"}'),
    parse_object('{"type": "Broken", "message": "no", "retryable": false}'),
)
SEQUENCES: Final = ("order-1", "order-2")
KEYS: Final = ("alpha", "beta")
SLOW: Final = "slow"
LIMITS: Final[Mapping[str, Mapping[str, Any]]] = {
    "rate": {"rate": {"limit": 2, "period": "PT10S"}},
    "throttle": {"throttle": {"limit": 1, "period": "PT5S"}},
    SLOW: {"rate": {"limit": 1, "period": "PT20M"}},
}
"""What a job's limit says, by the name of its bucket."""

CRON_NAMES: Final = ("each-minute", "each-half-minute")
MAX_WORKERS: Final = 5
MAX_JOBS: Final = 60


@dataclass(frozen=True, slots=True)
class Held:
    """A job that a worker believes to hold, and what its reports say of the attempt."""

    job_id: str
    which: AttemptRef = ANY_ATTEMPT


@dataclass(eq=False)
class Worker:
    """A worker: what it believes to hold.

    :ivar beats_every_ms: what it promises; None for nothing.
    :ivar names_attempts: its reports name the attempts they are about, as those of our library do.
    :ivar sent: the reports that it has sent, each by its kind.
    """

    name: str
    beats_every_ms: int | None = None
    names_attempts: bool = False
    held: list[Held] = field(default_factory=list)
    sent: list[tuple[str, Held]] = field(default_factory=list)

    def take(self, job: JobRecord) -> None:
        """Hold a job that was fetched."""
        self.held.append(Held(job.id, attempt_of(job) if self.names_attempts else ANY_ATTEMPT))


class Asking:
    """Somebody who asks the system for something."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.workers: list[Worker] = []
        self.unanswered: list[tuple[Cause, Callable[[Process], None]]] = []
        self._count = 0

    def _next(self) -> int:
        self._count += 1
        return self._count

    # ------------------------------------------------------------------ one action
    def act(self, action: Action) -> None:
        """Do one step of a run, and check what was promised."""
        self.sim.chance.seed(action.seed)
        self.sim.say(f"# {action}")
        getattr(self, f"do_{action.kind}")()
        self.sim.check()

    def _begin(
        self,
        kind: str,
        work: Callable[[Process], None],
        *,
        worker: str = "",
        job_id: str = "",
        held: Sequence[Held] = (),
        chain: Chain = NOBODYS,
    ) -> None:
        calls = self.sim.chance.choice((0, 1, 2, 3, 5, FAR, FAR))
        named = {each.job_id: each.which.reservation_id or "" for each in held}
        cause = Cause(kind=kind, worker=worker, job_id=job_id, reservations=named)
        self.sim.begin(cause, work, calls, chain)

    def _asked(self, kind: str, work: Callable[[Process], None]) -> None:
        """A client's request; one that gets no answer may be sent again."""
        waiting = (Cause(kind=kind), work)
        self.unanswered.append(waiting)

        def once(process: Process) -> None:
            work(process)
            if waiting in self.unanswered:
                self.unanswered.remove(waiting)

        self._begin(kind, once)

    def do_repeat(self) -> None:
        """A client sends a request again that it got no answer to."""
        if self.unanswered:
            at = self.sim.chance.randrange(len(self.unanswered))
            cause, work = self.unanswered.pop(at)
            self._asked(cause.kind, work)

    # ------------------------------------------------------------------ what all do
    def _any_job(self, *states: JobState) -> str | None:
        ids = [job.id for job in self.sim.stored.jobs.values() if not states or job.state in states]
        return self.sim.chance.choice(ids[-MAX_JOBS:]) if ids else None

    def _change(self, kind: str, job_id: str | None, what: Callable[[Process, str], Any]) -> None:
        if job_id is None:
            return

        def work(process: Process) -> None:
            try:
                what(process, job_id)
            except BackendError:
                raise
            except OjsError:
                return

        self._begin(kind, work, job_id=job_id)
