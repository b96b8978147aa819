"""No wake-up is lost: messages alone bring every job to a worker, whoever meets whom.

Nothing fails here and nobody sweeps. Clients push while workers of both kinds run jobs; each
operation stops at every call to AWS, and chance decides who goes on.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.adapters.sqs import MessageQueue
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.lists import Head
from ojs_aws.domain.queues import ReceivedMessage
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.fetch.service import Claimed
from tests.simulation.processes import Gated
from tests.simulation.strands import Strand, Strands
from tests.simulation.world import World

pytestmark = pytest.mark.thorough

QUEUE = "default"
RESERVED_MS = 900_000
"""What Lambda workers reserve: no message may wait for the end of that."""

SOON_S = 10
"""Within which every job begins once all is quiet; the sweep would take a minute or more."""

LONGEST_S = 2_000
"""No reservation and no hidden message outlives this."""


@dataclass
class Crowd:
    """Clients and workers side by side, on services of one process each.

    :ivar share_long: part of the jobs that run until the end of the test.
    :ivar next_call: what the operation that stopped last is about to call.
    :ivar running: the long jobs under way: worker, job and the message to delete after it.
    """

    chance: random.Random
    share_long: float = 0.0
    world: World = field(default_factory=World)
    strands: Strands = field(default_factory=Strands)
    under_way: list[Strand] = field(default_factory=list)
    running: list[tuple[str, str, str]] = field(default_factory=list)
    names: int = 0
    next_call: str = ""

    def __post_init__(self) -> None:
        """Put the services over stores whose calls let others go first."""

        def gate(name: str, call: Callable[[], Any]) -> Any:
            if self.strands.current is not None:
                self.next_call = name
                self.strands.current.stop()
            return call()

        self.messages = cast("MessageQueue", Gated(self.world.messages, gate))
        store = cast("JobStore", Gated(self.world.store, gate))
        stores = replace(self.world.backend.stores, store=store, messages=self.messages)
        self.backend = Backend(self.world.settings, stores)

    def begin(self, work: Callable[[], None]) -> None:
        """Another operation."""
        self.under_way.append(self.strands.begin(work))

    def mingle(self) -> None:
        """Let all go on, in an order that chance decides, until all are over."""
        while self.under_way:
            strand = self.chance.choice(self.under_way)
            strand.go_on()
            if strand.is_over:
                self.under_way.remove(strand)
                self.strands.end(strand)
            if self.chance.random() < 0.05:
                self.world.clock.advance(ms=self.chance.choice((1, 30, 400)))

    # ------------------------------------------------------------------ who takes part
    def push(self, count: int) -> None:
        """A client pushes jobs, one by one or together."""
        new_id = self.world.backend.stores.ids.job_id
        priorities = self.chance.choices((0, 0, 10), k=count)
        jobs = [Job("a.b", [], priority=priority, id=new_id()) for priority in priorities]
        if self.chance.random() < 0.5:
            # Only the part that calls AWS: before it, one event loop would serve all strands.
            push = self.backend.jobs.push
            push.new_jobs._store_all([push.check(job) for job in jobs])
            return
        for job in jobs:
            self.backend.jobs.push(job)

    def _name(self) -> str:
        self.names += 1
        return f"w{self.names}"

    def poll(self, count: int) -> None:
        """A worker fetches by HTTP, and completes what it was given."""
        name = self._name()
        for job in self.backend.jobs.fetch(FetchRequest((QUEUE,), count, name)):
            if self.chance.random() < self.share_long:
                self.running.append((name, job.id, ""))
            else:
                self.backend.jobs.ack(job.id, name, None)

    def invoke(self, size: int) -> None:
        """SQS invokes a Lambda worker with a batch, if there is anything."""
        received = self.messages.receive(QUEUE, size, RESERVED_MS // 1000)
        if received:
            self._handle(received)

    def _handle(self, received: Sequence[ReceivedMessage]) -> None:
        name = self._name()
        outcomes = self.backend.jobs.fetch.claim_messages(QUEUE, received, name, RESERVED_MS)
        for each, claimed in zip(received, outcomes, strict=True):
            if claimed.record is None:
                if not claimed.keep_message:
                    self.messages.delete(QUEUE, [each.handle])
            elif self.chance.random() < self.share_long:
                self.running.append((name, claimed.record.id, each.handle))
            else:
                self.backend.jobs.ack(claimed.record.id, name, None, has_message=False)
                self.messages.delete(QUEUE, [each.handle])

    # ------------------------------------------------------------------ what must hold
    def waiting(self) -> list[str]:
        """Jobs that nobody has begun."""
        jobs = self.world.stored.jobs.values()
        return [job.id for job in jobs if job.state is JobState.AVAILABLE]

    def deliver(self, seconds: int) -> None:
        """For so long, SQS invokes Lambda workers one after another, as messages come."""
        for _ in range(seconds):
            while received := self.world.messages.receive(QUEUE, 10, RESERVED_MS // 1000):
                self._handle(received)
            self.world.clock.advance(s=1)

    def end_long(self) -> None:
        """What ran long is completed."""
        for name, job_id, handle in self.running:
            self.backend.jobs.ack(job_id, name, None, has_message=not handle)
            if handle:
                self.world.messages.delete(QUEUE, [handle])
        self.running.clear()


@pytest.mark.parametrize("share_long", [0.0, 0.3])
@pytest.mark.parametrize("pollers", [0, 3])
@pytest.mark.parametrize("most", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_messages_alone_bring_every_job_to_a_worker(
    most: int, pollers: int, share_long: float
) -> None:
    """And in the end no message is left: none is kept for nothing."""

    @settings(max_examples=most, deadline=None)
    @given(st.integers(0, 2**32))
    def meet(seed: int) -> None:
        _meet(Crowd(random.Random(seed), share_long), pollers)

    meet()


def _meet(crowd: Crowd, pollers: int) -> None:
    chance = crowd.chance
    works: list[Callable[[], None]] = []
    works += [lambda: crowd.push(chance.randint(1, 6)) for _ in range(chance.randint(1, 8))]
    works += [lambda: crowd.invoke(chance.choice((1, 3, 10))) for _ in range(10)]
    works += [lambda: crowd.poll(chance.choice((1, 5))) for _ in range(pollers)]
    chance.shuffle(works)
    for work in works:
        crowd.begin(work)
    crowd.mingle()
    crowd.deliver(SOON_S)
    assert not crowd.waiting()
    crowd.end_long()
    crowd.world.clock.advance(s=LONGEST_S)
    crowd.deliver(SOON_S)
    assert crowd.world.messages.backlog(QUEUE).total == 0
    crowd.strands.close()


# ------------------------------------------------------------------------------- the smallest case


@dataclass
class Late:
    """A Lambda worker that has looked at the queue, and goes on only after others.

    :ivar received: the message of the job ``first``, which is all that it saw.
    """

    crowd: Crowd = field(default_factory=lambda: Crowd(random.Random(0)))
    outcomes: list[Claimed] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin its invocation, up to the claim."""
        crowd = self.crowd
        self.first = self.push()
        self.received = self.receive()
        self.strand = crowd.strands.begin(self._claim)
        while "claim" not in crowd.next_call:
            self.strand.go_on()

    def _claim(self) -> None:
        self.outcomes = self.claim(self.received, "late")

    def push(self) -> str:
        """A job; its id."""
        record = self.crowd.world.backend.jobs.push(Job("a.b", [])).record
        assert record is not None
        return record.id

    def receive(self) -> list[ReceivedMessage]:
        """What is visible."""
        return self.crowd.world.messages.receive(QUEUE, 10, RESERVED_MS // 1000)

    def claim(self, received: Sequence[ReceivedMessage], name: str) -> list[Claimed]:
        """What a Lambda worker does with it."""
        return self.crowd.backend.jobs.fetch.claim_messages(QUEUE, received, name, RESERVED_MS)

    def go_on(self) -> Claimed:
        """The end of its invocation."""
        while not self.strand.is_over:
            self.strand.go_on()
        self.crowd.strands.end(self.strand)
        self.crowd.strands.close()
        [outcome] = self.outcomes
        return outcome

    def run(self, message: list[ReceivedMessage]) -> str:
        """Another worker runs the first in line with another job's message; which one it was."""
        [claimed] = self.claim(message, "other")
        assert claimed.record is not None
        return claimed.record.id

    def ack(self, job_id: str, message: list[ReceivedMessage]) -> None:
        """The other worker has completed it."""
        self.crowd.backend.jobs.ack(job_id, "other", None, has_message=False)
        self.crowd.world.messages.delete(QUEUE, [each.handle for each in message])


def test_the_message_of_an_ended_job_runs_the_job_whose_message_ended_it() -> None:
    """It looked before the second job came; the first was run with the message of the second."""
    late = Late()
    second = late.push()
    message = late.receive()
    assert late.run(message) == late.first
    late.ack(late.first, message)
    assert late.go_on() == Claimed(None, keep_message=True)
    late.crowd.deliver(SOON_S)
    assert second not in late.crowd.waiting()


def test_a_message_ending_a_chain_of_exchanges_runs_the_job_at_its_start() -> None:
    """The first runs with the message of the second, and that with the message of the third."""
    late = Late()
    for _ in range(2):
        late.push()
    [of_second, of_third] = late.receive()
    third = of_third.message.job_id
    assert late.run([of_second]) == late.first
    assert late.run([of_third]) == of_second.message.job_id
    assert late.go_on() == Claimed(None, keep_message=True)
    assert late.crowd.waiting() == [third]
    late.crowd.deliver(SOON_S)
    assert late.crowd.waiting() == []


def test_a_message_of_an_old_job_is_kept_by_who_was_overtaken() -> None:
    """Its job ended long ago; the one that it could have run was run with a later one's message."""
    crowd = Crowd(random.Random(0))
    backend, messages = crowd.world.backend, crowd.world.messages
    outcomes: list[Claimed] = []

    def receive() -> list[ReceivedMessage]:
        return messages.receive(QUEUE, 10, RESERVED_MS // 1000)

    def claim(received: list[ReceivedMessage]) -> list[Claimed]:
        return crowd.backend.jobs.fetch.claim_messages(QUEUE, received, "other", RESERVED_MS)

    backend.jobs.push(Job("a.b", []))
    of_first = receive()
    backend.jobs.push(Job("a.b", []))
    of_second = receive()
    [first] = claim(of_second)
    assert first.record is not None
    backend.jobs.ack(first.record.id, "other", None, has_message=False)
    messages.delete(QUEUE, [of_second[0].handle])
    crowd.world.clock.advance(s=60)
    late = crowd.strands.begin(lambda: outcomes.extend(claim(of_first)))
    while "claim" not in crowd.next_call:  # it has seen the second job
        late.go_on()
    backend.jobs.push(Job("a.b", []))
    [second] = claim(receive())
    assert second.record is not None
    while not late.is_over:
        late.go_on()
    crowd.strands.end(late)
    assert outcomes == [Claimed(None, keep_message=True)]
    crowd.deliver(SOON_S)
    assert crowd.waiting() == []
    crowd.strands.close()


def test_a_message_is_kept_if_the_index_did_not_show_a_job_just_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first was run with the message of the second, and neither is listed yet."""
    crowd = Crowd(random.Random(0))
    backend, messages = crowd.world.backend, crowd.world.messages
    backend.jobs.push(Job("a.b", []))
    of_first = messages.receive(QUEUE, 10, RESERVED_MS // 1000)
    backend.jobs.push(Job("a.b", []))
    of_second = messages.receive(QUEUE, 10, RESERVED_MS // 1000)
    [first] = backend.jobs.fetch.claim_messages(QUEUE, of_second, "other", RESERVED_MS)
    assert first.record is not None
    backend.jobs.ack(first.record.id, "other", None, has_message=False)
    messages.delete(QUEUE, [of_second[0].handle])
    with monkeypatch.context() as late:
        late.setattr(crowd.world.store, "head", lambda *_: Head(()))
        [outcome] = backend.jobs.fetch.claim_messages(QUEUE, of_first, "late", RESERVED_MS)
    assert outcome == Claimed(None, keep_message=True)
    crowd.deliver(SOON_S)
    assert crowd.waiting() == []
