"""Rows of ojs-serverless that are about whole deliveries: from the message to the job's new state.

The name or id of each test begins with the section and the number of its row.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from typing import Any

import pytest

from ojs_aws import LambdaWorker
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.services.system.queue_findings import FindingCode
from ojs_aws.worker.delivery.endpoint import HttpDelivery
from ojs_aws.worker.delivery.handlers import DeliveringHandler
from tests.unit.worker import test_bound_functions, test_delivery
from tests.unit.worker.delivery.test_bound_endpoints import SHOP, Bound
from tests.unit.worker.test_bound_functions import ShopError
from tests.unit.worker.test_delivery import DONE, Endpoint
from tests.unit.worker.test_lambda_worker import Context

endpoint = test_delivery.endpoint
bench = test_bound_functions.bench
NOWHERE = "http://127.0.0.1:1/jobs"
FAST = {"initial_interval": "PT1S", "jitter": False, "max_attempts": 5}


@pytest.fixture
def bound(endpoint: Endpoint) -> Bound:
    """A worker whose binding ``shop`` sends jobs to the endpoint."""
    made = Bound(endpoint.url)
    made.bindings.put("default", "shop", ["email.*"], SHOP)
    return made


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of the matrix: what the endpoint does, and what becomes of the job.

    :ivar late_s: seconds after which the answer comes.
    :ivar is_warm: whether the endpoint has answered just before.
    :ivar error: the type of the failed attempt.
    :ivar waits_s: until the next attempt.
    :ivar is_counted: whether the attempt counts.
    """

    answer: tuple[Any, ...] = DONE
    headers: dict[str, str] = field(default_factory=dict)
    late_s: float = 0
    is_warm: bool = False
    is_there: bool = True
    state: JobState = JobState.RETRYABLE
    error: str = ""
    waits_s: float = 1
    is_counted: bool = True
    suspends: bool = False


def failed(*, retryable: bool) -> tuple[int, dict[str, Any]]:
    """The answer of a handler that failed."""
    error = {"code": "handler_error", "message": "down", "retryable": retryable}
    return 200, {"status": "failed", "error": error}


MATRIX = {
    "7.1.1 completed": Row(state=JobState.COMPLETED),
    "7.1.2 failed, retryable": Row(answer=failed(retryable=True), error="handler_error"),
    "7.1.2 failed, not retryable": Row(
        answer=failed(retryable=False), error="handler_error", state=JobState.DISCARDED
    ),
    "7.1.3 timeout": Row(late_s=31, is_warm=True, error="NoAnswer"),
    "7.1.4 cold start": Row(late_s=41, error="NoAnswer", waits_s=10),
    "7.1.5 crash": Row(answer=(502, None), error="EndpointCrashed"),
    "7.1.6 not found": Row(
        answer=(404, None), error="UndeliveredError", is_counted=False, suspends=True
    ),
    "7.1.7 busy": Row(answer=(429, None), error="UndeliveredError", is_counted=False),
    "7.1.7 busy until": Row(
        answer=(429, None),
        headers={"Retry-After": "7"},
        error="UndeliveredError",
        waits_s=7,
        is_counted=False,
    ),
    "7.1.8 network": Row(is_there=False, error="NoAnswer"),
    "7.1.9 invalid answer": Row(answer=(200, b"ok"), error="InvalidAnswer"),
    "7.1.10 unauthenticated": Row(
        answer=(401, None), error="UndeliveredError", is_counted=False, suspends=True
    ),
    "7.1.10 forbidden": Row(
        answer=(403, None), error="UndeliveredError", is_counted=False, suspends=True
    ),
}


def delivered(bound: Bound, **given: Any) -> JobRecord:
    """Push a job that may take long, and deliver it."""
    job_id = bound.push("email.send", retry=FAST, visibility_timeout_s=300, **given)
    assert bound.invoke() == set()
    return bound.job(job_id)


