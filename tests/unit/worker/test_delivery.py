"""Jobs are delivered to an HTTP endpoint, and its answer is their outcome (ojs-serverless)."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ojs_aws import Job, LambdaWorker
from ojs_aws.domain.job import JobState
from ojs_aws.domain.json_text import parse_object
from ojs_aws.middleware.results import RegistrationError
from ojs_aws.worker.base import BaseWorker
from ojs_aws.worker.delivery import delivery_worker
from ojs_aws.worker.delivery.answers import COOLDOWN_S, MAX_ANSWER_BYTES, OPENS_AFTER
from ojs_aws.worker.delivery.endpoint import HttpDelivery
from ojs_aws.worker.delivery.handlers import DeliveringHandler
from ojs_aws.worker.delivery.request import idempotency_window_s
from ojs_aws.worker.executor import Failed, Outcome, Snoozed, Succeeded
from ojs_aws.worker.reservations import WorkerContext
from tests.unit.typed_jobs.conftest import stays
from tests.unit.worker.test_lambda_worker import Bench

NOW = 1_790_000_000.0
KEY = "whsec_test"
DONE = (200, {"status": "completed", "result": {"sent": True}})


@dataclass
class Received:
    """One request that an endpoint got."""

    headers: dict[str, str]
    body: bytes

    @property
    def said(self) -> dict[str, Any]:
        """Its body, read by Python's own parser."""
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found


