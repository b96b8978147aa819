"""What AWS is asked about a deployment, and what is made of its answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from ojs_aws.adapters.evidence import Clients, Evidence, Metric

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
