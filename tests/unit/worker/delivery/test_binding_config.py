"""What the config of a binding changes, for functions, endpoints and tasks alike.

The names of tests about a requirement begin with its section of ojs-serverless.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from typing import Any, Final

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.bindings import BindingConfig, read_config
from ojs_aws.domain.bindings.tasks import CONFIG_VARIABLE
from ojs_aws.domain.errors import BackendError, InvalidRequestError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import Limit
from ojs_aws.domain.jobs.held_job import attempt_of
from ojs_aws.domain.jobs.reasons import ReasonCode
from ojs_aws.domain.limits import binding_in, binding_key, scope_of
from ojs_aws.domain.limits.policies import check_key
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.topology import DELIVERY_START_S, TASK_LEASE_S
from ojs_aws.worker.delivery.endpoint import HttpDelivery
from ojs_aws.worker.delivery.inputs import NON_RETRYABLE
from tests.unit.worker import test_bound_functions as functions
from tests.unit.worker import test_bound_tasks as tasks
from tests.unit.worker import test_delivery
from tests.unit.worker.delivery.test_bound_endpoints import SHOP, Bound
from tests.unit.worker.test_delivery import Endpoint

endpoint = test_delivery.endpoint
LAMBDA: Final = {"shop": {"queues": ["email"], "types": ["*"]}}
MINUTE_MS: Final = 60_000


def errors(*names: str) -> dict[str, Any]:
    return {"retry": {"non_retryable_errors": [*names]}}


def register(bench: functions.Bench | tasks.Bench, config: dict[str, Any]) -> None:
    """Register a config for all types of the only binding."""
    (binding,) = bench.dispatcher.bindings
    (queue,) = binding.queues
    bench.states.bind(
        queue, binding.name, ["*"], bench.world.clock.now(), config=read_config(config)
    )


# ----------------------------------------------------------------------------------- functions
class DeclinedError(Exception):
    """What the handler raises."""


def raising() -> functions.Bench:
    """A function that declines each job."""
    bench = functions.Bench()

    def decline(event: dict[str, Any]) -> Any:
        raise DeclinedError

    bench.returns = decline
    return bench


@pytest.mark.parametrize(
    ("names", "state"),
    [
        (["DeclinedError"], JobState.DISCARDED),
        (["handler_error"], JobState.DISCARDED),
        (["Declined", "OtherError"], JobState.RETRYABLE),
        ([], JobState.RETRYABLE),
    ],
)
def test_2_1_a_function_has_errors_after_which_no_retry_helps(
    names: list[str], state: JobState
) -> None:
    """By their types, or by the code; the settler knows them by the record alone."""
    bench = raising()
    register(bench, errors(*names))
    job_id = bench.push()
    bench.whole()
    assert bench.job(job_id).state is state


def test_2_1_a_job_fails_by_the_config_that_it_was_dispatched_with() -> None:
    """What is registered meanwhile is for later jobs."""
    bench = raising()
    register(bench, errors("DeclinedError"))
    job_id = bench.push()
    bench.dispatch()
    register(bench, errors("OtherError"))
    bench.lambda_.run()
    bench.settle()
    assert bench.job(job_id).state is JobState.DISCARDED


def test_2_1_registered_members_replace_the_stacks() -> None:
    """Each by itself: what is not registered is as the stack says."""
    bench = raising()
    said = BindingConfig(non_retryable_errors=("DeclinedError",), timeout_ms=MINUTE_MS)
    bench.dispatcher.bindings = [replace(bench.bindings[0], config=said)]
    register(bench, {"timeout_ms": 1_000})
    job_id = bench.push()
    bench.whole()
    assert bench.job(job_id).state is JobState.DISCARDED
    register(bench, errors())
    again = bench.push()
    bench.whole()
    assert bench.job(again).state is JobState.RETRYABLE
    first, second = bench.seen
    assert first["deadline"] < second["deadline"]


def test_2_1_an_event_without_a_config_has_no_member_of_it() -> None:
    """Who registers none pays for none: neither a byte, nor a call."""
    bench = functions.Bench()
    bench.push()
    bench.dispatch()
    before = bench.calls.made.copy()
    bench.lambda_.run()
    bench.settle()
    (event,) = bench.seen
    assert NON_RETRYABLE not in event
    with_config = functions.Bench()
    register(with_config, errors("a.*"))
    with_config.push()
    with_config.dispatch()
    made = with_config.calls.made - before
    assert {*made} <= {"UpdateItem"}, "the registration itself"


@pytest.mark.parametrize("named", ["DeclinedError", {"a": 1}, None])
def test_7_1_an_event_that_names_errors_otherwise_is_settled_all_the_same(named: object) -> None:
    """A record that somebody has made is of no use, and does no harm."""
    bench = raising()
    job_id = bench.push()
    bench.dispatch()
    bench.lambda_.run()
    record = json.loads(bench.outcomes[0])
    record["requestPayload"][NON_RETRYABLE] = named
    bench.outcomes[:] = [json.dumps(record)]
    assert bench.settle() == []
    assert bench.job(job_id).state is JobState.RETRYABLE


@pytest.mark.parametrize(
    ("timeout_ms", "ends_ms"),
    [(10_000, 10_000), (149_999, 149_999), (150_001, 150_000), (3_600_000, 150_000)],
)
def test_10_1_3_a_timeout_is_the_deadline_of_an_event(timeout_ms: int, ends_ms: int) -> None:
    """Never after the reservation's end, which stays as it is: a later outcome counts."""
    bench = functions.Bench()
    register(bench, {"timeout_ms": timeout_ms})
    job_id = bench.push()
    bench.dispatch()
    began = bench.world.clock.at
    held = bench.job(job_id).reservation
    assert held is not None
    assert held.due_at == began + functions.RESERVATION_S * 1000
    bench.pass_s(30)
    bench.lambda_.run()
    bench.settle()
    assert bench.seen[0]["deadline"] == format_instant(Instant(began + ends_ms))
    assert bench.job(job_id).state is JobState.COMPLETED