@dataclass
class Endpoint:
    """A web server with one answer, which a test may change between two requests."""

    url: str = ""
    status: int = 200
    answer: object = None
    headers: dict[str, str] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    before: Callable[[], object] = lambda: None

    def answers(self, status: int, answer: object = None, **headers: str) -> None:
        """Answer so from now on."""
        self.status, self.answer = status, answer
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """An endpoint on this machine."""
    state = Endpoint()
    state.answers(*DONE)

    class Web(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            state.received.append(Received(dict(self.headers), self.rfile.read(length)))
            state.before()
            answer = state.answer
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(state.status)
            for name, value in state.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Say nothing of a client that waits no longer."""

    with Server(("127.0.0.1", 0), Web) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        serving.start()
        state.url = f"http://127.0.0.1:{server.server_port}/jobs"
        yield state
        server.shutdown()


@dataclass
class Times:
    """A clock that only the test moves."""

    now: float = 0.0

    def monotonic(self) -> float:
        """Seconds since the test began."""
        return self.now


@dataclass
class Deliveries:
    """A worker that delivers each job to one endpoint."""

    url: str
    keys: list[str] = field(default_factory=lambda: [KEY])
    timeout_s: float = 5.0
    times: Times = field(default_factory=Times)
    worker: BaseWorker = field(default_factory=lambda: BaseWorker(middleware=[]))

    def __post_init__(self) -> None:
        self.delivery = HttpDelivery(
            self.url,
            signing_keys=lambda: self.keys,
            timeout_s=self.timeout_s,
            monotonic=self.times.monotonic,
            wall_clock=lambda: NOW + self.times.now,
        )
        handler = DeliveringHandler("*", self.delivery, is_async=False, signature=None)
        self.worker.registry.add_pattern(handler)
        self.executor = self.worker.freeze()

    async def outcome(self, job: Job | None = None) -> Outcome:
        """What becomes of a job."""
        job = job or Job("email.send", ["a@example.com"], id=JOB_ID)
        return await self.executor.execute(WorkerContext(job, extend=stays))

    async def failed(self, job: Job | None = None) -> dict[str, Any]:
        """The error of a job that fails."""
        found = await self.outcome(job)
        assert isinstance(found, Failed), found
        return found.error

    async def given_back(self, job: Job | None = None) -> Snoozed:
        """How a job is given back."""
        found = await self.outcome(job)
        assert isinstance(found, Snoozed), found
        return found


JOB_ID = "01a21c99-0000-7000-8000-000000000001"


def snoozed(times: int) -> Job:
    """A job that was given back so often."""
    return Job("email.send", [], custom_attributes={"x_aws_uncounted_attempts": times})


# ------------------------------------------------------------- 2.2, 8.1, 10.1: the request


async def test_2_2_a_request_has_the_job_as_it_was_sent(endpoint: Endpoint) -> None:
    """Integers of any size, order of keys and numbers stay as they are."""
    text = (
        f'{{"specversion":"1.0","id":"{JOB_ID}","type":"email.send","queue":"default","args":'
        '[123456789012345678901234567890,1.10,{"b":1,"a":"\\u00e9"}],"x-own":1e2,"attempt":2}'
    )
    found = await Deliveries(endpoint.url).outcome(Job.from_json(text))
    assert found == Succeeded('{"sent":true}')  # type: ignore[arg-type]
    (request,) = endpoint.received
    assert parse_object(request.body)["job"].raw == text
    assert request.said["worker_id"].startswith("push_worker_")
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["X-OJS-Job-ID"] == JOB_ID


async def test_2_2_a_request_says_until_when_an_answer_counts(endpoint: Endpoint) -> None:
    """The first one may take ten seconds more: the endpoint may have to start (3.4)."""
    sending = Deliveries(endpoint.url, timeout_s=30)
    await sending.outcome()
    await sending.outcome()
    sending.times.now = 300
    await sending.outcome()
    assert [each.said["deadline"] for each in endpoint.received] == [
        "2026-09-21T14:14:00.000Z",
        "2026-09-21T14:13:50.000Z",
        "2026-09-21T14:19:00.000Z",
    ]


async def test_10_1_1_a_request_is_signed_over_time_and_body(endpoint: Endpoint) -> None:
    """As ojs-webhooks 8.1 says; with both keys while one replaces the other (8.3)."""
    await Deliveries(endpoint.url, keys=["new", "old"]).outcome()
    (request,) = endpoint.received
    assert request.headers["X-OJS-Timestamp"] == str(int(NOW))
    signed = request.headers["X-OJS-Timestamp"].encode() + b"." + request.body
    assert request.headers["X-OJS-Signature"].split(",") == [
        "sha256=" + hmac.new(key, signed, hashlib.sha256).hexdigest() for key in (b"new", b"old")
    ]


async def test_8_1_1_and_10_1_7_each_delivery_has_an_id_of_its_own(endpoint: Endpoint) -> None:
    """Header and body name the same."""
    sending = Deliveries(endpoint.url)
    await sending.outcome()
    await sending.outcome()
    ids = [each.headers["X-OJS-Delivery-ID"] for each in endpoint.received]
    assert ids == [each.said["delivery_id"] for each in endpoint.received]
    assert len(set(ids)) == 2
    assert all(each.startswith("del_") for each in ids)


@pytest.mark.parametrize(
    ("retry", "seconds"),
    [
        (None, 3 * 10 + (1 + 2) * 1.5),
        ({"max_attempts": 1}, 10),
        ({"max_attempts": 0}, 10),
        (
            {
                "max_attempts": 4,
                "initial_interval": "PT10S",
                "max_interval": "PT10S",
                "jitter": False,
            },
            4 * 10 + 30 * 1.5,
        ),
        ({"max_attempts": 1_000_000, "initial_interval": "PT1S"}, 10 * 1000 + 297_511 * 1.5),
    ],
)
def test_8_3_the_idempotency_window_covers_all_attempts(
    retry: dict[str, Any] | None, seconds: float
) -> None:
    """Each attempt with its timeout, and the longest waits between them."""
    job = Job("email.send", [])
    if retry is not None:
        job["retry"] = retry
    assert idempotency_window_s(job, 10) == round(seconds)


async def test_8_3_a_request_says_the_idempotency_window(endpoint: Endpoint) -> None:
    """In seconds."""
    await Deliveries(endpoint.url, timeout_s=10).outcome()
    assert endpoint.received[0].headers["X-OJS-Idempotency-Window"] == "34"


# ------------------------------------------------------------------- 2.3: what it answers


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ({"status": "completed", "result": {"message_id": "m"}}, '{"message_id":"m"}'),
        ({"status": "completed"}, None),
        (b'{"status":"completed","result":123456789012345678901}', "123456789012345678901"),
    ],
)
async def test_2_3_completed_ends_the_job_with_its_result(
    endpoint: Endpoint, answer: object, result: str | None
) -> None:
    """None where the answer has none."""
    endpoint.answers(200, answer)
    assert await Deliveries(endpoint.url).outcome() == Succeeded(result)  # type: ignore[arg-type]


async def test_2_3_failed_fails_the_job_with_its_error(endpoint: Endpoint) -> None:
    """Type, message and stack as the endpoint's language reports them."""
    said = {"type": "TypeError", "message": "no address", "stack": "at send (mail.mjs:3)"}
    endpoint.answers(200, {"status": "failed", "error": said | {"details": {"field": "to"}}})
    error = await Deliveries(endpoint.url).failed()
    assert (error["type"], error["message"]) == ("TypeError", "no address")
    assert error["details"] == {"field": "to", "stack": "at send (mail.mjs:3)"}
    assert "retryable" not in error


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        ({"code": "handler_error", "message": "down", "retryable": True}, None),
        ({"code": "handler_error", "message": "wrong", "retryable": False}, False),
        ({"message": "silent about retries"}, None),
    ],
)
async def test_2_3_the_error_says_whether_a_retry_helps(
    endpoint: Endpoint, error: dict[str, Any], retryable: bool | None
) -> None:
    """Where it does not forbid one, the job's policy decides."""
    endpoint.answers(200, {"status": "failed", "error": error})
    assert (await Deliveries(endpoint.url).failed()).get("retryable") is retryable


