"""Jobs run by ECS tasks: started, kept while they run, and settled by their ends.

The names of tests about a requirement begin with its section of ojs-serverless. The tasks run on a
model of ECS.
"""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final

import pytest

from ojs_aws.adapters.sqs import encode_message
from ojs_aws.adapters.tasks import Tasks
from ojs_aws.config import Settings
from ojs_aws.domain.bindings import BindingConfig
from ojs_aws.domain.bindings.tasks import TaskBinding
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.attempt_tokens import AttemptGrant, token_text
from ojs_aws.memory_aws.calls import Call, Effect
from ojs_aws.services.access.api_keys import AttemptAuthentication, Verdict
from ojs_aws.topology import TASK_LEASE_S
from ojs_aws.transport.http.callers import verdict_context
from ojs_aws.worker.delivery.dispatch import Dispatcher
from ojs_aws.worker.delivery.inputs import TaskStarter
from ojs_aws.worker.delivery.task_settle import TaskSettler, TaskSuspensions
from ojs_aws.worker.delivery.task_sweep import GRACE_MS, PART_MS, TaskFunction, TaskSweep
from tests.api import Api, Reply
from tests.fake_ecs import PAGE, FakeEcs, refusal
from tests.simulation.world import World
from tests.unit.worker.test_bound_functions import identifiers

CLUSTER: Final = "arn:aws:ecs:us-east-1:123456789012:cluster/shop"
DEFINITION: Final = "arn:aws:ecs:us-east-1:123456789012:task-definition/render:7"
GROUP: Final = "ojs-jobs"
URL: Final = "https://api.example.com/ojs/v1"
KEY: Final = "whsec_test"
BINDING: Final = TaskBinding(
    name="render",
    queues=["media"],
    target=DEFINITION,
    types=["*"],
    reservation_s=TASK_LEASE_S,
    cluster=CLUSTER,
    container="worker",
    subnets=["subnet-1"],
    security_groups=["sg-1"],
)
HOUR_S: Final = 3600


