"""Everybody who acts in a run, and what the system does by itself."""

from __future__ import annotations

from typing import Final

from tests.simulation.clients import Clients
from tests.simulation.dispatching import Dispatching
from tests.simulation.operators import Operators
from tests.simulation.processes import Process
from tests.simulation.promises import Cause
from tests.simulation.simulation import FAR, QUEUES
from tests.simulation.tasking import Tasking
from tests.simulation.workers import Workers

HIDDEN_S: Final = 1_800
"""How long SQS hides what a Lambda worker received that ends after five minutes at most."""

MOST_READS: Final = 5
"""Invocations of the stream's consumer in a quiet minute."""


class Users(Clients, Dispatching, Operators, Tasking, Workers):
    """All of them.

    :ivar was_quiet: whether a quiet time was already.
    """

    was_quiet = False

    def do_tick(self) -> None:
        """The timer."""
        self._begin("tick", tick)

    def do_alarm(self) -> None:
        """The alarms of cron jobs; one whose handling ends badly rings again."""
        ringing = self.sim.messages.ringing()
        if not ringing:
            return
        names = [each.body for each in ringing]
        if self.sim.chance.random() < self.sim.profile.repeats:
            names += names
        event = {"Records": [{"body": name} for name in names]}

        def work(process: Process) -> None:
            process.tick(event, None)
            self.sim.messages.end(ringing)

        chain = self.sim.messages.chain_of_alarms(ringing)
        self._begin("alarm", work, chain=chain.following(self.sim.clock.at))

    def do_stream(self) -> None:
        """The stream invokes its consumer."""
        sim = self.sim
        pending = sim.stream.pending()
        if not pending:
            return
        shard = sim.chance.choice(pending)
        records = sim.stream.take(shard, sim.profile.rewinds)
        sim.stream.busy.add(shard)

        def work(process: Process) -> None:
            try:
                failures = process.stream({"Records": records}, None)["batchItemFailures"]
                first = failures[0]["itemIdentifier"] if failures else None
                sim.stream.done(shard, records, first)
            finally:
                sim.stream.busy.discard(shard)

        self._begin("stream", work)

    def do_resume(self) -> None:
        """A request that stopped goes on."""
        if self.sim.running:
            operation = self.sim.chance.choice(self.sim.running)
            self.sim.go_on(operation, self.sim.chance.choice((1, 1, 2, 3, FAR)))

    def do_die(self) -> None:
        """A process dies."""
        self.sim.kill_one()

    def do_late(self) -> None:
        """A call that timed out takes effect."""
        self.sim.late_effect()

    def do_wait(self) -> None:
        """Time passes."""
        chance = self.sim.chance
        longest = chance.choice((100, 1_000, 5_000, 20_000, 70_000, 1_000_000))
        self.sim.advance(chance.randint(1, longest))

    def do_quiet(self) -> None:
        """For some minutes nobody asks for anything: the timer ticks, and messages wake workers.

        These work, or fail at their start: then the messages come back when SQS says so. In half of
        the runs, some jobs wait for a slow limit. What was under way has ended after a minute. Once
        in a run: the jobs of cron jobs pile up.
        """
        chance = self.sim.chance
        if self.was_quiet:
            return
        self.was_quiet = True
        are_broken = chance.random() < 0.5
        if chance.random() < 0.5:
            self.push_slow(chance.randint(2, 5))
        for _ in range(chance.randint(10, 40)):
            self.sim.advance(60_000)
            for operation in [*self.sim.running]:
                self.sim.go_on(operation, FAR)
            self.sim.begin(Cause(kind="tick"), tick, FAR)
            for queue in QUEUES:
                if are_broken:
                    self.sim.messages.receive(queue, 10, HIDDEN_S)
                else:
                    self.deliver(queue, 10, ("ack",))
            for _ in range(MOST_READS):
                self.do_stream()


def tick(process: Process) -> None:
    """The timer's event."""
    process.tick({}, None)
