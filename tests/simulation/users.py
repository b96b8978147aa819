"""Everybody who acts in a run, and what the system does by itself."""

from __future__ import annotations

from tests.simulation.clients import Clients
from tests.simulation.operators import Operators
from tests.simulation.processes import Process
from tests.simulation.simulation import FAR
from tests.simulation.workers import Workers


class Users(Clients, Operators, Workers):
    """All of them."""

    def do_tick(self) -> None:
        """The timer."""
        self._begin("tick", tick)

    def do_alarm(self) -> None:
        """The alarms of cron jobs; one whose handling ends badly rings again."""
        ringing = self.sim.alarms.ringing()
        if not ringing:
            return
        if self.sim.chance.random() < self.sim.weather.repeats:
            ringing += ringing
        self.sim.alarms.alarms += [(self.sim.clock.at + 60_000, name) for name in ringing]
        event = {"Records": [{"body": name} for name in ringing]}

        def work(process: Process) -> None:
            process.tick(event, None)
            for name in ringing:
                alarms = self.sim.alarms.alarms
                again = next((each for each in alarms if each[1] == name), None)
                if again is not None:
                    alarms.remove(again)

        self._begin("alarm", work)

    def do_stream(self) -> None:
        """The stream invokes its consumer."""
        sim = self.sim
        pending = sim.stream.pending()
        if not pending:
            return
        shard = sim.chance.choice(pending)
        records = sim.stream.take(shard, sim.weather.rewinds)
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


def tick(process: Process) -> None:
    """The timer's event."""
    process.tick({}, None)
