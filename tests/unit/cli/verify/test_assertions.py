"""Each assertion of `ojs-aws verify-aws` passes where all is well, and fails where it is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from ojs_aws.adapters.stacks import Change
from ojs_aws.cli.deployment.doctor import Finding, Verdict
from ojs_aws.cli.verify.command import assertions
from ojs_aws.cli.verify.report import judged
from ojs_aws.cli.verify.scales import LAMBDA_QUEUE, Sent
from ojs_aws.cli.verify.site import Outcome
from tests.unit.cli.verify.stub import Stub, answering, loaded_of

Break = Callable[[Stub], None]
GATEWAY, ENDPOINT = "gateway", "endpoint"
TABLE = Change("Replace", "AWS::DynamoDB::GlobalTable", "BackendJobsTable")


def setting(**values: Any) -> Break:
    """Breaks attributes of the stub."""

    def break_it(stub: Stub) -> None:
        for name, value in values.items():
            setattr(stub, name, value)

    return break_it


def answered(host: str, path: str, status: int, **body: object) -> Break:
    """Breaks answers of a URL."""
    return setting(respond=answering(host, path, status, body))


def first_attempts(request: httpx.Request, answer: httpx.Response) -> httpx.Response:
    """Each claim calls itself the first attempt."""
    if request.url.path.endswith("/fetch"):
        jobs = [{**job, "attempt": 1} for job in answer.json()["jobs"]]
        return httpx.Response(200, text=json.dumps({"jobs": jobs}))
    return answer


def without_ids(_: httpx.Request, answer: httpx.Response) -> httpx.Response:
    """No answer names its request."""
    answer.headers.pop("x-request-id", None)
    return answer


def loaded(change: Callable[[Any], object]) -> Break:
    """Breaks what the load did."""

    def break_it(stub: Stub) -> None:
        change(stub.loaded)

    return break_it


def end_twice(load: Any) -> None:
    load.events["a"] = [*load.events["a"], load.events["a"][-1]]


def swap(load: Any) -> None:
    load.events["a"] = [load.events["a"][at] for at in (1, 0, 2)]


def start_once(load: Any) -> None:
    load.events["b"] = load.events["b"][3:]


BROKEN: dict[str, Break] = {
    "deploys": setting(status="ROLLBACK_COMPLETE", problem="Backend: no"),
    "deploys again": setting(changes=[Change("Modify", "AWS::Lambda::Function", "Tick")]),
    "no drift": setting(drift=["BackendTick"]),
    "Lambda worker": setting(works=False),
    "doctor": setting(findings=[Finding("stream", Verdict.BAD, "published nothing")]),
    "roles": setting(excess=frozenset({"dynamodb:DeleteItem"})),
    "conformance with API keys, API Gateway": answered(GATEWAY, "/jobs", 500),
    "conformance with API keys, job endpoint": answered(ENDPOINT, "/jobs", 500),
    "strange requests": setting(respond=without_ids),
    "large bodies": answered(ENDPOINT, "/jobs/batch", 502),
    "first use": setting(makes_queues=False),
    "pause by tag": setting(switches=False),
    "each second": setting(fires=16),
    "missing document": answered(GATEWAY, "/jobs/", 500, error={"message": "Access Denied"}),
    "plain HTTP": setting(plain=["SQS"]),
    "killed worker": setting(respond=first_attempts),
    "failed tick": setting(tries=2),
    "revoked key": setting(cache_s=1e9),
    "shards": setting(shards=1),
    "load": loaded(lambda load: load.refused.append("503")),
    "ends": loaded(end_twice),
    "event order": loaded(swap),
    "kills": loaded(start_once),
    "latency": setting(loaded=loaded_of([500])),
    "alarms": setting(published=set()),
    "updates": setting(changes=[TABLE]),
    "no drift after it": setting(drift=["BackendTick"]),
    "conformance with IAM, API Gateway": answered(GATEWAY, "/jobs", 403),
    "conformance with IAM, job endpoint": answered(ENDPOINT, "/jobs", 403),
    "calculator": setting(billed={"read unit": 1.2}),
}
"""What breaks each assertion, by its name."""

ALL = {each.name: each for each in assertions()}


def prepared(name: str) -> Stub:
    """A deployment that works, as an assertion finds it."""
    stub = Stub()
    stub.deployed()
    if name == "load":
        stub.loaded.sent = {str(at): Sent(0, LAMBDA_QUEUE, 40.0) for at in range(2)}
    return stub


@pytest.mark.parametrize(("waits", "is_late"), [((60, 240), False), ((60, 600), True)])
def test_the_99th_percentiles_of_both_workers_are_judged(
    waits: tuple[int, int], *, is_late: bool
) -> None:
    """At the rate at which both are busy; elsewhere they are shown only."""
    stub = prepared("latency")
    stub.loaded.events = {
        job_id: [("job.enqueued", 0.0), ("job.started", float(wait)), ("job.completed", 900.0)]
        for job_id, wait in zip(("a", "c"), waits, strict=True)
    }
    result = judged(ALL["latency"], stub.site)
    assert (result.outcome is Outcome.FAILED) is is_late
    assert "HTTP worker, busy at 2/s: p50" in result.seen


def test_each_assertion_has_something_that_breaks_it() -> None:
    assert [*BROKEN] == [*ALL]


@pytest.mark.parametrize("name", ALL)
def test_an_assertion_passes_where_all_is_well(name: str) -> None:
    result = judged(ALL[name], prepared(name).site)
    assert (result.outcome, bool(result.seen)) == (Outcome.PASSED, True), result.seen


@pytest.mark.parametrize("name", ALL)
def test_an_assertion_fails_where_its_subject_is_broken(name: str) -> None:
    """And it says what it saw: no error of its own code ended it."""
    stub = prepared(name)
    BROKEN[name](stub)
    stub.site.loaded = stub.loaded
    result = judged(ALL[name], stub.site)
    assert result.outcome is Outcome.FAILED
    assert result.seen
    assert "Error: " not in result.seen
