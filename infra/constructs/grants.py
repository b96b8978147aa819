"""Exactly what a function may do to the backend, as statements of its policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs

from infra.constructs.job_queues import JobQueues
from infra.constructs.job_table import JobTable
from infra.constructs.permissions import CREATE_QUEUE, KEYS_DENIED, OWN_KEY, Permissions
from ojs_aws.topology import KEY_PARTITION


@dataclass(frozen=True, slots=True, kw_only=True)
class Grants:
    """Turns permissions into statements about the resources of one backend."""

    table: JobTable
    queues: JobQueues
    bucket: s3.IBucket
    event_bus: events.IEventBus
    encryption_key: kms.IKey | None
    allow_undeclared_queues: bool

    def give(
        self,
        grantee: iam.IGrantable,
        permissions: Permissions,
        queues: Sequence[sqs.IQueue] | None = None,
    ) -> None:
        """Let somebody do exactly this to the backend.

        :param queues: the queues that are meant; None means all of the backend's.
        """
        principal = grantee.grant_principal
        if queues is not None:
            queue_arns = [queue.queue_arn for queue in queues]
        elif self.allow_undeclared_queues:
            queue_arns = [self.queues.any_queue_arn]
        else:
            queue_arns = [queue.queue_arn for queue in self.queues.queues.values()]
        creates = permissions.creates_queues and self.allow_undeclared_queues
        wanted: list[tuple[Sequence[str], list[str]]] = [
            (permissions.table, [self.table.table.table_arn]),
            (("dynamodb:Query",) if permissions.has_index else (), [self.table.index_arn]),
            ((*permissions.queues, *((CREATE_QUEUE,) if creates else ())), queue_arns),
            (permissions.documents, [self.bucket.arn_for_objects("*")]),
            (self._own_key_actions(permissions), self._own_key_arns()),
            (
                ("events:PutEvents",) if permissions.publishes else (),
                [self.event_bus.event_bus_arn],
            ),
        ]
        if permissions.sees_triggers:  # Lambda knows no resources for this action
            wanted.append((("lambda:ListEventSourceMappings",), ["*"]))
        for actions, resources in wanted:
            if actions:
                principal.add_to_principal_policy(
                    iam.PolicyStatement(actions=sorted(actions), resources=resources)
                )
        if permissions.deletes:
            leading = {"dynamodb:LeadingKeys": [*permissions.deletes]}
            principal.add_to_principal_policy(
                iam.PolicyStatement(
                    actions=["dynamodb:DeleteItem"],
                    resources=[self.table.table.table_arn],
                    conditions={"ForAllValues:StringEquals": leading},
                )
            )

        self._keys(principal, permissions)

    def _keys(self, principal: iam.IPrincipal, permissions: Permissions) -> None:
        """The records of API keys to who needs them, and to nobody else who uses the table."""
        table, partition = [self.table.table.table_arn], [KEY_PARTITION]
        if permissions.keys:
            allowed = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": partition}}
            principal.add_to_principal_policy(
                iam.PolicyStatement(
                    actions=sorted(permissions.keys), resources=table, conditions=allowed
                )
            )
        elif permissions.table:
            denied = {"ForAnyValue:StringEquals": {"dynamodb:LeadingKeys": partition}}
            principal.add_to_principal_policy(
                iam.PolicyStatement(
                    effect=iam.Effect.DENY,
                    actions=sorted(KEYS_DENIED),
                    resources=table,
                    conditions=denied,
                )
            )

    def _own_key_actions(self, permissions: Permissions) -> Sequence[str]:
        is_used = permissions.table or permissions.keys
        return OWN_KEY if is_used and self.encryption_key is not None else ()

    def _own_key_arns(self) -> list[str]:
        key = self.encryption_key
        return [] if key is None else [key.key_arn]