# --------------------------------------------------------------------------------------- tasks
@pytest.mark.parametrize(
    ("registered", "state"),
    [
        (["exit.3"], JobState.DISCARDED),
        (["exit.4"], JobState.RETRYABLE),
        ([], JobState.RETRYABLE),
    ],
)
def test_2_1_registered_errors_of_a_task_replace_the_stacks(
    registered: list[str], state: JobState
) -> None:
    """For the tasks that start from then on, whatever is registered when they end."""
    bench = tasks.Bench(tasks.final_after("exit.3"))
    register(bench, errors(*registered))
    job_id = bench.push()
    bench.dispatch()
    register(bench, errors("exit.9"))
    bench.ecs.end(bench.arn, 3)
    bench.settle()
    assert bench.job(job_id).state is state


def test_2_1_a_task_without_a_config_has_no_variable_of_it() -> None:
    """As before there were configs."""
    bench = tasks.Bench()
    bench.push()
    bench.dispatch()
    assert CONFIG_VARIABLE not in bench.environment()


def test_2_1_a_variable_that_is_no_config_says_nothing() -> None:
    """Of a task that somebody has started by hand."""
    bench = tasks.Bench()
    job_id = bench.push()
    bench.dispatch()
    (override,) = bench.ecs.tasks[bench.arn]["overrides"]["containerOverrides"]
    override["environment"].append({"name": CONFIG_VARIABLE, "value": "{"})
    bench.ecs.end(bench.arn, 3)
    assert bench.settle() == []
    assert bench.job(job_id).state is JobState.RETRYABLE


def overdue(config: dict[str, Any], *, begins: bool = True) -> tuple[tasks.Bench, str]:
    """A task whose binding gives it ten minutes, a millisecond before they are over."""
    bench = tasks.Bench()
    register(bench, {"timeout_ms": 10 * MINUTE_MS, **config})
    job_id = bench.push()
    bench.dispatch()
    bench.run_on(120)
    if begins:
        bench.ecs.start(bench.arn)
    bench.run_on(540)
    bench.pass_s(59.999)
    return bench, job_id


