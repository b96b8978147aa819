"""Jobs run by Lambda functions of any language: dispatched, and settled by their records.

The names of tests about a requirement begin with its section of ojs-serverless. The functions run
on a model of Lambda's asynchronous invocation; the records of other runtimes are as their
documentation shows them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pytest

from ojs_aws.adapters.aws_errors import AwsError
from ojs_aws.adapters.dynamodb.queues.bindings import QueueBindings
from ojs_aws.adapters.functions import Functions
from ojs_aws.adapters.sqs import encode_message
from ojs_aws.config import Settings
from ojs_aws.domain.bindings import Binding, binding_of
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, JsonValue
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.reasons import ReasonCode
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.memory_aws.calls import Call, Effect
from ojs_aws.memory_aws.events import Target
from ojs_aws.services.system.queue_findings import FindingCode, Severity
from ojs_aws.worker.delivery.dispatch import Dispatcher
from ojs_aws.worker.delivery.inputs import MAX_EVENT_BYTES
from ojs_aws.worker.delivery.settle import Settler, error_of
from tests.simulation.world import World

TARGET: Final = "arn:aws:lambda:us-east-1:123456789012:function:shop:ojs"
OTHER: Final = "arn:aws:lambda:us-east-1:123456789012:function:other:ojs"
RESERVATION_S: Final = 150
MAX_AGE_S: Final = 60


class ShopError(Exception):
    """What a handler raises."""


@dataclass
class Bench:
    """A queue whose jobs a function runs, with what is between them.

    :ivar seen: the events that functions got.
    :ivar outcomes: the records in the queue of outcomes.
    """

    bindings: list[Binding] = field(
        default_factory=lambda: [
            Binding(
                name="shop",
                queues=["email"],
                target=TARGET,
                types=["*"],
                reservation_s=RESERVATION_S,
            )
        ]
    )
    returns: Callable[[dict[str, Any]], Any] = field(default=lambda event: {"sent": True})
    seen: list[dict[str, Any]] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        self.world = World(settings=self.settings)
        self.backend, self.calls = self.world.backend, self.world.aws.calls
        self.states = QueueBindings(self.world.aws.dynamodb, self.world.settings.table)
        functions = Functions(self.world.aws.functions)
        self.dispatcher = Dispatcher(self.backend, functions, self.states, self.bindings)
        self.settler = Settler(self.backend)
        self.lambda_ = self.world.aws.triggers.invocations
        for each in self.bindings:
            self.lambda_.targets[each.target] = Target(self.run, self.outcomes.append, MAX_AGE_S)

    @property
    def target(self) -> Target:
        return self.lambda_.targets[TARGET]

    def run(self, event: dict[str, Any], _context: object) -> Any:
        self.seen.append(event)
        return self.returns(event)

    def push(self, *args: Any, job_type: str = "email.send", **given: Any) -> str:
        pushed = self.backend.jobs.push(Job(job_type, list(args), queue="email", **given))
        assert pushed.record is not None
        return pushed.record.id

    def dispatch(self) -> list[str]:
        """One invocation by the queue's trigger; return what it names as coming back."""
        given = self.world.messages.receive("email", 10, RESERVATION_S)
        records = [
            {
                "messageId": each.handle,
                "receiptHandle": each.handle,
                "body": encode_message(each.message),
                "attributes": {"ApproximateReceiveCount": str(each.receive_count)},
                "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:ojs-email",
            }
            for each in given
        ]
        kept = identifiers(self.dispatcher({"Records": records}))
        done = [each.handle for each in given if each.handle not in kept]
        if done:
            self.world.messages.delete("email", done)
        return kept

    def settle(self, *, times: int = 1) -> list[str]:
        """Settle each record as often as the queue of outcomes delivers it."""
        bodies, self.outcomes[:] = [*self.outcomes], []
        records = [{"messageId": str(at), "body": body} for at, body in enumerate(bodies)]
        kept: list[str] = []
        for _ in range(times):
            kept += identifiers(self.settler({"Records": records}))
        self.outcomes += [bodies[int(each)] for each in kept]
        return kept

    def whole(self) -> None:
        """Dispatch, run and settle."""
        self.dispatch()
        self.lambda_.run()
        self.settle()

    def pass_s(self, seconds: float) -> None:
        self.world.clock.at += round(seconds * 1000)

    def job(self, job_id: str) -> JobRecord:
        return self.backend.jobs.info(job_id)

    def fail_call(self, operation: str, when: str) -> None:
        """Let the next call of an operation fail, before or after it took effect."""

        def inject(call: Call, effect: Effect) -> dict[str, Any]:
            if call.operation != operation or self.calls.inject is not inject:
                return effect(call.request)
            self.calls.inject = lambda call, effect: effect(call.request)
            if when == "after":
                effect(call.request)
            answer = {"Error": {"Code": "ServiceException"}}
            raise AwsError({**answer, "ResponseMetadata": {"HTTPStatusCode": 500}}, operation)

        self.calls.inject = inject


