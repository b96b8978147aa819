"""Many processes over one model, under one fault profile, driven action by action.

An action is a kind and a number from which all its chance comes; so a run is a list of actions,
and any part of that list is a run, too.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self, TypeVar
from unittest import mock

from ojs_aws.domain.errors import BackendError, BackendUnavailableError
from ojs_aws.domain.events import Event
from ojs_aws.domain.job import JobState
from ojs_aws.ports import QueueSettings, ReceivedMessage
from ojs_aws.testing.clock import CountingIds, FakeClock
from tests.model import (
    MemoryCron,
    MemoryEvents,
    MemoryLimits,
    MemoryMarks,
    MemorySchemas,
    MemoryTriggers,
    MemoryUniqueJobs,
    MemoryWorkers,
    MemoryWorkflows,
)
from tests.model.batches import MemoryBatches
from tests.model.indexed_jobs import IndexedStore
from tests.model.item_writes import Watched
from tests.model.queue_settings import (
    MemoryPressures,
    MemorySettings,
    MemoryTallies,
)
from tests.simulation.chains import Chain
from tests.simulation.channels import SimulatedAlarms, SimulatedQueue, SimulatedRegistry
from tests.simulation.depths import SimulatedDepths
from tests.simulation.fault_profile import FaultProfile, Mishap
from tests.simulation.faults import ProcessDiedError
from tests.simulation.processes import Model, OwnClock, Process, start
from tests.simulation.promises import Cause, Promises
from tests.simulation.sending import Sending
from tests.simulation.strands import Strand, Strands
from tests.simulation.stream import SimulatedStream
from tests.simulation.world import World

QUEUES: Final = ("default", "mail")
BOUNDED: Final = QUEUES[1]
"""The queue that has a bound where the fault profile has one."""

START: Final = 1_760_000_000_000
PROCESSES: Final = 6
FAR: Final = 1_000_000
LONGEST_MS: Final = 30_000
"""A function is ended after so long; a call that timed out takes effect before that, or never."""
NOBODYS: Final = Chain()
"""Of a request that no message of a function caused."""

A = TypeVar("A")
B = TypeVar("B")


class BrokenPromiseError(AssertionError):
    """A promise was broken; the message says which, and the trace how."""


@dataclass(frozen=True, slots=True)
class Action:
    """One step of a run: what is done, and where its chance comes from."""

    kind: str
    seed: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.seed}"


@dataclass(eq=False)
class Operation:
    """A request under way in a process.

    :ivar label: the call that it is about to make.
    """

    number: int
    cause: Cause
    process: Process
    strand: Strand
    ends_at: int
    label: str = ""
    is_killed: bool = False
    chain: Chain = NOBODYS


@dataclass
class Bus:
    """The event bus; it takes an event, or refuses it."""

    refuses: Callable[[], bool]
    taken: list[Event] = field(default_factory=list)

    def announce(self, events: Sequence[Event]) -> list[str]:
        """Take events; the ids of those that were refused."""
        refused = [event.id for event in events if self.refuses()]
        self.taken += [event for event in events if event.id not in refused]
        return refused


class Simulation:
    """The world of one run.

    :ivar steps: calls that the services made.
    :ivar trace: what happened, call by call, as long as ``is_traced``.
    """

    def __init__(self, profile: FaultProfile, *, is_traced: bool = False) -> None:
        self.profile = profile
        self.chance = random.Random(0)
        self.clock = FakeClock(START)
        self.steps = 0
        self.trace: list[str] = []
        """Ends with the first breach."""
        self.is_traced = is_traced
        self.running: list[Operation] = []
        self.strands = Strands()
        self._count = 0
        self._names = 0
        self._acting: Operation | None = None
        self._late: list[tuple[int, Cause, str, Callable[[], Any]]] = []
        self._causes: list[Cause] = []
        self.store = IndexedStore(clock=self.clock, changed=self._job_written, lag=self._lag)
        self.promises = Promises(
            lambda: self.clock.at, self.store.jobs, lambda: self.cause, profile.skew_ms
        )
        self.promises.is_held = self._is_held
        self.promises.is_staged = profile.transaction < 100
        self.stream = SimulatedStream(self.clock, lambda: self.chance)
        self.sending = Sending(
            lambda: self.clock.at,
            self.store.jobs,
            self._sender,
            self._is_in_open_batch,
            lambda queue: self.registry.paused_at.get(queue, 0),
            lambda problem: self.promises.breach(f"{problem}; by {self.cause}"),
        )
        self.messages = SimulatedQueue(
            self.clock,
            chance=lambda: self.chance,
            profile=lambda: self.profile,
            sent=self.sending.sent,
            chain=self._chain,
        )
        self.alarms = SimulatedAlarms(self.clock, chain=self._chain)
        self.events = MemoryEvents()
        self.bus = Bus(lambda: self.chance.random() < self.profile.mishaps)
        self.cron = MemoryCron(entries=Watched(self._cron_written))
        self.workflows = MemoryWorkflows(self.store, kept=Watched(self.stream.write))
        self.registry = SimulatedRegistry(
            store=self.store,
            messages=self.messages,
            count=lambda: self._count,
            written=self.stream.write,
        )
        # Lambda workers have declared queues; a poller's queue may be made on its first use.
        self.registry.declare(QUEUES if profile.heals_by_messages else QUEUES[:1])
        self.unique = MemoryUniqueJobs(self.store)
        self.ids = CountingIds()
        self.batches = MemoryBatches()
        self.settings = MemorySettings(self.store, kept=Watched(self.stream.write))
        self.tallies = MemoryTallies()
        self.depths = SimulatedDepths(
            self.store, promises=self.promises, unpublished=self.stream.unpublished_ends
        )
        if profile.bound:
            members = {"max_size": profile.bound}
            self.settings.kept[BOUNDED] = QueueSettings(queue=BOUNDED, members=members, revision=1)
            self.depths.begin(BOUNDED, profile.bound)
        parts: dict[str, object] = {
            "store": self.store,
            "messages": self.messages,
            "queues": self.registry,
            "workers": MemoryWorkers(),
            "marks": MemoryMarks(),
            "events": self.events,
            "cron": self.cron,
            "alarms": self.alarms,
            "schemas": MemorySchemas(),
            "triggers": MemoryTriggers(),
            "unique": self.unique,
            "workflows": self.workflows,
            "limits": MemoryLimits(self.store),
            "batches": self.batches,
            "settings_book": self.settings,
            "depths": self.depths,
            "pressures": MemoryPressures(reports=Watched(self.stream.write)),
            "tallies": self.tallies,
            "announce": self.bus,
        }
        world = World(clock=self.clock, store=self.store, registry=self.registry)
        self.model = Model(parts, replace(world.backend.ports, ids=self.ids))
        self.processes: list[Process] = []
        self._patches = ExitStack()

    # ------------------------------------------------------------------ being one
    def __enter__(self) -> Self:
        """Keep everything in this process's threads, and silent."""
        self._patches.enter_context(
            mock.patch("ojs_aws.middleware.event_loop.run_in_loop", _run_here)
        )
        self._patches.enter_context(
            mock.patch("ojs_aws.services.jobs.new_jobs.MAX_TRANSACTION", self.profile.transaction)
        )
        self._patches.enter_context(_silence())
        return self

    def __exit__(self, *_: object) -> None:
        """End what is under way."""
        self.profile = self.profile.healed()
        for operation in [*self.running]:
            self.say(f"left: {operation.cause.kind} at {operation.label}")
            self._kill(operation)
        self.strands.close()
        self._patches.close()

    # ------------------------------------------------------------------ what the model reports
    @property
    def cause(self) -> Cause:
        """On whose behalf the present write is made."""
        if self._causes:
            return self._causes[-1]
        return self._acting.cause if self._acting else Cause()

    def _chain(self) -> Chain:
        """Return the chain of whoever sends a message now."""
        return self._acting.chain if self._acting else Chain()

    def _sender(self) -> tuple[str, str]:
        """Return the process that sends a message now, and the kind of its operation."""
        if self._causes or self._acting is None:
            return "", self.cause.kind
        return self._acting.process.name, self._acting.cause.kind

    def chain_of(self, received: Sequence[ReceivedMessage]) -> Chain:
        """Return the chain of an invocation by these messages."""
        return self.messages.chain_of(received).following(self.clock.at)

    def _is_changed(self) -> None:
        if self._acting:
            self._acting.chain = self._acting.chain.changed()

    def _job_written(self, job_id: str, before: Any, after: Any) -> None:
        self._is_changed()
        self.promises.job_written(job_id, before, after)
        self.stream.write(job_id, before, after)
        if self.is_traced:
            states = " -> ".join(
                f"{each.state}/{each.attempt}" if each else "-" for each in (before, after)
            )
            self.say(f"    job {job_id[-4:]}: {states}")

    def _is_held(self, queue: str) -> bool:
        """Whether a queue was paused before the request began that is about to write."""
        paused_at = self.registry.paused_at.get(queue)
        return (
            self._acting is not None
            and queue in self.store.paused
            and paused_at is not None
            and paused_at < self._acting.number
        )

    def _cron_written(self, name: str, before: Any, after: Any) -> None:
        self._is_changed()
        self.stream.write(name, before, after)
        if after is None:
            self.promises.cron_removed(name)

    def _lag(self) -> int:
        if self.chance.random() >= self.profile.lags:
            return 0
        return self.chance.randint(1, self.profile.lag_ms)

    def say(self, line: str) -> None:
        """Write down what happens."""
        if self.is_traced and not self.promises.broken:
            self.trace.append(line)

    # ------------------------------------------------------------------ processes
    def free_process(self, kind: str = "") -> Process:
        """Return a process that can take a request; the timer's go to one as long as it can."""
        free = [each for each in self.processes if not each.is_busy]
        if kind == "tick" and free:
            return free[0]
        if free and (len(self.processes) >= PROCESSES or self.chance.random() < 0.9):
            return self.chance.choice(free)
        skew = self.profile.skew_ms
        self._names += 1
        process = start(
            f"p{self._names}",
            OwnClock(self.clock, self.chance.randint(-skew // 2, skew // 2)),
            self.model,
            self._gate,
            self._both,
            leaves_messages=self.chance.random() < self.profile.leaves_messages,
            lists_late=self.chance.random() < self.profile.lists_late,
        )
        self.processes.append(process)
        return process

    def _both(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
        """Two calls side by side: either may be the first."""
        if self.chance.random() < 0.5:
            return first(), second()
        later = second()
        return first(), later

    # ------------------------------------------------------------------ operations
    def begin(
        self,
        cause: Cause,
        work: Callable[[Process], None],
        calls: int,
        chain: Chain = NOBODYS,
    ) -> None:
        """Begin a request, and let it make so many calls before others move.

        :param chain: how it came about, where a message invokes the function.
        """
        if problem := chain.problem(cause.kind, self.clock.at):
            self.promises.breach(problem)
        process = self.free_process(cause.kind)
        process.is_busy = True
        self._count += 1

        def run() -> None:
            try:
                work(process)
                self.sending.replaced(process.name)
            except BackendError:
                self.say(f"{operation.number} {cause.kind} failed")
                self.sending.left(process.name)
            except ProcessDiedError:
                self._bury(process)

        operation = Operation(
            self._count,
            cause,
            process,
            self.strands.begin(run),
            self.clock.at + LONGEST_MS,
            chain=chain,
        )
        self.running.append(operation)
        self.go_on(operation, calls)

    def go_on(self, operation: Operation, calls: int) -> None:
        """Let a request make some more calls.

        :raises BaseException: whatever no service may raise.
        """
        operation.strand.calls_left = calls
        self._acting = operation
        try:
            operation.strand.go_on()
        finally:
            self._acting = None
            if operation.strand.is_over:
                operation.process.is_busy = False
                self.running.remove(operation)
                self.strands.end(operation.strand)

    def _kill(self, operation: Operation) -> None:
        operation.is_killed = True
        self.go_on(operation, FAR)

    def kill_one(self) -> None:
        """A process dies in the middle of a request."""
        if self.running:
            self._kill(self.chance.choice(self.running))

    def _bury(self, process: Process) -> None:
        self.say(f"{process.name} died")
        self.sending.left(process.name)
        if process in self.processes:
            self.processes.remove(process)

    def _gate(self, label: str, call: Callable[[], Any]) -> Any:
        """One call of a service, or what the fault profile makes of it."""
        operation = self._acting
        if operation is None:
            return call()
        operation.label = label
        if operation.strand.calls_left <= 0:
            operation.strand.stop()
        operation.strand.calls_left -= 1
        if operation.is_killed or self.clock.at > operation.ends_at:
            raise ProcessDiedError
        self.steps += 1
        if self.chance.random() >= self.profile.mishaps:
            return self._made(operation, label, call)
        return self._with_mishap(operation, label, call)

    def _made(self, operation: Operation, label: str, call: Callable[[], Any]) -> Any:
        self.say(f"{operation.number} {operation.cause.kind} {operation.process.name}: {label}")
        try:
            made = call()
        finally:
            self.promises.after_call()
        if label == "Queue.delete":
            self.sending.replaced(operation.process.name)
        return made

    def _with_mishap(self, operation: Operation, label: str, call: Callable[[], Any]) -> Any:
        mishap = self.chance.choice(self.profile.kinds)
        self.say(f"{operation.number} {operation.process.name}: {label} {mishap.value}")
        if mishap is Mishap.DIES_BEFORE:
            raise ProcessDiedError
        if mishap is Mishap.LATE:
            self._late.append((operation.ends_at, operation.cause, label, call))
        elif mishap in {Mishap.ANSWER_LOST, Mishap.DIES_AFTER}:
            self._made(operation, label, call)
            if mishap is Mishap.DIES_AFTER:
                raise ProcessDiedError
        if label.startswith("Queue.send") or label == "Cron.save":
            self.sending.is_uncertain(operation.process.name)
        if label.startswith(("Queue.send", "Queue.delete")):
            self.sending.left(operation.process.name)
        if label == "Depths.add" and operation.cause.kind == "stream":
            self.depths.misses += 1
        if mishap is Mishap.FAILS and self.chance.random() < 0.5:
            raise BackendUnavailableError(f"{label}: throttled")
        raise BackendError(f"{label}: {mishap.value}")

    @contextmanager
    def acting_as(self, cause: Cause) -> Iterator[None]:
        """Within a request, act for somebody else for a while."""
        operation = self._acting
        assert operation is not None
        before, operation.cause = operation.cause, cause
        try:
            yield
        finally:
            operation.cause = before

    def late_effect(self) -> None:
        """A call that timed out takes effect after all."""
        if not self._late:
            return
        until, cause, label, call = self._late.pop(self.chance.randrange(len(self._late)))
        if self.clock.at > until:
            return
        self.say(f"late: {label} of {cause.kind}")
        self._causes.append(cause)
        try:
            call()
        except Exception as problem:  # noqa: BLE001 - nobody is there to get it
            self.say(f"    refused: {type(problem).__name__}")
        finally:
            self._causes.pop()
            self.promises.after_call()

    # ------------------------------------------------------------------ time and quiet
    def advance(self, ms: int) -> None:
        """Let time pass for everybody."""
        self.clock.advance(ms=ms)
        self.say(f"{ms} ms pass")

    def settle_down(self) -> None:
        """Nothing goes wrong any more, and what was under way ends."""
        self.say("--- the world heals")
        self.profile = self.profile.healed()
        while self.running:
            self.go_on(self.running[0], FAR)
        while self._late:
            self.late_effect()
        self.store.catch_up()

    def is_stored(self, job_id: str) -> bool:
        """Whether a job exists: in its place, or in a batch that is committed."""
        return job_id in self.store.jobs or self._is_in_open_batch(job_id)

    def _is_in_open_batch(self, job_id: str) -> bool:
        return any(batch.part_of(job_id) is not None for batch in self.batches.open())

    def check(self) -> None:
        """Raise what was broken so far.

        :raises BrokenPromiseError: the first of it.
        """
        self._check_places()
        self.depths.check(self.stream.repeated)
        if self.promises.broken:
            raise BrokenPromiseError(self.promises.broken[0])

    def _check_places(self) -> None:
        """The places that are taken in buckets are those of active jobs."""
        if not self.store.buckets:
            return
        taken: dict[str, int] = {}
        for job in self.store.jobs.values():
            if job.state is JobState.ACTIVE and job.reservation is not None:
                for key in job.reservation.places:
                    taken[key] = taken.get(key, 0) + 1
        for key, bucket in self.store.buckets.items():
            if bucket.active != taken.get(key, 0):
                self.promises.breach(
                    f"bucket {key} counts {bucket.active}, not {taken.get(key, 0)}"
                )


def _run_here(coroutine: Any) -> Any:
    """Run a coroutine in the thread that asks for it."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(coroutine)
    finally:
        loop.close()


@contextmanager
def _silence() -> Any:
    """No logging: thousands of failures are expected."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
