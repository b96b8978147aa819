"""Functions that messages of their own may invoke, and the alarm for those that Lambda stops."""

from __future__ import annotations

from tests.infra.conftest import Synthesised
from tests.simulation.chains import LOOPS

HANDLERS = {"functions.tick.handler.handler": "tick", "ojs_aws.local.demo.handler": "worker"}


def test_functions_whose_loops_are_intended_may_loop(stack: Synthesised) -> None:
    """Those that the simulation lets loop, and no others."""
    allowed = {
        HANDLERS.get(each["Handler"], each["Handler"])
        for each in stack.of("AWS::Lambda::Function")
        if each.get("RecursiveLoop") == "Allow"
    }
    assert allowed == LOOPS


def test_cron_wake_ups_that_nobody_hears_ring(stack: Synthesised) -> None:
    """They end in a dead-letter queue after some tries, before they are too old."""
    (queue,) = [
        each for each in stack.of("AWS::SQS::Queue") if each.get("QueueName") == "ojs__CRON"
    ]
    redrive = queue["RedrivePolicy"]
    tries = redrive["maxReceiveCount"]
    assert tries * queue["VisibilityTimeout"] < queue["MessageRetentionPeriod"]
    target = redrive["deadLetterTargetArn"]["Fn::GetAtt"][0]
    (alarm,) = [
        each
        for each in stack.of("AWS::CloudWatch::Alarm")
        if {"Name": "QueueName", "Value": {"Fn::GetAtt": [target, "QueueName"]}}
        in each.get("Dimensions", [])
    ]
    assert (alarm["Threshold"], alarm["EvaluationPeriods"]) == (1, 1)
    assert alarm["MetricName"] == "ApproximateNumberOfMessagesVisible"


def test_workers_may_move_what_nobody_can_decode(stack: Synthesised) -> None:
    """To the dead-letter queue of their deployment, also where no pattern allows all its queues.

    They are the API for workers, and Lambda workers.
    """
    (dead,) = [
        stack.logical_id("AWS::SQS::Queue", each)
        for each in stack.of("AWS::SQS::Queue")
        if each.get("QueueName") == "ojs__UNREADABLE"
    ]
    allowed = [
        policy["Roles"][0]["Ref"]
        for policy in stack.of("AWS::IAM::Policy")
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Action"] == "sqs:SendMessage"
        and statement["Resource"] == {"Fn::GetAtt": [dead, "Arn"]}
    ]
    assert len(allowed) == 2
    assert any("WorkerApi" in role for role in allowed)
    assert any("DemoWorker" in role for role in allowed)
