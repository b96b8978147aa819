"""The world heals: everything that was promised for the end must come true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from ojs_aws.domain.errors import BackendError, OjsError
from ojs_aws.domain.job import JobState, is_blocked
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.queues.tallies import DAY_MS, names_of
from ojs_aws.domain.workflows.workflow import WorkflowState
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.stored_jobs import ListStop
from tests.simulation.asking import MAX_JOBS, SEQUENCES, SLOW, Worker
from tests.simulation.lateness import HIDDEN, TICK_MS, Lateness
from tests.simulation.processes import Process
from tests.simulation.promises import Cause
from tests.simulation.simulation import BOUNDED, FAR, QUEUES
from tests.simulation.users import Users, tick

HEALING_ROUNDS: Final = 90
EMPTYING_ROUNDS: Final = 12


class Healing:
    """Lets a run come to its end, without faults."""

    def __init__(self, users: Users) -> None:
        self.sim = users.sim
        self.users = users
        self._errors: dict[tuple[str, str], int] | None = None

    def heal(self) -> None:
        """Let everything end, and check what was promised for then."""
        sim = self.sim
        sim.chance.seed(1)
        sim.settle_down()
        self._drain_stream()
        self._check_counts()
        self.users.workers, self.users.unanswered = [Worker("healer")], []
        for queue in QUEUES:
            self._now("pause", _resume, queue)
            self._now("settings", _unlimited, queue, bool(sim.profile.bound))
        self._now("settings", _lift, SLOW)
        sim.promises.lifted.add(SLOW)
        self._stop_crons()
        behind = {queue: HIDDEN for queue in QUEUES if sim.messages.backlog(queue).hidden}
        # An empty receive from a wide queue reads no line: there messages alone wake pollers, too.
        is_polled = not sim.profile.heals_by_messages and sim.profile.lines == 1
        hidden_until = {
            queue: max((held.visible_at for held in found.messages.values()), default=0)
            for queue in QUEUES
            if (found := sim.messages.of(queue)) is not None
        }
        lateness = Lateness(sim.clock.at, is_polled, behind, hidden_until)
        for _ in range(HEALING_ROUNDS):
            self._round(lateness)
            for problem in lateness.problems(sim.stored.jobs.values(), sim.clock.at):
                sim.promises.breach(problem)
            sim.check()
            if self._is_over():
                break
        sim.promises.check_ended()
        self._check_rest()
        sim.check()

    def _stop_crons(self) -> None:
        for _ in range(3):
            self._round()
        now = self.sim.clock.at
        for name, entry in [*self.sim.stored.crons.items()]:
            due = entry.next_run_at
            if entry.definition.is_enabled and (due is None or due < now - 120_000):
                self.sim.promises.breach(f"cron job {name} stands still at {due}, now {now}")
            self._now("cron", _disable, name)

    def _now(
        self,
        kind: str,
        what: Callable[..., Any],
        *given: object,
        worker: str = "",
        job_id: str = "",
    ) -> None:
        """One request from its beginning to its end."""

        def work(process: Process) -> None:
            try:
                what(process, *given)
            except BackendError:
                raise
            except OjsError:
                return

        self.sim.begin(Cause(kind=kind, worker=worker, job_id=job_id), work, FAR)

    def _round(self, lateness: Lateness | None = None) -> None:
        """A minute: the tick, the alarms, the stream, and a worker that takes what there is."""
        sim = self.sim
        sim.advance(TICK_MS)
        self._now("tick", tick)
        for alarm in sim.messages.ringing():
            sim.messages.end([alarm])
            self._now("alarm", _ring, alarm.body)
        self._drain_stream()
        for job in [*sim.stored.jobs.values()]:
            is_pending = job.state is JobState.PENDING and not is_blocked(job)
            if is_pending and "cron_name" not in str(job.document):
                self._now("activate", _activate, job.id)
        for key in SEQUENCES:
            self._now("skip", _skip, key)
        if lateness is not None:
            lateness.look(sim.stored.jobs.values(), sim.clock.at)
        self._work_off()
        self._drain_stream()
        self._check_counts()

    def _work_off(self) -> None:
        """Execute what there is: fetched by a worker that polls, or brought by messages."""
        if self.sim.profile.heals_by_messages:
            self._deliver()
        else:
            self._poll()
        self._finish()

    def _finish(self) -> None:
        """Let what is under way end."""
        while self.sim.running:
            self.sim.go_on(self.sim.running[0], FAR)

    def _deliver(self) -> None:
        for _ in range(MAX_JOBS):
            if not any(self.users.deliver(queue, 10, ("ack",)) for queue in QUEUES):
                return

    def _poll(self) -> None:
        worker = self.users.workers[0]
        for _ in range(MAX_JOBS):
            worker.held = []
            self.users.fetch_as(worker, FetchRequest(QUEUES, 5, worker.name, 30_000))
            self._finish()
            if not worker.held:
                return
            for job_id in [each.job_id for each in worker.held]:
                self._now("ack", _ack, job_id, worker.name, worker=worker.name, job_id=job_id)

    def _drain_stream(self) -> None:
        for _ in range(10_000):
            if self.sim.stream.is_read:
                return
            self.users.do_stream()
            self._finish()
        self.sim.promises.breach("the stream does not get on")

    def _is_over(self) -> bool:
        jobs = self.sim.stored.jobs.values()
        is_over = all(job.state.is_terminal for job in jobs) and not self.sim.batches.open()
        return is_over and all(
            each.state is not WorkflowState.RUNNING for each in self.sim.stored.workflows.values()
        )

    def _check_depths(self) -> None:
        """Bounded queues, in which nothing is left, count nothing: after some quiet minutes."""
        depths = self.sim.depths.depths
        del self.sim.processes[1:]  # each remembers for itself what was quiet
        for _ in range(EMPTYING_ROUNDS):
            if not any(depths.values()):
                return
            self._round()
        self.sim.promises.breach(f"empty queues count jobs for ever: {depths}")

    def _check_completed(self) -> None:
        """The lists have each completed job, once the stream is read, and no other."""
        sim = self.sim
        sim.table.index.catch_up(wholly=True)
        for queue in QUEUES:
            pages = ListStop(queue, JobList.COMPLETED).pages(sim.looking.stores.store)
            listed = {row.id for page in pages for row in page.jobs}
            there = {
                job.id
                for job in sim.stored.jobs.values()
                if job.queue == queue and job.state is JobState.COMPLETED
            }
            listed -= sim.promises.deleted - there  # readers leave out rows whose jobs are gone
            if listed != there:
                sim.promises.breach(
                    f"completed jobs of {queue} are not listed: {sorted(there ^ listed)}"
                )

    def _check_counts(self) -> None:
        """Totals follow the jobs at once: where faults made them wrong, they become no worse."""
        right = Counter(
            (job.queue, name) for job in self.sim.stored.jobs.values() for name in names_of(job)
        )
        held = Counter(
            {
                (queue, name): number
                for queue in QUEUES
                for name, number in self.sim.looking.stores.tallies().load(queue).jobs.items()
            }
        )
        errors = {key: held[key] - right[key] for key in {*held, *right} if held[key] != right[key]}
        before, self._errors = self._errors, errors
        if before is not None and any(abs(before.get(k, 0)) < abs(errors[k]) for k in errors):
            self.sim.promises.breach(f"totals went from {before} to {errors} off the jobs")

    def _check_totals(self) -> None:
        """The totals of queues are right a day later, once nothing changes."""
        self.sim.advance(DAY_MS)
        for _ in range(EMPTYING_ROUNDS):
            self._round()
            if not self._errors:
                return
        self.sim.promises.breach(f"the totals stay wrong by {self._errors}")

    def _check_rest(self) -> None:
        """Events, workflows and messages."""
        sim = self.sim
        sim.promises.check_events("log", sim.logged())
        in_order = sorted(sim.bus.taken(), key=lambda event: (event.subject, event.sequence))
        sim.promises.check_events("bus", in_order)  # a bus keeps no order; consumers sort
        self._check_completed()
        self._check_depths()
        self._check_totals()
        if aside := [*sim.looking.stores.events().aside(100)]:
            sim.promises.breach(f"records were set aside: {[each.reason for each in aside]}")
        for workflow in sim.stored.workflows.values():
            if workflow.state is WorkflowState.RUNNING:
                sim.promises.breach(f"workflow {workflow.id} is {workflow.state} for ever")
        for key in SEQUENCES:
            seen, rows = sim.looking.stores.sequences().look("", key, 10)
            if rows or (seen is not None and seen.job_id):  # one that is idle expires
                sim.promises.breach(f"sequence {key} is over, and has left {seen} and {rows}")
        quiet = 0
        while (left := sim.messages.count()) and quiet < EMPTYING_ROUNDS:
            sim.advance(43_200_000 + 1000)
            self._work_off()
            quiet = 0 if sim.messages.count() < left else quiet + 1
        if sim.messages.count():
            sim.promises.breach(f"messages are left for ever: {sim.messages.count()}")


def _ring(process: Process, name: str) -> None:
    process.tick({"Records": [{"body": name}]}, None)


def _disable(process: Process, name: str) -> None:
    process.backend.cron.service.set_enabled(name, is_enabled=False)


def _unlimited(process: Process, queue: str, is_bounded: bool) -> None:
    """Take away what keeps jobs out: cron jobs would wait for it."""
    backend = process.backend
    backend.queues.config.undrain(queue)
    backend.queues.config.change(queue, {"concurrency": None})
    if queue != BOUNDED or not is_bounded:
        backend.queues.config.change(queue, {"max_size": None})


def _lift(process: Process, key: str) -> None:
    """Take away a limit that would outlast the healing."""
    process.backend.limits.override(key, {"rate": None})


def _resume(process: Process, queue: str) -> None:
    process.backend.queues.service.resume(queue)


def _skip(process: Process, key: str) -> None:
    process.backend.sequences.skip("", key)


def _activate(process: Process, job_id: str) -> None:
    process.backend.jobs.activate(job_id)


def _ack(process: Process, job_id: str, worker: str) -> None:
    process.backend.jobs.ack(job_id, worker, None)
