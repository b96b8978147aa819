"""Jobs that are too large for an event: the function reads them by a link.

The names of tests about a requirement begin with its section of ojs-serverless.
"""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from ojs_aws.adapters.aws_errors import AwsError
from ojs_aws.adapters.s3 import S3Documents
from ojs_aws.bootstrap.clients import aws_clients
from ojs_aws.domain.job import JobState
from ojs_aws.domain.json_text import parse_object
from ojs_aws.memory_aws.calls import Call, Effect
from ojs_aws.memory_aws.s3 import MemoryS3
from ojs_aws.worker.delivery.inputs import MAX_EVENT_BYTES
from tests.simulation.account import BUCKET
from tests.unit.worker.test_bound_functions import RESERVATION_S, Bench

LARGE = "x" * MAX_EVENT_BYTES


class UndeliveredError(Exception):
    """What a function raises that cannot read its job."""


class Linking(Bench):
    """A bench with a bucket."""

    def __post_init__(self) -> None:
        super().__post_init__()
        client = self.world.aws.s3
        self.s3 = cast("MemoryS3", client)
        self.dispatcher.documents = S3Documents(lambda: client, BUCKET)

    def read(self, event: dict[str, Any]) -> bytes:
        return self.s3.read_link(event["job_url"])


@pytest.fixture
def bench() -> Linking:
    return Linking()


def test_2_2_a_large_job_goes_by_a_link_and_its_event_is_small(bench: Linking) -> None:
    """The link leads to the job, byte for byte; the event says what it is."""
    read: list[bytes] = []

    def runs(event: dict[str, Any]) -> Any:
        read.append(bench.read(event))
        return len(json.loads(read[0])["args"][0])

    bench.returns = runs
    job_id = bench.push(LARGE, 12345678901234567890123, meta={"note": "y" * 2000})
    bench.dispatch()
    payload = bench.lambda_.waiting[0].payload
    assert len(payload.encode()) < 4096
    slim = json.loads(payload)["job"]
    assert (slim["id"], slim["type"], slim["attempt"]) == (job_id, "email.send", 1)
    assert not {"args", "meta"} & {*slim}
    bench.lambda_.run()
    bench.settle()
    assert bench.job(job_id).result == str(MAX_EVENT_BYTES)
    whole = parse_object(read[0].decode())
    assert whole["args"].raw == f'["{LARGE}",12345678901234567890123]'
    assert {name: each.value for name, each in whole.items() if name in slim} == slim


def test_2_2_an_event_with_a_link_has_no_arguments_however_small(bench: Linking) -> None:
    """Whatever makes the job large: a function finds them in the event, or follows the link."""
    bench.push(1, custom_attributes={"x_note": LARGE})
    bench.dispatch()
    event = json.loads(bench.lambda_.waiting[0].payload)
    assert "job_url" in event
    assert not {"args", "x_note"} & {*event["job"]}


def test_2_2_an_event_that_lambda_takes_has_its_whole_job(bench: Linking) -> None:
    """And makes no call of S3."""
    bench.push("x" * (MAX_EVENT_BYTES - 2000))
    bench.calls.made.clear()
    bench.whole()
    (event,) = bench.seen
    assert "job_url" not in event
    assert len(event["job"]["args"][0]) == MAX_EVENT_BYTES - 2000
    assert bench.calls.made["PutObject"] == 0


def test_2_2_a_large_job_costs_one_call_more(bench: Linking) -> None:
    """To sign a link is none."""
    bench.push(LARGE)
    bench.calls.made.clear()
    bench.dispatch()
    assert bench.calls.made["PutObject"] == 1


@pytest.mark.parametrize(("at_s", "is_read"), [(-1, True), (0, False)])
def test_2_2_a_link_ends_with_the_reservation(bench: Linking, at_s: int, is_read: bool) -> None:
    """Whoever finds an old event reads nothing by it."""
    bench.push(LARGE)
    bench.dispatch()
    bench.lambda_.run()
    (event,) = bench.seen
    bench.pass_s(RESERVATION_S + at_s)
    if is_read:
        assert bench.read(event)
    else:
        with pytest.raises(AwsError, match="expired"):
            bench.read(event)