def test_10_1_3_a_task_that_runs_for_too_long_fails_and_is_stopped() -> None:
    """Its time begins when its containers do; the policy decides about a retry."""
    bench, job_id = overdue({})
    assert bench.sweep() == 0
    running = bench.job(job_id)
    assert running.state is JobState.ACTIVE
    assert running.reservation is not None
    assert running.reservation.due_at > bench.world.clock.at, "the lease goes on"
    bench.pass_s(0.001)
    assert bench.sweep() == 0
    failed = bench.job(job_id)
    assert (failed.state, failed.failures[-1].type) == (JobState.RETRYABLE, "timeout")
    assert bench.arn in str(failed.failures[-1])
    assert "600000 ms" in failed.failures[-1].message
    assert bench.ecs.tasks[bench.arn]["lastStatus"] == "STOPPED"
    assert bench.sweep() == 0
    assert bench.job(job_id) == failed, "its end comes too late"


def test_10_1_a_timeout_may_be_an_error_after_which_no_retry_helps() -> None:
    """As any other one."""
    bench, job_id = overdue(errors("timeout"))
    bench.pass_s(1)
    bench.sweep()
    assert bench.job(job_id).state is JobState.DISCARDED


def test_3_4_a_task_that_has_not_started_is_not_too_late() -> None:
    """Its image may be large."""
    bench, job_id = overdue({}, begins=False)
    bench.run_on(600)
    assert bench.job(job_id).state is JobState.ACTIVE


def test_8_2_a_report_overtakes_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """The container may end by itself after it."""
    bench, job_id = overdue({})
    bench.pass_s(1)
    find = type(bench.backend.changer).find_many

    def and_then(changer: Any, ids: Any) -> dict[str, JobRecord]:
        found = find(changer, ids)
        bench.backend.jobs.ack(job_id, None, None, which=attempt_of(found[job_id]))
        return found

    monkeypatch.setattr(type(bench.backend.changer), "find_many", and_then)
    assert bench.sweep() == 0
    assert bench.job(job_id).state is JobState.COMPLETED
    assert bench.ecs.tasks[bench.arn]["lastStatus"] == "RUNNING"


def test_7_1_a_timeout_that_cannot_be_written_is_repeated() -> None:
    """By the next sweep; the task runs on meanwhile."""
    bench, job_id = overdue({})
    bench.pass_s(1)
    bench.lose_job_writes()
    assert bench.sweep() == 1
    assert bench.job(job_id).state is JobState.ACTIVE
    assert bench.ecs.tasks[bench.arn]["lastStatus"] == "RUNNING"
    assert bench.sweep() == 0
    assert bench.job(job_id).failures[-1].type == "timeout"


def test_10_1_a_timeout_never_shortens_the_lease() -> None:
    """Of ten minutes, whatever its length."""
    bench = tasks.Bench()
    register(bench, {"timeout_ms": 1_000})
    job_id = bench.push()
    bench.dispatch()
    held = bench.job(job_id).reservation
    assert held is not None
    assert held.due_at == bench.world.clock.at + TASK_LEASE_S * 1000


# ----------------------------------------------------------------------------------- endpoints
@pytest.fixture
def bound(endpoint: Endpoint) -> Bound:
    return Bound(endpoint.url)


def ended(bound: Bound, config: dict[str, Any]) -> JobRecord:
    """A job of a binding with this config, after its first attempt."""
    bound.bindings.put("default", "shop", ["email.*"], SHOP, config)
    return bound.ended()


@pytest.mark.parametrize(
    ("answer", "names", "state"),
    [
        ((200, {"status": "failed", "error": {"type": "card.no"}}), ["card.*"], "discarded"),
        ((200, {"status": "failed", "error": {"type": "card.no"}}), ["cards.*"], "retryable"),
        ((200, {"status": "failed", "error": {}}), ["handler_error"], "discarded"),
        ((503, {}), ["EndpointCrashed"], "discarded"),
        ((503, {}), ["delivery_error"], "discarded"),
        ((503, {}), ["handler.error"], "retryable"),
        ((404, {}), ["*", "UndeliveredError", "delivery_error"], "retryable"),
        ((429, {}), ["UndeliveredError", "SNOOZE"], "retryable"),
    ],
)
def test_2_1_an_endpoint_has_errors_after_which_no_retry_helps(
    bound: Bound, endpoint: Endpoint, answer: Any, names: list[str], state: str
) -> None:
    """Of its handler and of its deliveries; not of an endpoint that is wrong or busy."""
    endpoint.answers(*answer)
    assert ended(bound, errors(*names)).state == state


