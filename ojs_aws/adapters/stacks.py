"""Deploys CloudFormation stacks by change sets, and uploads what they are made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.adapters.account import NO_STACK
from ojs_aws.adapters.aws_errors import answer_of, error_code, refusals
from ojs_aws.adapters.errors import ignoring, translated
from ojs_aws.domain.errors import BackendError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_s3 import S3Client

POLL_S: Final = 2.0
_MOST_LOOKS: Final = 60
"""At a new stack, until CloudFormation begins to make it."""
_FOLDER: Final = "ojs-aws"
_NOTHING: Final = ("didn't contain changes", "No updates are to be performed")
_NO_BUCKET: Final = frozenset({"404", "NoSuchBucket", "NotFound"})
_DEFAULT_REGION: Final = "us-east-1"
"""The only region that S3 does not take as the place of a new bucket."""
CANCELLED: Final = "cancelled"
_BEGUN: Final = frozenset({"CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS"})
"""What a stack is when an operation on it begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StackState:
    """Holds what CloudFormation says of a stack.

    :ivar status: such as ``UPDATE_COMPLETE``.
    :ivar reason: why it is so; mostly empty.
    :ivar template: the deployed one.
    """

    name: str
    status: str
    reason: str
    parameters: Mapping[str, str]
    outputs: Mapping[str, str]
    template: Mapping[str, Any]
    tags: Mapping[str, str]

    @property
    def is_new(self) -> bool:
        """Return whether nothing of it was ever deployed."""
        return self.status == "REVIEW_IN_PROGRESS"


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """Holds one change of a change set.

    :ivar action: ``Add``, ``Modify``, ``Remove``, ``Replace``, or ``MayReplace``: not known yet.
    """

    action: str
    kind: str
    resource: str


