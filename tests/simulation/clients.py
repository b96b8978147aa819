"""What clients ask for: jobs, unique jobs, batches, workflows, cron jobs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, OjsError, QueueDrainingError, QueueFullError
from ojs_aws.domain.job import JobState, is_blocked
from ojs_aws.domain.json_text import RawJson, parse_object
from ojs_aws.domain.workflows.definition import read_definition
from ojs_aws.services.cron.service import Registration
from ojs_aws.transport.http.jobs.envelope import read_job
from tests.simulation.asking import CRON_NAMES, KEYS, LIMITS, MAX_JOBS, SEQUENCES, SLOW, Asking
from tests.simulation.processes import Process
from tests.simulation.simulation import QUEUES


class Clients(Asking):
    """Clients."""

    def _is_full(self) -> bool:
        jobs = self.sim.stored.jobs.values()
        return sum(not job.state.is_terminal for job in jobs) >= MAX_JOBS

    def _job(self, **more: Any) -> Job:
        chance = self.sim.chance
        options: dict[str, Any] = {
            "queue": chance.choice(QUEUES),
            "priority": chance.choice((0, 0, 0, 5, -5)),
            "retry": {
                "max_attempts": chance.choice((1, 2, 3, 5)),
                "initial_interval": chance.choice(("PT1S", "PT10S", "PT2M", "PT20M")),
                "non_retryable_errors": ["Fatal"],
                "on_exhaustion": chance.choice(("discard", "dead_letter")),
                "jitter": False,
            },
        }
        if chance.random() < 0.2:
            options["scheduled_at"] = "+" + chance.choice(("PT1S", "PT30S", "PT10M", "PT20M"))
        if chance.random() < 0.1:
            options["expires_at"] = "+" + chance.choice(("PT5S", "PT1M", "PT30M"))
        if chance.random() < 0.2:
            options["visibility_timeout_s"] = chance.choice((2, 10, 60))
        if chance.random() < 0.2:
            options["timeout_s"] = chance.choice((5, 30, 120))
        job = Job("a.b", [self._next()], id=self.sim.ids.job_id(), **options)
        if chance.random() < 0.15:
            job["rate_limit"] = self._limit()
        for name, value in more.items():
            job[name] = value
        return job

    def _limit(self) -> dict[str, Any]:
        chance = self.sim.chance
        kind = chance.choice(("concurrency", "concurrency", SLOW, *LIMITS))
        if kind == "concurrency":
            limit: dict[str, Any] = {"key": chance.choice(KEYS), kind: chance.choice((1, 2))}
        else:
            limit = {"key": kind, **LIMITS[kind]}
        limit["on_limit"] = chance.choice(("wait", "wait", "reschedule", "drop"))
        return limit

    def _fresh(self, job: Job) -> Job:
        """The same envelope again: PUSH completes the object that it is given."""
        return Job.from_json(job.to_json())

    def do_push(self) -> None:
        """Push one job."""
        if not self._is_full():
            self._push(self._job())

    def do_pending(self) -> None:
        """Push a job that waits to be activated."""
        if not self._is_full():
            self._push(self._job(pending=True))

    def push_slow(self, count: int) -> None:
        """Push jobs to one queue of which one begins in twenty minutes."""
        queue = self.sim.chance.choice(QUEUES)
        for _ in range(count):
            limit = {"key": SLOW, **LIMITS[SLOW], "on_limit": "wait"}
            self._push(self._job(queue=queue, rate_limit=limit))

    def _push(self, job: Job) -> None:
        def work(process: Process) -> None:
            try:
                record = process.backend.jobs.push(self._fresh(job)).record
            except (QueueDrainingError, QueueFullError) as refused:
                self._check_refused([job], refused)
                return
            assert record is not None
            self._promise(record.id)

        self._asked("push", work)

    def _promise(self, job_id: str) -> None:
        if job_id in self.sim.promises.deleted:
            return
        self.sim.promises.promised.add(job_id)
        if not self.sim.is_stored(job_id):
            self.sim.promises.breach(f"job {job_id[-4:]} was answered for, and is not there")

    def _check_refused(self, jobs: Sequence[Job], refused: OjsError) -> None:
        """What was refused because its queue is full is not there."""
        there = [job.id for job in jobs if self.sim.is_stored(job.id)]
        is_whole = not any(job.id in self.sim.promises.deleted for job in jobs)
        if isinstance(refused, QueueFullError) and there and is_whole:
            self.sim.promises.breach(f"job {there[0][-4:]} was refused, and is there")

    def do_batch(self) -> None:
        """Push some jobs, all or none."""
        if self._is_full():
            return
        chance = self.sim.chance
        jobs = [self._job() for _ in range(chance.randint(1, 6))]
        if chance.random() < 0.3:
            jobs[0]["unique"] = {"keys": ["type", "queue"], "on_conflict": "replace"}
        self._push_all(jobs)

    def _push_all(self, jobs: Sequence[Job]) -> None:
        ids = frozenset(job.id for job in jobs)
        self.sim.promises.batches |= dict.fromkeys(ids, ids)

        def work(process: Process) -> None:
            try:
                answered = process.backend.jobs.push.all([self._fresh(job) for job in jobs])
            except BackendError:
                raise
            except OjsError as refused:
                self._check_refused(jobs, refused)
                return
            for pushed in answered:
                assert pushed.record is not None
                self._promise(pushed.record.id)

        self._asked("push", work)

    def do_unique(self) -> None:
        """Push a job that keeps others out."""
        if self._is_full():
            return
        chance = self.sim.chance
        conflict = chance.choice(("reject", "ignore", "replace", "replace_except_schedule"))
        job = self._job(unique={"keys": ["type", "queue"], "on_conflict": conflict})

        def work(process: Process) -> None:
            try:
                pushed = process.backend.jobs.push(self._fresh(job))
            except BackendError:
                raise
            except OjsError as refused:
                self._check_refused([job], refused)
                return
            assert pushed.record is not None
            self._promise(pushed.record.id)

        self._asked("unique", work)

    def do_sequence(self) -> None:
        """Push jobs that run one after another, one or some at once."""
        if self._is_full():
            return
        chance = self.sim.chance
        key = chance.choice(SEQUENCES)
        choice = chance.choice(("skip", "skip", "cancel", "stop"))
        sequence = {"key": key, "on_discard": choice}
        jobs = [self._job(sequence=sequence) for _ in range(chance.choice((1, 1, 1, 3)))]
        self.sim.promises.order.asks(key, [job.id for job in jobs])
        if len(jobs) == 1:
            self._push(jobs[0])
        else:
            self._push_all(jobs)

    def do_fair(self) -> None:
        """Push jobs that share the starts of their queue with those of other keys."""
        if self._is_full():
            return
        chance = self.sim.chance
        share = {"key": chance.choice(KEYS), "weight": chance.choice((0.5, 1, 1, 4))}
        jobs = [self._job(fairness=share) for _ in range(chance.choice((1, 1, 1, 4)))]
        if len(jobs) == 1:
            self._push(jobs[0])
        else:
            self._push_all(jobs)

    def do_transact(self) -> None:
        """An application stores a job in a transaction of its own."""
        if self._is_full():
            return
        job = self._job()

        def work(process: Process) -> None:
            try:
                prepared = process.backend.jobs.transact(self._fresh(job))
            except (QueueDrainingError, QueueFullError):
                return
            actions: Any = prepared.actions
            self.sim.account.looking.dynamodb.transact_write_items(TransactItems=actions)
            self._promise(job.id)

        self._begin("push", work)

    def do_cancel(self) -> None:
        """Cancel some job."""
        self._change("cancel", self._any_job(), lambda p, job_id: p.backend.jobs.cancel(job_id))

    def do_activate(self) -> None:
        """Activate a job that was pushed to wait."""
        waiting = [
            job.id
            for job in self.sim.stored.jobs.values()
            if job.state is JobState.PENDING
            and not is_blocked(job)
            and "cron_name" not in str(job.document)
        ]
        job_id = self.sim.chance.choice(waiting) if waiting else None
        self._change("activate", job_id, lambda p, each: p.backend.jobs.activate(each))

    def do_info(self) -> None:
        """Look at some job."""
        self._change("info", self._any_job(), lambda p, job_id: p.backend.jobs.info(job_id))

    # ------------------------------------------------------------------ workflows and cron
    def do_workflow(self) -> None:
        """Create a workflow."""
        if self._is_full():
            return
        chance = self.sim.chance
        jobs = [self._step() for _ in range(chance.randint(1, 3))]
        kind = chance.choice(("chain", "group", "batch"))
        body: dict[str, Any] = {"type": kind, "id": f"wf-{self._next()}"}
        body["steps" if kind == "chain" else "jobs"] = jobs
        if kind == "batch":
            body["callbacks"] = {"on_complete": self._step()}

        def work(process: Process) -> None:
            members = parse_object(json.dumps(body))
            definition = read_definition(members, lambda job: read_job(job, 100))
            try:
                process.backend.workflows.service.create(definition)
            except QueueDrainingError:
                return
            if body["id"] not in self.sim.stored.workflows:
                self.sim.promises.breach(f"workflow {body['id']} was answered for, and is lost")

        self._asked("workflow", work)

    def _step(self) -> dict[str, Any]:
        chance = self.sim.chance
        retry = {"max_attempts": chance.choice((1, 2)), "initial_interval": "PT5S"}
        return {"type": "a.b", "args": [], "options": {"retry": retry}}

    def do_cancel_workflow(self) -> None:
        """Cancel some workflow."""
        names = [*self.sim.stored.workflows]
        name = self.sim.chance.choice(names) if names else None
        self._change("workflow", name, lambda p, each: p.backend.workflows.service.cancel(each))

    def do_cron(self) -> None:
        """Register a cron job, or give it a new definition."""
        chance = self.sim.chance
        name = chance.choice(CRON_NAMES)
        second = "*/30" if name == CRON_NAMES[1] else "0"
        wanted = Registration(
            name=name,
            expression=f"{second} * * * * *",
            timezone="UTC",
            overlap=chance.choice(("skip", "allow", "cancel_previous", "enqueue")),
            is_enabled=True,
            description=None,
            document=RawJson('{"type": "cron.job", "args": []}'),
            job=Job.from_json(RawJson('{"type": "cron.job", "args": [], "queue": "default"}')),
        )
        self._asked("cron", lambda process: _register(process, wanted))

    def do_stop_cron(self) -> None:
        """Disable or delete a cron job."""
        names = [*self.sim.stored.crons]
        name = self.sim.chance.choice(names) if names else None
        if self.sim.chance.random() < 0.5:
            self._change("cron", name, lambda p, each: p.backend.cron.service.delete(each))
        else:
            self._change(
                "cron",
                name,
                lambda p, each: p.backend.cron.service.set_enabled(each, is_enabled=False),
            )


def _register(process: Process, wanted: Registration) -> None:
    with suppress(QueueDrainingError):
        process.backend.cron.service.register(wanted)