def test_8_1_each_delivery_has_an_object_of_its_own(bench: Linking) -> None:
    """Two attempts of a job differ."""

    def fail(event: dict[str, Any]) -> None:
        raise OSError

    bench.returns = fail
    job_id = bench.push(LARGE)
    bench.whole()
    bench.pass_s(60)
    bench.whole()
    found = bench.s3.buckets[BUCKET]
    objects = [found.latest(key) for key in found.versions if key.startswith(f"events/{job_id}/")]
    attempts = [json.loads(each.content or b"")["attempt"] for each in objects if each]
    assert sorted(attempts) == [1, 2]


@pytest.mark.parametrize("when", ["before", "after"])
def test_7_2_a_job_that_cannot_be_stored_is_given_back(bench: Linking, when: str) -> None:
    """The attempt does not count, and no function is invoked."""
    job_id = bench.push(LARGE)
    bench.fail_call("PutObject", when)
    assert bench.dispatch() == []
    waiting = bench.job(job_id)
    assert (waiting.state, waiting.uncounted_attempts) == (JobState.RETRYABLE, 1)
    assert "No link to it could be made" in waiting.failures[-1].message
    assert bench.lambda_.waiting == []
    bench.pass_s(1)
    bench.whole()
    assert bench.job(job_id).state is JobState.COMPLETED


def test_7_2_a_link_that_cannot_be_signed_gives_the_job_back(
    bench: Linking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as without credentials."""

    def refuse(*_: object, **__: object) -> str:
        raise AwsError({"Error": {"Code": "ExpiredToken"}}, "GetObject")

    monkeypatch.setattr(bench.s3, "generate_presigned_url", refuse)
    job_id = bench.push(LARGE)
    bench.dispatch()
    assert bench.job(job_id).uncounted_attempts == 1


def test_7_2_a_job_that_its_function_cannot_read_is_given_back(bench: Linking) -> None:
    """It says so by the type of its error; the attempt does not count, and each wait is longer."""

    def unreadable(call: Call, effect: Effect) -> dict[str, Any]:
        if call.operation == "GetObject" and "events/" in call.request["Key"]:
            raise AwsError({"Error": {"Code": "SlowDown"}}, "GetObject")
        return effect(call.request)

    def runs(event: dict[str, Any]) -> str:
        try:
            return str(len(bench.read(event)))
        except AwsError as problem:
            raise UndeliveredError(str(problem)) from None

    bench.returns = runs
    bench.calls.inject = unreadable
    job_id = bench.push(LARGE)
    for uncounted, wait_ms in ((1, 1000), (2, 2000)):
        bench.whole()
        waiting = bench.job(job_id)
        assert (waiting.state, waiting.uncounted_attempts) == (JobState.RETRYABLE, uncounted)
        assert waiting.next_attempt_at == bench.world.clock.at + wait_ms
        bench.pass_s(wait_ms / 1000)
    assert "the function could not read it" in bench.job(job_id).failures[-1].message
    bench.calls.inject = lambda call, effect: effect(call.request)
    bench.whole()
    assert bench.job(job_id).state is JobState.COMPLETED


def test_a_large_job_holds_its_limit_until_it_ends(bench: Linking) -> None:
    """The small event says that the job holds a slot."""
    ids = [bench.push(LARGE, rate_limit={"key": "smtp", "concurrency": 1}) for _ in range(2)]
    bench.whole()
    bench.whole()
    assert [bench.job(each).state for each in ids] == [JobState.COMPLETED] * 2


def test_a_link_is_signed_as_buckets_with_a_key_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    """By signature version 4, for as long as it is asked for, without a call."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    documents = S3Documents(aws_clients(region="us-east-1").s3, "documents")
    link = documents.link("events/a/del_b", 90)
    assert link.startswith("https://documents.s3.amazonaws.com/events/a/del_b?")
    assert "X-Amz-Algorithm=AWS4-HMAC-SHA256" in link
    assert "X-Amz-Expires=90&" in link
