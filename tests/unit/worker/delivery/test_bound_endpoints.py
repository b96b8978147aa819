"""Jobs go to the endpoints that somebody registered for their types.

The names of tests about a requirement begin with its section of ojs-serverless.
"""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, cast

import pytest

from ojs_aws.config import SettingsError
from ojs_aws.domain.bindings import BindingConfig
from ojs_aws.domain.errors import InvalidRequestError, NotFoundError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.services.backend import Backend
from ojs_aws.services.queues.bindings import Bindings
from ojs_aws.topology import DELIVERY, SIGNING_SECRET
from ojs_aws.worker.delivery import delivery_worker
from ojs_aws.worker.delivery.endpoint import HttpDelivery
from ojs_aws.worker.delivery.handlers import BoundEndpoints, DeliveringHandler
from tests.load import HUNG_S
from tests.unit.worker import test_delivery
from tests.unit.worker.test_delivery import DONE, Endpoint
from tests.unit.worker.test_lambda_worker import Bench

endpoint = test_delivery.endpoint
SHOP = "https://app.example.com/jobs/"
CRM = "https://crm.example.com/"
PREFIXES = {"shop": [SHOP], "crm": [CRM]}
TARGETS = {
    name: {"queues": ["default"], "types": [], "prefixes": prefixes}
    for name, prefixes in PREFIXES.items()
}


class Bound(Bench):
    """A worker that delivers jobs as their bindings say; all URLs lead to one web server.

    :ivar connected: the URLs that jobs were delivered to.
    """

    def __init__(self, server: str) -> None:
        super().__init__()
        self.connected: list[str] = []
        settings = replace(self.world.settings, binding_targets=json.dumps(TARGETS))
        self.api = Backend(settings, self.backend.stores)
        self.world.registry.ensure("default", self.world.clock.now())

        def connect(url: str) -> HttpDelivery:
            self.connected.append(url)
            seconds = self.seconds
            return HttpDelivery(server, signing_keys=lambda: ["key"], monotonic=seconds)

        self.bound = BoundEndpoints(lambda: self.backend, PREFIXES, connect)
        handler = DeliveringHandler("*", self.bound, is_async=False, signature=None)
        self.worker.registry.add_pattern(handler)

    def seconds(self) -> float:
        return self.world.clock.at / 1000

    @property
    def bindings(self) -> Bindings:
        return self.api.queues.bindings

    def suspended(self) -> list[str]:
        return [*self.backend.stores.queue_bindings().of("default").suspended]

    def ended(self, job_type: str = "email.send") -> JobRecord:
        """Push a job and run it."""
        job_id = self.push(job_type)
        self.invoke()
        return self.job(job_id)

    def pass_s(self, seconds: float) -> None:
        self.world.clock.at += round(seconds * 1000)


@pytest.fixture
def bound(endpoint: Endpoint) -> Bound:
    return Bound(endpoint.url)


def test_2_1_a_job_goes_to_the_endpoint_of_its_type(bound: Bound, endpoint: Endpoint) -> None:
    """Several bindings of a queue serve types of their own."""
    bound.bindings.put("default", "shop", ["email.*"], SHOP + "mail")
    shown = bound.bindings.put("default", "crm", ["email.bulk"], CRM)
    assert (shown.kind, shown.endpoint, shown.types) == ("https", CRM, ("email.bulk",))
    assert bound.ended().state is JobState.COMPLETED
    assert bound.ended("email.bulk").state is JobState.COMPLETED
    assert bound.connected == [SHOP + "mail", CRM]
    assert [each.said["job"]["type"] for each in endpoint.received] == ["email.send", "email.bulk"]


def test_2_1_a_type_without_a_binding_waits_for_one(bound: Bound, endpoint: Endpoint) -> None:
    """Uncounted, as one without a handler."""
    waiting = bound.ended()
    assert (waiting.state, waiting.uncounted_attempts) == (JobState.RETRYABLE, 1)
    assert waiting.failures[-1].type == "NoHandlerRegistered"
    assert endpoint.received == []


@pytest.mark.parametrize(
    "url", [None, "", "https://evil.example/", SHOP[:-1], SHOP + "../x", CRM, 7]
)
def test_2_1_no_other_url_can_be_registered(bound: Bound, url: Any) -> None:
    """Nor the prefix of another binding; nothing is stored."""
    with pytest.raises((InvalidRequestError, TypeError)):
        bound.bindings.put("default", "shop", ["email.*"], url)
    assert bound.bindings.get("default", "shop").types == ()
    assert bound.bindings.get("default", "shop").endpoint == ""


