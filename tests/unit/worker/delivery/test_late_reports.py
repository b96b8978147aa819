"""An endpoint answers 202, and reports later with the token of its delivery (8.2)."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import urllib3
from urllib3.exceptions import TimeoutStateError

from ojs_aws import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.attempt_tokens import AttemptGrant, check_token, read_token
from ojs_aws.domain.timestamps import Instant
from ojs_aws.middleware.builtin.logging import LoggingMiddleware
from ojs_aws.middleware.context import JobContext
from ojs_aws.worker.delivery import delivery_worker
from ojs_aws.worker.delivery.endpoint import HttpDelivery
from ojs_aws.worker.delivery.handlers import DeliveringHandler
from ojs_aws.worker.delivery.request import LONGEST_S, LateReports, token_of
from ojs_aws.worker.executor import ActiveJob, Failed
from ojs_aws.worker.job_logs import JobLines
from ojs_aws.worker.reservations import WorkerContext
from tests.api import Api, Reply
from tests.unit.typed_jobs.conftest import stays
from tests.unit.worker.test_delivery import KEY, Deliveries, Endpoint, endpoint
from tests.unit.worker.test_lambda_worker import Bench

__all__ = ["endpoint"]
JOB_ID = "01a21c99-0000-7000-8000-000000000001"
FAILURE = {"error": {"type": "Broken", "message": "no"}}


@dataclass
class Served:
    """The API of a bench, behind a port.

    :ivar status: what it answers; None: what the API does.
    """

    url: str
    api: Api
    status: int | None = None
    asked: list[tuple[str, str, Any]] = field(default_factory=list)


class Delivering(Bench):
    """A Lambda worker that delivers to an endpoint which may report later."""

    def __init__(self, endpoint: Endpoint, served: Served | None = None, **options: Any) -> None:
        super().__init__(queue="email", **options)
        self.endpoint, self.api = endpoint, Api(self.world.backend)
        if served is not None:
            served.api = self.api
            self.worker.deliver(endpoint.url, report_url=served.url, report_within_s=240)
        else:
            self.worker.deliver(endpoint.url)

    def delivered(self, **given: Any) -> str:
        """Push a job, and deliver it."""
        job_id = self.push("email.send", "a@example.com", **given)
        self.kept = self.invoke()
        return job_id

    def token(self, number: int = -1) -> str:
        """The token of a delivery, by default of the last one."""
        return str(self.endpoint.received[number].said["report"]["token"])

    def report(self, path: str, body: object = None, token: str = "") -> Reply:
        """Send a report as an endpoint does, with the token of the last delivery."""
        headers = {"authorization": f"Bearer {token or self.token()}"}
        return self.api.post(path, body, headers=headers)


@pytest.fixture
def served() -> Iterator[Served]:
    """An API behind a port; the bench gives it its own."""
    state = Served("", None)  # type: ignore[arg-type]

    class Web(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            token = self.headers["Authorization"]
            state.asked.append((self.path, token.removeprefix("Bearer "), json.loads(body)))
            status, text = state.status or 0, "{}"
            if state.status is None:
                reply = state.api.send("POST", self.path, body, headers={"authorization": token})
                status, text = reply.status, reply.text
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Web) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        serving.start()
        state.url = f"http://127.0.0.1:{server.server_port}"
        yield state
        server.shutdown()


@pytest.fixture
def bench(
    endpoint: Endpoint, served: Served, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Delivering]:
    """A worker whose endpoint answers 202."""
    monkeypatch.setenv("OJS_SIGNING_SECRET", KEY)
    endpoint.answers(202, {})
    made = Delivering(endpoint, served)
    yield made
    made.worker._loop.close()


# ------------------------------------------------------------------------- what is delivered
def test_a_delivery_says_where_and_by_what_token_to_report(
    bench: Delivering, served: Served
) -> None:
    """The token is for this attempt, up to its own deadline; the signature covers it."""
    job_id = bench.delivered(timeout="600s")
    job = bench.job(job_id)
    (request,) = bench.endpoint.received
    said = request.said["report"]
    assert {**said, "token": "..."} == {
        "url": f"{served.url}/ojs/v1",
        "token": "...",
        "within_s": 240,
    }
    held, now = job.reservation, bench.world.clock.now()
    assert held is not None
    assert check_token(said["token"], [KEY], now) == AttemptGrant(
        job_id=job_id, attempt=1, reservation_id=held.id, ends_at=held.execution_ends_at
    )
    assert "X-OJS-Signature" in request.headers
    assert not any(said["token"] in value for value in request.headers.values())


def test_the_first_of_two_keys_signs_the_token(
    bench: Delivering, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a new key, put behind it, is known everywhere before it signs one."""
    monkeypatch.setenv("OJS_SIGNING_SECRET", "old,new")
    bench.delivered()
    now = bench.world.clock.now()
    assert isinstance(check_token(bench.token(), ["old"], now), AttemptGrant)


