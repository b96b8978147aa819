"""Defines the bucket of documents that do not fit into the table."""

from __future__ import annotations

from typing import Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from ojs_aws.cdk.resources.storage import private_bucket

BACKUP_DAYS: Final = 35
"""How far back the table can be restored, and therefore its documents."""


def documents_bucket(
    scope: Construct, *, key: kms.IKey | None, removal_policy: RemovalPolicy, days: int | None
) -> s3.Bucket:
    """Make the bucket.

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
