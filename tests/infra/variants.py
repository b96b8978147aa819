"""The stacks that are looked at as a whole: between them they have every option of the backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from aws_cdk import App, Environment, RemovalPolicy, Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns

from infra.stack import OjsStack, OjsStackProps
from ojs_aws.cdk import ExportOptions, Iam, JobBackend, JobBackendProps, SnapStart


def stack_as_deployed(app: App) -> Stack:
    """What ``cdk deploy`` makes."""
    return OjsStack(app, "Ojs", OjsStackProps())


def backend_with_options(app: App) -> Stack:
    """A key of one's own, declared queues only, IAM, and nothing open."""
    stack = Stack(app, "Jobs", env=Environment(account="123456789012", region="eu-west-1"))
    props = JobBackendProps(
        queues=["email"],
        allow_undeclared_queues=False,
        access=Iam(),
        job_endpoint=True,
        public_status=False,
        encryption_key=kms.Key(stack, "Key", enable_key_rotation=True),
        removal_policy=RemovalPolicy.RETAIN,
    )
    JobBackend(stack, "Backend", props)
    return stack


def backend_with_extras(app: App) -> Stack:
    """What is off unless it is asked for: export, snapshots, backups, alarms, traces, the page.

    Its data goes with the stack.
    """
    stack = Stack(app, "Jobs", env=Environment(account="123456789012", region="eu-west-1"))
    topic = sns.Topic(stack, "Notified", enforce_ssl=True)
    props = JobBackendProps(
        export=ExportOptions(documents=True),
        start=SnapStart(),
        job_endpoint=True,
        document_backup_days=35,
        removal_policy=RemovalPolicy.DESTROY,
        alarm_topic=topic,
        tracing=True,
        has_web_dashboard=True,
    )
    JobBackend(stack, "Backend", props)
    return stack


VARIANTS: Final[tuple[Callable[[App], Stack], ...]] = (
    stack_as_deployed,
    backend_with_options,
    backend_with_extras,
)