def test_without_a_url_nothing_is_said_and_202_is_no_answer(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ever: the delivery failed, and is retried."""
    monkeypatch.setenv("OJS_SIGNING_SECRET", KEY)
    endpoint.answers(202, {})
    bench = Delivering(endpoint)
    job = bench.job(bench.delivered())
    assert "report" not in endpoint.received[0].said
    assert (job.state, job.failures[-1].type) == (JobState.RETRYABLE, "InvalidAnswer")
    bench.worker._loop.close()


@pytest.mark.parametrize(
    ("members", "reservation_id"),
    [
        ({"started_at": "2026-09-21T14:13:20.000Z", "timeout_ms": 1000}, ""),
        ({"timeout_ms": 1000}, "r-1"),
        ({"started_at": 5, "timeout_ms": 1000}, "r-1"),
        ({"started_at": "2026-09-21T14:13:20.000Z"}, "r-1"),
        ({"started_at": "2026-09-21T14:13:20.000Z", "timeout_ms": "1000"}, "r-1"),
    ],
)
def test_another_backend_may_say_too_little_for_a_token(
    members: dict[str, JsonValue], reservation_id: str
) -> None:
    """Then there is none."""
    job = Job("email.send", [], id=JOB_ID, custom_attributes=members)
    assert token_of(job, reservation_id, KEY) == ""


def test_a_token_ends_when_the_attempts_time_is_over() -> None:
    """Counted from its start, as the backend does."""
    members: dict[str, JsonValue] = {
        "started_at": "2026-09-21T14:13:20.000Z",
        "timeout_ms": 1500,
        "attempt": 3,
    }
    grant = read_token(
        token_of(Job("email.send", [], id=JOB_ID, custom_attributes=members), "r-1", KEY)
    )
    assert grant == AttemptGrant(
        job_id=JOB_ID, attempt=3, reservation_id="r-1", ends_at=Instant(1_790_000_001_500)
    )


async def test_without_a_token_202_is_no_answer(endpoint: Endpoint) -> None:
    """Nobody could report."""
    endpoint.answers(202, {})
    sending = Deliveries(endpoint.url)
    reports = LateReports.to("http://127.0.0.1:1")
    delivery = HttpDelivery(endpoint.url, signing_keys=lambda: [KEY], reports=reports)
    handler = DeliveringHandler("a.*", delivery, is_async=False, signature=None)
    registry = type(sending.worker)(middleware=[])
    registry.registry.add_pattern(handler)
    ctx = WorkerContext(Job("a.b", [], id=JOB_ID), extend=stays)
    found = await registry.freeze().execute(ctx)
    assert isinstance(found, Failed)
    assert found.error["type"] == "InvalidAnswer"
    assert "report" not in endpoint.received[0].said


@pytest.mark.parametrize("within_s", [0, LONGEST_S + 1])
def test_a_time_that_no_reservation_lasts_is_refused(within_s: int) -> None:
    """Saying which ones do."""
    with pytest.raises(ValueError, match="between 1 and 43200"):
        LateReports.to("https://api.example.com", within_s)
    for accepted in (1, LONGEST_S):
        assert LateReports.to("https://api.example.com/", accepted).within_s == accepted


# ---------------------------------------------------------------------- after the answer 202
@pytest.mark.parametrize("answer", [{}, {"status": "completed", "result": 1}, b"", b"{"])
def test_202_leaves_the_job_active_under_its_reservation(bench: Delivering, answer: object) -> None:
    """Whatever its body says. Nobody reports, and the message stays."""
    bench.endpoint.answers(202, answer)
    job_id = bench.delivered()
    job = bench.job(job_id)
    assert job.state is JobState.ACTIVE
    assert job.reservation is not None
    assert job.reservation.expires_at == bench.world.clock.now() + 240_000
    assert bench.kept == {f"m-{job_id}"}
    assert bench.left() == 1


def test_202_begins_with_one_heartbeat_by_the_token(bench: Delivering, served: Served) -> None:
    """It is all that an accepted job costs beside its report."""
    bench.delivered()
    assert served.asked == [
        ("/ojs/v1/workers/heartbeat", bench.token(), {"visibility_timeout_ms": 240_000})
    ]


def test_a_late_ack_completes_the_job(bench: Delivering) -> None:
    """With its result; the message goes."""
    job_id = bench.delivered()
    bench.world.clock.advance(s=239)
    answer = bench.report(f"/jobs/{job_id}/ack", {"result": [True]})
    assert answer.status == 200, answer.text
    job = bench.job(job_id)
    assert (job.state, job.result) == (JobState.COMPLETED, "[true]")
    assert bench.left() == 0


def test_a_late_fail_is_retried_by_the_policy(bench: Delivering) -> None:
    """With the error that the endpoint names."""
    job_id = bench.delivered()
    assert bench.report(f"/jobs/{job_id}/nack", FAILURE).status == 200
    job = bench.job(job_id)
    assert (job.state, job.failures[-1].type) == (JobState.RETRYABLE, "Broken")


def test_heartbeats_by_the_token_keep_the_job(bench: Delivering) -> None:
    """For as long as its own time lasts, each time."""
    job_id = bench.delivered()
    for _ in range(5):
        bench.world.clock.advance(s=200)
        body = {"visibility_timeout_ms": 240_000}
        assert bench.report("/workers/heartbeat", body).json["jobs_extended"] == [job_id]
    assert bench.report(f"/jobs/{job_id}/progress", {"progress": 0.5}).json["accepted"] is True
    assert bench.report(f"/jobs/{job_id}/ack").status == 200


# --------------------------------------------------------------------------------- failures
def test_8_2_an_endpoint_that_dies_after_202_loses_the_job(bench: Delivering) -> None:
    """The reservation ends, another delivery takes it, and what comes late changes nothing."""
    job_id = bench.delivered()
    late = bench.token()
    bench.world.clock.advance(s=239)
    assert bench.backend.jobs.info(job_id).state is JobState.ACTIVE
    bench.world.clock.advance(s=1)
    assert bench.invoke()
    now = bench.job(job_id)
    assert (now.state, now.attempt) == (JobState.ACTIVE, 2)
    assert bench.token() != late
    assert bench.report(f"/jobs/{job_id}/ack", {"result": 1}, late).status == 409
    assert bench.report(f"/jobs/{job_id}/nack", FAILURE, late).status == 409
    assert bench.job(job_id) == now
    assert bench.report(f"/jobs/{job_id}/ack").status == 200


def test_a_worker_that_dies_after_202_leaves_the_job_to_its_endpoint(
    bench: Delivering, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first heartbeat: the worker's own reservation counts, and the report does."""
    monkeypatch.setattr(LateReports, "begin", lambda *_: None)
    job_id = bench.delivered()
    held = bench.job(job_id).reservation
    assert held is not None
    assert held.expires_at < bench.world.clock.now() + 240_000
    assert bench.report(f"/jobs/{job_id}/ack").status == 200
    assert bench.job(job_id).state is JobState.COMPLETED


def test_a_worker_that_dies_before_202_leaves_the_job_to_its_endpoint(
    bench: Delivering, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its reservation still holds the job, whoever reports."""

    def dies(*_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(HttpDelivery, "_outcome", dies)
    bench.endpoint.answers(200, {})
    job_id = bench.push("email.send")
    with pytest.raises(KeyboardInterrupt):
        bench.worker.registry.find("email.send").function(_context(bench))
    token = bench.token()
    assert read_token(token) is not None
    assert bench.job(job_id).state is JobState.ACTIVE
    assert bench.report(f"/jobs/{job_id}/ack", None, token).status == 200


def _context(bench: Delivering) -> JobContext:
    """The context of a job that a worker has claimed, outside of its loop."""
    (received,) = bench.world.messages.receive("email", 1, 120)
    (claimed,) = bench.backend.jobs.fetch.claim_messages("email", [received], "w", 60_000)
    assert claimed.record is not None
    from ojs_aws.services.jobs.render import render_job

    class Context(JobContext):
        reservation_id = claimed.record.reservation.id  # type: ignore[union-attr]

    return Context(Job.from_members(render_job(claimed.record)))


def test_8_2_a_report_that_overtakes_the_answer_counts(bench: Delivering) -> None:
    """The first heartbeat then finds nothing to extend, and that is well."""
    reports: list[int] = []

    def reports_first() -> None:
        job_id = bench.endpoint.received[-1].said["job"]["id"]
        reports.append(bench.report(f"/jobs/{job_id}/ack", {"result": 1}).status)

    bench.endpoint.before = reports_first
    job_id = bench.delivered()
    assert reports == [200]
    assert (bench.job(job_id).state, bench.job(job_id).result) == (JobState.COMPLETED, "1")


def test_8_2_a_report_before_a_failed_answer_counts(bench: Delivering) -> None:
    """What the worker makes of the answer comes too late."""
    bench.endpoint.answers(500, {})
    bench.endpoint.before = lambda: bench.report(
        f"/jobs/{bench.endpoint.received[-1].said['job']['id']}/ack", {"result": 1}
    )
    job = bench.job(bench.delivered())
    assert (job.state, job.result, job.failures) == (JobState.COMPLETED, "1", ())


def test_an_api_that_does_not_answer_leaves_the_reservation(
    bench: Delivering, served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says so, and the endpoint may still report."""
    served.url = "http://127.0.0.1:1"
    again = Delivering(bench.endpoint, served)
    with caplog.at_level(logging.WARNING):
        job_id = again.delivered()
    assert "was not extended: NewConnectionError" in caplog.text
    assert again.job(job_id).state is JobState.ACTIVE
    assert again.report(f"/jobs/{job_id}/ack").status == 200
    again.worker._loop.close()


@pytest.mark.parametrize("problem", [OSError("no file of certificates"), TimeoutStateError("x")])
def test_a_heartbeat_that_cannot_be_sent_fails_no_delivery(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, problem: Exception
) -> None:
    """Whether urllib3 or the machine says so."""

    def refuse(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr(urllib3, "request", refuse)
    LateReports("https://api.example.com/ojs/v1").begin("token")
    assert f"was not extended: {type(problem).__name__}" in caplog.text


@pytest.mark.parametrize("status", [401, 302, 500])
def test_an_api_that_refuses_the_token_is_an_error_in_the_log(
    bench: Delivering, served: Served, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    """Its secret is not the one that signs deliveries. The token itself is not logged."""
    served.status = status
    bench.delivered()
    assert f"refuses the token of a delivery ({status})" in caplog.text
    assert "ojs_attempt_" not in caplog.text
    assert len(served.asked) == 1


async def test_a_failure_after_the_hand_over_is_reported() -> None:
    """A middleware of the worker's that fails has the last word."""
    ctx = WorkerContext(Job("a.b", [], id=JOB_ID), extend=stays)
    for fails in (False, True):

        def run(ctx: JobContext, *_: object, fails: bool = fails) -> None:
            ctx.hand_over()
            if fails:
                raise OSError("x")

        from ojs_aws.worker.base import BaseWorker

        worker = BaseWorker(middleware=[])
        worker.handler("a.b")(run)
        outcome = await ActiveJob(ctx).execute(worker.freeze())
        assert isinstance(outcome, Failed) if fails else outcome is None


def test_a_worker_closes_the_circuit_for_202(bench: Delivering) -> None:
    """The endpoint is well."""
    delivery = bench.worker.registry.find("email.send").function
    assert isinstance(delivery, HttpDelivery)
    delivery._circuit.failures = 4
    bench.delivered()
    assert delivery._circuit.failures == 0
    assert delivery._answered_at is not None


# ------------------------------------------------------------------------------ what is said
async def test_a_line_says_that_a_job_was_handed_over(caplog: pytest.LogCaptureFixture) -> None:
    """It has not ended."""
    ctx = WorkerContext(Job("a.b", [], id=JOB_ID), extend=stays)
    ctx.hand_over()
    with caplog.at_level(logging.INFO):
        JobLines().ended(ActiveJob(ctx), None, 0.5)
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert record.getMessage() == f"a.b {JOB_ID} attempt 1 handed over to its endpoint after 500ms"


async def test_the_logging_middleware_says_that_a_job_was_handed_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Instead of completed."""
    job = Job("a.b", [], id=JOB_ID)
    ctx = JobContext(job)

    async def hands_over() -> None:
        ctx.hand_over()

    with caplog.at_level(logging.INFO):
        await LoggingMiddleware().execute(job, ctx, hands_over)
    assert caplog.records[-1].getMessage() == "Job handed over"
    assert caplog.records[-1].__dict__["status"] == "handed_over"


# -------------------------------------------------------------------------- the Lambda worker
def test_a_function_reports_where_its_variable_says(endpoint: Endpoint) -> None:
    """Both members; without them 202 is no answer."""
    said = {"queues": ["email"], "url": endpoint.url, "types": ["*"], "timeout_s": 5}
    for reports, expected in (
        ({}, None),
        (
            {"reports": {"report_url": "https://api.example.com/", "report_within_s": 60}},
            LateReports("https://api.example.com/ojs/v1", 60),
        ),
    ):
        worker = delivery_worker({"OJS_DELIVERY": json.dumps(said | reports)})
        delivery = worker.registry.find("any").function
        assert isinstance(delivery, HttpDelivery)
        assert delivery._reports == expected