def identifiers(answer: dict[str, list[dict[str, str]]]) -> list[str]:
    return [each["itemIdentifier"] for each in answer["batchItemFailures"]]


@pytest.fixture
def bench() -> Bench:
    return Bench()


# ------------------------------------------------------------------- 2: requests and answers


def test_2_2_a_function_gets_the_job_as_it_was_sent(bench: Bench) -> None:
    """Byte for byte, with its attempt, deadline and delivery."""
    args = [12345678901234567890123, 1.50, {"b": None, "a": "é"}]
    job_id = bench.push(*args)
    bench.dispatch()
    (waiting,) = bench.lambda_.waiting
    event = parse_object(waiting.payload)
    job = parse_object(event["job"].raw)
    assert job["args"].raw == '[12345678901234567890123,1.5,{"b":null,"a":"é"}]'
    assert job["id"].value == job_id
    assert (event["attempt"].value, job["attempt"].value) == (1, 1)
    held = bench.job(job_id).reservation
    assert held is not None
    assert event["delivery_id"].value == f"del_{held.id}"
    assert event["deadline"].value == format_instant(held.due_at)
    assert str(event["worker_id"].value).startswith("dispatcher_")


def test_2_3_what_a_function_returns_is_the_result(bench: Bench) -> None:
    """Also an integer of any size."""
    bench.returns = lambda event: {"n": event["job"]["args"][0]}
    job_id = bench.push(12345678901234567890123)
    bench.whole()
    done = bench.job(job_id)
    assert done.state is JobState.COMPLETED
    assert done.result is not None
    assert done.result == '{"n": 12345678901234567890123}'


def test_2_3_a_function_that_returns_nothing_completes_its_job(bench: Bench) -> None:
    """Without a result."""
    bench.returns = lambda event: None
    job_id = bench.push()
    bench.whole()
    done = bench.job(job_id)
    assert (done.state, done.result) == (JobState.COMPLETED, None)


def test_2_3_what_a_function_raises_is_the_error(bench: Bench) -> None:
    """With the type, message and stack of its runtime; the retry policy decides."""

    def fail(event: dict[str, Any]) -> None:
        raise ShopError("no such user")

    bench.returns = fail
    job_id = bench.push()
    bench.whole()
    failed = bench.job(job_id)
    assert failed.state is JobState.RETRYABLE
    (failure,) = failed.failures
    assert (failure.type, failure.message, failure.code) == (
        "ShopError",
        "no such user",
        "handler_error",
    )
    assert any("raise ShopError" in frame for frame in failure.backtrace)


NODE: Final = {
    "errorType": "TypeError",
    "errorMessage": "x is not a function",
    "trace": ["TypeError: x is not a function", "    at send (file:///var/task/index.mjs:3:9)"],
}
GO: Final = {
    "errorType": "wrapError",
    "errorMessage": "smtp: refused",
    "stackTrace": [{"path": "github.com/shop/main.go", "line": 17, "label": "send"}],
}
JAVA: Final = {
    "errorType": "java.lang.IllegalStateException",
    "errorMessage": "closed",
    "stackTrace": ["shop.Handler.handle(Handler.java:9)"],
    "cause": {
        "errorType": "java.io.IOException",
        "errorMessage": "refused",
        "stackTrace": ["shop.Mail.send(Mail.java:4)"],
    },
}


