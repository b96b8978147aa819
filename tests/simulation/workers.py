"""What workers do, those that poll and those that SQS invokes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ojs_aws.domain.errors import BackendError, OjsError
from ojs_aws.domain.jobs.progress import ProgressReport
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.workers import WorkerReport
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.simulation.asking import ERRORS, MAX_JOBS, MAX_WORKERS, Asking, Held, Worker
from tests.simulation.processes import Process
from tests.simulation.promises import Cause
from tests.simulation.simulation import QUEUES

SNOOZES: Final = dict(zip("0123456789abcdef", (None, 900, None, 70_000) * 4, strict=True))
"""How long a job waits that is given back, by the end of its id; None for not at all."""


class Workers(Asking):
    """Workers; some say what is not true, and some are never heard of again."""

    def _worker(self) -> Worker:
        chance = self.sim.chance
        if len(self.workers) < MAX_WORKERS:
            promise = chance.choice((None, None, 1000, 5000))
            names = chance.random() < 0.6
            self.workers.append(Worker(f"w{self._next()}", promise, names))
            return self.workers[-1]
        return chance.choice(self.workers)

    def do_fetch(self) -> None:
        """A worker fetches."""
        chance, worker = self.sim.chance, self._worker()
        queues = QUEUES if chance.random() < 0.7 else (chance.choice(QUEUES),)
        visibility = chance.choice((None, 2_000, 10_000, 60_000))
        count = chance.choice((1, 1, 2, 5))
        self.fetch_as(
            worker, FetchRequest(queues, count, worker.name, visibility, worker.beats_every_ms)
        )

    def fetch_as(self, worker: Worker, request: FetchRequest) -> None:
        """One FETCH."""

        def work(process: Process) -> None:
            for job in process.backend.jobs.fetch(request):
                self.sim.promises.fetched(job, worker.name)
                worker.take(job)

        self._begin("fetch", work, worker=worker.name)

    def _holder(self) -> Worker | None:
        holders = [worker for worker in self.workers if worker.held]
        return self.sim.chance.choice(holders) if holders else None

    def do_finish(self) -> None:
        """A worker reports on a job that it holds, or believes to hold."""
        worker = self._holder()
        if worker is None:
            return
        held = worker.held.pop(self.sim.chance.randrange(len(worker.held)))
        if self.sim.chance.random() < 0.1:
            worker.held.append(held)  # it will say so twice
        if self.sim.chance.random() < 0.1:
            others = [each for each in self.workers if each is not worker]
            worker = self.sim.chance.choice(others) if others else worker  # not its job at all
        kind = self.sim.chance.choices(("ack", "fail", "requeue"), (6, 3, 1))[0]
        worker.sent.append((kind, held))
        self._report(kind, worker, held)

    def do_resend(self) -> None:
        """A worker sends a report again that it sent before: its answer did not come."""
        senders = [worker for worker in self.workers if worker.sent]
        if senders:
            worker = self.sim.chance.choice(senders)
            kind, held = self.sim.chance.choice(worker.sent[-MAX_JOBS:])
            self._report(kind, worker, held)

    def _report(self, kind: str, worker: Worker, held: Held) -> None:
        """One ACK, FAIL, or NACK with requeue, for some jobs with a delay."""
        job_id, which, promises = held.job_id, held.which, self.sim.promises
        result = RawJson("{}") if self.sim.chance.random() < 0.5 else None
        error = self.sim.chance.choice(ERRORS)

        def work(process: Process) -> None:
            backend = process.backend
            try:
                if kind == "ack":
                    backend.jobs.ack(job_id, worker.name, result, which=which)
                elif kind == "fail":
                    backend.jobs.fail(job_id, worker.name, error, which=which)
                else:
                    delay_ms = SNOOZES[job_id[-1]]
                    backend.jobs.fail.requeue(
                        job_id, worker.name, error, which=which, delay_ms=delay_ms
                    )
            except BackendError:
                raise
            except OjsError:
                return
            reports = {"ack": promises.acknowledged, "fail": promises.failed}
            reports.get(kind, promises.given_back)(job_id, worker.name)

        self._begin(kind, work, worker=worker.name, job_id=job_id, held=[held])

    def do_beat(self) -> None:
        """A worker beats for what it holds."""
        worker = self._holder()
        if worker is None:
            return
        held = [*{each.job_id: each for each in worker.held}.values()]
        length = self.sim.chance.choice((None, 5_000, 60_000))
        report = WorkerReport(active_jobs=len(held), interval_ms=worker.beats_every_ms)
        self.sim.promises.beating(worker.name, is_promised=report.interval_ms is not None)

        def work(process: Process) -> None:
            try:
                ids = [each.job_id for each in held]
                named = {each.job_id: each.which for each in held}
                beat = process.backend.workers.heartbeat(
                    worker.name, ids, length, report, attempts=named
                )
            except BackendError:
                raise
            except OjsError:
                return
            for job_id in beat.extended:
                self.sim.promises.extended(job_id, worker.name)
            gone = {*beat.lost, *beat.cancelled}
            worker.held = [
                each for each in worker.held if each.job_id not in gone or each not in held
            ]

        self._begin("beat", work, worker=worker.name, held=held)

    def do_save(self) -> None:
        """A worker saves a checkpoint, or says how far it has come, or both."""
        worker = self._holder()
        if worker is None:
            return
        held = self.sim.chance.choice(worker.held)
        job_id, which = held.job_id, held.which
        state = RawJson(str(self._next()))
        how = self.sim.chance.choice(("checkpoint", "progress", "both"))
        report = ProgressReport(fraction=self.sim.chance.random())

        def work(process: Process) -> None:
            backend = process.backend
            try:
                if how == "checkpoint":
                    backend.outcomes.checkpoints.save(job_id, worker.name, state, which=which)
                    is_noted = True
                else:
                    saved = state if how == "both" else None
                    _, is_noted = backend.outcomes.progress(
                        job_id, worker.name, report, saved, which=which
                    )
            except BackendError:
                raise
            except OjsError:
                return
            if is_noted and how != "progress":
                self.sim.promises.saved(job_id, state)

        self._begin("save", work, worker=worker.name, job_id=job_id, held=[held])

    def do_worker_dies(self) -> None:
        """A worker is never heard of again."""
        if self.workers:
            self.workers.pop(self.sim.chance.randrange(len(self.workers)))

    def do_lambda(self) -> None:
        """SQS invokes a Lambda worker."""
        chance = self.sim.chance
        count = chance.randint(1, 4)
        self.deliver(chance.choice(QUEUES), count, ("ack", "ack", "fail", "gives up"))

    def deliver(self, queue: str, count: int, endings: Sequence[str]) -> bool:
        """Invoke a Lambda worker with what is visible; whether there was anything."""
        received = self.sim.messages.receive(queue, count, 30)
        if not received:
            return False
        name = f"lambda-{self._next()}"
        chosen = [self.sim.chance.choice(endings) for _ in received]

        def work(process: Process) -> None:
            outcomes = process.backend.jobs.fetch.claim_messages(queue, received, name, 30_000)
            done = []
            for each, claimed, ending in zip(received, outcomes, chosen, strict=True):
                is_kept = claimed.keep_message
                if claimed.record is not None:
                    self.sim.promises.fetched(claimed.record, name)
                    is_kept = not self._execute(process, claimed.record.id, name, ending)
                if not is_kept:
                    done.append(each.handle)
            self.sim.messages.delete(queue, done)

        self._begin("lambda", work, worker=name, chain=self.sim.chain_of(received))
        return True

    def _execute(self, process: Process, job_id: str, name: str, ending: str) -> bool:
        """Execute a job in a Lambda worker; whether its report was accepted."""
        sim, backend = self.sim, process.backend
        if ending == "gives up":
            return False
        try:
            with sim.acting_as(Cause(kind=ending, worker=name, job_id=job_id)):
                if ending == "ack":
                    backend.jobs.ack(job_id, name, None, has_message=False)
                    sim.promises.acknowledged(job_id, name)
                else:
                    backend.jobs.fail(job_id, name, ERRORS[0], has_message=False)
                    sim.promises.failed(job_id, name)
        except OjsError:
            return False
        return True
