"""SQS at its worst: messages repeat, come late, come in any order, and are not found at once."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ojs_aws.adapters.sqs import MessageQueue, decode_message
from ojs_aws.domain.queues import Backlog, ReceivedMessage
from ojs_aws.memory_aws.calls import Answer, Calls, Request
from ojs_aws.memory_aws.queues import MemoryQueue, StoredMessage
from ojs_aws.memory_aws.sqs import MemorySqs
from tests.simulation.chains import Chain, longest
from tests.simulation.fault_profile import FaultProfile

MAX_DELAY_MS = 5_000
AGAIN_MS = 60_000
"""After which an alarm rings again whose handling ended badly."""


@dataclass
class QueueHooks:
    """What queues ask the run for.

    :ivar sent: learns of each message its queue, the job that it names, how many name it now, and
        how many messages the queue has.
    :ivar chain: of the invocation that sends, and ``chains`` of those that have sent messages.
    """

    chance: Callable[[], random.Random] = random.Random
    profile: Callable[[], FaultProfile] = FaultProfile
    sent: Callable[[str, str, int, int], None] = lambda *_: None
    chain: Callable[[], Chain] = Chain
    chains: dict[str, Chain] = field(default_factory=dict)


@dataclass
class AlarmQueue(MemoryQueue):
    """The queue of alarms, which knows the chain of who set each."""

    hooks: QueueHooks = field(default_factory=QueueHooks)

    def send(self, body: str, delay_ms: int, attributes: dict[str, object]) -> StoredMessage:
        """Send a message."""
        message = super().send(body, delay_ms, attributes)
        self.hooks.chains[message.id] = self.hooks.chain()
        return message


@dataclass
class SimulatedQueue(AlarmQueue):
    """A queue of jobs in the fault profile of a run.

    :ivar named: the job that each message names.
    """

    queue: str = ""
    named: dict[str, str] = field(default_factory=dict)

    def send(self, body: str, delay_ms: int, attributes: dict[str, object]) -> StoredMessage:
        """Send a message, which may come later than asked for."""
        message = super().send(body, delay_ms, attributes)
        chance, profile = self.hooks.chance(), self.hooks.profile()
        if chance.random() < profile.delays:
            self._hide(message, message.visible_at + chance.randrange(MAX_DELAY_MS))
        job_id = self.named[message.id] = decode_message(body).job_id
        count = sum(self.named[each] == job_id for each in self.messages)
        self.hooks.sent(self.queue, job_id, count, len(self.messages))
        return message

    def receive(self, most: int, visibility_ms: int) -> list[StoredMessage]:
        """Receive messages in any order; some of them stay visible, and others are not found."""
        self._settle()
        chance, profile, now = self.hooks.chance(), self.hooks.profile(), self.now_ms()
        visible = [*self._visible.values()]
        chance.shuffle(visible)
        found: list[StoredMessage] = []
        for message in visible:
            if len(found) >= most:
                break
            if chance.random() < profile.misses:
                continue
            message.receives += 1
            message.received_at = now
            message.handle = f"{message.id}#{message.receives}"
            if chance.random() >= profile.repeats:
                self._hide(message, now + visibility_ms)
            found.append(message)
        return found

    def held(self, handle: str) -> StoredMessage | None:
        """Return the message of the newest handle, though others may receive it, too."""
        self._settle()
        message = self.messages.get(handle.rpartition("#")[0])
        return message if message is not None and message.handle == handle else None


@dataclass(eq=False)
class SimulatedSqs(MemorySqs):
    """SQS whose queues are unreliable.

    :ivar names: the queues of jobs, by their names in SQS; others are queues of alarms.
    """

    hooks: QueueHooks = field(default_factory=QueueHooks)
    names: dict[str, str] = field(default_factory=dict)

    def ungated(self, calls: Calls) -> SimulatedSqs:
        """Return another client of the same queues."""
        return SimulatedSqs(calls, self.queues, hooks=self.hooks, names=self.names)

    def _create(self, operation: str, request: Request) -> Answer:
        name = request["QueueName"]
        is_new = name not in self.queues
        answer = super()._create(operation, request)
        if is_new:
            made, of_jobs = self.queues[name], self.names.get(name)
            given = (name, made.attributes, self.calls.now_ms)
            self.queues[name] = (
                AlarmQueue(*given, hooks=self.hooks)
                if of_jobs is None
                else SimulatedQueue(*given, hooks=self.hooks, queue=of_jobs)
            )
        return answer


@dataclass(frozen=True)
class Channels:
    """The messages as whoever runs the simulation sees them.

    :ivar port: receives and deletes them without a fault of the call.
    :ivar sqs: the queues.
    :ivar alarms_name: the queue of alarms.
    """

    port: MessageQueue
    sqs: SimulatedSqs
    alarms_name: str

    def receive(self, queue: str, limit: int, visibility_s: int) -> list[ReceivedMessage]:
        """Receive messages, as SQS does for a function."""
        return self.port.receive(queue, limit, visibility_s)

    def delete(self, queue: str, handles: Sequence[str]) -> None:
        """Delete messages, as SQS does for a function."""
        if handles:
            self.port.delete(queue, handles)

    def backlog(self, queue: str) -> Backlog:
        """Count messages; none where there is no queue."""
        found = self.of(queue)
        return Backlog(*found.counts()) if found else Backlog()

    def of(self, queue: str) -> MemoryQueue | None:
        """Return the messages of a queue of jobs, if there is one."""
        return next(
            (q for name, q in self.sqs.queues.items() if self.sqs.names.get(name) == queue), None
        )

    def chain_of(self, received: Sequence[ReceivedMessage]) -> Chain:
        """Return the longest chain that sent one of these messages."""
        return self._longest(each.handle.rpartition("#")[0] for each in received)

    def chain_of_alarms(self, ringing: Sequence[StoredMessage]) -> Chain:
        """Return the longest chain that set one of these alarms."""
        return self._longest(each.id for each in ringing)

    def _longest(self, ids: Iterable[str]) -> Chain:
        return longest(self.sqs.hooks.chains[each] for each in ids)

    def count(self) -> int:
        """Messages of jobs that there are, whatever they wait for."""
        return sum(
            len(self.sqs.queues[name].messages)
            for name in self.sqs.names
            if name in self.sqs.queues
        )

    def ringing(self) -> list[StoredMessage]:
        """Return the alarms that ring now; each rings again unless it is ended."""
        return self.sqs.queues[self.alarms_name].receive(1_000, AGAIN_MS)

    def end(self, ringing: Sequence[StoredMessage]) -> None:
        """End alarms: they were handled."""
        for each in ringing:
            self.sqs.queues[self.alarms_name].delete(each.handle)