@pytest.mark.parametrize("status", [400, 402, 405, 409, 410, 422, 499])
async def test_2_3_another_4xx_is_not_retried(endpoint: Endpoint, status: int) -> None:
    """With the error that it has, if it has one."""
    endpoint.answers(status, b"<html>")
    error = await Deliveries(endpoint.url).failed()
    assert (error["retryable"], error["message"]) == (False, f"{endpoint.url} answered {status}.")
    endpoint.answers(status, {"error": {"code": "bad_address", "message": "no such street"}})
    error = await Deliveries(endpoint.url).failed()
    assert (error["type"], error["message"]) == ("bad_address", "no such street")
    assert error["retryable"] is False


@pytest.mark.parametrize("status", [500, 502, 503, 504, 599])
async def test_2_3_a_5xx_is_retried_as_a_delivery_error(endpoint: Endpoint, status: int) -> None:
    """The function crashed, or what is before it did (7.2)."""
    endpoint.answers(status, {"status": "completed", "result": 1})
    error = await Deliveries(endpoint.url).failed()
    assert "retryable" not in error
    assert (error["type"], error["message"]) == (
        "EndpointCrashed",
        f"{endpoint.url} answered {status}.",
    )
    assert error["details"]["error_class"] == "delivery_error"


async def test_7_1_an_endpoint_that_has_to_start_gets_more_time(endpoint: Endpoint) -> None:
    """The first answer may take ten seconds longer; one that is warm may not."""
    sending = Deliveries(endpoint.url, timeout_s=0.1)
    waiting = threading.Event()
    endpoint.before = lambda: waiting.wait(0.4)
    assert isinstance(await sending.outcome(), Succeeded)
    assert "no answer within 0.1 s" in (await sending.failed())["message"]
    waiting.set()


async def test_7_2_1_and_10_1_8_an_error_of_the_handler_is_no_delivery_error(
    endpoint: Endpoint,
) -> None:
    """People and policies tell them apart, by the type and the details."""
    endpoint.answers(200, {"status": "failed", "error": {"code": "smtp", "message": "refused"}})
    of_handler = await Deliveries(endpoint.url).failed()
    endpoint.answers(503)
    of_delivery = await Deliveries(endpoint.url).failed()
    assert of_handler["type"] == "smtp"
    assert "error_class" not in of_handler.get("details", {})
    assert of_delivery["details"]["error_class"] == "delivery_error"


async def test_2_3_a_timeout_is_retried(endpoint: Endpoint) -> None:
    """It counts from the request's begin; the first has ten seconds more."""
    sending = Deliveries(endpoint.url, timeout_s=0.2)
    await sending.outcome()
    waiting = threading.Event()
    endpoint.before = waiting.wait
    error = await sending.failed()
    waiting.set()
    assert error["message"] == f"{endpoint.url} did not answer: no answer within 0.2 s."
    assert (error["type"], error["details"]["error_class"]) == ("NoAnswer", "delivery_error")
    assert "retryable" not in error


async def test_10_1_3_an_answer_that_comes_in_drops_ends_with_the_timeout(
    endpoint: Endpoint,
) -> None:
    """Each part comes in time, and the whole does not: the handler still holds a worker."""
    sending = Deliveries(endpoint.url, timeout_s=5)
    endpoint.before = lambda: setattr(sending.times, "now", 16.0)
    error = await sending.failed()
    assert error["message"] == f"{endpoint.url} did not answer: no answer within 15 s."
    assert error["type"] == "NoAnswer"


