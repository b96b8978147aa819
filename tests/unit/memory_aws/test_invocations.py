"""The model of Lambda's asynchronous invocation answers as AWS documents it.

"Capturing records of Lambda asynchronous invocations" and "How Lambda handles errors and retries
with asynchronous invocation" of Lambda's developer guide, and the API reference of Invoke.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from ojs_aws.adapters.aws_errors import AwsError, error_code
from ojs_aws.memory_aws import MemoryAws
from ojs_aws.memory_aws.events import MAX_PAYLOAD, MAX_RECORD, Target

ARN: Final = "arn:aws:lambda:us-east-1:123456789012:function:shop:ojs"


class Account:
    """An account with a function, whose records are kept."""

    def __init__(self, function: Any = lambda event, context: event) -> None:
        self.now = 1_000_000
        self.aws = MemoryAws.at(lambda: self.now)
        self.records: list[str] = []
        self.lambda_ = self.aws.triggers.invocations
        self.target = Target(function, self.records.append, max_age_s=60)
        self.lambda_.targets[ARN] = self.target

    def invoke(self, payload: str = "{}", arn: str = ARN) -> Any:
        return self.aws.functions.invoke(
            FunctionName=arn, InvocationType="Event", Payload=payload.encode()
        )

    def record(self) -> dict[str, Any]:
        """The record of the only invocation."""
        self.lambda_.run()
        (record,) = self.records
        found: dict[str, Any] = json.loads(record)
        return found


def test_an_event_is_accepted_before_the_function_runs() -> None:
    """202, and nothing else is known."""
    account = Account()
    assert account.invoke()["StatusCode"] == 202
    assert account.records == []


def test_a_success_has_both_payloads_in_its_record() -> None:
    """With the members that the developer guide shows."""
    account = Account()
    account.invoke('{"n": 1}')
    record = account.record()
    assert {*record} == {
        *("version", "timestamp", "requestContext", "requestPayload"),
        *("responseContext", "responsePayload"),
    }
    assert record["version"] == "1.0"
    assert record["requestContext"] == {
        "requestId": "invocation-1",
        "functionArn": ARN,
        "condition": "Success",
        "approximateInvokeCount": 1,
    }
    assert record["requestPayload"] == record["responsePayload"] == {"n": 1}
    assert record["responseContext"] == {"statusCode": 200, "executedVersion": "$LATEST"}


def test_a_failure_without_retries_has_the_error_in_its_record() -> None:
    """In the form of the Python runtime; the condition is that no retries are left."""

    def fail(event: Any, context: Any) -> None:
        raise KeyError("to")

    account = Account(fail)
    account.invoke()
    record = account.record()
    assert record["requestContext"]["condition"] == "RetriesExhausted"
    assert record["responseContext"]["functionError"] == "Unhandled"
    said = record["responsePayload"]
    assert (said["errorType"], said["errorMessage"]) == ("KeyError", "'to'")
    assert {*said} == {"errorMessage", "errorType", "requestId", "stackTrace"}


def test_a_throttled_event_waits_until_it_is_too_old() -> None:
    """Then it is discarded, and its record has no response."""
    account = Account()
    account.target.is_throttled = True
    account.invoke()
    account.lambda_.run()
    account.now += 60_001
    record = account.record()
    assert record["requestContext"]["condition"] == "EventAgeExceeded"
    assert "responsePayload" not in record
    assert account.lambda_.waiting == []


def test_an_event_of_a_deleted_function_has_no_record() -> None:
    """Its destinations went with it."""
    account = Account()
    account.invoke()
    account.lambda_.targets.clear()
    assert account.lambda_.run() == 0
    assert account.records == []


@pytest.mark.parametrize(("payload", "left"), [(100, {"requestPayload"}), (MAX_PAYLOAD - 9, set())])
def test_a_record_that_is_too_large_loses_its_payloads(payload: int, left: set[str]) -> None:
    """That of the response first."""
    account = Account(lambda event, context: "x" * MAX_RECORD)
    account.invoke(json.dumps({"n": "x" * payload}) if payload == 100 else f'"{"x" * payload}"')
    record = account.record()
    assert {*record} & {"requestPayload", "responsePayload"} == left


def test_what_lambda_does_not_accept_is_refused() -> None:
    """By the codes of Invoke."""
    account = Account()
    codes = []
    for payload, arn, is_denied in (
        ("{}", ARN + "x", False),
        (f'"{"x" * MAX_PAYLOAD}"', ARN, False),
        ("{}", ARN, True),
    ):
        account.target.is_denied = is_denied
        with pytest.raises(AwsError) as refused:
            account.invoke(payload, arn)
        codes.append(error_code(refused.value))
    assert codes == [
        "ResourceNotFoundException",
        "RequestTooLargeException",
        "AccessDeniedException",
    ]