@dataclass(frozen=True, slots=True)
class Failure:
    """Says which resource CloudFormation could not make, change or remove, and why."""

    resource: str
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class Stacks:
    """Plans, deploys and removes stacks with the credentials of whoever runs it.

    :ivar account: its number: buckets of others are refused.
    """

    cloudformation: CloudFormationClient
    s3: S3Client
    region: str
    account: str
    sleep: Callable[[float], None]

    def state(self, name: str) -> StackState | None:
        """Return a stack; None, where there is none."""
        with translated("DescribeStacks"):
            try:
                found = self.cloudformation.describe_stacks(StackName=name)["Stacks"][0]
            except refusals() as problem:
                if error_code(problem) in NO_STACK:
                    return None
                raise
            if found["StackStatus"] == "DELETE_COMPLETE":
                return None
            body: Any = self.cloudformation.get_template(StackName=name).get("TemplateBody", {})
        return StackState(
            name=name,
            status=found["StackStatus"],
            reason=found.get("StackStatusReason", ""),
            parameters={
                each["ParameterKey"]: each.get("ParameterValue", "")
                for each in found.get("Parameters", ())
            },
            outputs={
                each["OutputKey"]: each.get("OutputValue", "") for each in found.get("Outputs", ())
            },
            template=json.loads(body) if isinstance(body, str) and body else dict(body or {}),
            tags={each["Key"]: each["Value"] for each in found.get("Tags", ())},
        )

    def own_bucket(self, name: str, *, is_named: bool) -> None:
        """Make sure that a bucket is there, and of this account.

        :param is_named: somebody named it: it is used, and not made.
        :raises BackendError: it is somebody else's, or it cannot be made.
        """
        found: Any = None
        with translated(f"HeadBucket of {name}"), ignoring(() if is_named else _NO_BUCKET):
            found = self.s3.head_bucket(Bucket=name, ExpectedBucketOwner=self.account)
        if found is not None:
            return
        place: Any = {"CreateBucketConfiguration": {"LocationConstraint": self.region}}
        with translated(f"CreateBucket of {name}"):
            self.s3.create_bucket(Bucket=name, **({} if self.region == _DEFAULT_REGION else place))
            self.s3.put_public_access_block(
                Bucket=name,
                PublicAccessBlockConfiguration={
                    "BlockPublicAcls": True,
                    "IgnorePublicAcls": True,
                    "BlockPublicPolicy": True,
                    "RestrictPublicBuckets": True,
                },
            )

    def upload(self, bucket: str, content: bytes, suffix: str) -> str:
        """Upload some bytes under their own hash, and return the key."""
        key = f"{_FOLDER}/{hashlib.sha256(content).hexdigest()[:40]}{suffix}"
        with translated(f"PutObject to {bucket}"):
            self.s3.put_object(
                Bucket=bucket, Key=key, Body=content, ExpectedBucketOwner=self.account
            )
        return key

    def url(self, bucket: str, key: str) -> str:
        """Return the URL of an object, as CloudFormation takes it for templates."""
        return f"{self.s3.meta.endpoint_url.rstrip('/')}/{bucket}/{key}"

    def plan(
        self,
        stack: str,
        change_set: str,
        *,
        template_url: str,
        parameters: Mapping[str, str | None],
        tags: Mapping[str, str],
        is_new: bool,
    ) -> list[Change]:
        """Make a change set, and return its changes, which are none where all is as it should be.

        :param parameters: their values; None keeps the deployed one.
        :param tags: all of the stack: CloudFormation removes those that are left out.
        :raises BackendError: CloudFormation refused the template or the parameters.
        """
        given: Any = [
            {"ParameterKey": key, "UsePreviousValue": True}
            if value is None
            else {"ParameterKey": key, "ParameterValue": value}
            for key, value in parameters.items()
        ]
        with translated("CreateChangeSet"):
            try:
                self.cloudformation.create_change_set(
                    StackName=stack,
                    ChangeSetName=change_set,
                    ChangeSetType="CREATE" if is_new else "UPDATE",
                    TemplateURL=template_url,
                    Parameters=given,
                    Tags=[{"Key": key, "Value": value} for key, value in tags.items()],
                    Capabilities=["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"],
                )
            except refusals() as problem:
                if error_code(problem) != "ValidationError":
                    raise
                said = answer_of(problem).get("Error", {}).get("Message", "")
                raise BackendError(f"CloudFormation refused it: {said}") from problem
            return self._changes(stack, change_set)

    def _changes(self, stack: str, change_set: str) -> list[Change]:
        found: list[Change] = []
        cursor = ""
        while True:
            more: Any = {"NextToken": cursor} if cursor else {}
            page = self.cloudformation.describe_change_set(
                StackName=stack, ChangeSetName=change_set, **more
            )
            status, reason = page["Status"], page.get("StatusReason", "")
            if status in {"CREATE_PENDING", "CREATE_IN_PROGRESS"}:
                self.sleep(POLL_S)
                continue
            if status == "FAILED":
                if any(text in reason for text in _NOTHING):
                    return []
                raise BackendError(f"CloudFormation refused the change set: {reason}")
            found += [_change(each["ResourceChange"]) for each in page.get("Changes", ())]
            cursor = page.get("NextToken", "")
            if not cursor:
                return sorted(found)

    def forget(self, stack: str, change_set: str, *, is_new: bool) -> None:
        """Remove a change set that nobody executes, and the empty stack that it made."""
        with translated("DeleteChangeSet"):
            self.cloudformation.delete_change_set(StackName=stack, ChangeSetName=change_set)
            if is_new:
                self.cloudformation.delete_stack(StackName=stack)

    def execute(self, stack: str, change_set: str) -> StackState:
        """Execute a change set, and return the stack when that has ended, well or not.

        :raises BackendError: the stack is gone, or CloudFormation does not begin.
        """
        with translated("ExecuteChangeSet"):
            self.cloudformation.execute_change_set(StackName=stack, ChangeSetName=change_set)
        for _ in range(_MOST_LOOKS):
            ended = self.settled(stack)
            if ended is None:
                raise BackendError(f"The stack {stack} was deleted meanwhile.")
            if not ended.is_new:
                return ended
            self.sleep(POLL_S)  # a new stack looks unexecuted for a moment
        raise BackendError(f"CloudFormation does not execute the change set {change_set}.")

    def settled(self, stack: str) -> StackState | None:
        """Wait until nothing of a stack is in progress; return None, where it is gone."""
        while True:
            found = self.state(stack)
            if found is None or not found.status.endswith("IN_PROGRESS") or found.is_new:
                return found
            self.sleep(POLL_S)

    def failures(self, stack: str) -> list[Failure]:
        """Return what failed in the newest operation on a stack, the first cause first.

        What was only cancelled because of another failure is left out.
        """
        found: list[Failure] = []
        pages = self.cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack)
        with translated("DescribeStackEvents"):
            for event in (each for page in pages for each in page["StackEvents"]):
                status, resource = event.get("ResourceStatus", ""), event["LogicalResourceId"]
                if resource == stack and status in _BEGUN:
                    break
                reason = event.get("ResourceStatusReason", "")
                if status.endswith("_FAILED") and resource != stack and CANCELLED not in reason:
                    found.insert(0, Failure(resource, event.get("ResourceType", ""), reason))
        return found

    def delete(self, stack: str) -> StackState | None:
        """Delete a stack; return None, if it is gone, or what is left of it."""
        with translated("DeleteStack"):
            self.cloudformation.delete_stack(StackName=stack)
        return self.settled(stack)

    def resources(self, stack: str) -> Iterator[tuple[str, str, str]]:
        """Yield logical id, type and name of each deployed resource."""
        with translated("ListStackResources"):
            pages = self.cloudformation.get_paginator("list_stack_resources")
            for page in pages.paginate(StackName=stack):
                for each in page["StackResourceSummaries"]:
                    name = each.get("PhysicalResourceId", "")
                    yield each["LogicalResourceId"], each["ResourceType"], name


def _change(said: Mapping[str, Any]) -> Change:
    """Return a change; what refers to a resource that is not replaced is not replaced either.

    CloudFormation says "Conditional" of whatever refers to a changed resource. Only where the
    change is its own may the resource itself be replaced.
    """
    action, replacement = said["Action"], said.get("Replacement", "")
    is_own = any(
        each.get("Evaluation") == "Static"
        and each.get("Target", {}).get("RequiresRecreation", "Never") != "Never"
        for each in said.get("Details", ())
    )
    if action == "Modify" and replacement == "True":
        action = "Replace"
    elif action == "Modify" and replacement == "Conditional" and is_own:
        action = "MayReplace"
    return Change(action, said.get("ResourceType", ""), said["LogicalResourceId"])