@pytest.mark.parametrize(
    ("said", "kind", "message", "last"),
    [
        (NODE, "TypeError", "x is not a function", "    at send (file:///var/task/index.mjs:3:9)"),
        (GO, "wrapError", "smtp: refused", "send (github.com/shop/main.go:17)"),
        (JAVA, "java.lang.IllegalStateException", "closed", "shop.Mail.send(Mail.java:4)"),
        ({"errorMessage": "Process exited"}, "FunctionError", "Process exited", None),
        ("gone", "FunctionError", "gone", None),
        (None, "FunctionError", "The function failed, and said no more.", None),
    ],
    ids=["node", "go", "java", "exit", "text", "nothing"],
)
def test_7_1_errors_of_each_runtime_are_read(
    said: Any, kind: str, message: str, last: str | None
) -> None:
    """Type, message, and the lines of the stack."""
    error: dict[str, Any] = error_of(said)
    assert (error["type"], error["message"]) == (kind, message)
    assert error.get("backtrace", [None])[-1] == last
    assert "retryable" not in error


def test_7_1_a_crash_is_retried() -> None:
    """A process that ran out of memory, or exited: the policy decides."""
    said: JsonValue = {
        "errorType": "Runtime.OutOfMemory",
        "errorMessage": "RequestId: 1 signal: killed",
    }
    assert error_of(said)["type"] == "Runtime.OutOfMemory"
    assert "retryable" not in error_of(said)


@pytest.mark.parametrize(
    "said",
    [
        {"errorType": "Sandbox.Timedout", "errorMessage": "RequestId: 1 Error: Task timed out"},
        {"errorMessage": "2026-01-01T00:00:00Z 1 Task timed out after 30.00 seconds"},
    ],
    ids=["typed", "plain"],
)
def test_10_1_3_a_function_whose_time_is_over_fails_with_a_timeout(said: dict[str, Any]) -> None:
    """It is retried as any other timeout."""
    error = error_of(said)
    assert (error["type"], error["code"]) == ("timeout", "timeout")


# ----------------------------------------------------------------------- 7: delivery errors


def missing(bench: Bench) -> None:
    del bench.lambda_.targets[TARGET]


def denied(bench: Bench) -> None:
    bench.target.is_denied = True


@pytest.mark.parametrize(
    ("lose", "reason"),
    [(missing, "does not exist"), (denied, "may not be invoked by the dispatcher")],
)
def test_7_2_no_job_is_discarded_for_a_function_that_is_gone(
    bench: Bench, lose: Callable[[Bench], None], reason: str
) -> None:
    """The job is given back uncounted, and the binding is suspended."""
    lose(bench)
    job_id = bench.push()
    assert bench.dispatch() == []
    waiting = bench.job(job_id)
    assert (waiting.state, waiting.uncounted_attempts) == (JobState.RETRYABLE, 1)
    assert waiting.next_attempt_at == bench.world.clock.at + 1000
    (suspension,) = bench.states.of("email").suspended.values()
    assert suspension.reason == f"{TARGET} {reason}"


def test_7_2_nothing_is_dispatched_to_a_suspended_binding(bench: Bench) -> None:
    """Messages are hidden, and their jobs stay available; no call of Lambda is made."""
    denied(bench)
    bench.push()
    bench.dispatch()
    second = bench.push()
    bench.calls.made.clear()
    assert len(bench.dispatch()) == 1
    assert bench.job(second).state is JobState.AVAILABLE
    assert bench.calls.made["Invoke"] == 0
    assert bench.calls.made["UpdateItem"] == 0


def test_7_2_6_one_job_is_tried_after_a_minute_and_resumes_the_binding(bench: Bench) -> None:
    """The others wait for how it ends (half-open)."""
    denied(bench)
    ids = [bench.push(), bench.push(), bench.push()]
    bench.dispatch()
    bench.pass_s(61)
    bench.dispatch()
    assert [bench.job(each).uncounted_attempts for each in ids].count(2) == 1
    bench.target.is_denied = False
    bench.pass_s(301)
    assert len(bench.dispatch()) == 3
    assert len(bench.lambda_.waiting) == 1
    assert bench.states.of("email").suspended == {}
    bench.pass_s(301)
    bench.whole()
    assert len(bench.seen) > 1


