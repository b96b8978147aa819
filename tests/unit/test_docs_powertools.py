"""Every example of docs/powertools.md runs as a Lambda function, with the utilities of Powertools.

Each is a module with a worker and the handler of its function. The jobs are those of a backend over
the model; tables and parameters are moto's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import boto3
import pytest
from aws_lambda_powertools.utilities.feature_flags import FeatureFlags
from aws_lambda_powertools.utilities.parameters.constants import DEFAULT_PROVIDERS
from moto import mock_aws

from ojs_aws.domain.job import JobState
from tests.unit.worker.test_lambda_worker import Bench

PAGE: Final = Path(__file__).parents[2] / "docs" / "powertools.md"
EXAMPLES: Final = dict(
    re.findall(
        r"<!-- example: ([\w-]+) -->\n```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL
    )
)
REGION: Final = "eu-west-1"
CONTEXT: Final = SimpleNamespace(
    function_name="mailer",
    memory_limit_in_mb=256,
    invoked_function_arn="arn:aws:lambda:eu-west-1:1:function:mailer",
    aws_request_id="r-1",
    get_remaining_time_in_millis=lambda: 60_000,
)


class Function:
    """An example, deployed: its worker serves the queue of a backend."""

    def __init__(self, name: str) -> None:
        self.names: dict[str, Any] = {"__name__": "shop"}
        code = compile(EXAMPLES[name], f"{PAGE.name}:{name}", "exec", dont_inherit=True)
        exec(code, self.names)  # noqa: S102 - our own page
        self.bench = Bench()
        self.names["worker"].bind(self.bench.backend)

    def run(self, *jobs: tuple[Any, ...]) -> list[str]:
        """Push jobs, each by its type and arguments, and invoke the function; return their ids."""
        ids = [self.bench.push(job_type, *args) for job_type, *args in jobs]
        self.invoke()
        return ids

    def invoke(self) -> None:
        answer = self.names["handler"]({"Records": self.bench.records()}, CONTEXT)
        assert answer == {"batchItemFailures": []}

    def results(self, ids: list[str]) -> list[Any]:
        """What completed jobs returned."""
        jobs = [self.bench.job(each) for each in ids]
        assert {job.state for job in jobs} == {JobState.COMPLETED}
        return [json.loads(str(job.result)) for job in jobs]


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """AWS in this process, as the examples' clients find it."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        yield


def test_every_example_is_run_here() -> None:
    """A new one needs a test."""
    tested = {"logger", "metrics", "tracer", "parameters", "idempotency"}
    assert set(EXAMPLES) == tested | {"feature-flags", "data-classes"}


def test_each_line_of_a_handler_names_its_own_job(capsys: pytest.CaptureFixture[str]) -> None:
    """Though the jobs of the batch run at the same time."""
    ids = Function("logger").run(("email.send", "a"), ("email.send", "b"))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line[:1] == "{"]
    sending = [line for line in lines if line["message"] == "Sending"]
    assert sorted(line["job_id"] for line in sending) == sorted(ids)
    assert {line["attempt"] for line in sending} == {1}
    assert {line["function_request_id"] for line in sending} == {"r-1"}
    ended = [line for line in lines if line.get("status") == "completed"]
    assert sorted(line["job_id"] for line in ended) == sorted(ids)


def test_the_metrics_of_a_batch_are_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    """With a value of each job."""
    Function("metrics").run(("email.send", "a"), ("email.send", "b"))
    found = [line for line in capsys.readouterr().out.splitlines() if '"MailsSent"' in line]
    assert [json.loads(line)["MailsSent"] for line in found] == [[1.0, 1.0]]


def test_a_captured_method_runs_with_and_without_tracing() -> None:
    """The Tracer is switched off outside of Lambda."""
    function = Function("tracer")
    assert function.results(function.run(("email.send", "a"))) == ["welcome for a"]


@pytest.mark.usefixtures("aws")
def test_a_parameter_is_read_once_for_several_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It changes at the end of its age only."""
    ssm = boto3.client("ssm", region_name=REGION)
    ssm.put_parameter(Name="/shop/sender", Value="shop@example.com", Type="String")
    monkeypatch.delitem(DEFAULT_PROVIDERS, "ssm", raising=False)
    function = Function("parameters")
    assert function.results(function.run(("email.send", "a"))) == ["from shop@example.com to a"]
    ssm.put_parameter(Name="/shop/sender", Value="new@example.com", Type="String", Overwrite=True)
    assert function.results(function.run(("email.send", "b"))) == ["from shop@example.com to b"]


@pytest.mark.usefixtures("aws")
def test_an_order_is_charged_once_by_two_jobs() -> None:
    """The second job has the result of the first one."""
    boto3.client("dynamodb", region_name=REGION).create_table(
        TableName="shop-charges",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    function = Function("idempotency")
    once = "charged 500 for order 7"
    assert function.results(function.run(("order.charge", 7, 500))) == [once]
    assert function.results(function.run(("order.charge", 7, 900))) == [once]
    other = function.results(function.run(("order.charge", 8, 900)))
    assert other == ["charged 900 for order 8"]


@pytest.mark.usefixtures("aws")
def test_a_flag_holds_jobs_back_without_an_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it is on again."""
    function = Function("feature-flags")
    flag: dict[str, Any] = {"jobs": {"default": False}}
    schema = SimpleNamespace(get_configuration=lambda: flag)
    monkeypatch.setitem(function.names, "flags", FeatureFlags(store=schema))  # type: ignore[arg-type]
    (job_id,) = function.run(("email.send", "a"))
    held = function.bench.job(job_id)
    assert (held.state, held.uncounted_attempts) == (JobState.RETRYABLE, 1)
    flag["jobs"]["default"] = True
    function.bench.world.clock.advance(s=301)
    function.invoke()
    assert function.results([job_id]) == ["sent to a"]


def test_a_handler_reads_the_event_that_its_job_carries() -> None:
    """The key is that of the object, decoded."""
    record = {"s3": {"bucket": {"name": "images"}, "object": {"key": "a%2Bb.png"}}}
    function = Function("data-classes")
    (found,) = function.results(function.run(("image.resize", {"Records": [record]})))
    assert found[0].startswith("images/a")