class Bench:
    """A queue whose jobs run as tasks.

    :ivar events: the events in the queue of task state changes.
    """

    def __init__(self, *bindings: TaskBinding) -> None:
        self.world = World(settings=Settings(auth="api-key"))
        self.backend, self.calls = self.world.backend, self.world.aws.calls
        self.ecs = FakeEcs(lambda: self.world.clock.at)
        self.states = self.backend.stores.queue_bindings()
        tasks = Tasks(self.ecs)
        starter = TaskStarter(tasks, GROUP, URL, self.token)
        self.dispatcher = Dispatcher(
            self.backend, None, self.states, bindings or [BINDING], tasks=starter
        )
        suspensions = TaskSuspensions(self.states, bindings or [BINDING])
        self.settler = TaskSettler(self.backend, GROUP, suspensions)
        self.sweep = TaskSweep(self.backend, tasks, self.settler)
        self.authentication = AttemptAuthentication(_not_asked, lambda: [KEY], self.world.clock)
        self.api = Api(self.backend)

    def token(self, record: JobRecord) -> str:
        held = record.reservation
        assert held is not None
        grant = AttemptGrant(
            job_id=record.id,
            attempt=record.attempt,
            reservation_id=held.id,
            ends_at=held.execution_ends_at,
        )
        return token_text(grant, KEY)

    def push(self, **given: Any) -> str:
        given.setdefault("timeout", "PT6H")
        pushed = self.backend.jobs.push(Job("video.render", ["a.mov"], queue="media", **given))
        assert pushed.record is not None
        return pushed.record.id

    def dispatch(self) -> list[str]:
        """One invocation by the queue's trigger; return what it names as coming back."""
        given = self.world.messages.receive("media", 10, TASK_LEASE_S)
        records = [
            {
                "messageId": each.handle,
                "receiptHandle": each.handle,
                "body": encode_message(each.message),
                "attributes": {"ApproximateReceiveCount": str(each.receive_count)},
                "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:ojs-media",
            }
            for each in given
        ]
        kept = identifiers(self.dispatcher({"Records": records}))
        done = [each.handle for each in given if each.handle not in kept]
        if done:
            self.world.messages.delete("media", done)
        return kept

    def settle(self, *tasks: str, times: int = 1) -> list[str]:
        """Deliver the events of some tasks, by default of all."""
        records = [
            {"messageId": arn, "body": json.dumps({"detail": self.detail(arn)})}
            for arn in tasks or self.ecs.tasks
        ]
        kept: list[str] = []
        for _ in range(times):
            kept += identifiers(self.settler({"Records": records}))
        return kept

    def detail(self, arn: str) -> dict[str, Any]:
        """The detail of the event about a task's last change."""
        return {**self.ecs.tasks[arn], "stoppedAt": "2026-01-01T00:00:00Z"}

    @property
    def arn(self) -> str:
        """The only task."""
        (arn,) = self.ecs.tasks
        return arn

    def environment(self, arn: str = "") -> dict[str, str]:
        (override,) = self.ecs.tasks[arn or self.arn]["overrides"]["containerOverrides"]
        return {each["name"]: each["value"] for each in override["environment"]}

    def request(self, environment: dict[str, str], method: str, path: str, body: Any) -> Reply:
        """What a container sends."""
        header = f"Bearer {environment['OJS_TOKEN']}"
        self.api.authorizer = {"lambda": verdict_context(self.authentication(header))}
        path = f"/ojs/v1/jobs/{environment['OJS_JOB_ID']}{path}"
        return self.api.send(method, path, body, headers={"authorization": header})

    def pass_s(self, seconds: float) -> None:
        self.world.clock.at += round(seconds * 1000)

    def run_on(self, seconds: int) -> None:
        """Let time pass, with a sweep each minute."""
        for _ in range(seconds // 60):
            self.pass_s(60)
            assert self.sweep() == 0

    def job(self, job_id: str) -> JobRecord:
        return self.backend.jobs.info(job_id)

    def lose_job_writes(self) -> None:
        """Let the next update of the table fail before it takes effect."""

        def inject(call: Call, effect: Effect) -> dict[str, Any]:
            if call.operation not in {"UpdateItem", "TransactWriteItems"}:
                return effect(call.request)
            self.calls.inject = lambda call, effect: effect(call.request)
            raise refusal(call.operation, "InternalServerError", status=500)

        self.calls.inject = inject


def _not_asked(header: str) -> Verdict:
    raise AssertionError(header)


@pytest.fixture
def bench() -> Bench:
    return Bench()


# ---------------------------------------------------------------------------------- the start
def test_10_1_2_a_job_is_active_before_its_task_starts(bench: Bench) -> None:
    """And its message stays hidden."""
    job_id = bench.push()
    assert len(bench.dispatch()) == 1
    assert bench.job(job_id).state is JobState.ACTIVE
    task = bench.ecs.tasks[bench.arn]
    held = bench.job(job_id).reservation
    assert held is not None
    assert task["startedBy"] == f"ojs_{job_id}_1_{held.id}"
    assert task["group"] == GROUP
    assert held.due_at == bench.world.clock.at + TASK_LEASE_S * 1000


def test_a_task_starts_as_the_stack_says(bench: Bench) -> None:
    """With the cluster, network and container of the binding."""
    bench.push()
    bench.dispatch()
    ((_, given),) = bench.ecs.by_token.values()
    assert (given["cluster"], given["taskDefinition"]) == (CLUSTER, DEFINITION)
    assert given["launchType"] == "FARGATE"
    assert given["networkConfiguration"]["awsvpcConfiguration"] == {
        "subnets": ["subnet-1"],
        "securityGroups": ["sg-1"],
        "assignPublicIp": "DISABLED",
    }
    assert given["overrides"]["containerOverrides"][0]["name"] == "worker"
    assert given["count"] == 1


def test_a_task_may_have_a_public_address() -> None:
    """Where the stack says so."""
    bench = Bench(replace(BINDING, has_public_ip=True, capacity="FARGATE_SPOT"))
    bench.push()
    bench.dispatch()
    ((_, given),) = bench.ecs.by_token.values()
    network = given["networkConfiguration"]["awsvpcConfiguration"]
    assert network["assignPublicIp"] == "ENABLED"
    assert given["capacityProviderStrategy"] == [{"capacityProvider": "FARGATE_SPOT", "weight": 1}]
    assert "launchType" not in given


def test_a_container_fetches_its_job_and_reports_with_its_token(bench: Bench) -> None:
    """By plain HTTPS; then its task's end says nothing more."""
    job_id = bench.push()
    bench.dispatch()
    given = bench.environment()
    assert (given["OJS_API_URL"], given["OJS_JOB_ID"], given["OJS_ATTEMPT"]) == (URL, job_id, "1")
    assert given["OJS_JOB_TYPE"] == "video.render"
    assert given["OJS_DELIVERY_ID"].startswith("del_")
    read = bench.request(given, "GET", "", None)
    assert (read.status, read.json["job"]["args"]) == (200, ["a.mov"])
    assert bench.request(given, "POST", "/ack", {"result": {"frames": 9}}).status == 200
    bench.ecs.end(bench.arn, 0)
    bench.settle()
    done = bench.job(job_id)
    assert (done.state, done.result) == (JobState.COMPLETED, '{"frames": 9}')
    assert bench.request(given, "GET", "", None).status == 409


def test_8_1_two_claims_of_a_job_have_two_tasks(bench: Bench) -> None:
    """And the token of the first is dead: 409, and nothing changes."""
    job_id = bench.push(retry={"initial_interval": "PT1S", "jitter": False})
    bench.dispatch()
    first = bench.arn
    bench.pass_s(TASK_LEASE_S)
    bench.backend.upkeep.sweep.tick()
    bench.pass_s(2)
    bench.backend.upkeep.sweep.tick()
    bench.dispatch()
    assert len(bench.ecs.tasks) == 2
    before = bench.job(job_id)
    assert before.state is JobState.ACTIVE
    late = bench.environment(first)
    assert bench.request(late, "POST", "/ack", {}).status == 409
    bench.ecs.end(first, 0)
    bench.settle(first)
    assert bench.job(job_id) == before


# ------------------------------------------------------------------- 7.2: faults of the start
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("AccessDeniedException", "may not be started by the dispatcher"),
        ("ClusterNotFoundException", "has a cluster that does not exist"),
        ("InvalidParameterException", "cannot be started as the stack says"),
        ("ClientException", "cannot be started as the stack says"),
    ],
)
def test_7_2_a_wrong_target_suspends_its_binding(bench: Bench, code: str, reason: str) -> None:
    """No job is discarded for it, and the attempt does not count."""
    bench.ecs.faults["RunTask"] = refusal("RunTask", code), False
    job_id = bench.push()
    assert bench.dispatch() == []
    waiting = bench.job(job_id)
    assert (waiting.state, waiting.uncounted_attempts) == (JobState.RETRYABLE, 1)
    (suspension,) = bench.states.of("media").suspended.values()
    assert suspension.reason == f"{DEFINITION} {reason}"