def test_7_2_a_failed_trial_keeps_the_reason_and_the_time(bench: Bench) -> None:
    """So that people see since when."""
    denied(bench)
    bench.push()
    bench.dispatch()
    first = bench.states.of("email").suspended["shop"]
    bench.pass_s(70)
    bench.dispatch()
    again = bench.states.of("email").suspended["shop"]
    assert (again.since, again.reason) == (first.since, first.reason)
    assert again.tried_at > first.tried_at


def test_7_2_a_suspended_binding_is_a_finding_and_a_reason(bench: Bench) -> None:
    """Operators are alerted, and see why jobs wait."""
    denied(bench)
    first = bench.push()
    bench.dispatch()
    second = bench.push()
    (finding,) = [
        each
        for each in bench.backend.findings().findings
        if each.code is FindingCode.BINDING_SUSPENDED
    ]
    reason = f"{TARGET} may not be invoked by the dispatcher"
    assert finding.message == (
        f"The binding 'shop' of queue 'email' has been suspended for 0 s: {reason}."
    )
    assert (finding.severity, finding.data["binding"]) == (Severity.ERROR, "shop")
    codes = [each.code for each in bench.backend.jobs.why(second).reasons]
    assert ReasonCode.BINDING_SUSPENDED in codes
    (waits,) = bench.backend.jobs.why(first).reasons[:1]
    assert reason in waits.message


def test_7_1_a_throttled_invocation_gives_the_job_back(bench: Bench) -> None:
    """It certainly was not taken; each time the job waits twice as long."""

    def refuse(call: Call, effect: Effect) -> dict[str, Any]:
        if call.operation == "Invoke":
            answer = {"Error": {"Code": "TooManyRequestsException"}}
            raise AwsError({**answer, "ResponseMetadata": {"HTTPStatusCode": 429}}, "Invoke")
        return effect(call.request)

    bench.calls.inject = refuse
    job_id = bench.push()
    waits = []
    for _ in range(3):
        bench.dispatch()
        due = bench.job(job_id).next_attempt_at
        assert due is not None
        waits.append(due - bench.world.clock.at)
        bench.pass_s(waits[-1] / 1000)
    assert waits == [1000, 2000, 4000]
    assert bench.states.of("email").suspended == {}


def test_7_1_an_event_that_waited_for_too_long_gives_the_job_back(bench: Bench) -> None:
    """The function was busy all the time: it never got the job, so the attempt does not count."""
    bench.target.is_throttled = True
    job_id = bench.push()
    bench.dispatch()
    assert bench.lambda_.run() == 0
    bench.pass_s(MAX_AGE_S + 1)
    assert bench.lambda_.run() == 1
    bench.settle()
    waiting = bench.job(job_id)
    assert (waiting.state, waiting.uncounted_attempts) == (JobState.RETRYABLE, 1)
    assert "waited for too long" in waiting.failures[-1].message


def test_7_1_a_record_without_an_end_of_the_function_gives_the_job_back(bench: Bench) -> None:
    """Such as one of a function that may not have any executions."""
    job_id = bench.push()
    bench.dispatch()
    event = bench.lambda_.waiting.pop().payload
    context = '{"condition":"RetriesExhausted"}'
    response = '{"statusCode":429}'
    bench.outcomes.append(
        f'{{"requestContext":{context},"requestPayload":{event},"responseContext":{response}}}'
    )
    bench.settle()
    waiting = bench.job(job_id)
    assert waiting.uncounted_attempts == 1
    assert "could not invoke it (RetriesExhausted, 429)" in waiting.failures[-1].message


# ------------------------------------------------------------ 7: whoever dies, at each call


@pytest.mark.parametrize("when", ["before", "after"])
def test_7_1_an_invocation_that_may_have_begun_is_not_repeated_at_once(
    bench: Bench, when: str
) -> None:
    """The outcome decides where there is one, else the end of the reservation."""
    job_id = bench.push()
    bench.fail_call("Invoke", when)
    assert len(bench.dispatch()) == 1, "the message stays hidden"
    assert bench.job(job_id).state is JobState.ACTIVE
    bench.lambda_.run()
    bench.settle()
    if when == "after":
        assert bench.job(job_id).state is JobState.COMPLETED
        return
    bench.pass_s(RESERVATION_S + 1)
    assert bench.job(job_id).state is JobState.AVAILABLE
    bench.whole()
    assert bench.job(job_id).state is JobState.COMPLETED


