"""How much of an answer is read, and for how long; the endpoint is a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.json_text import RawJson
from ojs_aws.middleware.context import JobContext
from ojs_aws.topology import DELIVERY_START_S
from ojs_aws.worker.delivery.answers import (
    MAX_ANSWER_BYTES,
    DeliveryError,
    EndpointError,
    seconds_of,
)
from ojs_aws.worker.delivery.endpoint import IDLE_S, HttpDelivery
from ojs_aws.worker.reservations import WorkerContext
from tests.unit.typed_jobs.conftest import stays
from tests.unit.worker.test_delivery import JOB_ID, Times

if TYPE_CHECKING:
    import urllib3

PART_BYTES = 65_536
COLD_S = 15.0
"""How long the first delivery may take, with a timeout of five seconds."""


@dataclass
class Answer:
    """An answer that comes in parts.

    :ivar seconds: how long each part takes.
    :ivar limits: how long it might take, for each delivery (seconds).
    """

    parts: list[bytes]
    times: Times
    seconds: float = 0.0
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    read: int = 0
    limits: list[float] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)

    def read1(self, _most: int) -> bytes:
        self.times.now += self.seconds
        part = self.parts.pop(0) if self.parts else b""
        self.read += len(part)
        return part

    def close(self) -> None:
        self.ends.append("closed")

    def release_conn(self) -> None:
        self.ends.append("released")


def delivery_of(answer: Answer, reports: Any = None) -> HttpDelivery:
    """Return what delivers jobs that get this answer."""

    class Pools:
        def request(self, *_: object, timeout: urllib3.Timeout, **__: Any) -> Answer:
            answer.limits.append(float(str(timeout.total)))
            return answer

    return HttpDelivery(
        "https://app.example.com/jobs",
        signing_keys=lambda: ["key"],
        timeout_s=5.0,
        reports=reports,
        pools=lambda: cast("urllib3.PoolManager", Pools()),
        monotonic=answer.times.monotonic,
    )


def deliver(answer: Answer, reports: Any = None) -> object:
    """Deliver a job that gets this answer."""
    return delivery_of(answer, reports)(JobContext(Job("email.send", [], id=JOB_ID)))


def test_no_more_is_read_of_an_answer_than_is_accepted() -> None:
    """An endpoint must not fill the memory; what is unread closes the connection."""
    answer = Answer([b"x" * PART_BYTES] * 64, Times())
    with pytest.raises(DeliveryError, match="more than"):
        deliver(answer)
    assert answer.read <= MAX_ANSWER_BYTES + PART_BYTES
    assert answer.ends == ["closed"]


@pytest.mark.parametrize("seconds", [COLD_S, COLD_S + 0.001])
def test_an_answer_counts_up_to_the_end_of_its_time(seconds: float) -> None:
    """At the very end it is in time. The connection of a late one is closed."""
    answer = Answer([b" ", b'{"status":"completed","result":7}'], Times(), seconds / 2)
    if seconds == COLD_S:
        assert deliver(answer) == 7
        assert answer.ends == ["released"]
    else:
        with pytest.raises(DeliveryError, match="no answer within 15 s"):
            deliver(answer)
        assert answer.ends == ["closed"]


def test_an_endpoint_that_was_idle_may_have_to_start_again() -> None:
    """Five minutes after its last answer; before, it has the timeout alone."""
    answer = Answer([], Times(), status=422)
    delivery, ctx = delivery_of(answer), JobContext(Job("email.send", [], id=JOB_ID))
    for idle_s in (0.0, IDLE_S - 1, IDLE_S):
        answer.times.now += idle_s
        with pytest.raises(EndpointError):
            delivery(ctx)
    assert answer.limits == [COLD_S, COLD_S - DELIVERY_START_S, COLD_S]


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("0", 0), ("", None), ("-1", None), ("²", None), ("٣", None)]
)
def test_seconds_of_a_wait_are_digits_of_ascii(text: str, seconds: int | None) -> None:
    """Others are no number of a header, and some that look like digits cannot be read."""
    assert seconds_of(text) == seconds


class Reports:
    """Where an endpoint reports; notes which deliveries it has accepted."""

    def __init__(self) -> None:
        self.begun: list[str] = []

    def member(self, token: str) -> RawJson:
        return RawJson(f'{{"token":"{token}"}}')

    def begin(self, token: str) -> None:
        self.begun.append(token)


@pytest.mark.parametrize("status", [200, 202])
async def test_a_job_is_handed_over_to_an_endpoint_that_answers_202(status: int) -> None:
    """Also one that may report later can answer at once."""
    reports, answer = Reports(), Answer([b'{"status":"completed","result":7}'], Times())
    answer.status = status
    job = Job("email.send", [], id=JOB_ID)
    job["started_at"], job["timeout_ms"] = "2026-01-01T00:00:00Z", 60_000
    ctx = WorkerContext(job, extend=stays, reservation_id="r")
    assert delivery_of(answer, reports)(ctx) == (7 if status == 200 else None)
    assert ctx.is_handed_over is bool(reports.begun) is (status == 202)


@pytest.mark.parametrize("status", [200, 202])
def test_a_job_without_a_token_is_not_handed_over(status: int) -> None:
    """Another backend may say too little of the attempt: then the answer has to be the outcome."""
    reports, answer = Reports(), Answer([b"{}"], Times())
    answer.status = status
    with pytest.raises(DeliveryError, match="neither status"):
        deliver(answer, reports=reports)
    assert reports.begun == []