def test_2_1_registered_members_of_an_endpoint_replace_the_stacks(
    bound: Bound, endpoint: Endpoint
) -> None:
    """Each by itself, as for the other kinds."""
    said = BindingConfig(non_retryable_errors=("card.*",), max_concurrency=1)
    bound.bound.configs = {"shop": said}
    endpoint.answers(200, {"status": "failed", "error": {"type": "card.no"}})
    assert ended(bound, {"timeout_ms": 5_000}).state is JobState.DISCARDED
    limits = bound.bound.claim_limits("default")
    assert limits is not None
    assert limits("email.send") == Limit(key=binding_key("default", "shop"), concurrency=1)
    bound.pass_s(1)
    assert ended(bound, errors("other")).state is JobState.RETRYABLE


@pytest.mark.parametrize(("timeout_ms", "seconds"), [(2_500, 2.5), (30_000, 30), (90_000, 30)])
def test_10_1_3_the_shorter_timeout_of_an_endpoint_holds(
    bound: Bound, monkeypatch: pytest.MonkeyPatch, timeout_ms: int, seconds: float
) -> None:
    """Of the binding's and the function's; an endpoint that may have to start has more (3.4)."""
    given: list[float] = []

    def post(_: object, body: bytes, headers: object, timeout_s: float) -> tuple[int, str, bytes]:
        given.append(timeout_s)
        return 200, "", b'{"status": "completed"}'

    monkeypatch.setattr(HttpDelivery, "_post", post)
    assert ended(bound, {"timeout_ms": timeout_ms}).state is JobState.COMPLETED
    bound.ended()
    assert given == [seconds + DELIVERY_START_S, seconds]


def test_10_1_an_endpoint_that_takes_too_long_is_retried(bound: Bound, endpoint: Endpoint) -> None:
    """The delivery has failed, and so the binding may name its error."""
    bound.bindings.put("default", "shop", ["email.*"], SHOP, {"timeout_ms": 200})
    bound.ended()
    waiting = threading.Event()
    endpoint.before = waiting.wait
    failed = bound.ended()
    waiting.set()
    assert (failed.state, failed.failures[-1].type) == (JobState.RETRYABLE, "NoAnswer")
    assert failed.failures[-1].message.endswith("no answer within 0.2 s.")


# ------------------------------------------------------------------------------- concurrency
def active(bench: functions.Bench | tasks.Bench, ids: list[str]) -> int:
    return sum(bench.job(each).state is JobState.ACTIVE for each in ids)


def test_10_1_6_a_function_runs_no_more_jobs_than_its_binding_allows() -> None:
    """The others stay available; the end of one lets the next one begin."""
    bench = functions.Bench()
    register(bench, {"max_concurrency": 2})
    ids = [bench.push() for _ in range(5)]
    bench.dispatch()
    assert active(bench, ids) == 2
    assert sum(bench.job(each).state is JobState.AVAILABLE for each in ids) == 3
    for _ in range(4):
        bench.lambda_.run()
        bench.settle()
        bench.pass_s(1)
        bench.dispatch()
        assert active(bench, ids) <= 2
    bench.lambda_.run()
    bench.settle()
    assert {bench.job(each).state for each in ids} == {JobState.COMPLETED}


def test_10_1_6_the_bound_of_a_binding_leaves_other_limits_as_they_are() -> None:
    """All of them hold."""
    bench = functions.Bench()
    register(bench, {"max_concurrency": 2})
    limit = {"key": "smtp", "concurrency": 1}
    limited = [bench.push(rate_limit=limit) for _ in range(2)]
    others = [bench.push() for _ in range(2)]
    bench.dispatch()
    assert (active(bench, limited), active(bench, others)) == (1, 1)


def test_10_1_6_each_binding_has_a_bound_of_its_own() -> None:
    """A job of another type passes by those that wait."""
    bench = functions.Bench(functions.two())
    now, few = bench.world.clock.now(), BindingConfig(max_concurrency=1)
    first, second = bench.bindings
    bench.states.bind("email", first.name, ["slow.*"], now, config=few)
    bench.states.bind("email", second.name, ["*"], now)
    slow = [bench.push(job_type="slow.one") for _ in range(3)]
    fast = [bench.push(job_type="fast.one") for _ in range(3)]
    bench.dispatch()
    assert (active(bench, slow), active(bench, fast)) == (1, 3)


