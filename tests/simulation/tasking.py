"""Jobs that ECS tasks run: dispatcher, tasks that report, end or vanish, settler, and sweep."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, TypeVar

from ojs_aws.adapters.dynamodb.queues.bindings import QueueBindings
from ojs_aws.adapters.sqs import encode_message
from ojs_aws.adapters.tasks import Tasks
from ojs_aws.domain.bindings.tasks import Task, TaskBinding, TaskEnd, read_task
from ojs_aws.domain.errors import BackendError, OjsError
from ojs_aws.domain.job import JobRecord
from ojs_aws.memory_aws.calls import Call
from ojs_aws.topology import TASK_LEASE_S, sqs_queue_name
from ojs_aws.worker.delivery.dispatch import Dispatcher
from ojs_aws.worker.delivery.inputs import TaskStarter
from ojs_aws.worker.delivery.task_settle import TaskSettler, TaskSuspensions
from ojs_aws.worker.delivery.task_sweep import TaskSweep
from tests.fake_ecs import FakeEcs
from tests.simulation.asking import Asking, Held
from tests.simulation.processes import Process
from tests.simulation.promises import Cause
from tests.simulation.simulation import QUEUES, Simulation

GROUP: Final = "ojs-jobs"
BINDING: Final = TaskBinding(
    name="render",
    queues=QUEUES,
    target="arn:aws:ecs:us-east-1:1:task-definition/render:7",
    types=["*"],
    reservation_s=TASK_LEASE_S,
    cluster="arn:aws:ecs:us-east-1:1:cluster/shop",
    container="worker",
    subnets=["subnet-1"],
    security_groups=["sg-1"],
)
A = TypeVar("A")
REPEATS: Final = 0.3
"""Of the events, how many come again."""
ENDS: Final[tuple[tuple[int | None, str, str], ...]] = (
    (0, "EssentialContainerExited", "Essential container in task exited"),
    (0, "EssentialContainerExited", "Essential container in task exited"),
    (3, "EssentialContainerExited", "Essential container in task exited"),
    (0, "SpotInterruption", "Your Spot Task was interrupted."),
    (None, "TaskFailedToStart", "CannotPullContainerError: not found"),
    (None, "TaskFailedToStart", "CannotPullContainerError: toomanyrequests"),
)
"""Exit code, stop code and reason of tasks that end."""


@dataclass
class _Ecs(FakeEcs):
    """ECS whose calls pass the simulation's gate, and which tells of tasks that have stopped."""

    gate: Callable[[Call, Callable[[], Any]], Any] = lambda _, effect: effect()
    stopped: Callable[[str], None] = lambda _: None

    def _call(self, operation: str, effect: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        made: dict[str, Any] = self.gate(Call("ecs", operation, {}), effect)
        return made

    def end(self, arn: str, *given: Any, **more: Any) -> None:
        """End a task once."""
        if self.tasks[arn]["lastStatus"] != "STOPPED":
            super().end(arn, *given, **more)
            self.stopped(arn)


@dataclass(frozen=True)
class _Starter(TaskStarter):
    """Starts tasks, and notes who has claimed their jobs."""

    holders: dict[str, str] = field(default_factory=dict)

    def start(self, binding: TaskBinding, record: JobRecord) -> None:
        """Note the holder, then start the task."""
        assert record.reservation is not None
        self.holders[record.reservation.id] = record.reservation.worker_id
        TaskStarter.start(self, binding, record)


class ActsAsTask(Protocol):
    """Does something on behalf of a task."""

    def __call__(self, kind: str, task: Task, work: Callable[[], A]) -> A:
        """Return what it comes to."""


@dataclass(frozen=True)
class _Sweep(TaskSweep):
    """Sweeps, on behalf of each task in its turn."""

    as_task: ActsAsTask = lambda kind, task, work: work()

    def _safely(self, task: Task, job: JobRecord | None) -> bool:
        return self.as_task("beat", task, lambda: TaskSweep._safely(self, task, job))

    def _timed_out(self, task: Task, job: JobRecord) -> JobRecord | None:
        return self.as_task("fail", task, lambda: TaskSweep._timed_out(self, task, job))


class Tasking(Asking):
    """A task definition bound to all queues, beside the workers and the function.

    :ivar ends: the tasks about whose ends events are under way.
    :ivar holders: who claimed the jobs of tasks, by reservation.
    """

    def __init__(self, sim: Simulation) -> None:
        super().__init__(sim)
        self.ends: list[str] = []
        self.holders: dict[str, str] = {}
        self.binding = replace(BINDING, config=sim.profile.configs.tasks)
        self.ecs = _Ecs(lambda: sim.clock.at, gate=sim._gate, stopped=self._stopped)

    def _stopped(self, arn: str) -> None:
        """Send an event about a task's end; some never come. Nobody stops a task that is needed."""
        attempt = self._read(arn).attempt
        job, now = self.sim.stored.jobs.get(attempt.job_id), self.sim.clock.at
        if self.ecs.tasks[arn]["stopCode"] == "UserInitiated" and job is not None:
            held = job.reservation
            is_over = held is not None and held.due_at <= now + self.sim.profile.skew_ms
            if attempt.which.is_running(job) and not is_over:
                self.sim.promises.breach(f"the task of job {job.id[-4:]} was stopped in its work")
        if self.sim.chance.random() >= self.sim.profile.mishaps:
            self.ends.append(arn)

    def do_dispatch_task(self) -> None:
        """SQS invokes the dispatcher of tasks."""
        sim, queue = self.sim, self.sim.chance.choice(QUEUES)
        received = sim.messages.receive(queue, sim.chance.randint(1, 4), TASK_LEASE_S)
        if not received:
            return
        context = _Context(str(self._next()))

        def work(process: Process) -> None:
            settings = process.backend.settings
            arn = f"arn:aws:sqs:us-east-1:1:{sqs_queue_name(settings.queue_prefix, queue)}"
            records = [
                {
                    "messageId": each.handle,
                    "receiptHandle": each.handle,
                    "body": encode_message(each.message),
                    "attributes": {"ApproximateReceiveCount": str(each.receive_count)},
                    "eventSourceARN": arn,
                }
                for each in received
            ]
            starter = _Starter(Tasks(self.ecs), GROUP, "", lambda _: "token", self.holders)
            states = self._states(process)
            dispatcher = Dispatcher(process.backend, None, states, [self.binding], tasks=starter)
            kept = dispatcher({"Records": records}, context)["batchItemFailures"]
            stays = {each["itemIdentifier"] for each in kept}
            sim.messages.delete(queue, [e.handle for e in received if e.handle not in stays])

        worker = f"tasks_{context.aws_request_id}"
        self._begin("dispatch", work, worker=worker, chain=sim.chain_of(received))

    def _states(self, process: Process) -> QueueBindings:
        return QueueBindings(self.sim.account.aws.dynamodb, process.backend.settings.table)

    def _task(self, *statuses: str) -> str | None:
        """Return any of the latest tasks that ECS describes so."""
        found = [arn for arn, it in self.ecs.tasks.items() if it["lastStatus"] in statuses]
        return self.sim.chance.choice(found[-20:]) if found else None

    def _read(self, arn: str) -> Task:
        task = read_task(self.ecs.tasks[arn])
        assert task is not None
        return task

    def do_task_runs(self) -> None:
        """The container of a task starts, or a task ends."""
        chance = self.sim.chance
        waiting, running = self._task("PROVISIONING"), self._task("RUNNING")
        if waiting is not None and chance.random() < 0.85:
            self.ecs.start(waiting)
            which = self._read(waiting).attempt
            holder = self.holders[which.reservation_id]
            self.sim.promises.delivered(which.job_id, holder, f"task of {which.started_by}")
        elif (arn := running or waiting) is not None and not self._runs_on():
            kinds = ENDS[:4] if arn == running else ENDS[4:]
            self.ecs.end(arn, *chance.choice(kinds))

    def _runs_on(self) -> bool:
        """Whether a task does not end now: where there is a timeout, most take longer than it."""
        return self.binding.config.timeout_ms is not None and self.sim.chance.random() < 0.7

    def do_task_reports(self) -> None:
        """A container reports, perhaps long after its attempt is over."""
        arn = self._task("RUNNING", "STOPPED")
        if arn is None:
            return
        attempt = self._read(arn).attempt

        def work(process: Process) -> None:
            try:
                ack = process.backend.jobs.ack
                ack(attempt.job_id, None, None, which=attempt.which, wakes_next=True)
            except BackendError:
                raise
            except OjsError:
                return
            self.sim.promises.acknowledged(attempt.job_id, self.holders[attempt.reservation_id])

        cause = self._cause("ack", self._read(arn))
        held = [Held(attempt.job_id, attempt.which)]
        self._begin("ack", work, worker=cause.worker, job_id=attempt.job_id, held=held)

    def do_settle_task(self) -> None:
        """The queue of events invokes the settler; it may deliver an event again."""
        if not self.ends:
            return
        chance = self.sim.chance
        arn, is_repeated = chance.choice(self.ends), chance.random() < REPEATS
        task = self._read(arn)
        shown = {**self.ecs.tasks[arn], "startedAt": "", "stoppedAt": ""}
        event = {"Records": [{"messageId": "1", "body": json.dumps({"detail": shown})}]}

        def work(process: Process) -> None:
            kept = self._settler(process)(event)
            if not kept["batchItemFailures"] and not is_repeated and arn in self.ends:
                self.ends.remove(arn)

        which = task.attempt
        holder, held = self.holders[which.reservation_id], [Held(which.job_id, which.which)]
        self._begin(_report(task.end), work, worker=holder, job_id=which.job_id, held=held)

    def _settler(self, process: Process) -> TaskSettler:
        suspensions = TaskSuspensions(self._states(process), [self.binding])
        return TaskSettler(process.backend, GROUP, suspensions)

    def do_sweep_tasks(self) -> None:
        """The timer invokes the sweep."""

        def work(process: Process) -> None:
            _Sweep(process.backend, Tasks(self.ecs), self._settler(process), self._as_task)()

        self._begin("sweep", work)

    def _as_task(self, kind: str, task: Task, work: Callable[[], A]) -> A:
        kind = _report(task.end) if task.end is not None else kind
        skew_ms, which = self.sim.profile.skew_ms, task.attempt.which
        is_late = self._is_overdue(task, -skew_ms)
        if kind == "fail" and task.end is None and not self._is_overdue(task, skew_ms):
            self.sim.promises.breach(
                f"the task of job {task.attempt.job_id[-4:]} is ended too early"
            )
        with self.sim.acting_as(self._cause(kind, task)):
            done = work()
        job = self.sim.stored.jobs.get(task.attempt.job_id)
        if kind == "beat" and done and is_late and job is not None and which.is_running(job):
            self.sim.promises.breach(f"the task of job {job.id[-4:]} goes on for too long")
        return done

    def _is_overdue(self, task: Task, ahead_ms: int) -> bool:
        """Whether a running task has had all its time, by a clock that is so far ahead."""
        longest_ms, now = self.binding.config.timeout_ms, self.sim.clock.at + ahead_ms
        if longest_ms is None or task.started_at is None or task.end is not None:
            return False
        return now >= task.started_at + longest_ms

    def _cause(self, kind: str, task: Task) -> Cause:
        """Return on whose behalf something is done for a task."""
        which = task.attempt
        return Cause(
            kind=kind,
            worker=self.holders[which.reservation_id],
            job_id=which.job_id,
            reservations={which.job_id: which.reservation_id},
        )


def _report(end: TaskEnd | None) -> str:
    """Return what becomes of a job, by how its task ended."""
    assert end is not None
    if end.is_complete:
        return "ack"
    return "requeue" if end.is_given_back else "fail"


class _Context:
    """An invocation's context."""

    def __init__(self, request_id: str) -> None:
        self.aws_request_id = request_id