def test_2_1_a_url_that_the_stack_no_longer_allows_gets_no_job(
    bound: Bound, endpoint: Endpoint
) -> None:
    """The function that delivers checks it again."""
    bound.bindings.put("default", "shop", ["email.*"], SHOP)
    bound.bound.prefixes = {"shop": [SHOP + "other/"]}
    assert bound.ended().failures[-1].type == "NoHandlerRegistered"
    assert endpoint.received == []


def test_2_1_a_binding_that_is_deleted_gets_no_job(bound: Bound, endpoint: Endpoint) -> None:
    """Its URL is forgotten with its types."""
    bound.bindings.put("default", "shop", ["email.*"], SHOP)
    gone = bound.bindings.delete("default", "shop")
    assert (gone.endpoint, gone.types, gone.is_registered) == ("", (), False)
    with pytest.raises(NotFoundError):
        bound.bindings.delete("default", "shop")
    assert bound.ended().failures[-1].type == "NoHandlerRegistered"
    assert endpoint.received == []


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, "does not accept the request's authentication (401)"),
        (403, "refuses the request (403)"),
        (404, "is not there (404)"),
        (302, "answers with a redirect, which is not followed (302)"),
    ],
)
def test_7_2_2_and_3_a_wrong_endpoint_suspends_its_binding(
    bound: Bound, endpoint: Endpoint, status: int, reason: str
) -> None:
    """For all processes; the job is given back, and the next one makes no request."""
    bound.bindings.put("default", "shop", ["email.*"], SHOP)
    bound.bindings.put("default", "crm", ["crm.*"], CRM)
    endpoint.answers(status, {})
    first = bound.ended()
    assert (first.state, first.uncounted_attempts) == (JobState.RETRYABLE, 1)
    suspension = bound.bindings.get("default", "shop").suspension
    assert suspension is not None
    assert suspension.reason == f"{SHOP} {reason}"
    endpoint.received.clear()
    other = BoundEndpoints(lambda: bound.backend, PREFIXES, bound.bound.connect)
    bound.bound._deliveries, bound.bound._read = other._deliveries, other._read
    second = bound.ended()
    assert f"The binding 'shop' is suspended: {SHOP} {reason}." in second.failures[-1].message
    assert (second.uncounted_attempts, endpoint.received) == (1, [])
    endpoint.answers(*DONE)
    assert bound.ended("crm.new").state is JobState.COMPLETED, "the other binding is active"


def test_7_2_6_one_job_is_tried_after_a_minute_and_resumes_the_binding(
    bound: Bound, endpoint: Endpoint
) -> None:
    """Not a moment before; a failed trial keeps the suspension."""
    bound.bindings.put("default", "shop", ["email.*"], SHOP)
    endpoint.answers(404, {})
    bound.ended()
    bound.pass_s(59.999)
    requests = len(endpoint.received)
    bound.ended()
    assert len(endpoint.received) == requests
    bound.pass_s(0.001)
    bound.ended()
    assert len(endpoint.received) == requests + 1
    assert bound.suspended() == ["shop"]
    endpoint.answers(*DONE)
    bound.pass_s(61)
    assert bound.ended().state is JobState.COMPLETED
    assert bound.suspended() == []


def test_7_2_a_trial_whose_job_fails_resumes_the_binding(bound: Bound, endpoint: Endpoint) -> None:
    """The handler is there, and says so itself."""
    bound.bindings.put("default", "shop", ["email.*"], SHOP)
    endpoint.answers(404, {})
    bound.ended()
    endpoint.answers(200, {"status": "failed", "error": {"message": "no"}})
    bound.pass_s(61)
    failed = bound.ended()
    assert (failed.uncounted_attempts, bound.suspended()) == (0, [])


def test_7_2_what_somebody_suspends_gets_no_job_until_it_is_resumed(
    bound: Bound, endpoint: Endpoint
) -> None:
    """Within a second, and without trials."""
    bound.bindings.put("default", "shop", ["email.*"], SHOP)
    bound.ended()
    bound.bindings.suspend("default", "shop", "ada")
    endpoint.received.clear()
    bound.pass_s(1)
    bound.ended()
    bound.pass_s(3600)
    assert "suspended by ada" in bound.ended().failures[-1].message
    assert endpoint.received == []
    bound.bindings.resume("default", "shop")
    bound.pass_s(1)
    assert bound.ended().state is JobState.COMPLETED


