"""Makes buckets and queues of a deployment, that of large documents too, and accepts findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar, cast

from aws_cdk import CfnResource, Duration, RemovalPolicy, Tags
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IConstruct

from ojs_aws.topology import (
    EVENT_PREFIX,
    MESSAGE_RETENTION_S,
    OWNER_TAG,
    REMOVAL_TAG,
    REMOVED_WITH_STACK,
)

METADATA: Final = "cdk_nag"
R = TypeVar("R")
_RULES: Final = "rules_to_suppress"
MAX_AGE_H: Final = 23
"""Age of a change at which it is given up, with a message: the stream drops it an hour later."""


def resource_of(construct: IConstruct, kind: type[R]) -> R:
    """Return the resource that a construct of the CDK makes.

    :raises TypeError: it makes another kind of resource.
    """
    resource = construct.node.default_child
    if not isinstance(resource, kind):
        raise TypeError(f"{construct.node.path} makes {resource!r}, and no {kind.__name__}")
    return resource


def accept(construct: IConstruct, rule: str, reason: str) -> None:
    """Leave a resource as it is, against the advice of a rule.

    :param construct: a resource, or the construct whose default child is one.
    :param rule: such as ``AwsSolutions-SQS3``.
    """
    _suppress(construct, [{"id": rule, "reason": reason}])


def accept_each(construct: IConstruct, rule: str, findings: Iterable[tuple[str, str]]) -> None:
    """Leave a resource as it is, against some findings of a rule that has several.

    :param findings: why each is accepted, and the finding that is meant as a regular expression.
    """
    _suppress(
        construct,
        [
            {"id": rule, "reason": reason, "applies_to": [{"regex": f"/{finding}/"}]}
            for reason, finding in findings
        ],
    )


def _suppress(construct: IConstruct, entries: Sequence[Mapping[str, object]]) -> None:
    resource = cast("CfnResource", construct.node.default_child or construct)
    known = resource.get_metadata(METADATA) or {_RULES: []}
    resource.add_metadata(METADATA, {_RULES: [*known[_RULES], *entries]})


def private_bucket(
    scope: Construct,
    id_: str,
    *,
    key: kms.IKey | None,
    removal_policy: RemovalPolicy,
    rules: Sequence[s3.LifecycleRule],
    why_unlogged: str,
    is_versioned: bool = False,
) -> s3.Bucket:
    """Make a bucket that is never public.

    :param key: a KMS key of your own; None: S3's.
    :param removal_policy: what becomes of it when the stack goes. If it goes, too, a tag says so,
        without which :class:`ojs_aws.cdk.stack_removal.StackRemoval` leaves its objects alone.
    :param why_unlogged: why S3 writes no access log of it.
    """
    bucket = s3.Bucket(
        scope,
        id_,
        encryption=s3.BucketEncryption.S3_MANAGED if key is None else s3.BucketEncryption.KMS,
        encryption_key=key,
        bucket_key_enabled=key is not None,
        enforce_ssl=True,
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
        removal_policy=removal_policy,
        versioned=is_versioned or None,
        lifecycle_rules=list(rules),
    )
    if removal_policy is RemovalPolicy.DESTROY:
        Tags.of(bucket).add(REMOVAL_TAG, REMOVED_WITH_STACK)
    accept(bucket, "AwsSolutions-S1", why_unlogged)
    return bucket


def own_queue(scope: Construct, id_: str, **options: Any) -> sqs.Queue:
    """Make a standard queue, which goes with the stack.

    :param options: of the queue where it differs.
    """
    usual = {"retention_period": Duration.seconds(MESSAGE_RETENTION_S), "enforce_ssl": True}
    return sqs.Queue(
        scope,
        id_,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        removal_policy=RemovalPolicy.DESTROY,
        **{**usual, **options},
    )


def read_stream(
    function: lambda_.Function,
    table: dynamodb.ITableV2,
    failures: sqs.Queue,
    patterns: Sequence[Mapping[str, object]],
    *,
    batch_size: int,
    window_s: int = 0,
    parallelization_factor: int | None = None,
) -> None:
    """Let a function read the changes of a table, and try them again until they are too old.

    The tries have no limit: an outage uses up any number of them. Batches that end the function are
    halved, and it leaves out by itself the record that does so
    (docs/decisions/0095-the-stream-is-tried-for-a-day.md).

    :param failures: takes the positions of what was given up.
    :param patterns: of the changes that invoke it; any one of them is enough.
    :param window_s: how long changes are gathered for one invocation.
    """
    function.add_event_source(
        sources.DynamoEventSource(
            table,
            starting_position=lambda_.StartingPosition.TRIM_HORIZON,
            batch_size=batch_size,
            bisect_batch_on_error=True,
            report_batch_item_failures=True,
            retry_attempts=-1,
            max_record_age=Duration.hours(MAX_AGE_H),
            parallelization_factor=parallelization_factor,
            max_batching_window=Duration.seconds(window_s) if window_s else None,
            on_failure=sources.SqsDlq(failures),
            filters=[lambda_.FilterCriteria.filter(dict(pattern)) for pattern in patterns],
        )
    )


def failures_queue(scope: Construct, reason: str) -> sqs.Queue:
    """Make a queue of what a reader of the stream gave up, for an operator to look at.

    :param reason: why it needs no dead-letter queue itself.
    """
    queue = own_queue(scope, "Failures")
    accept(queue, "AwsSolutions-SQS3", reason)
    return queue


def tag_triggers(scope: IConstruct, owner: str) -> None:
    """Allow a pause to switch off the triggers below a construct, and a resume to switch them on.

    The backend may switch whatever has its tag: a policy that names each trigger would be full
    after some forty workers.
    """
    for each in scope.node.find_all():
        if isinstance(each, lambda_.CfnEventSourceMapping):
            Tags.of(each).add(OWNER_TAG, owner)


def require_tls(scope: Construct, queues: Sequence[sqs.IQueue]) -> sqs.QueuePolicy:
    """Deny plain HTTP on queues: one policy for all of them, as a stack has 500 resources.

    A queue's policy is about that queue alone, so that ``*`` means no other.
    """
    policy = sqs.QueuePolicy(scope, "OverTls", queues=list(queues))
    policy.document.add_statements(
        iam.PolicyStatement(
            effect=iam.Effect.DENY,
            principals=[iam.AnyPrincipal()],
            actions=["sqs:*"],
            resources=["*"],
            conditions={"Bool": {"aws:SecureTransport": "false"}},
        )
    )
    return policy


BACKUP_DAYS: Final = 35
"""How far back the table can be restored, and therefore its documents."""


def documents_bucket(
    scope: Construct, key: kms.IKey | None, removal_policy: RemovalPolicy, days: int | None
) -> s3.Bucket:
    """Make the bucket of documents.

    :param key: a KMS key of your own; None: S3's.
    :param removal_policy: what becomes of it when the stack goes.
    :param days: for how long deleted documents can be brought back; None: as long as the table can
        be restored, and not at all where it goes with the stack.
    """
    if days is None:
        days = 0 if removal_policy is RemovalPolicy.DESTROY else BACKUP_DAYS
    return private_bucket(
        scope,
        "Documents",
        key=key,
        removal_policy=removal_policy,
        is_versioned=days > 0,
        rules=[
            s3.LifecycleRule(
                abort_incomplete_multipart_upload_after=Duration.days(1),
                noncurrent_version_expiration=Duration.days(days) if days else None,
                expired_object_delete_marker=True if days else None,
            )
        ],
        why_unlogged="Only the backend's functions read and write it, and log what they do; "
        "who needs more switches on CloudTrail's data events, which lose no request as access "
        "logs may.",
    )


def expire_events(bucket: s3.Bucket) -> None:
    """Delete jobs that were too large for the events of functions, when nobody reads them any more.

    No reservation lasts for longer than half a day.
    """
    bucket.add_lifecycle_rule(
        prefix=EVENT_PREFIX,
        expiration=Duration.days(1),
        noncurrent_version_expiration=Duration.days(1),
    )
