"""Reads what an account has and allows, before something is deployed to it. It changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from ojs_aws.adapters.aws_errors import error_code, refusals
from ojs_aws.adapters.errors import translated
from ojs_aws.adapters.sqs import MISSING

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cloudformation.type_defs import ListStackResourcesOutputTypeDef
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_sqs import SQSClient

A = TypeVar("A")

NO_STACK: Final = frozenset({"ValidationError"})
"""What CloudFormation says of a stack that there is not, or of a resource that has none."""

_FUNCTION: Final = "AWS::Lambda::Function"
_QUEUE: Final = "AWS::SQS::Queue"
_GONE: Final = "DELETE_COMPLETE"


class IdentityClient(Protocol):
    """Declares what is asked of STS."""

    def get_caller_identity(self) -> Mapping[str, str]:
        """Return whose credentials these are."""


@dataclass(frozen=True, slots=True)
class Concurrency:
    """Says how many executions the functions of an account and region may have at a time.

    :ivar limit: all functions together.
    :ivar unreserved: those that are not set aside for single functions.
    """

    limit: int
    unreserved: int


@dataclass(frozen=True, slots=True)
class Account:
    """Looks at an account with the credentials of whoever runs it.

    :ivar region: the region that is looked at.
    """

    region: str
    identity: IdentityClient
    functions: LambdaClient
    sqs: SQSClient
    stacks: CloudFormationClient

    def number(self) -> str:
        """Return the account's number."""
        with translated("GetCallerIdentity"):
            return self.identity.get_caller_identity()["Account"]

    def concurrency(self) -> Concurrency:
        """Return the limits of Lambda."""
        with translated("GetAccountSettings"):
            found = self.functions.get_account_settings()["AccountLimit"]
        return Concurrency(found["ConcurrentExecutions"], found["UnreservedConcurrentExecutions"])

    def reserved_by(self, stacks: Iterable[str]) -> int:
        """Return how many executions are set aside by now for the functions of some stacks."""
        total = 0
        for name in (each for stack in stacks for each in self._resources_of(stack, _FUNCTION)):
            with translated("GetFunctionConcurrency"):
                found = self.functions.get_function_concurrency(FunctionName=name)
            total += found.get("ReservedConcurrentExecutions", 0)
        return total

    def queues_of(self, stacks: Iterable[str]) -> set[str]:
        """Return the names of the SQS queues that some stacks have by now."""
        urls = (each for stack in stacks for each in self._resources_of(stack, _QUEUE))
        return {url.rpartition("/")[2] for url in urls}

    def owner_of_queue(self, name: str) -> str | None:
        """Return the stack that an SQS queue belongs to; empty: none; None: there is no queue."""
        found = _unless(MISSING, "GetQueueUrl", lambda: self.sqs.get_queue_url(QueueName=name))
        if found is None:
            return None
        url = found["QueueUrl"]
        owner = _unless(
            NO_STACK,
            "DescribeStackResources",
            lambda: self.stacks.describe_stack_resources(PhysicalResourceId=url),
        )
        resources = () if owner is None else owner["StackResources"]
        return next((each["StackName"] for each in resources), "")

    def _resources_of(self, stack: str, kind: str) -> Iterator[str]:
        """Yield the names of a stack's resources of a type; none, where it is not deployed yet.

        A deployment that failed leaves resources that were never made, or are deleted again.
        """
        cursor = ""
        while True:
            page = self._resources(stack, cursor)
            if page is None:
                return
            for each in page["StackResourceSummaries"]:
                name, is_gone = each.get("PhysicalResourceId"), each["ResourceStatus"] == _GONE
                if each["ResourceType"] == kind and name and not is_gone:
                    yield name
            cursor = page.get("NextToken", "")
            if not cursor:
                return

    def _resources(self, stack: str, cursor: str) -> ListStackResourcesOutputTypeDef | None:
        """Return a page of a stack's resources; None, where it is not deployed yet."""
        more: dict[str, str] = {"NextToken": cursor} if cursor else {}
        list_page = self.stacks.list_stack_resources
        return _unless(NO_STACK, "ListStackResources", lambda: list_page(StackName=stack, **more))


def _unless(codes: Collection[str], operation: str, call: Callable[[], A]) -> A | None:
    """Return the answer of a call; None, where AWS refused it with one of these codes.

    :raises BackendError: it failed otherwise.
    """
    with translated(operation):
        try:
            return call()
        except refusals() as problem:
            if error_code(problem) in codes:
                return None
            raise