@pytest.mark.parametrize(
    "problem",
    [
        refusal("RunTask", "ThrottlingException"),
        refusal("RunTask", "ClientException", "Capacity is unavailable at this time."),
        refusal("RunTask", "ClientException", "You've reached the limit on the number of tasks"),
    ],
)
def test_7_2_without_capacity_a_job_is_given_back(bench: Bench, problem: Exception) -> None:
    """Uncounted, and the binding goes on."""
    bench.ecs.faults["RunTask"] = problem, False
    job_id = bench.push()
    assert bench.dispatch() == []
    assert bench.job(job_id).uncounted_attempts == 1
    assert bench.states.of("media").suspended == {}


def test_7_2_a_task_that_finds_no_machine_gives_its_job_back(bench: Bench) -> None:
    """The reason stands in the job."""
    bench.ecs.failures = ["RESOURCE:MEMORY"]
    job_id = bench.push()
    assert bench.dispatch() == []
    (failure,) = bench.job(job_id).failures
    assert "RESOURCE:MEMORY" in failure.message
    assert bench.job(job_id).uncounted_attempts == 1


@pytest.mark.parametrize("has_effect", [True, False])
def test_10_1_a_lost_answer_starts_no_second_task(bench: Bench, *, has_effect: bool) -> None:
    """The task may run: its end, or the end of the reservation, decides."""
    bench.ecs.faults["RunTask"] = refusal("RunTask", "ServerException", status=500), has_effect
    job_id = bench.push()
    assert len(bench.dispatch()) == 1
    assert bench.job(job_id).state is JobState.ACTIVE
    assert len(bench.ecs.tasks) == has_effect


