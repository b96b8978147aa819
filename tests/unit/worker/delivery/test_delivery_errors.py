"""What a failed delivery says of itself, and how long its job waits (ojs-serverless, 7.2, 3.4)."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from ojs_aws import Job
from ojs_aws.worker.delivery.answers import OPENS_AFTER
from ojs_aws.worker.delivery.endpoint import IDLE_S
from ojs_aws.worker.executor import Failed, Succeeded
from tests.unit.worker import test_delivery
from tests.unit.worker.test_delivery import JOB_ID, Deliveries, Endpoint

endpoint = test_delivery.endpoint
CLOSED = {
    "error_class": "delivery_error",
    "cold_start_suspected": False,
    "circuit_breaker_state": "closed",
}
LATE = {"error_type": "timeout", "cold_start_suspected": True}


def slow(endpoint: Endpoint, sending: Deliveries) -> None:
    """Let each answer come after all time is over."""
    endpoint.before = lambda: setattr(sending.times, "now", sending.times.now + 100)


@pytest.mark.parametrize(
    ("answer", "error_type"),
    [((503, {}), "503"), ((500, {}), "500"), ((200, {"status": "soon"}), "invalid_response")],
)
async def test_7_2_7_an_error_of_a_delivery_says_what_it_was(
    endpoint: Endpoint, answer: Any, error_type: str
) -> None:
    """With the id that the endpoint got; no start is suspected where something answered."""
    endpoint.answers(*answer)
    details = (await Deliveries(endpoint.url).failed())["details"]
    assert details.pop("delivery_id") == endpoint.received[0].headers["X-OJS-Delivery-ID"]
    assert details == {**CLOSED, "error_type": error_type}


async def test_7_2_an_endpoint_without_a_connection_is_not_starting(endpoint: Endpoint) -> None:
    """Nothing listens."""
    details = (await Deliveries("http://127.0.0.1:9/jobs").failed())["details"]
    assert details.pop("delivery_id").startswith("del_")
    assert details == {**CLOSED, "error_type": "network_error"}


async def test_7_2_7_a_cold_start_is_suspected_after_a_while_without_an_answer(
    endpoint: Endpoint,
) -> None:
    """At the first delivery, and after five minutes; not of an endpoint that has just answered."""
    sending = Deliveries(endpoint.url)
    slow(endpoint, sending)
    assert (await sending.failed())["details"].items() >= LATE.items()
    endpoint.before = lambda: None
    assert isinstance(await sending.outcome(), Succeeded)
    sending.times.now += IDLE_S - 0.001
    slow(endpoint, sending)
    warm = (await sending.failed())["details"]
    assert (warm["error_type"], warm["cold_start_suspected"]) == ("timeout", False)
    endpoint.before = lambda: None
    assert isinstance(await sending.outcome(), Succeeded)
    sending.times.now += IDLE_S
    slow(endpoint, sending)
    assert (await sending.failed())["details"].items() >= LATE.items()


async def test_7_2_7_the_error_that_opens_the_circuit_says_so(endpoint: Endpoint) -> None:
    """The ones before it found it closed."""
    sending = Deliveries(endpoint.url)
    endpoint.answers(503)
    errors = [await sending.failed() for _ in range(OPENS_AFTER)]
    states = [each["details"]["circuit_breaker_state"] for each in errors]
    assert states == ["closed"] * (OPENS_AFTER - 1) + ["open"]


async def test_7_2_an_error_of_the_handler_says_nothing_of_deliveries(endpoint: Endpoint) -> None:
    """It is the handler's."""
    endpoint.answers(200, {"status": "failed", "error": {"type": "a", "details": {"b": 1}}})
    assert (await Deliveries(endpoint.url).failed())["details"] == {"b": 1}


async def wait_ms(sending: Deliveries, **given: Any) -> int | None:
    """How long a job waits for its retry; None for as long as its policy says."""
    found = await sending.outcome(Job("email.send", [], id=JOB_ID, **given))
    assert isinstance(found, Failed)
    return found.delay_ms


@pytest.mark.parametrize(
    ("first", "attempt", "uncounted", "waits_ms"),
    [
        ("PT1S", 1, 0, 10_000),
        ("PT1M", 1, 0, 60_000),
        ("PT4S", 3, 0, 16_000),
        ("PT4S", 3, 2, 10_000),
    ],
)
async def test_7_1_a_suspected_cold_start_waits_before_its_job_is_sent_again(
    endpoint: Endpoint, first: str, attempt: int, uncounted: int, waits_ms: int
) -> None:
    """It may yet end the job: ten seconds at least, and as long as the policy says."""
    sending = Deliveries(endpoint.url)
    slow(endpoint, sending)
    given: dict[str, Any] = {
        "retry": {"initial_interval": first, "jitter": False},
        "custom_attributes": {"attempt": attempt, "x_aws_uncounted_attempts": uncounted},
    }
    assert await wait_ms(sending, **given) == waits_ms


async def test_7_1_other_failures_wait_as_the_policy_says(endpoint: Endpoint) -> None:
    """An endpoint that answered, one without a connection, and a warm one."""
    sending = Deliveries(endpoint.url)
    endpoint.answers(503)
    assert await wait_ms(sending) is None
    assert await wait_ms(Deliveries("http://127.0.0.1:9/jobs")) is None
    endpoint.answers(*test_delivery.DONE)
    assert isinstance(await sending.outcome(), Succeeded)
    waiting = threading.Event()
    endpoint.before = waiting.wait
    sending.delivery.timeout_s = 0.2
    assert await wait_ms(sending) is None
    waiting.set()
