"""The example of an event consumer can be deployed as it stands."""

from __future__ import annotations

from aws_cdk import App, Stack
from aws_cdk.assertions import Template

from examples.events.stack import GoneJobs
from ojs_aws.cdk import JobBackend
from tests.infra.conftest import NO_BUNDLING, Synthesised


def synthesised() -> Synthesised:
    """A stack with a backend and the consumer."""
    stack = Stack(App(context=NO_BUNDLING), "Mine")
    GoneJobs(stack, "GoneJobs", JobBackend(stack, "Jobs").event_bus)
    return Synthesised(Template.from_stack(stack).to_json())


def test_the_rule_sends_existing_events_of_the_bus_to_the_queue() -> None:
    """Source and detail types are those that the bus is given."""
    from ojs_aws.adapters.events import SOURCE
    from ojs_aws.domain.events import REQUIRED_DATA

    template = synthesised()
    (rule,) = [each for each in template.of("AWS::Events::Rule") if "EventPattern" in each]
    pattern = rule["EventPattern"]
    assert pattern["source"] == [SOURCE]
    assert set(pattern["detail-type"]) <= set(REQUIRED_DATA)
    (bus,) = template.of("AWS::Events::EventBus")
    assert rule["EventBusName"] == {"Ref": template.logical_id("AWS::Events::EventBus", bus)}
    (target,) = rule["Targets"]
    assert "DeadLetterConfig" in target


def test_the_function_answers_for_each_message_and_finds_its_table() -> None:
    """A failing message does not repeat the others of its batch."""
    template = synthesised()
    (trigger,) = template.triggers("consumer.handler")
    assert trigger["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    function = template.function("consumer.handler")
    assert set(function["Environment"]["Variables"]) == {"SEEN_TABLE"}
    (queue,) = [q for q in template.of("AWS::SQS::Queue") if q.get("VisibilityTimeout") == 180]
    assert queue["VisibilityTimeout"] >= 6 * function["Timeout"]