async def test_a_long_answer_does_not_reach_the_next_request(endpoint: Endpoint) -> None:
    """The connection with the unread rest is closed."""
    sending = Deliveries(endpoint.url)
    endpoint.answers(200, b" " * (3 * MAX_ANSWER_BYTES))
    assert (await sending.failed())["type"] == "InvalidAnswer"
    endpoint.answers(*DONE)
    assert isinstance(await sending.outcome(), Succeeded)


@pytest.mark.parametrize("stack", ["x" * 50_000, ["x" * 1000] * 50], ids=["text", "list"])
async def test_a_long_stack_is_cut(endpoint: Endpoint, stack: object) -> None:
    """So that the report is accepted, with the other details."""
    error = {"message": "wrong", "stack": stack, "details": {"field": "to"}}
    endpoint.answers(200, {"status": "failed", "error": error})
    details = (await Deliveries(endpoint.url).failed())["details"]
    assert details["field"] == "to"
    assert len(details["stack"]) == 10_000


# ------------------------------------------------------------------ 7: what may go wrong


@pytest.mark.parametrize(
    "answer",
    [
        b"ok",
        b"\xff",
        b"[]",
        b"{}",
        b'{"status":"done"}',
        b'{"status":"failed"}',
        b'{"status":"done","error":{"message":"no"}}',
        b'{"status":"completed","result":"' + b"x" * MAX_ANSWER_BYTES + b'"}',
    ],
    ids=["text", "no UTF-8", "list", "empty", "other status", "no error", "no failure", "too long"],
)
async def test_7_1_an_invalid_answer_is_retried(endpoint: Endpoint, answer: bytes) -> None:
    """The message says what is expected."""
    endpoint.answers(200, answer)
    error = await Deliveries(endpoint.url).failed()
    assert error["type"] == "InvalidAnswer"
    expected = '{"status": "completed", "result": ...}'
    if len(answer) > MAX_ANSWER_BYTES:
        expected = "more than 1,048,576 bytes"
    assert expected in error["message"]
    assert "retryable" not in error


async def test_7_1_a_network_error_is_retried() -> None:
    """Nobody listens at this port."""
    error = await Deliveries("http://127.0.0.1:1/jobs").failed()
    assert error["message"].startswith("http://127.0.0.1:1/jobs did not answer: no connection")
    assert "retryable" not in error


@pytest.mark.parametrize("status", [401, 403, 404, 301, 302, 307])
async def test_7_2_no_job_is_discarded_for_a_wrong_endpoint(
    endpoint: Endpoint, status: int
) -> None:
    """The job is given back uncounted, and a redirect is not followed."""
    endpoint.answers(status, b"", Location="http://127.0.0.1:1/")
    found = await Deliveries(endpoint.url).given_back()
    assert found.error["type"] == "UndeliveredError"
    assert str(found.error["message"]).endswith(f"({status}).")
    assert len(endpoint.received) == 1


async def test_7_2_a_wrong_endpoint_gets_no_further_requests(endpoint: Endpoint) -> None:
    """For a minute; then one is tried."""
    sending = Deliveries(endpoint.url)
    endpoint.answers(404)
    await sending.given_back()
    sending.times.now = COOLDOWN_S - 1
    found = await sending.given_back()
    assert "is not there (404)" in str(found.error["message"])
    assert len(endpoint.received) == 1
    sending.times.now = COOLDOWN_S
    await sending.given_back()
    await sending.given_back()
    assert len(endpoint.received) == 2


async def test_10_1_5_jobs_given_back_wait_twice_as_long_each_time(endpoint: Endpoint) -> None:
    """Up to five minutes, so that a backlog does not cost much meanwhile."""
    endpoint.answers(403)
    sending = Deliveries(endpoint.url)
    waits = [(await sending.given_back(snoozed(times))).delay_ms for times in (0, 1, 5, 9, 99)]
    assert waits == [1000, 2000, 32_000, 300_000, 300_000]


@pytest.mark.parametrize(
    ("retry_after", "times", "delay_ms"),
    [
        ("", 0, 1000),
        ("", 4, 16_000),
        ("", 9, 60_000),
        ("90", 0, 90_000),
        ("0", 0, 1000),
        ("9999999", 0, 3_600_000),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 1, 2000),
    ],
)
async def test_7_2_4_a_busy_endpoint_is_asked_again_after_its_time(
    endpoint: Endpoint, retry_after: str, times: int, delay_ms: int
) -> None:
    """``Retry-After``, or a second that doubles up to a minute."""
    endpoint.answers(429, None, **({"Retry_After": retry_after} if retry_after else {}))
    sending = Deliveries(endpoint.url)
    assert (await sending.given_back(snoozed(times))).delay_ms == delay_ms
    endpoint.answers(*DONE)
    assert isinstance(await sending.outcome(), Succeeded)


