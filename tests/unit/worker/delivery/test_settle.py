"""Which records of invocations name a delivery, and what a fault of one means for the others."""

from __future__ import annotations

import json
import logging
from collections import Counter
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.names import JOB_SK, job_pk
from ojs_aws.adapters.dynamodb.table import item_key
from ojs_aws.domain.errors import BackendUnavailableError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.held_job import AttemptRef
from ojs_aws.worker.delivery.settle import RecordError, read_invocation_record
from tests.unit.worker.test_bound_functions import Bench

JOB: dict[str, Any] = {"id": "01a21c99-0000-7000-8000-000000000001", "type": "a.b", "args": []}
EVENT: dict[str, Any] = {"job": JOB, "delivery_id": "del_r", "attempt": 2}


def body(event: object) -> str:
    """The record of an invocation that returned nothing."""
    record = {"requestContext": {"condition": "Success"}, "requestPayload": event}
    return json.dumps(record | {"responsePayload": None})


def test_a_record_names_the_attempt_of_its_delivery() -> None:
    record = read_invocation_record(body(EVENT))
    assert (record.job.id, record.job.type) == (JOB["id"], "a.b")
    assert record.which == AttemptRef(reservation_id="r", attempt=2)


@pytest.mark.parametrize(
    "event",
    [
        None,
        [],
        {**EVENT, "delivery_id": "r"},
        {**EVENT, "delivery_id": "del_"},
        {**EVENT, "attempt": "2"},
        {name: value for name, value in EVENT.items() if name != "attempt"},
        {**EVENT, "job": {**JOB, "id": ""}},
        {**EVENT, "job": {**JOB, "id": 7}},
        {**EVENT, "job": None},
    ],
)
def test_a_record_without_a_delivery_is_refused(event: object) -> None:
    """It cannot be settled, however often it comes."""
    with pytest.raises(RecordError, match="names no delivery"):
        read_invocation_record(body(event))
    with pytest.raises(RecordError):
        read_invocation_record("{")


@pytest.fixture
def bench() -> Bench:
    """A function that is bound to a queue."""
    return Bench()


def ran(bench: Bench) -> str:
    """Let the function run a job; its outcome waits."""
    job_id = bench.push()
    bench.dispatch()
    bench.lambda_.run()
    return job_id


def settled_again(bench: Bench, outcome: str) -> Counter[str]:
    """Settle an outcome once more, which counts for nothing; return the calls."""
    bench.outcomes.append(outcome)
    bench.calls.made.clear()
    assert bench.settle() == []
    return bench.calls.made


def test_an_outcome_that_comes_late_costs_one_write_that_is_refused(bench: Bench) -> None:
    """Whether the attempt is over, or the job is gone."""
    job_id = ran(bench)
    (outcome,) = bench.outcomes
    bench.settle()
    done = bench.job(job_id)
    assert settled_again(bench, outcome) == {"UpdateItem": 1}
    assert bench.job(job_id) == done
    key = item_key(job_pk(job_id), JOB_SK)
    bench.world.aws.dynamodb.delete_item(TableName=bench.settings.table, Key=key)
    assert settled_again(bench, outcome) == {"UpdateItem": 1}


@pytest.mark.parametrize(
    ("problem", "level"),
    [(BackendUnavailableError("throttled"), "WARNING"), (ValueError("a bug"), "ERROR")],
)
def test_an_outcome_that_cannot_be_settled_comes_back_alone(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    problem: Exception,
    level: str,
) -> None:
    """A bug is an error with its traceback; a backend that cannot be reached will be."""
    first, second = ran(bench), ran(bench)
    ack = type(bench.backend.jobs.ack).__call__

    def broken(self: Any, job_id: str, *given: Any, **more: Any) -> Any:
        if job_id == first:
            raise problem
        return ack(self, job_id, *given, **more)

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(type(bench.backend.jobs.ack), "__call__", broken)
        assert bench.settle() == ["0"]
    assert [(each.levelname, bool(each.exc_info)) for each in caplog.records] == [
        (level, level == "ERROR")
    ]
    assert bench.job(first).state is JobState.ACTIVE
    assert bench.job(second).state is JobState.COMPLETED
    assert bench.settle() == []
    assert bench.job(first).state is JobState.COMPLETED
