"""The export: off by default, least-privilege, kept as long as is said."""

from __future__ import annotations

import json

import pytest
from aws_cdk import App

from infra.app import ContextError, make_app
from tests.infra.conftest import NO_BUNDLING
from tests.infra.templates import of_context

EXPORT = "functions.export.handler.handler"
TRIGGER = {
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
    "sqs:SendMessage",
    "sqs:GetQueueAttributes",
    "sqs:GetQueueUrl",
}


def test_nothing_is_exported_by_default() -> None:
    """Neither function nor bucket is there."""
    stack = of_context()
    assert EXPORT not in {each["Handler"] for each in stack.of("AWS::Lambda::Function")}
    assert len(stack.of("AWS::S3::Bucket")) == 1


def test_only_jobs_that_ended_invoke_the_function_in_large_batches() -> None:
    """Few files: a thousand records, or five minutes of them."""
    (trigger,) = of_context(export_days="90").triggers(EXPORT)
    (pattern,) = trigger["FilterCriteria"]["Filters"]
    assert json.loads(pattern["Pattern"])["dynamodb"] == {
        "Keys": {"sk": {"S": ["job"]}},
        "NewImage": {"st": {"S": ["completed", "cancelled", "discarded"]}},
    }
    assert (trigger["BatchSize"], trigger["MaximumBatchingWindowInSeconds"]) == (1000, 300)
    assert trigger["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert "OnFailure" in trigger["DestinationConfig"]
    assert trigger["BisectBatchOnFunctionError"] is True
    assert trigger["MaximumRetryAttempts"] == -1
    assert trigger["MaximumRecordAgeInSeconds"] == 23 * 3600


@pytest.mark.parametrize(
    ("documents", "more"),
    [("false", set()), ("true", {"dynamodb:GetItem", "s3:GetObject", "s3:ListBucket"})],
)
def test_it_writes_files_and_reads_documents_only_where_they_are_exported(
    documents: str, more: set[str]
) -> None:
    """It cannot read the table otherwise, nor read what it wrote; but it counts what ended it."""
    stack = of_context(export_days="90", export_documents=documents)
    counts = {"dynamodb:DeleteItem", "dynamodb:UpdateItem"}
    assert stack.actions(EXPORT) == {"s3:PutObject", *counts, *more, *TRIGGER}
    counted = [each for each in stack.conditional(EXPORT, "Allow") if each["Action"] in counts]
    assert [each["Condition"] for each in counted] == 2 * [
        {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["tries#export"]}}
    ]
    (written,) = [where for actions, where in stack.statements(EXPORT) if "s3:PutObject" in actions]
    assert written.endswith("/jobs/*")
    variables = stack.function(EXPORT)["Environment"]["Variables"]
    assert variables["OJS_EXPORT_DOCUMENTS"] == ("1" if documents == "true" else "0")
    others = [each for each in stack.of("AWS::Lambda::Function") if each["Handler"] != EXPORT]
    assert not any("OJS_EXPORT_BUCKET" in str(each["Environment"]) for each in others)


def test_files_are_kept_as_long_as_is_said_private_and_encrypted() -> None:
    """By the lifecycle of a bucket of their own."""
    (files,) = [
        each
        for each in of_context(export_days="90").of("AWS::S3::Bucket")
        if "ExpirationInDays" in str(each["LifecycleConfiguration"])
    ]
    (rule,) = files["LifecycleConfiguration"]["Rules"]
    assert rule["ExpirationInDays"] == 90
    assert all(files["PublicAccessBlockConfiguration"].values())
    assert files["BucketEncryption"]


@pytest.mark.parametrize("days", ["0", "ever"])
def test_a_number_of_days_that_is_none_is_refused(days: str) -> None:
    """In words that name the option."""
    with pytest.raises(ContextError, match="export_days"):
        make_app(App(context={**NO_BUNDLING, "export_days": days}))