def test_10_1_a_queue_has_a_bound_of_its_own() -> None:
    """A binding may serve several queues."""
    assert binding_key("a", "shop") != binding_key("b", "shop")
    assert binding_in(binding_key("a.b-c", "shop")) == "shop"
    assert binding_in("tenant/shop") == binding_in("binding") == ""
    assert scope_of(binding_key("email", "shop")) is None
    with pytest.raises(InvalidRequestError):
        check_key(binding_key("email", "shop"))


def test_10_1_a_larger_bound_holds_from_the_next_batch_on() -> None:
    """Workers are woken, as messages are hidden meanwhile; a smaller one stops none."""
    bench = functions.Bench(settings=Settings(binding_targets=json.dumps(LAMBDA)))
    service = bench.backend.queues.bindings
    bench.world.registry.ensure("email", bench.world.clock.now())
    service.put("email", "shop", ["*"], None, {"max_concurrency": 1})
    ids = [bench.push() for _ in range(3)]
    bench.dispatch()
    assert bench.dispatch() == []
    service.put("email", "shop", ["*"], None, {"max_concurrency": 3})
    bench.dispatch()
    assert active(bench, ids) == 3
    service.put("email", "shop", ["*"], None, {"max_concurrency": 1})
    assert active(bench, ids) == 3
    bench.calls.made.clear()
    service.put("email", "shop", ["*"], None, {"max_concurrency": 1, "timeout_ms": 1000})
    assert bench.calls.made["Query"] == 0, "nothing has changed for those that wait"
    service.put("email", "shop", ["*"], None, {"timeout_ms": 1000})
    bench.calls.made.clear()
    service.put("email", "shop", ["*"], None, {"timeout_ms": 2000})
    assert bench.calls.made["SendMessageBatch"] + bench.calls.made["SendMessage"] == 0
    assert bench.calls.made["Query"] == 0, "nobody waits for a bound that was not there"


def test_10_1_a_job_says_that_its_binding_is_full() -> None:
    """And how many run, and where the bound is."""
    bench = functions.Bench(settings=Settings(binding_targets=json.dumps(LAMBDA)))
    register(bench, {"max_concurrency": 1})
    first, second = bench.push(), bench.push()
    bench.dispatch()
    (reason, *_) = bench.backend.jobs.why(second).reasons
    assert reason.code is ReasonCode.LIMIT
    assert reason.data["key"] == "binding/email/shop"
    assert (reason.data["current"], reason.data["limit"]) == (1, 1)
    assert reason.data["held_by"] == [first]
    assert reason.hint == "ojs-aws bindings show email shop"


def test_10_1_without_a_bound_a_job_costs_no_call_more() -> None:
    """Claimed by an update, and completed by one."""
    made = []
    for config in ({}, {"timeout_ms": 1000}, {"max_concurrency": 9}):
        bench = functions.Bench()
        register(bench, config)
        bench.push()
        bench.calls.made.clear()
        bench.whole()
        made.append(bench.calls.made)
    plain, timed, bounded = made
    assert plain == timed
    assert plain["TransactWriteItems"] == 0
    assert bounded["TransactWriteItems"] == 2
    assert bounded["GetItem"] == plain["GetItem"], "the settler knows the slots by its write"


