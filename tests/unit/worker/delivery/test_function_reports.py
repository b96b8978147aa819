"""A Lambda function that is bound to a queue reports on its job while it runs, by a token."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.attempt_tokens import AttemptGrant, check_token
from ojs_aws.memory_aws.calls import Call, Effect
from ojs_aws.topology import REPORT_URL, SIGNING_SECRET
from ojs_aws.worker.delivery.request import reports_of
from ojs_aws.worker.secrets import worker_secrets
from tests.api import Api, Reply
from tests.unit.worker.test_bound_functions import Bench

KEY = "whsec_test"
API = "https://api.example.com/"


class Reporting(Bench):
    """A bench whose events have a token."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.dispatcher.reports = reports_of({REPORT_URL: API})
        self.api = Api(self.backend)

    def report(self, event: dict[str, Any], path: str, body: object = None) -> Reply:
        """Send a report as a function does."""
        headers = {"authorization": f"Bearer {event['report']['token']}"}
        return self.api.post(path.replace("{id}", event["job"]["id"]), body, headers=headers)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Reporting:
    """A function that may report."""
    worker_secrets.cache_clear()
    monkeypatch.setenv(SIGNING_SECRET, f"{KEY},whsec_new")
    return Reporting()


def test_an_event_says_where_and_by_what_token_to_report(bench: Reporting) -> None:
    """The token is for this attempt, up to its own deadline."""
    job_id = bench.push(timeout="600s")
    bench.dispatch()
    job = bench.job(job_id)
    bench.lambda_.run()
    (event,) = bench.seen
    held = job.reservation
    assert held is not None
    assert event["report"] == {
        "url": "https://api.example.com/ojs/v1",
        "token": event["report"]["token"],
    }
    assert check_token(event["report"]["token"], [KEY], bench.world.clock.now()) == AttemptGrant(
        job_id=job_id, attempt=1, reservation_id=held.id, ends_at=held.execution_ends_at
    )
    bench.settle()
    assert bench.job(job_id).state is JobState.COMPLETED


def test_a_token_costs_no_call(bench: Reporting) -> None:
    """Dispatch and settlement make the same calls as without."""
    counted = []
    for each in (bench, Bench()):
        made: list[str] = []

        def count(call: Call, effect: Effect, made: list[str] = made) -> dict[str, Any]:
            made.append(call.operation)
            return effect(call.request)

        each.push()
        each.calls.inject = count
        each.whole()
        counted.append(made)
    assert counted[0] == counted[1]


def test_a_function_reports_progress_and_checkpoints(bench: Reporting) -> None:
    """And keeps its job for longer, while it runs."""

    def runs(event: dict[str, Any]) -> Any:
        assert bench.report(event, "/jobs/{id}/progress", {"progress": 0.5}).json["accepted"]
        assert bench.report(event, "/jobs/{id}/checkpoint", {"state": {"at": 7}}).status == 200
        beat = bench.report(event, "/workers/heartbeat", {"visibility_timeout_ms": 600_000})
        assert beat.json["jobs_extended"] == [event["job"]["id"]]
        bench.pass_s(500)
        raise ValueError("stop here")

    bench.returns = runs
    job_id = bench.push()
    bench.whole()
    job = bench.job(job_id)
    assert job.failures[-1].type == "ValueError"
    assert job.checkpoint is not None
    assert job.checkpoint.state == '{"at": 7}'


def test_a_function_that_reports_its_outcome_has_one(bench: Reporting) -> None:
    """What it returns then comes too late, and its record is dropped."""

    def runs(event: dict[str, Any]) -> Any:
        assert bench.report(event, "/jobs/{id}/ack", {"result": 1}).status == 200
        return 2

    bench.returns = runs
    job_id = bench.push()
    bench.whole()
    job = bench.job(job_id)
    assert (job.state, job.result, bench.outcomes) == (JobState.COMPLETED, "1", [])


def test_10_1_a_result_that_no_record_holds_is_reported_by_the_token(bench: Reporting) -> None:
    """The function returns nothing then; the backend takes a megabyte."""
    large = "x" * 1_000_000

    def runs(event: dict[str, Any]) -> None:
        assert bench.report(event, "/jobs/{id}/ack", {"result": large}).status == 200

    bench.returns = runs
    job_id = bench.push("x" * 100_000)
    bench.whole()
    job = bench.job(job_id)
    assert (job.state, job.result) == (JobState.COMPLETED, f'"{large}"')
    assert bench.outcomes == []


def test_without_the_url_of_an_api_an_event_has_no_token() -> None:
    """And no secret is needed."""
    assert reports_of({}) is None
    bench = Bench()
    bench.push()
    bench.whole()
    assert "report" not in bench.seen[0]
    assert "ojs_attempt_" not in json.dumps(bench.seen)


@pytest.mark.parametrize(("secret", "problem"), [(None, KeyError), ("", ValueError)])
def test_a_dispatcher_without_a_key_does_not_start(
    secret: str | None, problem: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rather than lose each job to the end of its reservation."""
    worker_secrets.cache_clear()
    monkeypatch.delenv(SIGNING_SECRET, raising=False)
    if secret is not None:
        monkeypatch.setenv(SIGNING_SECRET, secret)
    with pytest.raises(problem):
        reports_of({REPORT_URL: API})
