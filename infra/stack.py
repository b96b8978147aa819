"""Defines the stack that ``cdk deploy`` makes: one backend, and a worker to try it with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from aws_cdk import CfnOutput, Environment, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from ojs_aws.cdk import (
    Access,
    ApiKeys,
    BackendExtensions,
    ExportOptions,
    JobBackend,
    JobBackendProps,
    LambdaWorkerFunction,
    LambdaWorkerFunctionProps,
    RestoredTable,
    Target,
    WarmStart,
)
from ojs_aws.topology import DEFAULT_QUEUE, QUEUE_SEPARATOR

DEMO_QUEUE: Final = "demo"


@dataclass(frozen=True, slots=True, kw_only=True)
class OjsStackProps:
    """Lists what ``cdk.json`` or ``cdk deploy -c name=value`` can set.

    :ivar prefix: begins the names of the SQS queues; unique in an account and region.
    :ivar queue_separator: stands between prefix and queue in those names.
    :ivar queues: the OJS queues that exist from the beginning.
    :ivar adopted_queues: those of them whose SQS queues were made at their first use.
    :ivar queue_alarms: queues that have alarms of their own, beside those for the jobs of all.
    :ivar allow_undeclared_queues: make others at their first use.
    :ivar has_demo: add the queue ``demo`` and its worker, for the README's first job.
    :ivar extensions: enqueue middleware and hooks of your own.
    :ivar target: architecture and Python version of the functions.
    :ivar access: who may call the API.
    :ivar cors_origins: origins whose pages may use the API.
    :ivar start: how the API's functions are made ready before they are asked; None: not.
    :ivar tracing: trace the functions with AWS X-Ray.
    :ivar export: write jobs that have ended to S3; None: not.
    :ivar alarm_email: who is notified of alarms; AWS asks for consent first. Empty: nobody.
    :ivar alarm_topic_arn: an SNS topic of your own that is notified of them. Empty: none.
    :ivar encryption_key_arn: a KMS key of your own for the table and the buckets. Empty: AWS's.
    :ivar restored_table: a table restored from a backup, to be used from now on.
    :ivar removal_policy: what becomes of the jobs when the stack goes.
    """

    prefix: str = "ojs"
    queue_separator: str = QUEUE_SEPARATOR
    queues: Sequence[str] = (DEFAULT_QUEUE,)
    adopted_queues: Sequence[str] = ()
    queue_alarms: Sequence[str] = ()
    allow_undeclared_queues: bool = True
    has_demo: bool = True
    extensions: BackendExtensions | None = None
    target: Target = field(default_factory=Target)
    access: Access = field(default_factory=ApiKeys)
    cors_origins: Sequence[str] = ()
    start: WarmStart | None = None
    tracing: bool = False
    export: ExportOptions | None = None
    alarm_email: str = ""
    alarm_topic_arn: str = ""
    encryption_key_arn: str = ""
    restored_table: RestoredTable | None = None
    removal_policy: RemovalPolicy = RemovalPolicy.RETAIN


class OjsStack(Stack):
    """Defines one backend with its outputs.

    :ivar backend: the backend.
    :ivar demo: the demo worker, when there is one.
    """

    def __init__(self, scope: Construct, id_: str, props: OjsStackProps) -> None:
        """Define the stack."""
        # A key is of a region, and the table's definition names the region of its key.
        region = props.encryption_key_arn.split(":")[3] if props.encryption_key_arn else None
        env = Environment(region=region) if region else None
        super().__init__(scope, id_, env=env, description="Open Job Spec backend (ojs-aws)")
        demo_queues = [DEMO_QUEUE] if props.has_demo else []
        self.backend = backend = JobBackend(
            self,
            "Backend",
            JobBackendProps(
                queue_prefix=props.prefix,
                queue_separator=props.queue_separator,
                queues=list(dict.fromkeys([*props.queues, *demo_queues])),
                adopted_queues=props.adopted_queues,
                queue_alarms=props.queue_alarms,
                allow_undeclared_queues=props.allow_undeclared_queues,
                extensions=props.extensions,
                target=props.target,
                access=props.access,
                cors_origins=props.cors_origins,
                start=props.start,
                tracing=props.tracing,
                export=props.export,
                alarm_topic=self._alarm_topic(props),
                encryption_key=kms.Key.from_key_arn(self, "Key", props.encryption_key_arn)
                if props.encryption_key_arn
                else None,
                restored_table=props.restored_table,
                removal_policy=props.removal_policy,
            ),
        )
        self.demo = self._demo_worker() if props.has_demo else None
        outputs = {
            "ApiUrl": backend.api.url,
            "TableName": backend.table.table.table_name,
            "QueueUrlPrefix": backend.queues.url_prefix,
            "QueuePrefix": backend.queues.prefix,
            "BucketName": backend.bucket.bucket_name,
            "EventBusName": backend.event_bus.event_bus_name,
            "DeadLetterQueueUrl": backend.queues.dead_letters.queue_url,
        }
        if backend.export is not None:
            outputs["ExportBucketName"] = backend.export.bucket.bucket_name
        for name, value in outputs.items():
            CfnOutput(self, name, value=value)

    def _alarm_topic(self, props: OjsStackProps) -> sns.ITopic | None:
        """Return the topic of alarms: one that exists, or a new one that sends mail."""
        if props.alarm_topic_arn:
            return sns.Topic.from_topic_arn(self, "AlarmTopic", props.alarm_topic_arn)
        if not props.alarm_email:
            return None
        topic = sns.Topic(self, "AlarmTopic", display_name="OJS alarms", enforce_ssl=True)
        # A topic with a policy of its own has lost the one that lets the account's alarms in.
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": self.account}},
            )
        )
        topic.add_subscription(subscriptions.EmailSubscription(props.alarm_email))
        return topic

    def _demo_worker(self) -> LambdaWorkerFunction:
        return LambdaWorkerFunction(
            self,
            "DemoWorker",
            LambdaWorkerFunctionProps(
                backend=self.backend,
                handler="ojs_aws.local.demo.handler",
                queues=[DEMO_QUEUE],
                aws_services=(),
                timeout_s=60,
            ),
        )