def test_a_dispatcher_that_dies_after_the_claim_loses_no_job(bench: Bench) -> None:
    """The message comes back, and the reservation has ended by then."""
    job_id = bench.push()

    def die(*_: object) -> None:
        raise SystemExit

    bench.dispatcher.functions = type("Dying", (), {"begin": die})()
    with pytest.raises(SystemExit):
        bench.dispatch()
    assert bench.job(job_id).state is JobState.ACTIVE
    bench.dispatcher.functions = Functions(bench.world.aws.functions)
    bench.pass_s(RESERVATION_S + 60)
    bench.whole()
    bench.pass_s(60)
    bench.whole()
    done = bench.job(job_id)
    assert (done.state, done.attempt) == (JobState.COMPLETED, 2)


def test_a_dispatcher_that_dies_after_the_invocation_dispatches_once(bench: Bench) -> None:
    """Its message comes back while the job is held, and changes nothing."""
    job_id = bench.push()
    bench.dispatch()  # its answer would have kept the message: so does no answer
    (held,) = bench.world.held("email")
    bench.world.messages.hide("email", [(held.handle, 0)])
    bench.dispatch()
    assert len(bench.lambda_.waiting) == 1
    bench.lambda_.run()
    bench.settle()
    done = bench.job(job_id)
    assert (done.state, done.attempt) == (JobState.COMPLETED, 1)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_settler_whose_write_fails_settles_when_the_record_comes_back(
    bench: Bench, when: str
) -> None:
    """Once, whether the write took effect or not."""
    job_id = bench.push()
    bench.dispatch()
    bench.lambda_.run()
    bench.fail_call("UpdateItem", when)
    assert len(bench.settle()) == 1
    bench.settle()
    assert bench.outcomes == []
    done = bench.job(job_id)
    assert (done.state, done.attempt) == (JobState.COMPLETED, 1)


def test_a_function_that_dies_is_decided_by_the_end_of_the_reservation(bench: Bench) -> None:
    """No record comes: the attempt has failed, and the job runs again."""
    job_id = bench.push()
    bench.dispatch()
    bench.lambda_.waiting.clear()
    bench.pass_s(RESERVATION_S)
    failed = bench.job(job_id)
    assert (failed.state, len(failed.failures)) == (JobState.AVAILABLE, 1)
    bench.whole()
    assert bench.job(job_id).state is JobState.COMPLETED


# ------------------------------------------------------------------------- 8: idempotency


def test_8_1_2_each_attempt_has_its_own_delivery_id(bench: Bench) -> None:
    """So that a function knows a retry from a repeated event."""

    def fail(event: dict[str, Any]) -> None:
        raise ShopError

    bench.returns = fail
    bench.push()
    bench.whole()
    bench.pass_s(60)
    bench.whole()
    first, second = bench.seen
    assert first["delivery_id"] != second["delivery_id"]
    assert (first["attempt"], second["attempt"]) == (1, 2)


def test_8_2_a_record_that_comes_twice_changes_nothing_the_second_time(bench: Bench) -> None:
    """Destinations and queues repeat."""
    job_id = bench.push()
    bench.dispatch()
    bench.lambda_.run()
    assert bench.settle(times=3) == []
    assert bench.job(job_id).state is JobState.COMPLETED


def test_8_2_1_a_late_outcome_counts_while_its_delivery_holds_the_job(bench: Bench) -> None:
    """A moment before the reservation ends."""
    job_id = bench.push()
    bench.dispatch()
    bench.lambda_.run()
    bench.pass_s(RESERVATION_S - 1)
    bench.settle()
    assert bench.job(job_id).state is JobState.COMPLETED


