"""What AWS is asked about a deployment, and what is made of its answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from ojs_aws.adapters.evidence import Clients, Evidence, Metric
from ojs_aws.domain.errors import BackendError

QUEUE_METRIC = Metric(namespace="OJS", name="Age", dimensions={"service": "tick", "queue": "a"})


class Scripted:
    """A client that answers each operation as a test says, and keeps the requests."""

    def __init__(self, **answers: Any) -> None:
        self.answers, self.asked = answers, list[tuple[str, dict[str, Any]]]()

    def __getattr__(self, operation: str) -> Any:
        def call(**request: Any) -> Any:
            self.asked.append((operation, request))
            answer = self.answers[operation]
            found = answer.pop(0) if isinstance(answer, list) else answer
            if isinstance(found, Exception):
                raise found
            return found

        return call


def paged(member: str, token: str, *pages: list[Any]) -> list[Any]:
    """Answers, each but the last one with a token for the next."""
    last = len(pages) - 1
    return [
        {member: page, **({} if at == last else {token: f"p{at + 1}"})}
        for at, page in enumerate(pages)
    ]


def evidence(**clients: Any) -> Evidence:
    """Evidence that asks these clients."""
    names = Clients.__dataclass_fields__
    given = {name: clients.get(name, SimpleNamespace()) for name in names}
    return Evidence(cast("Any", Clients)(**given), lambda _: None)


def pairs(metric: Metric) -> list[dict[str, str]]:
    return [{"Name": key, "Value": value} for key, value in metric.dimensions.items()]


def test_drift_is_waited_for_and_named() -> None:
    cloud = Scripted(
        detect_stack_drift={"StackDriftDetectionId": "1"},
        describe_stack_drift_detection_status=[
            {"DetectionStatus": "DETECTION_IN_PROGRESS"},
            {"DetectionStatus": "DETECTION_COMPLETE"},
        ],
        describe_stack_resource_drifts={"StackResourceDrifts": [{"LogicalResourceId": "Tick"}]},
    )
    assert evidence(cloudformation=cloud).drifted("Ojs") == ["Tick"]


def test_a_failed_detection_does_not_say_that_nothing_drifted() -> None:
    cloud = Scripted(
        detect_stack_drift={"StackDriftDetectionId": "1"},
        describe_stack_drift_detection_status=[
            {"DetectionStatus": "DETECTION_FAILED", "DetectionStatusReason": "access denied"}
        ],
        describe_stack_resource_drifts={"StackResourceDrifts": []},
    )
    with pytest.raises(BackendError, match="access denied"):
        evidence(cloudformation=cloud).drifted("Ojs")


@pytest.mark.parametrize(
    ("dimensions", "is_there"),
    [({"service": "tick", "queue": "a"}, True), ({"service": "tick"}, False)],
)
def test_a_metric_is_found_by_exactly_its_dimensions(
    dimensions: dict[str, str], is_there: bool
) -> None:
    """CloudWatch also lists those that have more dimensions than were asked for."""
    watch = Scripted(list_metrics={"Metrics": [{"Dimensions": pairs(QUEUE_METRIC)}]})
    asked = Metric(namespace="OJS", name="Age", dimensions=dimensions)
    assert evidence(cloudwatch=watch).is_published(asked) is is_there


def test_the_metrics_of_alarms_are_read_a_hundred_at_a_time() -> None:
    described = {
        "MetricAlarms": [
            {
                "Namespace": "OJS",
                "MetricName": "Age",
                "Dimensions": pairs(QUEUE_METRIC),
                "AlarmName": "Old",
            }
        ]
    }
    watch = Scripted(describe_alarms=[described, described])
    found = evidence(cloudwatch=watch).watched([f"a{number}" for number in range(101)])
    assert [each.dimensions for each in found] == [QUEUE_METRIC.dimensions] * 2
    assert [len(request["AlarmNames"]) for _, request in watch.asked] == [100, 1]


def test_the_minutes_of_a_metric_are_added_up() -> None:
    watch = Scripted(get_metric_statistics={"Datapoints": [{"Sum": 2.0}, {"Sum": 3.0}]})
    assert evidence(cloudwatch=watch).total(QUEUE_METRIC, 0.0, 120.0) == 5.0
    [(_, request)] = watch.asked
    assert (request["Period"], request["Dimensions"]) == (60, pairs(QUEUE_METRIC))


def test_only_what_is_allowed_counts_as_a_right() -> None:
    results = [
        {"EvalActionName": "sqs:SendMessage", "EvalDecision": "allowed"},
        {"EvalActionName": "sqs:DeleteQueue", "EvalDecision": "implicitDeny"},
    ]
    iam = Scripted(simulate_principal_policy={"EvaluationResults": results})
    found = evidence(iam=iam).allowed("role", ["sqs:SendMessage", "sqs:DeleteQueue"], "queue")
    assert found == {"sqs:SendMessage"}


def test_a_partition_is_named_where_conditions_ask_for_it() -> None:
    """A condition about all partitions of a request that names none would be true."""
    iam = Scripted(simulate_principal_policy={"EvaluationResults": []})
    evidence(iam=iam).allowed("role", ["dynamodb:DeleteItem"], "table", "job#a")
    [(_, request)] = iam.asked
    [named] = request["ContextEntries"]
    assert (named["ContextKeyName"], named["ContextKeyValues"]) == (
        "dynamodb:LeadingKeys",
        ["job#a"],
    )


def test_closed_shards_of_a_stream_do_not_count() -> None:
    ends = {"StartingSequenceNumber": "1", "EndingSequenceNumber": "2"}
    shards = [{"SequenceNumberRange": ends}, {"SequenceNumberRange": {}}]
    dynamodb = Scripted(describe_table={"Table": {"LatestStreamArn": "arn"}})
    streams = Scripted(describe_stream={"StreamDescription": {"Shards": shards}})
    assert evidence(dynamodb=dynamodb, streams=streams).shards("jobs") == 1


def test_a_refusal_of_plain_http_is_what_is_wanted() -> None:
    """Any other error is no proof."""
    refused = ClientError({"Error": {"Code": "AccessDenied"}}, "Any")
    sqs = Scripted(get_queue_attributes=refused)
    open_s3 = Scripted(list_objects_v2={})
    assert evidence(plain_sqs=sqs, plain_s3=open_s3).takes_plain_http("q", "b") == ["S3"]
    other = Scripted(get_queue_attributes=ClientError({"Error": {"Code": "Gone"}}, "Any"))
    with pytest.raises(ClientError):
        evidence(plain_sqs=other, plain_s3=open_s3).takes_plain_http("q", "b")


def test_a_bill_adds_up_the_days_of_each_usage() -> None:
    def day(**dollars: str) -> dict[str, Any]:
        return {
            "Groups": [
                {"Keys": [name], "Metrics": {"UnblendedCost": {"Amount": amount}}}
                for name, amount in dollars.items()
            ]
        }

    days = {"ResultsByTime": [day(Requests="0.5"), day(Requests="0.25", Units="1")]}
    costs = Scripted(get_cost_and_usage=days)
    found = evidence(costs=costs).billed("ojs-aws:verify", "1", "2026-11-01", "2026-11-03")
    assert found == [("Requests", 0.75), ("Units", 1.0)]
    [(_, request)] = costs.asked
    assert request["Filter"]["Tags"] == {"Key": "ojs-aws:verify", "Values": ["1"]}


USAGE = {"Keys": ["Requests"], "Metrics": {"UnblendedCost": {"Amount": "0.5"}}}
OPEN_SHARD: dict[str, Any] = {"SequenceNumberRange": {}}


def test_what_aws_lists_on_several_pages_is_read_to_the_end() -> None:
    """A proof that stops at the first page calls what is on the second one absent."""
    cloud = Scripted(
        detect_stack_drift={"StackDriftDetectionId": "1"},
        describe_stack_drift_detection_status={"DetectionStatus": "DETECTION_COMPLETE"},
        describe_stack_resource_drifts=paged(
            "StackResourceDrifts", "NextToken", [], [{"LogicalResourceId": "Tick"}]
        ),
    )
    watch = Scripted(
        list_metrics=paged("Metrics", "NextToken", [], [{"Dimensions": pairs(QUEUE_METRIC)}])
    )
    allowed = {"EvalActionName": "sqs:SendMessage", "EvalDecision": "allowed"}
    iam = Scripted(simulate_principal_policy=paged("EvaluationResults", "Marker", [], [allowed]))
    pages = paged("Shards", "LastEvaluatedShardId", [OPEN_SHARD], [OPEN_SHARD])
    streams = Scripted(describe_stream=[{"StreamDescription": page} for page in pages])
    functions = Scripted(
        list_event_source_mappings=paged(
            "EventSourceMappings", "NextMarker", [{"State": "Enabled"}], [{"State": "Disabled"}]
        )
    )
    costs = Scripted(
        get_cost_and_usage=paged(
            "ResultsByTime", "NextPageToken", [{"Groups": [USAGE]}], [{"Groups": [USAGE]}]
        )
    )
    dynamodb = Scripted(describe_table={"Table": {"LatestStreamArn": "arn"}})
    asks = evidence(
        cloudformation=cloud,
        cloudwatch=watch,
        iam=iam,
        streams=streams,
        functions=functions,
        costs=costs,
        dynamodb=dynamodb,
    )
    assert asks.drifted("Ojs") == ["Tick"]
    assert asks.is_published(QUEUE_METRIC)
    assert asks.allowed("role", ["sqs:SendMessage"], "queue") == {"sqs:SendMessage"}
    assert asks.shards("jobs") == 2
    assert asks.triggers("worker") == ["Enabled", "Disabled"]
    assert asks.billed("tag", "1", "2026-11-01", "2026-11-03") == [("Requests", 1.0)]
    last = {
        operation: request
        for client in (cloud, watch, iam, streams, functions, costs)
        for operation, request in client.asked
    }
    begins = (
        "NextToken",
        "NextToken",
        "Marker",
        "ExclusiveStartShardId",
        "Marker",
        "NextPageToken",
    )
    found = [each for name, each in last.items() if "detect" not in name]
    assert [each[name] for each, name in zip(found, begins, strict=True)] == ["p1"] * 6


def test_log_groups_that_are_left_are_found_on_all_pages() -> None:
    class NoPages:
        def get_paginator(self, _: str) -> Any:
            return SimpleNamespace(paginate=lambda **_: [])

    logs = Scripted(
        describe_log_groups=paged("logGroups", "nextToken", [], [{"logGroupName": "Ojs-tick"}])
    )
    s3 = Scripted(list_buckets={})
    asks = evidence(logs=logs, s3=s3, dynamodb=NoPages(), sqs=NoPages())
    assert [*asks.left("Ojs", "ojs-")] == [("log group", "Ojs-tick")]
    assert logs.asked[-1][1]["nextToken"] == "p1"
