"""Grants a function exactly what it may do to the backend, as statements of its policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ojs_aws.cdk.job_queues import JobQueues
from ojs_aws.cdk.job_table import JobTable
from ojs_aws.cdk.permissions import (
    BATCH_WRITE,
    CREATE_QUEUE,
    KEYS_DENIED,
    LIST_DOCUMENTS,
    OWN_KEY,
    READ_DOCUMENT,
    Permissions,
)
from ojs_aws.cdk.stack_removal import StackRemoval
from ojs_aws.topology import DOCUMENT_PREFIX, KEY_PARTITION, OWNER_TAG

JOB_PARTITIONS: Final = "job#*"
"""The partitions of jobs, and of their documents."""

_PORTION: Final = 40
"""ARNs of one statement. The CDK moves whole statements to managed policies, each of 6,144
characters, where a role's own policy would grow beyond IAM's 10,240."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grants:
    """Turns permissions into statements about the resources of one backend."""

    table: JobTable
    queues: JobQueues
    bucket: s3.IBucket
    event_bus: events.IEventBus
    encryption_key: kms.IKey | None
    allow_undeclared_queues: bool
    removal: StackRemoval | None = None

    def give(
        self,
        grantee: iam.IGrantable,
        permissions: Permissions,
        queues: Sequence[sqs.IQueue] | None = None,
    ) -> None:
        """Grant a principal exactly these permissions on the backend.

        :param queues: the queues that are meant; None means all of the backend's.
        """
        principal, key = grantee.grant_principal, self.encryption_key
        is_used = permissions.table or permissions.keys or permissions.updates
        creates = permissions.creates_queues and self.allow_undeclared_queues
        queue_actions = (*permissions.queues, *(CREATE_QUEUE if creates else ()))
        wanted: list[tuple[Sequence[str], list[str]]] = [
            (permissions.table, [self.table.table.table_arn]),
            (("dynamodb:Query",) if permissions.has_index else (), [self.table.index_arn]),
            *((queue_actions, some) for some in _portions(self._queue_arns(queues))),
            (
                ("sqs:SendMessage",) if permissions.rejects else (),
                [self.queues.dead_letters.queue_arn],
            ),
            (permissions.documents, [self.bucket.arn_for_objects("*")]),
            (OWN_KEY if key and is_used else (), [key.key_arn] if key else []),
            (
                ("events:PutEvents",) if permissions.publishes else (),
                [self.event_bus.event_bus_arn],
            ),
        ]
        for actions, resources in wanted:
            if actions:
                _say(principal, actions, resources)
        if READ_DOCUMENT in permissions.documents:
            self._tell_missing(principal)
        if permissions.switches_triggers:
            self._triggers(principal)
        for action, partitions in (
            ("dynamodb:DeleteItem", permissions.deletes),
            ("dynamodb:PutItem", permissions.puts),
            ("dynamodb:UpdateItem", permissions.updates),
        ):
            if partitions:
                leading = {"dynamodb:LeadingKeys": [*partitions]}
                conditions = {"ForAllValues:StringEquals": leading}
                _say(principal, [action], [self.table.table.table_arn], conditions)
        if permissions.puts_documents:  # IAM cannot tell puts from deletions, but which items
            leading = {"dynamodb:LeadingKeys": [JOB_PARTITIONS]}
            conditions = {"ForAllValues:StringLike": leading}
            _say(principal, [BATCH_WRITE], [self.table.table.table_arn], conditions)
        self._keys(principal, permissions)
        if self.removal is not None and isinstance(grantee, Construct):
            self.removal.precede(grantee)

    def _tell_missing(self, principal: iam.IPrincipal) -> None:
        """Let S3 say that a document is missing; otherwise it says that access to it is denied.

        What reads a document names no prefix, so the condition is about real lists only.
        """
        of_documents = {"StringLikeIfExists": {"s3:prefix": [f"{DOCUMENT_PREFIX}*"]}}
        _say(principal, [LIST_DOCUMENTS], [self.bucket.bucket_arn], of_documents)

    def _queue_arns(self, queues: Sequence[sqs.IQueue] | None) -> list[str]:
        """Return ARNs of the queues: one pattern for all, or one for each queue by its name."""
        if queues is None and self.allow_undeclared_queues:
            return [self.queues.any_queue_arn]
        meant = self.queues.queues.values() if queues is None else queues
        return [queue.queue_arn for queue in meant]

    def _triggers(self, principal: iam.IPrincipal) -> None:
        """Allow a pause to switch off the triggers that have the backend's tag, and no others."""
        mappings = Stack.of(self.queues).format_arn(
            service="lambda",
            resource="event-source-mapping",
            resource_name="*",
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        tagged = {"StringEquals": {f"aws:ResourceTag/{OWNER_TAG}": self.queues.prefix}}
        for action, resource, conditions in (
            ("lambda:ListEventSourceMappings", "*", None),  # Lambda knows no resource for it
            ("lambda:UpdateEventSourceMapping", mappings, tagged),
        ):
            _say(principal, [action], [resource], conditions)

    def _keys(self, principal: iam.IPrincipal, permissions: Permissions) -> None:
        """Allow access to the records of API keys where it is needed, and deny it to all others."""
        table, partition = [self.table.table.table_arn], [KEY_PARTITION]
        if permissions.keys:
            allowed = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": partition}}
            _say(principal, permissions.keys, table, allowed)
        if permissions.table:
            denied = {"ForAnyValue:StringEquals": {"dynamodb:LeadingKeys": partition}}
            others = sorted({*KEYS_DENIED} - {*permissions.keys})
            _say(principal, others, table, denied, iam.Effect.DENY)


def _say(
    principal: iam.IPrincipal,
    actions: Sequence[str],
    resources: Sequence[str],
    conditions: Mapping[str, object] | None = None,
    effect: iam.Effect | None = None,
) -> None:
    """Add a statement to the policy of a principal."""
    principal.add_to_principal_policy(
        iam.PolicyStatement(
            actions=sorted(actions),
            resources=list(resources),
            conditions=conditions,
            effect=effect,
        )
    )


def _portions(arns: Sequence[str]) -> list[list[str]]:
    return [list(arns[first : first + _PORTION]) for first in range(0, len(arns), _PORTION)]