@pytest.mark.parametrize("is_good", [True, False])
def test_8_2_2_a_late_outcome_does_not_touch_the_next_delivery(bench: Bench, is_good: bool) -> None:
    """Neither a result nor a failure; it is dropped, and does not come back."""

    def answer(event: dict[str, Any]) -> str:
        if event["attempt"] == 1 and not is_good:
            raise ShopError
        return f"attempt {event['attempt']}"

    bench.returns = answer
    job_id = bench.push()
    bench.dispatch()
    bench.lambda_.run()
    late = bench.outcomes.pop()
    bench.pass_s(RESERVATION_S + 60)
    bench.dispatch()
    bench.pass_s(60)
    bench.dispatch()
    assert bench.job(job_id).attempt == 2
    bench.outcomes.append(late)
    assert bench.settle() == []
    assert (bench.job(job_id).state, bench.job(job_id).attempt) == (JobState.ACTIVE, 2)
    bench.lambda_.run()
    bench.settle()
    done = bench.job(job_id)
    assert done.result is not None
    assert done.result == '"attempt 2"'


def test_8_2_an_outcome_of_a_cancelled_job_is_dropped(bench: Bench) -> None:
    """The state is final."""
    job_id = bench.push()
    bench.dispatch()
    bench.lambda_.run()
    bench.backend.jobs.cancel(job_id)
    assert bench.settle() == []
    assert bench.job(job_id).state is JobState.CANCELLED


@pytest.mark.parametrize(
    "body",
    [
        "no json",
        "[]",
        "{}",
        '{"requestPayload":{"Records":[]}}',
        '{"requestPayload":{"job":{"id":"x"},"delivery_id":7,"attempt":1}}',
    ],
)
def test_8_2_3_a_record_that_names_no_delivery_is_dropped(bench: Bench, body: str) -> None:
    """It would say no more the next time."""
    bench.outcomes.append(body)
    assert bench.settle() == []


# ------------------------------------------------------------------------- 10.1: delivery


def test_10_1_2_a_job_is_active_before_its_function_is_invoked(bench: Bench) -> None:
    """The claim is that of every worker."""
    states: list[JobState] = []
    job_id = bench.push()
    begin = bench.dispatcher.functions
    assert begin is not None

    def watching(target: str, event: str) -> None:
        states.append(bench.job(job_id).state)
        begin.begin(target, event)

    bench.dispatcher.functions = type("Watching", (), {"begin": staticmethod(watching)})()
    bench.dispatch()
    assert states == [JobState.ACTIVE]


def test_10_1_4_a_job_is_at_one_function_at_a_time(bench: Bench) -> None:
    """Whatever messages there are of it, and however often a dispatcher gets them."""
    job_id = bench.push()
    bench.backend.job_messages.send_for([bench.job(job_id)], bench.world.clock.now())
    bench.dispatch()
    bench.pass_s(1)
    bench.dispatch()
    assert len(bench.lambda_.waiting) == 1
    bench.lambda_.run()
    bench.settle()
    bench.pass_s(RESERVATION_S + 1)
    bench.whole()
    assert len(bench.seen) == 1


def test_10_1_a_paused_queue_dispatches_nothing(bench: Bench) -> None:
    """At once."""
    bench.backend.queues.service.pause("email")
    job_id = bench.push()
    bench.dispatch()
    assert bench.lambda_.waiting == []
    assert bench.job(job_id).state is JobState.AVAILABLE


def test_10_1_a_dispatched_message_is_hidden_until_the_reservation_ends(bench: Bench) -> None:
    """And deleted when the job is settled."""
    bench.push()
    bench.dispatch()
    (held,) = bench.world.held("email")
    assert held.visible_at == bench.world.clock.at + RESERVATION_S * 1000
    bench.lambda_.run()
    bench.settle()
    assert bench.world.held("email") == []


def test_10_1_a_short_reservation_of_a_job_covers_its_function(bench: Bench) -> None:
    """Else it would run a second time while the first is under way."""
    job_id = bench.push(visibility_timeout="30s")
    bench.dispatch()
    held = bench.job(job_id).reservation
    assert held is not None
    assert held.expires_at == bench.world.clock.at + RESERVATION_S * 1000


def test_10_1_a_job_that_is_too_large_fails_and_says_what_to_do(bench: Bench) -> None:
    """It would fail each time."""
    job_id = bench.push("x" * MAX_EVENT_BYTES)
    bench.dispatch()
    failed = bench.job(job_id)
    assert failed.state is JobState.DISCARDED
    assert "send a reference" in failed.failures[-1].message
    assert bench.lambda_.waiting == []


