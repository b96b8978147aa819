"""Writes the outputs of a stack that has a backend: what people copy after a deployment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from aws_cdk import CfnOutput, Stack

from ojs_aws.cdk.api.access import Access, ApiKeys, Iam, OpenAccess

if TYPE_CHECKING:
    from ojs_aws.cdk.job_backend import JobBackend


def add_outputs(backend: JobBackend) -> None:
    """Add an output for each address and name that clients, workers and operators need.

    Their names begin with ``output_prefix``, else with the id of the construct.
    """
    prefix = backend.props.output_prefix
    if prefix is None:
        prefix = re.sub(r"[^A-Za-z0-9]", "", backend.node.id)
    for name, value in _values(backend).items():
        output = CfnOutput(backend, f"{name}Output", value=value)
        output.override_logical_id(f"{prefix}{name}")


def _values(backend: JobBackend) -> dict[str, str]:
    """Return the outputs by their names."""
    values = {
        "ApiUrl": backend.api.url,
        "TableName": backend.table.table.table_name,
        "QueueUrlPrefix": backend.queues.url_prefix,
        "QueuePrefix": backend.queues.prefix,
        "BucketName": backend.bucket.bucket_name,
        "EventBusName": backend.event_bus.event_bus_name,
        "DeadLetterQueueUrl": backend.queues.dead_letters.queue_url,
        "NextCommand": _next_command(backend),
    }
    if backend.job_endpoint is not None:
        values["JobEndpointUrl"] = backend.job_endpoint.url
    if backend.export is not None:
        values["ExportBucketName"] = backend.export.bucket.bucket_name
    if backend.page is not None:
        values["DashboardUrl"] = backend.api.url
    return values


def _next_command(backend: JobBackend) -> str:
    """Return the line for a shell that makes the first call to this backend."""
    region, table = Stack.of(backend).region, backend.table.table.table_name
    steps = [f"export OJS_URL={backend.api.url} AWS_REGION={region} OJS_TABLE={table}"]
    steps += _credentials(backend.props.access)
    return " && ".join([*steps, "ojs-aws whoami"])


def _credentials(access: Access) -> list[str]:
    """Return the steps after which the command line has credentials of this kind."""
    if isinstance(access, ApiKeys):
        return ["export OJS_API_KEY=$(ojs-aws keys create first --scope operator)"]
    if isinstance(access, (Iam, OpenAccess)):
        return []
    return ["export OJS_API_KEY=the-token"]