def test_a_repeated_start_finds_its_task(bench: Bench) -> None:
    """By the token, which the attempt alone decides; also where ECS says that it is in use."""
    bench.push()
    bench.dispatch()
    ((_, given),) = bench.ecs.by_token.values()
    assert bench.ecs.run_task(**given)["tasks"][0]["taskArn"] == bench.arn
    bench.ecs.faults["RunTask"] = refusal("RunTask", "ConflictException"), False
    job_id = bench.push()
    assert len(bench.dispatch()) == 1
    assert bench.job(job_id).state is JobState.ACTIVE


# ------------------------------------------------------------------------------------ the end
def ended(bench: Bench, container: dict[str, str] | None = None, **given: Any) -> JobRecord:
    """A job whose task has ended in some way, and was settled twice."""
    job_id = bench.push()
    bench.dispatch()
    bench.ecs.end(bench.arn, **given)
    bench.ecs.tasks[bench.arn]["containers"][0] |= container or {}
    assert bench.settle(times=2) == []
    return bench.job(job_id)


def test_7_1_a_task_that_ends_with_0_completes_its_job(bench: Bench) -> None:
    """Without a result, and once, although the event came twice."""
    done = ended(bench, exit_code=0)
    assert (done.state, done.result) == (JobState.COMPLETED, None)


def test_7_1_a_task_that_ends_otherwise_has_failed(bench: Bench) -> None:
    """With its exit code and the reason of ECS; the retry policy decides."""
    failed = ended(bench, {"reason": "OutOfMemoryError"}, exit_code=3)
    assert failed.state is JobState.RETRYABLE
    assert failed.uncounted_attempts == 0
    (failure,) = failed.failures
    assert failure.type == "task_failed"
    assert failure.message == (
        "The task stopped with exit code 3: Essential container in task exited. OutOfMemoryError."
    )
    details = json.loads(failure.extra["details"])
    assert (failure.code, details["exit_code"]) == ("exit.3", 3)
    assert details["task_arn"] == bench.arn


@pytest.mark.parametrize(
    ("patterns", "state"),
    [
        (["exit.3"], JobState.DISCARDED),
        (["exit.*"], JobState.DISCARDED),
        (["task_failed"], JobState.DISCARDED),
        (["exit.4", "exit.33"], JobState.RETRYABLE),
    ],
)
def test_7_2_a_binding_says_after_which_ends_no_retry_helps(
    patterns: list[str], state: JobState
) -> None:
    """As a retry policy names errors: by the exit code, or by the type."""
    bench = Bench(final_after(*patterns))
    assert ended(bench, exit_code=3).state is state


def final_after(*patterns: str) -> TaskBinding:
    """A binding whose stack names errors after which no retry helps."""
    return replace(BINDING, config=BindingConfig(non_retryable_errors=patterns))


def test_7_2_a_retry_policy_names_exit_codes(bench: Bench) -> None:
    """Of the job itself, where its binding says nothing."""
    job_id = bench.push(retry={"non_retryable_errors": ["exit.3"]})
    bench.dispatch()
    bench.ecs.end(bench.arn, 3)
    bench.settle()
    assert bench.job(job_id).state is JobState.DISCARDED


def test_7_2_another_definition_says_nothing_of_a_tasks_end() -> None:
    """Its errors are its own."""
    other = replace(
        BINDING, name="other", types=["other"], target=DEFINITION.replace("render", "ship")
    )
    bench = Bench(BINDING, replace(other, config=BindingConfig(non_retryable_errors=("exit.*",))))
    assert ended(bench, exit_code=3).state is JobState.RETRYABLE