def test_10_1_a_result_that_the_record_cannot_hold_fails_the_job(bench: Bench) -> None:
    """It ran: it is not run again for it."""
    bench.returns = lambda event: "x" * 1024 * 1024
    job_id = bench.push()
    bench.whole()
    failed = bench.job(job_id)
    assert failed.state is JobState.DISCARDED
    assert failed.failures[-1].type == "ResultRefused"


def test_10_1_a_result_above_its_limit_fails_the_job() -> None:
    """As the backend's limit says."""
    bench = Bench(settings=Settings(max_result_bytes=99))
    bench.returns = lambda event: "x" * 100
    job_id = bench.push()
    bench.whole()
    failed = bench.job(job_id)
    assert failed.state is JobState.DISCARDED
    assert "The result was refused" in failed.failures[-1].message


# --------------------------------------------------------------------------- 2.1: bindings


def two() -> list[Binding]:
    return [
        Binding(
            name=name, queues=["email"], target=target, types=types, reservation_s=RESERVATION_S
        )
        for name, target, types in (
            ("mail", TARGET, ["email.*", "email.news.send"]),
            ("other", OTHER, ["email.bulk", "report.*"]),
        )
    ]


@pytest.mark.parametrize(
    ("job_type", "name"),
    [
        ("email.send", "mail"),
        ("email.bulk", "other"),
        ("email.bulk.x", "mail"),
        ("report.new", "other"),
        ("other", None),
    ],
)
def test_2_1_the_best_fitting_binding_serves_a_type(job_type: str, name: str | None) -> None:
    """The type itself before patterns, longer ones before shorter ones."""
    found = binding_of(two(), job_type)
    assert (found.name if found else None) == name


def test_2_1_bindings_of_a_queue_run_their_own_types() -> None:
    """Each by its function; one that is suspended does not stop the other."""
    bench = Bench(two())
    denied(bench)
    given_back, ran = bench.push(), bench.push(job_type="report.new")
    bench.whole()
    assert bench.job(given_back).state is JobState.RETRYABLE
    assert bench.job(ran).state is JobState.COMPLETED
    again = bench.push(job_type="report.new")
    bench.whole()
    assert bench.job(again).state is JobState.COMPLETED
    assert [*bench.states.of("email").suspended] == ["mail"]


def test_7_2_a_trial_beside_an_active_binding_is_a_single_job() -> None:
    """The other jobs of the suspended binding are given back."""
    bench = Bench(two())
    denied(bench)
    bench.push()
    bench.dispatch()
    bench.target.is_denied = False
    ids = [bench.push() for _ in range(3)]
    bench.pass_s(61)
    bench.dispatch()
    assert len(bench.lambda_.waiting) == 1
    assert [bench.job(each).state for each in ids].count(JobState.RETRYABLE) >= 2


def test_2_1_a_type_comes_before_a_pattern_that_begins_with_it() -> None:
    """The type itself fits best, whatever is longer."""
    first, second = two()
    exact, longer = replace(first, types=["a.b"]), replace(second, types=["a.b*"])
    assert binding_of([longer, exact], "a.b") is exact
    assert binding_of([longer, exact], "a.bc") is longer


def test_2_1_a_type_without_a_binding_waits_for_one() -> None:
    """Uncounted, and ``ojs-aws doctor`` finds it as one without a handler."""
    bench = Bench(two())
    job_id = bench.push(job_type="other")
    bench.dispatch()
    waiting = bench.job(job_id)
    assert (waiting.state, waiting.uncounted_attempts) == (JobState.RETRYABLE, 1)
    assert waiting.failures[-1].type == "NoHandlerRegistered"


def test_10_1_a_limit_bounds_how_many_functions_run_at_a_time(bench: Bench) -> None:
    """The next job begins when one has ended: the settler wakes the dispatcher."""
    first = bench.push(rate_limit={"key": "smtp", "concurrency": 1})
    second = bench.push(rate_limit={"key": "smtp", "concurrency": 1})
    bench.dispatch()
    assert [bench.job(each).state for each in (first, second)] == [
        JobState.ACTIVE,
        JobState.AVAILABLE,
    ]
    bench.lambda_.run()
    bench.settle()
    bench.whole()
    assert bench.job(second).state is JobState.COMPLETED


