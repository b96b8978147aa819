"""Many processes over one AWS in memory, under one fault profile, driven action by action.

An action is a kind and a number from which all its chance comes; so a run is a list of actions,
and any part of that list is a run, too.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, Self, TypeVar
from unittest import mock

from ojs_aws.adapters.dynamodb.columns import read_count
from ojs_aws.adapters.dynamodb.cron import PARTITION as CRON
from ojs_aws.adapters.dynamodb.events.chunks import PARTITION as EVENTS
from ojs_aws.adapters.dynamodb.events.chunks import chunk_events
from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.adapters.dynamodb.jobs.lists import LIMITED, PAUSED
from ojs_aws.adapters.dynamodb.names import DEPTHS, GPK
from ojs_aws.adapters.dynamodb.queues.depths import JOBS
from ojs_aws.adapters.dynamodb.queues.line_marks import PREFIX as LINES
from ojs_aws.adapters.sqs import MessageQueue
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.events import Event
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.limits import Bucket, queue_key
from ojs_aws.domain.queues import ReceivedMessage
from ojs_aws.domain.runtime import InOrder
from ojs_aws.memory_aws.calls import Answer, Call, Calls
from ojs_aws.memory_aws.items import Item
from ojs_aws.memory_aws.table import Key, MemoryTable
from ojs_aws.testing.deployment import CountingIds, FakeClock, counting
from ojs_aws.topology import cron_queue_name, is_streamed, sqs_queue_name
from tests.simulation.account import (
    Account,
    SimulatedBus,
    label_of,
    partitions_of,
    refused,
)
from tests.simulation.chains import Chain
from tests.simulation.channels import Channels, QueueHooks, SimulatedSqs
from tests.simulation.depths import SimulatedDepths
from tests.simulation.fault_profile import FaultProfile, Mishap
from tests.simulation.faults import ProcessDiedError
from tests.simulation.processes import SETTINGS, Code, OwnClock, Process
from tests.simulation.promises import Cause, Promises
from tests.simulation.sending import Sending
from tests.simulation.stored import Stored
from tests.simulation.strands import Strand, Strands
from tests.simulation.stream import SimulatedStream

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


class EitherFirst(InOrder):
    """Two calls side by side: either may be the first.

    :ivar chance: where the seed's random numbers come from.
    """

    def __init__(self, chance: Callable[[], random.Random]) -> None:
        self._chance = chance

    def both(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
        """Make both calls, the second one first in half of all cases."""
        if self._chance().random() < 0.5:
            return first(), second()
        later = second()
        return first(), later


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
        self._late: list[tuple[int, Cause, Call, Callable[[], Answer]]] = []
        self._causes: list[Cause] = []
        self._call: Call | None = None
        self.stored = Stored()
        self.promises = Promises(
            lambda: self.clock.at, self.stored.jobs, lambda: self.cause, profile.skew_ms
        )
        self.promises.is_held = self._is_held
        self.promises.is_limited = self._is_limited
        self.promises.is_staged = profile.transaction < 100
        self._most_lag_ms = profile.lag_ms if profile.lags else 0
        self.stream = SimulatedStream(lambda: self.chance)
        self.depths = SimulatedDepths(self.promises, self.stream.unpublished_ends)
        self.sending = Sending(
            lambda: self.clock.at,
            self.stored.jobs,
            self._sender,
            self._is_in_open_batch,
            lambda queue: self.stored.paused_at.get(queue, (0, 0))[0],
            lambda problem: self.promises.breach(f"{problem}; by {self.cause}"),
        )
        # Lambda workers have declared queues; a poller's queue may be made on its first use.
        settings = replace(SETTINGS, queues=QUEUES if profile.heals_by_messages else QUEUES[:1])
        if profile.lines > 1:
            wide = tuple((queue, profile.lines) for queue in QUEUES)
            settings = replace(settings, wide_queues=wide)
        hooks = QueueHooks(
            chance=lambda: self.chance,
            profile=lambda: self.profile,
            sent=self.sending.sent,
            chain=self._chain,
        )
        names = {sqs_queue_name(settings.queue_prefix, queue): queue for queue in QUEUES}
        calls = Calls(lambda: self.clock.at)
        sqs = SimulatedSqs(calls, hooks=hooks, names=names)
        self.bus = SimulatedBus(calls, refuses=lambda: self.chance.random() < self.profile.mishaps)
        self.account = Account(
            settings.table, sqs, self.bus, lambda: self.clock.at, self._gate, self._written
        )
        settings = replace(settings, queue_url_prefix=self.account.deploy(settings))
        self.table.index.lag_ms = self._lag
        self.ids = CountingIds()
        self.code = Code(settings=settings, ids=self.ids, parallel=EitherFirst(lambda: self.chance))
        self.looking = self.code.backend(self.account.looking, self.clock)
        self.batches = self.looking.stores.batches()
        self.messages = Channels(
            MessageQueue(
                self.account.looking.sqs, settings.queue_prefix, settings.queue_url_prefix
            ),
            sqs,
            cron_queue_name(settings.queue_prefix),
        )
        if profile.bound:
            self.looking.stores.depths().begin(BOUNDED, 0)
            self.looking.queues.config.change(BOUNDED, {"max_size": profile.bound})
            self.depths.bounds[BOUNDED] = profile.bound
        self.processes: list[Process] = []
        self._patches = ExitStack()
        self._new_token = counting("write")

    @property
    def table(self) -> MemoryTable:
        """The table of the deployment."""
        return self.account.aws.table(self.account.table_name)

    # ------------------------------------------------------------------ being one
    def __enter__(self) -> Self:
        """Keep everything in this process's threads, and silent."""
        self._patches.enter_context(
            mock.patch("ojs_aws.middleware.synchronous.run_in_loop", _run_here)
        )
        self._patches.enter_context(
            mock.patch("ojs_aws.services.jobs.new_jobs.MAX_TRANSACTION", self.profile.transaction)
        )
        for module in ("ojs_aws.bootstrap", "ojs_aws.bootstrap.adapters"):
            self._patches.enter_context(mock.patch(f"{module}.write_token", self._new_token))
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

    # ------------------------------------------------------------------ what the table reports
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

    def _written(
        self, record: dict[str, Any], key: Key, old: Item | None, new: Item | None
    ) -> None:
        """An item of the table was written."""
        partition, sort = key
        if partition == DEPTHS:
            jobs = None if new is None else read_count(new, JOBS)
            is_corrected = self._call is None or "SET" in self._call.request.get(
                "UpdateExpression", ""
            )
            self.depths.written(sort, jobs, is_corrected=is_corrected)
        if partition.startswith(LINES) and sort.endswith((PAUSED, LIMITED)):
            queue, when = partition.removeprefix(LINES), (self._count, self.clock.at)
            stored, is_shown = self.stored, new is not None and GPK in new
            mark = stored.mark_limited if sort.endswith(LIMITED) else stored.mark_paused
            mark(queue, sort, when, is_shown=is_shown)
        if not is_streamed(partition, sort):
            return
        before = None if old is None else read_image(old)
        after = None if new is None else read_image(new)
        self.stored.write(partition, sort, before, after, (self._count, self.clock.at))
        if isinstance(before or after, JobRecord):
            self._job_written(after or before, before, after)
        elif isinstance(after, Bucket):
            was = before if isinstance(before, Bucket) else None
            self.promises.bucket_written(was, after)
        elif partition == CRON:
            self._is_changed()
            if after is None:
                self.promises.cron_removed(sort)
        self.stream.write(record, before, after)

    def _job_written(self, job: Any, before: Any, after: Any) -> None:
        self._is_changed()
        self.promises.job_written(job.id, before, after)
        jobs = self.stored.jobs.values()
        for problem in self.profile.configs.problems(before, after, jobs):
            self.promises.breach(f"job {job.id[-4:]}: {problem}; by {self.cause}")
        if self.is_traced:
            states = " -> ".join(
                f"{each.state}/{each.attempt}" if each else "-" for each in (before, after)
            )
            self.say(f"    job {job.id[-4:]}: {states}")

    def _is_held(self, queue: str) -> bool:
        """Whether the index showed that a queue was paused before the request began that writes.

        A wide queue is paused when all its lines say so: a request that dies before was not
        answered, and the sweep completes it.
        """
        acting, info = self._acting, self.stored.queues.get(queue)
        if acting is None or info is None or info.paused_at is None:
            return False
        if len(self.stored.paused_lines.get(queue, ())) < self.profile.lines - 1:
            return False
        return self._was_shown(acting, self.stored.paused_at[queue])

    def _is_limited(self, queue: str) -> bool:
        """Whether the index showed that a queue has a limit before the request began that writes.

        As of a pause: all lines of a wide queue have to say so.
        """
        acting, key = self._acting, queue_key(queue)
        bucket = self.stored.buckets.get(key)
        if acting is None or bucket is None or not bucket.override:
            return False
        if len(self.stored.limited_lines.get(queue, ())) < self.profile.lines - 1:
            return False
        return self._was_shown(acting, self.stored.limited_at[key])

    def _was_shown(self, acting: Operation, since: tuple[int, int]) -> bool:
        """Whether the index showed what was written then, when a request began."""
        number, at = since
        return number < acting.number and at + self._most_lag_ms <= acting.ends_at - LONGEST_MS

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
        clock = OwnClock(self.clock, self.chance.randint(-skew // 2, skew // 2))
        backend = self.code.backend(
            self.account.clients,
            clock,
            leaves_messages=self.chance.random() < self.profile.leaves_messages,
            lists_late=self.chance.random() < self.profile.lists_late,
        )
        process = Process(f"p{self._names}", clock, backend)
        self.processes.append(process)
        return process

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

    def _gate(self, call: Call, effect: Callable[[], Answer]) -> Answer:
        """One call of a process, or what the fault profile makes of it."""
        operation = self._acting
        if operation is None:
            return effect()
        operation.label = call.operation
        if operation.strand.calls_left <= 0:
            operation.strand.stop()
        operation.strand.calls_left -= 1
        if operation.is_killed or self.clock.at > operation.ends_at:
            raise ProcessDiedError
        self.steps += 1
        if self.chance.random() >= self.profile.mishaps:
            return self._made(operation, call, effect)
        return self._with_mishap(operation, call, effect)

    def _made(self, operation: Operation, call: Call, effect: Callable[[], Answer]) -> Answer:
        if self.is_traced:
            who = f"{operation.number} {operation.cause.kind} {operation.process.name}"
            self.say(f"{who}: {label_of(call)}")
        made = self._carried_out(call, effect)
        if call.operation.startswith("DeleteMessage"):
            self.sending.replaced(operation.process.name)
        return made

    def _carried_out(self, call: Call, effect: Callable[[], Answer]) -> Answer:
        self._call = call
        if call.operation == "PutItem":
            self.sending.puts(partitions_of(call))
        try:
            return effect()
        finally:
            self._call = None
            self.promises.after_call()

    def _with_mishap(
        self, operation: Operation, call: Call, effect: Callable[[], Answer]
    ) -> Answer:
        mishap = self.chance.choice(self.profile.kinds)
        if self.is_traced:
            name = operation.process.name
            self.say(f"{operation.number} {name}: {label_of(call)} {mishap.value}")
        if mishap is Mishap.DIES_BEFORE:
            raise ProcessDiedError
        if mishap is Mishap.LATE:
            self._late.append((operation.ends_at, operation.cause, call, effect))
        elif mishap in {Mishap.ANSWER_LOST, Mishap.DIES_AFTER}:
            self._made(operation, call, effect)
            if mishap is Mishap.DIES_AFTER:
                raise ProcessDiedError
        self._note_mishap(operation, call)
        if mishap is Mishap.FAILS and self.chance.random() < 0.5:
            raise refused(call, "ThrottlingException", 400)
        raise refused(call, "InternalServerError", 500)

    def _note_mishap(self, operation: Operation, call: Call) -> None:
        """Note what a process cannot know after a mishap."""
        is_sent = call.operation.startswith("SendMessage")
        partitions = partitions_of(call)
        if is_sent or CRON in partitions:
            self.sending.is_uncertain(operation.process.name)
        if is_sent or call.operation.startswith("DeleteMessage"):
            self.sending.left(operation.process.name)
        if DEPTHS in partitions and operation.cause.kind == "stream":
            self.depths.misses += 1

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
        until, cause, call, effect = self._late.pop(self.chance.randrange(len(self._late)))
        if self.clock.at > until:
            return
        self.say(f"late: {label_of(call)} of {cause.kind}")
        self._causes.append(cause)
        try:
            self._carried_out(call, effect)
        except Exception as problem:  # noqa: BLE001 - nobody is there to get it
            self.say(f"    refused: {type(problem).__name__}")
        finally:
            self._causes.pop()

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
        self.table.index.catch_up(wholly=True)

    def is_stored(self, job_id: str) -> bool:
        """Whether a job exists: in its place, or in a batch that is committed."""
        return job_id in self.stored.jobs or self._is_in_open_batch(job_id)

    def _is_in_open_batch(self, job_id: str) -> bool:
        return any(batch.part_of(job_id) is not None for batch in self.batches.open())

    def logged(self) -> list[Event]:
        """Return the event log from its beginning."""
        rows = self.table.items
        items = [rows.rows[position[1:]] for position in rows.positions(EVENTS)]
        return [event for item in items for event in chunk_events(item)]

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
        if not self.stored.buckets:
            return
        taken: dict[str, int] = {}
        for job in self.stored.jobs.values():
            if job.state is JobState.ACTIVE and job.reservation is not None:
                for key in job.reservation.slots:
                    taken[key] = taken.get(key, 0) + 1
        for key, bucket in self.stored.buckets.items():
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
