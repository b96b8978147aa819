"""Removes with a stack what CloudFormation cannot: objects of buckets, and queues of first use."""

from __future__ import annotations

from typing import Final

from aws_cdk import CustomResource, Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct, IConstruct

from ojs_aws.cdk.bundle import Target, backend_bundle
from ojs_aws.cdk.job_queues import JobQueues
from ojs_aws.cdk.ojs_function import OjsFunction, OjsFunctionProps
from ojs_aws.topology import (
    OWNER_TAG,
)

TIMEOUT_S: Final = 900
"""The longest invocation, which is Lambda's longest: about half a million objects."""

ANSWER_TIMEOUT_S: Final = TIMEOUT_S + 120
"""How long CloudFormation waits for the answer; an hour by itself."""


class StackRemoval(Construct):
    """Define a custom resource whose deletion empties a bucket and deletes queues of first use.

    It is deleted after everything that could put a document or make a queue, and before the
    bucket. Its function may touch only what the template marks by tags as going with the stack.

    :ivar function: what CloudFormation invokes.
    :ivar resource: stands for the documents and the queues.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        bucket: s3.IBucket,
        queues: JobQueues,
        *,
        target: Target,
        log_retention: logs.RetentionDays,
        log_level: str,
    ) -> None:
        """Define the function, its rights, and the resource.

        :param bucket: holds the documents.
        :param queues: the queues, also those that are made at their first use.
        """
        super().__init__(scope, id_)
        prefix = queues.prefix
        self.function = OjsFunction(
            self,
            "Function",
            OjsFunctionProps(
                handler="functions.removal.handler.handler",
                bundle=backend_bundle(target),
                description="Open Job Spec: Removes data with the stack",
                service="ojs-removal",
                environment={"OJS_QUEUE_PREFIX": prefix},
                timeout_s=TIMEOUT_S,
                log_retention=log_retention,
                log_level=log_level,
            ),
        )
        # Nobody waits any more for the answer of an event that is older.
        self.function.configure_async_invoke(max_event_age=Duration.seconds(TIMEOUT_S))
        pattern, tagged = queues.any_queue_arn, {f"aws:ResourceTag/{OWNER_TAG}": prefix}
        self._allow("sqs:ListQueues", "*")  # SQS knows no resource for it
        self._allow("sqs:ListQueueTags", pattern)
        self._allow("sqs:DeleteQueue", pattern, {"StringEquals": tagged})
        self.resource = self.empty("Documents", bucket, with_queues=True)
        if queues.tls_policy is not None:  # of queues that are adopted, too
            self.precede(queues.tls_policy)

    def empty(self, id_: str, bucket: s3.IBucket, *, with_queues: bool = False) -> CustomResource:
        """Empty another bucket with the stack, and return what stands for that."""
        self._allow("s3:GetBucketTagging", bucket.bucket_arn)
        self._allow("s3:ListBucketVersions", bucket.bucket_arn)
        self._allow("s3:DeleteObject", bucket.arn_for_objects("*"))
        self._allow("s3:DeleteObjectVersion", bucket.arn_for_objects("*"))
        return CustomResource(
            self,
            id_,
            service_token=self.function.function_arn,
            resource_type="Custom::OjsRemoval",
            service_timeout=Duration.seconds(ANSWER_TIMEOUT_S),
            properties={
                "Bucket": bucket.bucket_name,
                **({"WithQueues": "true"} if with_queues else {}),
            },
        )

    def precede(self, construct: IConstruct) -> None:
        """Let a construct be deleted before the documents and queues: it uses them."""
        construct.node.add_dependency(self.resource)

    def _allow(
        self, action: str, resource: str, conditions: dict[str, dict[str, str]] | None = None
    ) -> None:
        self.function.add_to_role_policy(
            iam.PolicyStatement(actions=[action], resources=[resource], conditions=conditions)
        )
