"""Defines the stack that ``cdk deploy`` makes: one backend, and a worker to try it with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from aws_cdk import Environment, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from ojs_aws.cdk import (
    JobBackend,
    JobBackendProps,
    LambdaWorkerFunction,
    LambdaWorkerFunctionProps,
)

DEMO_QUEUE: Final = "demo"


@dataclass(frozen=True, slots=True, kw_only=True)
class OjsStackProps(JobBackendProps):
    """Lists what ``cdk.json`` or ``cdk deploy -c name=value`` can set, beside the backend's props.

    :ivar has_demo: add the queue ``demo`` and its worker, for the README's first job.
    :ivar alarm_email: who is notified of alarms; AWS asks for consent first. Empty: nobody.
    :ivar alarm_topic_arn: an SNS topic of your own that is notified of them. Empty: none.
    :ivar encryption_key_arn: a KMS key of your own for the table and the buckets. Empty: AWS's.
    """

    has_demo: bool = True
    alarm_email: str = ""
    alarm_topic_arn: str = ""
    encryption_key_arn: str = ""


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
        self.backend = JobBackend(
            self,
            "Backend",
            replace(
                props,
                output_prefix="",
                queues=list(dict.fromkeys([*props.queues, *demo_queues])),
                alarm_topic=self._alarm_topic(props),
                encryption_key=kms.Key.from_key_arn(self, "Key", props.encryption_key_arn)
                if props.encryption_key_arn
                else None,
            ),
        )
        self.demo = self._demo_worker() if props.has_demo else None

    def _alarm_topic(self, props: OjsStackProps) -> sns.ITopic | None:
        """Return the topic of alarms: one that exists, or a new one that sends mail."""
        if props.alarm_topic_arn:
            return sns.Topic.from_topic_arn(self, "AlarmTopic", props.alarm_topic_arn)
        if not props.alarm_email:
            return None
        return mail_topic(self, props.alarm_email)

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


def mail_topic(stack: Stack, email: str) -> sns.Topic:
    """Return a new topic of alarms that sends mail to an address."""
    topic = sns.Topic(stack, "AlarmTopic", display_name="OJS alarms", enforce_ssl=True)
    # A topic with a policy of its own has lost the one that lets the account's alarms in.
    topic.add_to_resource_policy(
        iam.PolicyStatement(
            principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
            actions=["sns:Publish"],
            resources=[topic.topic_arn],
            conditions={"StringEquals": {"aws:SourceAccount": stack.account}},
        )
    )
    topic.add_subscription(subscriptions.EmailSubscription(email))
    return topic