def test_10_1_6_no_more_tasks_run_than_a_binding_allows() -> None:
    """The end of one wakes the dispatcher, however it comes."""
    bench = tasks.Bench()
    register(bench, {"max_concurrency": 1, "timeout_ms": 60_000})
    ids = [bench.push() for _ in range(3)]
    bench.dispatch()
    assert (active(bench, ids), len(bench.ecs.tasks)) == (1, 1)
    first = bench.arn
    bench.ecs.start(first)
    bench.pass_s(60)
    assert bench.sweep() == 0, "it took too long"
    bench.dispatch()
    assert active(bench, ids) == 1
    (second,) = {*bench.ecs.tasks} - {first}
    bench.ecs.end(second, 0)
    bench.settle(second)
    bench.dispatch()
    assert active(bench, ids) == 1
    assert len(bench.ecs.tasks) == 3


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/ack", {}),
        ("/nack", {"error": {"type": "a.b", "message": "no"}}),
        ("/nack", {"error": {"type": "a.b", "message": "no", "retryable": False}}),
        ("/nack", {"requeue": True, "delay_ms": 60_000}),
    ],
)
def test_10_1_6_a_report_by_token_wakes_the_next_job_at_once(
    path: str, body: dict[str, Any]
) -> None:
    """By one message and no read; without a bound it costs nothing, and the task's end neither."""
    made = []
    for config in ({}, {"max_concurrency": 1}):
        bench = tasks.Bench()
        register(bench, config)
        first = bench.push()
        bench.dispatch()
        arn = bench.arn
        second = bench.push()
        bench.dispatch()
        assert (bench.job(second).state is JobState.ACTIVE) == (not config)
        bench.calls.made.clear()
        assert bench.request(bench.environment(arn), "POST", path, body).status == 200
        made.append(bench.calls.made.copy())
        assert bench.job(first).state is not JobState.ACTIVE
        bench.dispatch()
        assert bench.job(second).state is JobState.ACTIVE
        bench.calls.made.clear()
        bench.ecs.end(arn, 0)
        assert bench.settle(arn) == []
        assert dict(bench.calls.made) == {"GetItem": 1}
    plain, bounded = made
    assert bounded["SendMessage"] == plain["SendMessage"] + 1
    assert bounded["TransactWriteItems"] == 1
    assert bounded["GetItem"] == plain["GetItem"]
    assert bounded["BatchGetItem"] == plain["BatchGetItem"]


def test_10_1_6_an_endpoint_gets_no_more_jobs_than_its_binding_allows(
    bound: Bound, endpoint: Endpoint
) -> None:
    """Of all processes together; the claims read its bindings once, as the deliveries do."""
    bound.worker.limits_of = bound.bound.claim_limits
    bound.bindings.put("default", "shop", ["email.*"], SHOP, {"max_concurrency": 1})
    ids = [bound.push("email.send") for _ in range(3)]
    gate, most, now = threading.Lock(), [0], [0]

    def count() -> None:
        with gate:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.05)
        with gate:
            now[0] -= 1

    endpoint.before = count
    for _ in range(3):
        bound.invoke()
        bound.pass_s(60)
    assert most == [1]
    assert [bound.job(each).state for each in ids] == [JobState.COMPLETED] * 3


def test_10_1_jobs_wait_while_bounds_cannot_be_read(bound: Bound) -> None:
    """Else more could begin than may."""
    bound.bindings.put("default", "shop", ["email.*"], SHOP, {"max_concurrency": 1})

    def fail(queue: str) -> Any:
        raise BackendError(queue)

    bound.worker.limits_of = fail
    waiting = bound.ended()
    assert waiting.state is JobState.AVAILABLE


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("is_death", [False, True], ids=["error", "death"])
def test_10_1_6_whatever_call_fails_no_slot_is_lost_or_taken_twice(
    when: str, is_death: bool
) -> None:
    """A call that fails, or a process that ends, before or after each call took effect."""
    at, count = 0, 1
    while at < count:
        at += 1
        bench = functions.Bench()
        register(bench, {"max_concurrency": 1})
        ids = [bench.push(), bench.push()]
        fault = functions.FaultAt(at, when, is_death)
        plain = bench.calls.inject
        for _ in range(12):
            bench.calls.inject = fault
            functions.run_round(bench)
            bench.calls.inject = plain
            assert active(bench, ids) <= 1, at
            if bench.job(ids[-1]).state.is_terminal and bench.job(ids[0]).state.is_terminal:
                break
            bench.pass_s(functions.RESERVATION_S / 2)
            bench.backend.upkeep.sweep.tick()
        count = min(fault.count, 40)
        assert {bench.job(each).state for each in ids} == {JobState.COMPLETED}, at
        bucket = bench.backend.stores.limits().load(binding_key("email", "shop"))
        assert bucket is not None
        assert bucket.active == 0, at
