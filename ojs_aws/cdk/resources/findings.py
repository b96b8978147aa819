"""Accepts single findings of cdk-nag's AwsSolutions pack, each with its reason.

It stands in the resources' metadata, where cdk-nag looks for it: the constructs do not need it,
and who runs it over an app of their own is not asked about what was decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from aws_cdk import CfnResource
from constructs import IConstruct

METADATA: Final = "cdk_nag"
_RULES: Final = "rules_to_suppress"


def accept(construct: IConstruct, rule: str, reason: str, findings: Sequence[str] = ()) -> None:
    """Leave a resource as it is, against the advice of a rule.

    :param construct: a resource, or the construct whose default child is one.
    :param rule: such as ``AwsSolutions-SQS3``.
    :param findings: those meant, as regular expressions, of a rule that has several; none: all.
    """
    resource = cast("CfnResource", construct.node.default_child or construct)
    known = resource.get_metadata(METADATA) or {_RULES: []}
    entry: dict[str, object] = {"id": rule, "reason": reason}
    if findings:
        entry["applies_to"] = [{"regex": f"/{finding}/"} for finding in findings]
    resource.add_metadata(METADATA, {_RULES: [*known[_RULES], entry]})
