"""Rules of EventBridge lead events to a queue, and that to a function that may enqueue."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
from aws_cdk import App, CfnParameter, Stack

from ojs_aws.cdk import EventJobs, EventJobsProps, EventRule, JobBackend, JobBackendProps
from ojs_aws.cdk.event_jobs import MAX_RECEIVES, TIMEOUT_S, checked_rules
from ojs_aws.cdk.job_queues import VISIBILITY_PER_TIMEOUT
from ojs_aws.config import Settings
from tests.infra.conftest import NO_BUNDLING, Synthesised
from tests.infra.templates import of_stack

PAGE: Final = (Path(__file__).parents[2] / "docs" / "event-jobs.md").read_text("utf-8")
HANDLER = "functions.event_jobs.handler.handler"
RULES = [
    EventRule(source="aws.s3", type="Object Created", job_type="image.resize"),
    EventRule(source="com.shop.*", job_type="order.confirm", queue="orders"),
]


@pytest.fixture(scope="module")
def template() -> Synthesised:
    scope = Stack(App(context=NO_BUNDLING), "S")
    backend = JobBackend(scope, "Jobs", JobBackendProps(queues=["orders"]))
    EventJobs(scope, "Events", EventJobsProps(backend=backend, rules=RULES))
    return of_stack(scope)


def test_each_rule_chooses_its_events_and_sends_them_to_the_queue(template: Synthesised) -> None:
    """What EventBridge cannot deliver is kept as well."""
    rules = [each for each in template.of("AWS::Events::Rule") if "EventPattern" in each]
    assert [each["EventPattern"] for each in rules] == [
        {"detail-type": ["Object Created"], "source": ["aws.s3"]},
        {"source": [{"prefix": "com.shop."}]},
    ]
    (target,) = rules[0]["Targets"]
    assert "DeadLetterConfig" in target


def test_the_function_may_enqueue_and_has_the_rules(template: Synthesised) -> None:
    """It may neither claim nor list jobs."""
    functions = template.of("AWS::Lambda::Function")
    (function,) = [each for each in functions if each["Handler"] == HANDLER]
    rules = json.loads(function["Environment"]["Variables"]["OJS_EVENT_RULES"])
    assert [each["job_type"] for each in rules] == ["image.resize", "order.confirm"]
    actions = template.actions(HANDLER)
    assert {"dynamodb:PutItem", "sqs:SendMessage"} <= actions
    assert not {"dynamodb:Scan", "events:PutEvents", "lambda:InvokeFunction"} & actions


def test_a_message_has_six_timeouts_and_a_dead_letter_queue(template: Synthesised) -> None:
    """It is tried for an hour."""
    (queue,) = [
        each
        for each in template.of("AWS::SQS::Queue")
        if each.get("RedrivePolicy", {}).get("maxReceiveCount") == 20
    ]
    assert queue["VisibilityTimeout"] == 180


@pytest.mark.parametrize(
    ("rules", "what"),
    [
        ([], "at least one rule"),
        ([EventRule(source="ojs.aws", job_type="a.b")], "own_events=True"),
        ([EventRule(source="a", job_type="a.b", subject="s" * 3000)], "a second EventJobs"),
    ],
)
def test_rules_that_cannot_work_are_refused_at_synthesis(rules: list[EventRule], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        checked_rules(rules)


def test_a_rule_may_name_a_queue_that_is_known_when_the_stack_is_deployed() -> None:
    """Such as a parameter of the stack."""
    stack = Stack(App(), "S")
    queue, kind = (CfnParameter(stack, name).value_as_string for name in ("Queue", "Type"))
    rules = checked_rules([EventRule(source="com.shop", job_type=kind, queue=queue)])
    assert queue in rules
    assert kind in rules


def test_the_examples_of_the_page_work() -> None:
    """The stack synthesises, and the test of a rule passes."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, names)  # noqa: S102 - our own page
    names["test_a_paid_order_is_shipped"]()
    template = of_stack(names["Shop"](App(context=NO_BUNDLING), "Shop"))
    assert len([each for each in template.of("AWS::Events::Rule") if "EventPattern" in each]) == 2


def test_the_page_says_how_long_an_event_is_tried_and_known() -> None:
    assert MAX_RECEIVES * VISIBILITY_PER_TIMEOUT * TIMEOUT_S == 3600
    assert "comes again for an hour" in PAGE
    assert Settings().completed_retention_s == 7 * 86_400
    assert "seven days by default" in PAGE