async def test_7_2_5_and_10_1_9_five_failures_in_a_row_open_the_circuit(endpoint: Endpoint) -> None:
    """Then jobs are given back, until one delivery succeeds."""
    sending = Deliveries(endpoint.url)
    endpoint.answers(503)
    for _ in range(OPENS_AFTER):
        await sending.failed()
    await sending.given_back()
    assert len(endpoint.received) == OPENS_AFTER
    sending.times.now = COOLDOWN_S
    endpoint.answers(*DONE)
    assert isinstance(await sending.outcome(), Succeeded)
    assert isinstance(await sending.outcome(), Succeeded)
    assert len(endpoint.received) == OPENS_AFTER + 2


async def test_7_2_the_circuit_counts_failures_in_a_row(endpoint: Endpoint) -> None:
    """Whatever the handler answers closes it: a job that fails is no failed delivery."""
    sending = Deliveries(endpoint.url)
    for answer in [503] * (OPENS_AFTER - 1) + [422] + [503] * (OPENS_AFTER - 1):
        endpoint.answers(answer)
        await sending.failed()
    assert len(endpoint.received) == 2 * OPENS_AFTER - 1


async def test_7_2_a_failed_trial_keeps_the_circuit_open(endpoint: Endpoint) -> None:
    """For another minute."""
    sending = Deliveries(endpoint.url)
    endpoint.answers(404)
    await sending.given_back()
    sending.times.now = COOLDOWN_S
    endpoint.answers(500)
    await sending.failed()
    sending.times.now = COOLDOWN_S + 1
    await sending.given_back()
    assert len(endpoint.received) == 2


# -------------------------------------------------------------------- which jobs, by whom


@pytest.mark.parametrize(
    ("job_type", "served_by"),
    [
        ("email.send", "own"),
        ("email.bulk", "email.*"),
        ("email.news.send", "email.news.*"),
        ("emails", "*"),
        ("report.new", "*"),
    ],
)
def test_the_longest_pattern_delivers_a_job(job_type: str, served_by: str) -> None:
    """A handler of the type's own comes before all patterns."""
    worker = BaseWorker(middleware=[])
    worker.handler("email.send")(lambda ctx: "own")
    worker.deliver("https://app.example.com/", types=["*", "email.news.*", "email.*"])
    found = worker.registry.find(job_type)
    assert ("own" if found.type == "email.send" else found.type) == served_by
    assert [*worker.registry] == ["email.send", "*", "email.news.*", "email.*"]
    assert len(worker.registry) == 4


