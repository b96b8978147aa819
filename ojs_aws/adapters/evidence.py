"""Reads of an account what proves that a deployment works there; beside that, few small changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from ojs_aws.adapters.aws_errors import error_code, refusals
from ojs_aws.adapters.errors import translated
from ojs_aws.adapters.pages import listed
from ojs_aws.domain.errors import BackendError
from ojs_aws.topology import DOCUMENT_PREFIX

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import TagTypeDef
    from mypy_boto3_sqs import SQSClient

POLL_S: Final = 2.0
_NAMED: Final = 100
"""Alarms that one call describes at most."""
_MINUTE: Final = 60
FAILING_PAYLOAD: Final = b"1"
"""An event that no function of the backend can read, so that its invocation fails."""


class Reading(Protocol):
    """Declares what is asked of CloudWatch, IAM, CloudWatch Logs and Cost Explorer."""

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        """Return the call of an operation, by botocore's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """Names a metric of CloudWatch exactly.

    :ivar watched_by: the alarm that watches it; empty: none.
    """

    namespace: str
    name: str
    dimensions: Mapping[str, str]
    watched_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """Holds the clients of the services that are asked.

    :ivar plain_sqs: of the service's endpoint without TLS; likewise ``plain_s3``.
    """

    cloudformation: CloudFormationClient
    cloudwatch: Reading
    costs: Reading
    dynamodb: DynamoDBClient
    functions: LambdaClient
    iam: Reading
    logs: Reading
    plain_s3: S3Client
    plain_sqs: SQSClient
    s3: S3Client
    sqs: SQSClient
    streams: DynamoDBStreamsClient


@dataclass(frozen=True, slots=True)
class Evidence:
    """Asks AWS with the credentials of whoever runs it.

    :ivar sleep: waits for so many seconds.
    """

    clients: Clients
    sleep: Callable[[float], None]

    def drifted(self, stack: str) -> list[str]:
        """Return what is not as a stack's template says; an error where that is unknown."""
        cloud = self.clients.cloudformation
        with translated("DetectStackDrift"):
            begun = cloud.detect_stack_drift(StackName=stack)["StackDriftDetectionId"]
            while True:
                found = cloud.describe_stack_drift_detection_status(StackDriftDetectionId=begun)
                if found["DetectionStatus"] != "DETECTION_IN_PROGRESS":
                    break
                self.sleep(POLL_S)
            if found["DetectionStatus"] != "DETECTION_COMPLETE":
                raise BackendError(f"Drift is unknown: {found.get('DetectionStatusReason')}")
            only: Any = {"StackResourceDriftStatusFilters": ["DELETED", "MODIFIED"]}
            ask = cloud.describe_stack_resource_drifts
            drifts = listed(ask, "StackResourceDrifts", "NextToken", StackName=stack, **only)
            return [each["LogicalResourceId"] for each in drifts]

    def watched(self, alarms: Sequence[str]) -> list[Metric]:
        """Return the metric of each alarm."""
        found = []
        for at in range(0, len(alarms), _NAMED):
            with translated("DescribeAlarms"):
                answer = self.clients.cloudwatch.describe_alarms(
                    AlarmNames=[*alarms[at : at + _NAMED]], MaxRecords=_NAMED
                )
            found += [
                Metric(
                    namespace=each["Namespace"],
                    name=each["MetricName"],
                    dimensions={one["Name"]: one["Value"] for one in each["Dimensions"]},
                    watched_by=each["AlarmName"],
                )
                for each in answer["MetricAlarms"]
            ]
        return found

    def is_published(self, metric: Metric) -> bool:
        """Return whether there is a metric with exactly this name and these dimensions."""
        dimensions = [{"Name": key, "Value": value} for key, value in metric.dimensions.items()]
        names = {"Namespace": metric.namespace, "MetricName": metric.name}
        ask = self.clients.cloudwatch.list_metrics
        with translated("ListMetrics"):
            return any(
                {one["Name"]: one["Value"] for one in each["Dimensions"]} == metric.dimensions
                for each in listed(ask, "Metrics", "NextToken", Dimensions=dimensions, **names)
            )

    def total(self, metric: Metric, since: float, until: float) -> float:
        """Return the sum of a metric between two instants (seconds since 1970); 0 for none."""
        with translated("GetMetricStatistics"):
            answer = self.clients.cloudwatch.get_metric_statistics(
                Namespace=metric.namespace,
                MetricName=metric.name,
                Dimensions=[{"Name": key, "Value": it} for key, it in metric.dimensions.items()],
                StartTime=datetime.fromtimestamp(since, UTC),
                EndTime=datetime.fromtimestamp(until, UTC),
                Period=_MINUTE,
                Statistics=["Sum"],
            )
        return float(sum(each["Sum"] for each in answer["Datapoints"]))

    def role(self, function: str) -> str:
        """Return the ARN of a function's role."""
        return str(self.settings(function)["Role"])

    def settings(self, function: str) -> Mapping[str, Any]:
        """Return the configuration of a function."""
        with translated("GetFunctionConfiguration"):
            return self.clients.functions.get_function_configuration(FunctionName=function)

    def allowed(
        self, role: str, actions: Sequence[str], resource: str, partition: str = ""
    ) -> frozenset[str]:
        """Return which of the actions a role may do on a resource.

        :param partition: of a table; IAM takes a condition about all partitions for true where
            none is named.
        """
        named = {"ContextKeyName": "dynamodb:LeadingKeys", "ContextKeyType": "stringList"}
        with translated("SimulatePrincipalPolicy"):
            results = listed(
                self.clients.iam.simulate_principal_policy,
                "EvaluationResults",
                "Marker",
                PolicySourceArn=role,
                ActionNames=[*actions],
                ResourceArns=[resource],
                ContextEntries=[{**named, "ContextKeyValues": [partition]}] if partition else [],
            )
            return frozenset(
                each["EvalActionName"] for each in results if each["EvalDecision"] == "allowed"
            )

    def table_arn(self, table: str) -> str:
        """Return the ARN of a table."""
        with translated("DescribeTable"):
            return self.clients.dynamodb.describe_table(TableName=table)["Table"]["TableArn"]

    def shards(self, table: str) -> int:
        """Return the number of open shards of a table's stream."""
        with translated("DescribeStream"):
            described = self.clients.dynamodb.describe_table(TableName=table)["Table"]
            shards = listed(
                lambda **of: self.clients.streams.describe_stream(**of)["StreamDescription"],
                "Shards",
                "ExclusiveStartShardId",
                "LastEvaluatedShardId",
                StreamArn=described["LatestStreamArn"],
            )
            return sum("EndingSequenceNumber" not in each["SequenceNumberRange"] for each in shards)

    def lose_documents(self, bucket: str, job_id: str) -> int:
        """Delete the documents of a job from the bucket; return how many there were."""
        with translated("DeleteObjects"):
            pages = self.clients.s3.get_paginator("list_objects_v2").paginate(
                Bucket=bucket, Prefix=DOCUMENT_PREFIX
            )
            keys = [
                each["Key"]
                for page in pages
                for each in page.get("Contents", ())
                if job_id in each["Key"]
            ]
            for key in keys:
                self.clients.s3.delete_object(Bucket=bucket, Key=key)
        return len(keys)

    def triggers(self, function: str) -> list[str]:
        """Return the states of a function's event source mappings."""
        with translated("ListEventSourceMappings"):
            ask, of = self.clients.functions.list_event_source_mappings, {"FunctionName": function}
            found = listed(ask, "EventSourceMappings", "Marker", "NextMarker", **of)
            return [each.get("State", "") for each in found]

    def tries_again(self, function: str) -> int:
        """Return how often Lambda repeats a failed asynchronous invocation."""
        with translated("GetFunctionEventInvokeConfig"):
            found = self.clients.functions.get_function_event_invoke_config(FunctionName=function)
        return found["MaximumRetryAttempts"]

    def fail_once(self, function: str) -> None:
        """Invoke a function asynchronously so that it fails."""
        with translated("Invoke"):
            self.clients.functions.invoke(
                FunctionName=function, InvocationType="Event", Payload=FAILING_PAYLOAD
            )

    def takes_plain_http(self, queue_url: str, bucket: str) -> list[str]:
        """Return the services that answer a signed request over plain HTTP."""
        found = []
        for name, ask in (
            ("SQS", lambda: self.clients.plain_sqs.get_queue_attributes(QueueUrl=queue_url)),
            ("S3", lambda: self.clients.plain_s3.list_objects_v2(Bucket=bucket, MaxKeys=1)),
        ):
            try:
                ask()
            except refusals() as problem:
                if error_code(problem) not in {"AccessDenied", "AccessDeniedException"}:
                    raise
            else:
                found.append(name)
        return found

    def tag_bucket(self, bucket: str, tags: Mapping[str, str]) -> None:
        """Give a bucket its tags."""
        pairs: list[TagTypeDef] = [{"Key": key, "Value": value} for key, value in tags.items()]
        with translated("PutBucketTagging"):
            self.clients.s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": pairs})

    def left(self, stack: str, prefix: str) -> Iterator[tuple[str, str]]:
        """Yield kind and name of what exists with names of a stack and a prefix of queues."""
        begins = stack.lower()
        with translated("ListTables"):
            for page in self.clients.dynamodb.get_paginator("list_tables").paginate():
                for name in page["TableNames"]:
                    if name.startswith(f"{stack}-"):
                        yield "table", name
        with translated("ListBuckets"):
            for bucket in self.clients.s3.list_buckets().get("Buckets", ()):
                if bucket["Name"].startswith(f"{begins}-"):
                    yield "bucket", bucket["Name"]
        with translated("ListQueues"):
            queues = self.clients.sqs.get_paginator("list_queues")
            for named in queues.paginate(QueueNamePrefix=prefix):
                for url in named.get("QueueUrls", ()):
                    yield "queue", url
        with translated("DescribeLogGroups"):
            ask, of = self.clients.logs.describe_log_groups, {"logGroupNamePrefix": f"{stack}-"}
            for group in listed(ask, "logGroups", "nextToken", **of):
                yield "log group", group["logGroupName"]

    def remove_log_group(self, name: str) -> None:
        """Delete a log group."""
        with translated(f"DeleteLogGroup of {name}"):
            self.clients.logs.delete_log_group(logGroupName=name)

    def billed(self, tag: str, value: str, since: str, until: str) -> list[tuple[str, float]]:
        """Return services and dollars of what has a tag, between two days (``2026-11-27``)."""
        sums: dict[str, float] = {}
        with translated("GetCostAndUsage"):
            days = listed(
                self.clients.costs.get_cost_and_usage,
                "ResultsByTime",
                "NextPageToken",
                TimePeriod={"Start": since, "End": until},
                Granularity="DAILY",
                Metrics=["UnblendedCost"],
                Filter={"Tags": {"Key": tag, "Values": [value]}},
                GroupBy=[{"Type": "DIMENSION", "Key": "USAGE_TYPE"}],
            )
            for group in (each for day in days for each in day["Groups"]):
                [name] = group["Keys"]
                dollars = float(group["Metrics"]["UnblendedCost"]["Amount"])
                sums[name] = sums.get(name, 0.0) + dollars
        return sorted(sums.items())
