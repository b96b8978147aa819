"""SQS at its worst: messages repeat, come late, come in any order, and are not found at once."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import LastTick, Message, QueueInfo, QueueMissingError, ReceivedMessage
from ojs_aws.topology import MAX_RECEIVE_COUNT
from tests.model import MemoryAlarms, MemoryQueue, MemoryRegistry, MemoryStore
from tests.simulation.chains import Chain, longest
from tests.simulation.fault_profile import FaultProfile

MAX_DELAY_MS = 5_000


@dataclass
class SimulatedQueue(MemoryQueue):
    """Queues in the fault profile of a run.

    :ivar made: queues that there are.
    :ivar lost: messages that the dead-letter queue took, being received too often.
    :ivar chain: of the invocation that sends, and ``chains`` of those that have sent messages.
    :ivar sent: learns of each message its queue, the job that it names, how many name it now, and
        how many messages the queue has.
    """

    chance: Callable[[], random.Random] = random.Random
    profile: Callable[[], FaultProfile] = FaultProfile
    lost: list[Message] = field(default_factory=list)
    made: set[str] = field(default_factory=lambda: {"default"})
    sent: Callable[[str, str, int, int], None] = lambda *_: None
    chain: Callable[[], Chain] = Chain
    chains: dict[str, Chain] = field(default_factory=dict)

    def send(self, queue: str, message: Message, delay_s: int = 0) -> None:
        if queue not in self.made:
            raise QueueMissingError(queue)
        super().send(queue, message, delay_s)
        if self.chance().random() < self.profile().delays:
            newest = next(reversed(self._of(queue)))
            self._of(queue)[newest].visible_at += self.chance().randrange(MAX_DELAY_MS)
        self.chains[f"{queue}/{next(reversed(self._of(queue)))}"] = self.chain()
        named = sum(held.message.job_id == message.job_id for held in self._of(queue).values())
        self.sent(queue, message.job_id, named, len(self._of(queue)))

    def receive(
        self, queue: str, limit: int, visibility_s: int, wait_s: int = 0
    ) -> list[ReceivedMessage]:
        assert limit <= 10
        if queue not in self.made:
            return []
        chance, profile = self.chance(), self.profile()
        visible = [key for key, held in self._of(queue).items() if held.visible_at <= self.clock.at]
        chance.shuffle(visible)
        taken: list[ReceivedMessage] = []
        for key in visible:
            if len(taken) >= limit:
                break
            if chance.random() < profile.misses:
                continue
            held = self._of(queue)[key]
            held.received += 1
            if held.received > MAX_RECEIVE_COUNT:
                self.lost.append(self._of(queue).pop(key).message)
                continue
            held.handle = f"{queue}/{key}:{held.received}"
            if chance.random() >= profile.repeats:
                held.visible_at = self.clock.at + visibility_s * 1000
            taken.append(ReceivedMessage(held.message, held.handle, held.received))
        return taken

    def _find(self, queue: str, handle: str) -> int | None:
        """A message by any handle it was ever received with; the newest alone may change it."""
        key = int(handle.rpartition("/")[2].partition(":")[0])
        held = self._of(queue).get(key)
        return key if held is not None and held.handle == handle else None

    def chain_of(self, received: Sequence[ReceivedMessage]) -> Chain:
        """Return the longest chain that sent one of these messages."""
        return longest(self.chains[each.handle.rpartition(":")[0]] for each in received)

    def count(self) -> int:
        """Messages that there are, whatever they wait for."""
        return sum(map(len, self.queues.values()))


@dataclass
class SimulatedAlarms(MemoryAlarms):
    """Alarms that know the chain of who set them last, by the names of their cron jobs."""

    chain: Callable[[], Chain] = Chain
    chains: dict[str, Chain] = field(default_factory=dict)

    def set(self, name: str, delay_s: int) -> None:
        super().set(name, delay_s)
        self.chains[name] = self.chain()


@dataclass
class SimulatedRegistry(MemoryRegistry):
    """The registry, which makes the SQS queue of an undeclared queue on its first use.

    :ivar count: how many requests there were so far, and ``paused_at`` how many when a queue was
        paused.
    :ivar written: gets each tick that is remembered, and the one before, for the table's stream.
    """

    messages: SimulatedQueue | None = None
    count: Callable[[], int] = lambda: 0
    paused_at: dict[str, int] = field(default_factory=dict)
    written: Callable[[str, LastTick | None, LastTick], None] = lambda *_: None

    def remember_tick(self, tick: LastTick) -> None:
        self.written("tick", self.tick, tick)
        super().remember_tick(tick)

    def pause(self, queue: str, triggers: Sequence[str], now: Instant, by: str = "") -> QueueInfo:
        if queue not in self.store_or_fail.paused:
            self.paused_at[queue] = self.count()
        return super().pause(queue, triggers, now, by)

    @property
    def store_or_fail(self) -> MemoryStore:
        """The jobs, beside which it is written that a queue is paused."""
        assert self.store is not None
        return self.store

    def declare(self, queues: Sequence[str]) -> None:
        """Queues that the deployment has."""
        assert self.messages is not None
        self.infos = {name: QueueInfo(name=name) for name in queues}
        self.messages.made = set(queues)

    def ensure(self, queue: str, now: Instant) -> None:
        assert self.messages is not None
        self.note(queue, now)
        self.messages.made.add(queue)

    def note(self, queue: str, now: Instant) -> None:
        self.infos.setdefault(queue, QueueInfo(name=queue, created_at=now))