def test_7_2_a_task_of_an_older_revision_ends_as_its_binding_says() -> None:
    """It may run for hours after a deployment."""
    bench = Bench(final_after("exit.3"))
    job_id = bench.push()
    bench.dispatch()
    bench.ecs.tasks[bench.arn]["taskDefinitionArn"] = DEFINITION.replace(":7", ":6")
    bench.ecs.end(bench.arn, 3)
    bench.settle()
    assert bench.job(job_id).state is JobState.DISCARDED


def test_an_end_without_an_exit_code_has_the_code_of_its_type(bench: Bench) -> None:
    """There is none to name."""
    assert ended(bench, exit_code=None).failures[0].code == "task_failed"


@pytest.mark.parametrize(
    "given",
    [
        {"exit_code": None},
        {"exit_code": 0, "stop_code": "UserInitiated"},
        {"exit_code": 137, "stop_code": "UserInitiated"},
    ],
    ids=["no exit code", "told to stop", "killed"],
)
def test_a_task_that_was_stopped_has_not_completed_its_job(
    bench: Bench, given: dict[str, Any]
) -> None:
    """Although a container that gets SIGTERM may exit with 0."""
    failed = ended(bench, **given)
    assert (failed.state, failed.uncounted_attempts) == (JobState.RETRYABLE, 0)
    assert failed.failures[0].type == "task_failed"
    assert failed.failures[0].code != "exit.0"


@pytest.mark.parametrize(
    "stop_code", ["TaskFailedToStart", "SpotInterruption", "TerminationNotice"]
)
def test_7_2_an_end_that_is_no_fault_of_the_job_does_not_count(
    bench: Bench, stop_code: str
) -> None:
    """It is given back for a second, then for two, and so on."""
    given = ended(bench, exit_code=None, stop_code=stop_code, reason="Host terminated")
    assert (given.state, given.uncounted_attempts) == (JobState.RETRYABLE, 1)
    assert given.next_attempt_at == bench.world.clock.at + 1000
    assert "Host terminated" in given.failures[0].message
    assert bench.states.of("media").suspended == {}


def test_a_job_gets_the_exit_code_of_its_own_container(bench: Bench) -> None:
    """Not that of a sidecar, which is killed with the task."""
    job_id = bench.push()
    bench.dispatch()
    bench.ecs.end(bench.arn, 0)
    bench.ecs.tasks[bench.arn]["containers"][1]["exitCode"] = 137
    bench.settle()
    assert bench.job(job_id).state is JobState.COMPLETED


def test_an_event_comes_back_while_the_table_cannot_be_written(bench: Bench) -> None:
    """And counts then."""
    job_id = bench.push()
    bench.dispatch()
    bench.ecs.end(bench.arn, 0)
    bench.lose_job_writes()
    assert bench.settle() == [bench.arn]
    assert bench.job(job_id).state is JobState.ACTIVE
    assert bench.settle() == []
    assert bench.job(job_id).state is JobState.COMPLETED


@pytest.mark.parametrize(
    "changed",
    [{"group": "ojs-other"}, {"startedBy": "ecs-svc/1"}, {"lastStatus": "RUNNING"}],
    ids=["another deployment", "a service", "running"],
)
def test_other_tasks_are_passed_over(bench: Bench, changed: dict[str, str]) -> None:
    """They end no job."""
    job_id = bench.push()
    bench.dispatch()
    bench.ecs.end(bench.arn, 1)
    bench.ecs.tasks[bench.arn] |= changed
    assert bench.settle() == []
    assert bench.job(job_id).state is JobState.ACTIVE


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"detail": 1}', '{"detail": null}'])
def test_what_is_no_event_is_dropped(bench: Bench, body: str) -> None:
    """It does not become one by being read again."""
    assert identifiers(bench.settler({"Records": [{"messageId": "1", "body": body}]})) == []