def test_7_2_an_endpoint_that_is_busy_is_not_suspended(bound: Bound, endpoint: Endpoint) -> None:
    """429: the job waits for as long as it says."""
    bound.bindings.put("default", "shop", ["email.*"], SHOP)
    endpoint.answers(429, {}, Retry_After="17")
    waiting = bound.ended()
    assert waiting.next_attempt_at == bound.world.clock.at + 17_000
    assert (waiting.uncounted_attempts, bound.suspended()) == (1, [])


def test_the_bindings_are_read_once_a_second(bound: Bound) -> None:
    """Any number of jobs costs no further read."""
    bound.bindings.put("default", "shop", ["email.*"], SHOP)
    reads: list[str] = []
    store = bound.backend.stores.queue_bindings()

    class Counting:
        def of(self, queue: str) -> Any:
            reads.append(queue)
            return store.of(queue)

    stores = replace(bound.backend.stores, queue_bindings=lambda: cast("Any", Counting()))
    bound.bound.backend = lambda: Backend(bound.world.settings, stores)
    for _ in range(5):
        bound.push("email.send")
    bound.invoke()
    bound.pass_s(0.999)
    bound.ended()
    assert reads == ["default"]
    bound.pass_s(0.001)
    bound.ended()
    assert reads == ["default"] * 2


def test_one_queue_does_not_wait_for_the_bindings_of_another(bound: Bound) -> None:
    """Each is read once, however many jobs wait for it."""
    store = bound.backend.stores.queue_bindings()
    reads: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    class Slow:
        def of(self, queue: str) -> Any:
            reads.append(queue)
            if queue == "slow":
                begun.set()
                assert go_on.wait(HUNG_S)
            return store.of(queue)

    stores = replace(bound.backend.stores, queue_bindings=lambda: cast("Any", Slow()))
    bound.bound.backend = lambda: Backend(bound.world.settings, stores)
    with ThreadPoolExecutor(2) as pool:
        try:
            waiting = [pool.submit(bound.bound.claim_limits, "slow") for _ in range(2)]
            assert begun.wait(HUNG_S)
            quick = threading.Thread(target=bound.bound.claim_limits, args=["quick"], daemon=True)
            quick.start()
            quick.join(HUNG_S)
            assert not quick.is_alive()
        finally:
            go_on.set()
        assert [each.result(HUNG_S) for each in waiting] == [None, None]
    assert reads == ["slow", "quick"]


def test_a_bound_job_costs_one_read_more_than_one_of_any_worker(
    bound: Bound, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the estimate of costs says; what registers the binding is made before."""
    monkeypatch.setenv(SIGNING_SECRET, "key")
    plain = Bench()
    plain.worker.deliver(endpoint.url, types=["*"])
    bound.bindings.put("default", "shop", ["email.*"], SHOP)
    made = []
    for bench in (plain, bound):
        job_id = bench.push("email.send")
        calls = bench.world.aws.calls.made
        calls.clear()
        bench.invoke()
        assert bench.job(job_id).state is JobState.COMPLETED
        made.append(calls.copy())
    before, after = made
    assert after - before == {"GetItem": 1}
    assert before - after == {}


def described(**changed: Any) -> dict[str, str]:
    said: dict[str, Any] = {"queues": ["email"], "bindings": PREFIXES, "timeout_s": 30}
    return {DELIVERY: json.dumps(said | changed)}


def test_the_function_delivers_as_bound_where_the_stack_says_so() -> None:
    """It serves all types, since what is registered changes."""
    worker = delivery_worker(described())
    handler = worker.registry.find("anything")
    assert isinstance(handler, DeliveringHandler)
    assert isinstance(handler.function, BoundEndpoints)
    delivery = handler.function.connect(SHOP)
    assert (delivery.url, delivery.timeout_s) == (SHOP, 30)
    assert handler.function.configs == {}
    worker = delivery_worker(described(configs={"shop": {"max_concurrency": 5}}))
    with_config = worker.registry.find("anything").function
    assert isinstance(with_config, BoundEndpoints)
    assert with_config.configs == {"shop": BindingConfig(max_concurrency=5)}


@pytest.mark.parametrize(
    "changed",
    [
        {"bindings": {"shop": ["http://app.example.com/"]}},
        {"bindings": {"shop": ["https://app.example.com"]}},
        {"configs": {"shop": {"max_concurrency": 0}}},
        {"timeout_s": None},
        {"timeout_s": 0},
        {"reports": {"report_url": "https://api.example.com"}},
    ],
)
def test_a_function_that_is_described_wrongly_does_not_start(changed: dict[str, Any]) -> None:
    """Rather than give back each job."""
    with pytest.raises(SettingsError):
        delivery_worker(described(**changed))
