"""Builds the ARNs of a deployment's SQS queues without a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


def queue_arn(client: SQSClient, url_prefix: str, sqs_name: str) -> str:
    """Return the ARN of an SQS queue, from the URL that all queues of the deployment share."""
    host, account = url_prefix.rstrip("/").split("/")[2:4]
    labels = host.split(".")
    has_region = labels[0] == "sqs" and len(labels) > 2  # noqa: PLR2004 - sqs.<region>.<domain>
    region = labels[1] if has_region else client.meta.region_name
    return f"arn:{client.meta.partition}:sqs:{region}:{account}:{sqs_name}"