@pytest.mark.parametrize("row", MATRIX.values(), ids=MATRIX.keys())
def test_7_1_the_job_of_each_row_goes_on_as_it_says(
    bound: Bound, endpoint: Endpoint, row: Row
) -> None:
    """An endpoint that is wrong does not cost the job an attempt, and a finding says so."""
    if row.is_warm:
        assert delivered(bound).state is JobState.COMPLETED
    if not row.is_there:
        bound.bound.connect = lambda url: HttpDelivery(NOWHERE, signing_keys=lambda: ["key"])
    endpoint.before = lambda: bound.pass_s(row.late_s)
    endpoint.answers(*row.answer)
    endpoint.headers = row.headers
    job = delivered(bound)
    assert job.state is row.state
    assert [each.type for each in job.failures] == ([row.error] if row.error else [])
    assert job.uncounted_attempts == (0 if row.is_counted else 1)
    if row.state is JobState.RETRYABLE:
        assert job.next_attempt_at == bound.world.clock.at + 1000 * row.waits_s
    assert bound.suspended() == (["shop"] if row.suspends else [])
    codes = [each.code for each in bound.backend.findings().findings]
    assert (FindingCode.BINDING_SUSPENDED in codes) is row.suspends


def test_8_1_2_and_10_1_5_each_retry_waits_longer_and_has_an_id_of_its_own(
    bound: Bound, endpoint: Endpoint
) -> None:
    """As the job's policy says; the endpoint tells its retries apart."""
    endpoint.answers(503)
    job, waits = delivered(bound), []
    while job.next_attempt_at is not None:
        waits.append((job.next_attempt_at - bound.world.clock.at) / 1000)
        bound.pass_s(math.ceil(waits[-1]))
        bound.invoke()
        job = bound.job(job.id)
    assert waits == [1, 2, 4, 8]
    assert job.state is JobState.DISCARDED
    attempts = [(each.said["job"]["id"], each.said["job"]["attempt"]) for each in endpoint.received]
    assert attempts == [(job.id, each) for each in range(1, 6)]
    assert len({each.headers["X-OJS-Delivery-ID"] for each in endpoint.received}) == 5


def test_10_1_5_a_function_that_fails_is_invoked_again_after_twice_as_long(
    bench: test_bound_functions.Bench,
) -> None:
    """By the job's policy, as any job that fails."""

    def fail(_event: dict[str, Any]) -> None:
        raise ShopError

    bench.returns = fail
    job_id, waits = bench.push(retry=FAST), []
    for _ in range(3):
        bench.whole()
        due = bench.job(job_id).next_attempt_at
        assert due is not None
        waits.append((due - bench.world.clock.at) / 1000)
        bench.pass_s(math.ceil(waits[-1]))
    assert waits == [1, 2, 4]


def test_8_1_3_a_function_that_remembers_delivery_ids_does_nothing_twice(
    bench: test_bound_functions.Bench,
) -> None:
    """Lambda may deliver an event twice: both have one id, and the job has one outcome."""
    sent: dict[str, str] = {}

    def mail(event: dict[str, Any]) -> str:
        return sent.setdefault(event["delivery_id"], f"mail {len(sent) + 1}")

    bench.returns = mail
    job_id = bench.push()
    bench.dispatch()
    bench.lambda_.waiting += copy.deepcopy(bench.lambda_.waiting)
    bench.lambda_.run()
    assert bench.settle() == []
    assert (len(bench.seen), [*sent.values()]) == (2, ["mail 1"])
    done = bench.job(job_id)
    assert (done.state, done.result, done.attempt) == (JobState.COMPLETED, '"mail 1"', 1)


def test_10_1_4_an_endpoint_has_a_job_while_no_other_one_gets_it(
    bound: Bound, endpoint: Endpoint
) -> None:
    """Whatever messages there are of it, and whoever gets them."""
    other = LambdaWorker(queues=["default"], backend=bound.backend, margin_s=0.2, middleware=[])
    other.registry.add_pattern(DeliveringHandler("*", bound.bound, is_async=False, signature=None))
    job_id = bound.push("email.send")
    messages = bound.backend.job_messages
    messages.send_for([bound.job(job_id)], bound.world.clock.now())
    first, second = bound.records()

    def deliver_again() -> None:
        endpoint.before = lambda: None
        other.lambda_handler({"Records": [second]}, Context())

    endpoint.before = deliver_again
    bound.invoke([first])
    assert bound.job(job_id).state is JobState.COMPLETED
    assert len(endpoint.received) == 1
    other._loop.close()