def test_unreadable_messages_go_to_the_dead_letter_queue(bench: Bench) -> None:
    """And the others of their batch are dispatched."""
    record = {
        "messageId": "m",
        "receiptHandle": "r",
        "body": "{",
        "attributes": {},
        "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:ojs-email",
    }
    stray = {**record, "messageId": "n", "eventSourceARN": "arn:aws:sqs:us-east-1:1:ojs-other"}
    assert identifiers(bench.dispatcher({"Records": [record, stray]})) == ["n"]


@pytest.mark.parametrize("event", [{}, {"Records": None}])
def test_what_is_no_event_of_a_queue_is_refused(bench: Bench, event: dict[str, Any]) -> None:
    """Saying what to connect."""
    with pytest.raises(ValueError, match="no SQS event"):
        bench.dispatcher(event)
    with pytest.raises(ValueError, match="no SQS event"):
        bench.settler(event)


# --------------------------------------------------------------------------------- calls


def test_a_batch_is_dispatched_and_settled_with_these_calls() -> None:
    """One read for each batch beside what any worker does, and one call of Lambda a job.

    The other read is that of limited types, which a process makes once a minute.
    """
    settings = Settings(stream_deletes_messages=True, stream_lists_completed=True)
    bench = Bench(settings=settings)
    for _ in range(10):
        bench.push()
    bench.calls.made.clear()
    bench.dispatch()
    assert bench.calls.made == {
        "ReceiveMessage": 1,
        "GetItem": 2,
        "Query": 2,
        "UpdateItem": 10,
        "Invoke": 10,
    }
    bench.lambda_.run()
    bench.calls.made.clear()
    bench.settle()
    assert bench.calls.made == {"UpdateItem": 10}


# ------------------------------------------------------- a fault or a death at every call


class DeathError(BaseException):
    """A process ends: no handler of exceptions gets it."""


@dataclass
class FaultAt:
    """Lets one call fail, or ends the process, before or after the call took effect.

    :ivar at: which call, counted from 1.
    """

    at: int
    when: str
    is_death: bool
    count: int = 0

    def __call__(self, call: Call, effect: Effect) -> dict[str, Any]:
        self.count += 1
        if self.count != self.at:
            return effect(call.request)
        if self.when == "after":
            effect(call.request)
        if self.is_death:
            raise DeathError
        answer = {"Error": {"Code": "InternalServerError"}}
        raise AwsError({**answer, "ResponseMetadata": {"HTTPStatusCode": 500}}, call.operation)


def calls_of_a_life() -> int:
    """How many calls it takes to dispatch and settle a job."""
    bench = Bench()
    bench.push("ada@example.com")
    fault = bench.calls.inject = FaultAt(0, "", is_death=False)
    bench.whole()
    return fault.count


def run_round(bench: Bench) -> None:
    """Dispatch, run and settle; what ends in the middle leaves its messages and records."""
    records = [*bench.outcomes]
    try:
        bench.dispatch()
        bench.lambda_.run()
        records = [*bench.outcomes]
        bench.settle()
    except (BackendError, DeathError):  # the trigger's own call, or a process
        bench.outcomes[:] = records or bench.outcomes


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("is_death", [False, True], ids=["error", "death"])
def test_7_1_whatever_call_fails_each_job_has_one_outcome(when: str, is_death: bool) -> None:
    """A call that fails, or a process that ends, before or after each call took effect."""
    for at in range(1, calls_of_a_life() + 1):
        bench = Bench()
        bench.returns = lambda event: event["delivery_id"]
        job_id = bench.push("ada@example.com")
        bench.calls.inject = FaultAt(at, when, is_death)
        for _ in range(8):
            run_round(bench)
            if bench.job(job_id).state.is_terminal:
                break
            bench.pass_s(RESERVATION_S / 2)
        done = bench.job(job_id)
        assert done.state is JobState.COMPLETED, (at, done.state)
        assert done.attempt <= 2
        deliveries = [event["delivery_id"] for event in bench.seen]
        assert len(set(deliveries)) == len(deliveries)
        assert done.result == f'"{deliveries[-1]}"'