def test_the_end_of_a_task_wakes_who_waits_for_its_slots(bench: Bench) -> None:
    """As ACK does not send a message by itself."""
    limit = {"concurrency": 1, "key": "render"}
    first, second = bench.push(rate_limit=limit), bench.push(rate_limit=limit)
    bench.dispatch()
    states = {bench.job(each).state for each in (first, second)}
    assert states == {JobState.ACTIVE, JobState.AVAILABLE}
    bench.ecs.end(bench.arn, 0)
    bench.settle()
    bench.pass_s(1)
    bench.dispatch()
    assert len(bench.ecs.tasks) == 2


# ---------------------------------------------------------------------------------- the lease
def test_a_job_stays_reserved_for_as_long_as_its_task_runs(bench: Bench) -> None:
    """For hours, and its message stays hidden."""
    job_id = bench.push()
    bench.dispatch()
    bench.run_on(2 * HOUR_S)
    bench.backend.upkeep.sweep.tick()
    job = bench.job(job_id)
    assert (job.state, job.attempt) == (JobState.ACTIVE, 1)
    assert bench.dispatch() == []
    bench.ecs.end(bench.arn, 0)
    bench.settle()
    assert bench.job(job_id).state is JobState.COMPLETED


def test_a_reservation_is_extended_when_half_of_it_is_over(bench: Bench) -> None:
    """A write each five minutes, and a read each minute."""
    bench.push()
    bench.dispatch()
    bench.calls.made.clear()
    bench.pass_s(TASK_LEASE_S // 2 - 1)
    bench.sweep()
    assert bench.calls.made["UpdateItem"] == 0
    bench.pass_s(1)
    bench.sweep()
    assert bench.calls.made["UpdateItem"] == 1
    assert bench.ecs.calls.count("StopTask") == 0


def test_a_cancelled_job_stops_its_task(bench: Bench) -> None:
    """At the next sweep."""
    job_id = bench.push()
    bench.dispatch()
    bench.backend.jobs.cancel(job_id)
    assert bench.sweep() == 0
    assert bench.ecs.tasks[bench.arn]["stoppedReason"] == f"The attempt of job {job_id} is over"
    bench.settle()
    assert bench.job(job_id).state is JobState.CANCELLED


def test_an_orphan_is_stopped_when_another_attempt_runs(bench: Bench) -> None:
    """The other one goes on."""
    job_id = bench.push(retry={"initial_interval": "PT1S", "jitter": False})
    bench.dispatch()
    first = bench.arn
    bench.pass_s(TASK_LEASE_S)
    bench.backend.upkeep.sweep.tick()
    bench.pass_s(2)
    bench.backend.upkeep.sweep.tick()
    bench.dispatch()
    (second,) = {*bench.ecs.tasks} - {first}
    assert bench.sweep() == 0
    assert bench.ecs.tasks[first]["lastStatus"] == "STOPPED"
    assert bench.ecs.tasks[second]["lastStatus"] != "STOPPED"
    assert bench.job(job_id).state is JobState.ACTIVE


def test_a_container_that_has_reported_may_end_by_itself(bench: Bench) -> None:
    """For two minutes."""
    job_id = bench.push()
    bench.dispatch()
    assert bench.request(bench.environment(), "POST", "/ack", {}).status == 200
    assert bench.job(job_id).state is JobState.COMPLETED
    bench.pass_s(GRACE_MS / 1000 - 1)
    bench.sweep()
    assert "StopTask" not in bench.ecs.calls
    bench.pass_s(1)
    bench.sweep()
    assert "StopTask" in bench.ecs.calls


def test_a_task_whose_job_is_gone_is_stopped(bench: Bench) -> None:
    """Nobody waits for it."""
    bench.push()
    bench.dispatch()
    task = bench.ecs.tasks[bench.arn]
    task["startedBy"] = "ojs_01912345-6789-7abc-8def-0123456789ff_1_abc"
    assert bench.sweep() == 0
    assert task["lastStatus"] == "STOPPED"


def test_tasks_of_another_deployment_are_not_stopped(bench: Bench) -> None:
    """They may share the family."""
    bench.push()
    bench.dispatch()
    task = bench.ecs.tasks[bench.arn]
    task |= {"group": "ojs-other", "startedBy": "ojs_01912345-6789-7abc-8def-0123456789ff_1_abc"}
    assert bench.sweep() == 0
    assert task["lastStatus"] != "STOPPED"


def test_a_lost_event_is_found_by_the_sweep(bench: Bench) -> None:
    """With its exit code; several pages of tasks are read."""
    ids = [bench.push() for _ in range(5)]
    bench.dispatch()
    for arn in [*bench.ecs.tasks][:4]:
        bench.ecs.end(arn, 0)
    assert bench.sweep() == 0
    states = [bench.job(each).state for each in ids]
    assert sorted(states) == ["active", *4 * ["completed"]]


def test_tasks_that_stopped_long_ago_are_not_looked_up(bench: Bench) -> None:
    """Their reservations have ended."""
    bench.push()
    bench.dispatch()
    bench.ecs.end(bench.arn, 1)
    bench.pass_s(TASK_LEASE_S + 1)
    bench.calls.made.clear()
    assert bench.sweep() == 0
    assert bench.calls.made.total() == 0


@pytest.mark.parametrize("operation", ["ListTasks", "DescribeTasks", "StopTask"])
@pytest.mark.parametrize("has_effect", [True, False])
def test_a_failed_sweep_is_repeated(bench: Bench, operation: str, *, has_effect: bool) -> None:
    """And says that it failed, as an error of the function."""
    job_id = bench.push()
    bench.dispatch()
    bench.backend.jobs.cancel(job_id)
    bench.ecs.faults[operation] = refusal(operation, "ServerException", status=500), has_effect
    function = TaskFunction(bench.settler, bench.sweep)
    with pytest.raises(RuntimeError, match="1 tasks"):
        function({"source": "aws.events"})
    assert function({"source": "aws.events"}) == {}
    assert bench.ecs.tasks[bench.arn]["lastStatus"] == "STOPPED"
    assert function({"Records": []}) == {"batchItemFailures": []}


def test_no_tasks_starve_where_a_sweep_has_no_time_for_all() -> None:
    """Neither a family nor a part of one: each minute begins elsewhere; the rest is an error."""
    other = replace(BINDING, name="other", target=f"{DEFINITION[:-8]}other:1", types=["audio.mix"])
    bench = Bench(other, BINDING)
    ids = [bench.push() for _ in range(PAGE + 1)]
    pushed = bench.backend.jobs.push(Job("audio.mix", [], queue="media", timeout="PT6H"))
    assert pushed.record is not None
    while bench.dispatch():
        pass
    for arn in bench.ecs.tasks:
        bench.ecs.end(arn, 0)
    for _ in range(4):
        asked = iter([True])
        function = TaskFunction(bench.settler, bench.sweep)
        context = SimpleNamespace(
            get_remaining_time_in_millis=lambda asked=asked: PART_MS + next(asked, 0)
        )
        with pytest.raises(RuntimeError, match="families"):
            function({"source": "aws.events"}, context)
        bench.pass_s(60)
    states = {bench.job(each).state for each in [*ids, pushed.record.id]}
    assert states == {JobState.COMPLETED}


def test_an_idle_sweep_reads_nothing_of_the_table(bench: Bench) -> None:
    """It asks ECS twice for each family."""
    bench.calls.made.clear()
    assert bench.sweep() == 0
    assert bench.calls.made.total() == 0
    assert bench.ecs.calls == ["ListTasks", "ListTasks"]


def test_why_names_the_task_of_a_running_job(bench: Bench) -> None:
    """With the command that finds its ARN."""
    job_id = bench.push()
    bench.dispatch()
    (reason,) = bench.backend.jobs.why(job_id).reasons
    started_by = bench.ecs.tasks[bench.arn]["startedBy"]
    assert reason.data["task"] == started_by
    assert reason.hint.endswith(f"--started-by {started_by}")
    assert reason.message.endswith("It runs in an ECS task.")