def test_types_that_no_pattern_fits_have_no_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message lists the patterns, too; an exact type is a handler like any other."""
    monkeypatch.setenv("OJS_SIGNING_SECRET", KEY)
    worker = BaseWorker(middleware=[])
    worker.deliver("https://app.example.com/", types=["email.*", "report.new"])
    assert "report.new" in worker.registry
    with pytest.raises(LookupError, match=r"Registered: email\.\*, report\.new"):
        worker.registry.find("report.old")


@pytest.mark.parametrize(
    ("types", "problem"),
    [
        (["email.*", "email.*"], "'email.*' has a handler already"),
        (["*.send"], "'*.send'"),
        (["a*b*"], "has one * at its end"),
    ],
)
def test_a_pattern_that_cannot_be_served_is_refused(types: list[str], problem: str) -> None:
    """Where it is named."""
    with pytest.raises(Exception, match=problem.replace("*", r"\*")):
        BaseWorker().deliver("https://app.example.com/", types=types)


def test_no_pattern_is_added_after_the_start() -> None:
    """As for handlers."""
    worker = BaseWorker(middleware=[])
    worker.freeze()
    with pytest.raises(RegistrationError, match="after the worker had started"):
        worker.deliver("https://app.example.com/")


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("app.example.com/jobs", "is no URL"),
        ("ftp://app.example.com", "is no URL"),
        ("https://", "is no URL"),
        ("http://app.example.com/jobs", "by HTTPS only"),
        ("https://user:secret@app.example.com/jobs", "has no password"),
        ("https://user@app.example.com/jobs", "has no password"),
        ("https://:secret@app.example.com/jobs", "has no password"),
    ],
)
def test_an_unsafe_endpoint_is_refused(url: str, problem: str) -> None:
    """Arguments may be private: they travel by HTTPS."""
    with pytest.raises(ValueError, match=problem):
        BaseWorker().deliver(url)


@pytest.mark.parametrize("given", [{"types": "email.*"}, {"types": []}, {"timeout_s": 0}])
def test_options_of_a_delivery_are_checked(given: dict[str, Any]) -> None:
    """Where they are named."""
    with pytest.raises(ValueError, match=r"types=|positive"):
        BaseWorker().deliver("https://app.example.com/", **given)


@pytest.mark.parametrize("value", [None, "", " , "])
def test_a_worker_without_a_key_does_not_start(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    """A request must be signed (10.1)."""
    monkeypatch.delenv("OJS_SIGNING_SECRET", raising=False)
    if value is not None:
        monkeypatch.setenv("OJS_SIGNING_SECRET", value)
    worker = BaseWorker(middleware=[])
    worker.deliver("https://app.example.com/")
    with pytest.raises(RegistrationError, match="jobs cannot be delivered"):
        worker.freeze()


def test_a_secret_may_hold_two_keys(monkeypatch: pytest.MonkeyPatch, endpoint: Endpoint) -> None:
    """Each is read when a request is signed, so a rotated one is used without a new start."""
    monkeypatch.setenv("OWN_NAME", "new, old")
    worker = BaseWorker(middleware=[])
    worker.deliver(endpoint.url, signing_secret="OWN_NAME")
    handler = worker.registry.find("any")
    worker.freeze()
    handler.function(WorkerContextDouble())
    assert len(endpoint.received[0].headers["X-OJS-Signature"].split(",")) == 2


class WorkerContextDouble:
    """A context of which only the job is read."""

    job = Job("any", [], id=JOB_ID)


# ---------------------------------------------------------------------- the Lambda worker


def function_environ(url: str) -> dict[str, str]:
    """The environment of the function that delivers."""
    said = {"queues": ["email"], "url": url, "types": ["*"], "timeout_s": 5}
    return {"OJS_DELIVERY": json.dumps(said)}


@pytest.mark.parametrize("text", [None, "{", "[]", "{}", '{"queues": ["email"]}'])
def test_a_function_says_what_its_variable_lacks(text: str | None) -> None:
    """Before it takes a job."""
    with pytest.raises(Exception, match="OJS_DELIVERY must be a JSON object"):
        delivery_worker({} if text is None else {"OJS_DELIVERY": text})


def test_a_function_delivers_what_its_variable_names(endpoint: Endpoint) -> None:
    """Queues, types, URL and timeout."""
    worker = delivery_worker(function_environ(endpoint.url))
    assert isinstance(worker, LambdaWorker)
    assert worker.queues == ("email",)
    delivery = worker.registry.find("any").function
    assert isinstance(delivery, HttpDelivery)
    assert (delivery.url, delivery.timeout_s) == (endpoint.url, 5)


def test_10_1_2_a_job_is_active_while_it_is_delivered(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker claims it first, so no other endpoint gets it at the same time."""
    monkeypatch.setenv("OJS_SIGNING_SECRET", KEY)
    bench = Bench(queue="email")
    bench.worker.deliver(endpoint.url)
    job_id = bench.push("email.send", "a@example.com")
    states: list[JobState] = []
    endpoint.before = lambda: states.append(bench.job(job_id).state)
    assert bench.invoke() == set()
    assert states == [JobState.ACTIVE]
    done = bench.job(job_id)
    assert (done.state, bench.left()) == (JobState.COMPLETED, 0)
    bench.worker._loop.close()


def test_a_job_that_is_not_delivered_keeps_its_attempts(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits, and nothing counts as a failure."""
    monkeypatch.setenv("OJS_SIGNING_SECRET", KEY)
    bench = Bench(queue="email")
    bench.worker.deliver(endpoint.url)
    job_id = bench.push("email.send")
    endpoint.answers(404)
    bench.invoke()
    waiting = bench.job(job_id)
    assert (waiting.state, waiting.uncounted_attempts) == (JobState.RETRYABLE, 1)
    bench.worker._loop.close()
