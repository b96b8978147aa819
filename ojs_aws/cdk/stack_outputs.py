"""Writes the outputs of a stack that has a backend: what people copy after a deployment."""

from __future__ import annotations

import re
from dataclasses import dataclass

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_s3 as s3
from constructs import Construct

from ojs_aws.cdk.api.access import Access, ApiKeys, Iam, OpenAccess
from ojs_aws.cdk.api.http_api import OjsHttpApi
from ojs_aws.cdk.api.job_endpoint import JobEndpoint
from ojs_aws.cdk.job_export import JobExport
from ojs_aws.cdk.resources.job_queues import JobQueues
from ojs_aws.cdk.resources.job_table import JobTable


@dataclass(frozen=True)
class OutputSources:
    """The parts of a backend whose addresses and names are outputs."""

    api: OjsHttpApi
    table: JobTable
    queues: JobQueues
    bucket: s3.IBucket
    event_bus: events.IEventBus
    access: Access
    job_endpoint: JobEndpoint | None
    export: JobExport | None
    has_page: bool


def add_outputs(scope: Construct, sources: OutputSources, prefix: str | None) -> None:
    """Add an output for each address and name that clients, workers and operators need.

    :param prefix: begins their names; None for the id of the construct.
    """
    if prefix is None:
        prefix = re.sub(r"[^A-Za-z0-9]", "", scope.node.id)
    for name, value in _values(sources).items():
        output = CfnOutput(scope, f"{name}Output", value=value)
        output.override_logical_id(f"{prefix}{name}")


def _values(backend: OutputSources) -> dict[str, str]:
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
    if backend.has_page:
        values["DashboardUrl"] = backend.api.url
    return values


def _next_command(backend: OutputSources) -> str:
    """Return the line for a shell that makes the first call to this backend."""
    region, table = Stack.of(backend.api).region, backend.table.table.table_name
    steps = [f"export OJS_URL={backend.api.url} AWS_REGION={region} OJS_TABLE={table}"]
    steps += _credentials(backend.access)
    return " && ".join([*steps, "ojs-aws whoami"])


def _credentials(access: Access) -> list[str]:
    """Return the steps after which the command line has credentials of this kind."""
    if isinstance(access, ApiKeys):
        return ["export OJS_API_KEY=$(ojs-aws keys create first --scope operator)"]
    if isinstance(access, (Iam, OpenAccess)):
        return []
    return ["export OJS_API_KEY=the-token"]
