"""Functions that are invoked asynchronously: Lambda itself does not repeat or keep their events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest
from aws_cdk import App, Stack

from tests.infra.conftest import NO_BUNDLING, Synthesised
from tests.infra.templates import of_stack
from tests.infra.variants import VARIANTS

ASYNCHRONOUS: Final = {
    "AWS::Events::Rule": "Targets",
    "AWS::Scheduler::Schedule": "Target",
    "AWS::SNS::Subscription": "Endpoint",
    "AWS::CloudWatch::Alarm": "AlarmActions",
    "Custom::S3BucketNotifications": "NotificationConfiguration",
    "AWS::S3::Bucket": "NotificationConfiguration",
}
"""Resources that invoke functions asynchronously, and which of their properties names them."""


def invoked(stack: Synthesised) -> set[str]:
    """The logical ids of the functions that something invokes asynchronously."""
    functions = {
        name
        for name, resource in stack.document["Resources"].items()
        if resource["Type"] == "AWS::Lambda::Function"
    }
    named: set[str] = set()
    for kind, member in ASYNCHRONOUS.items():
        for resource in stack.of(kind):
            named |= functions & names_in(resource.get(member))
    return named


def names_in(value: Any) -> set[str]:
    """The logical ids that an expression refers to."""
    if isinstance(value, Mapping):
        if "Ref" in value:
            return {str(value["Ref"])}
        if "Fn::GetAtt" in value:
            return {str(value["Fn::GetAtt"][0])}
        return set().union(*map(names_in, value.values()))
    return set().union(*map(names_in, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_asynchronous_invocation_is_repeated_or_kept_for_long(
    variant: Callable[[App], Stack],
) -> None:
    """By default Lambda repeats one that failed twice, and keeps throttled ones for six hours."""
    stack = of_stack(variant(App(context=NO_BUNDLING)))
    settings = {
        each["FunctionName"]["Ref"]: each for each in stack.of("AWS::Lambda::EventInvokeConfig")
    }
    functions = invoked(stack)
    assert functions, "the tick at least"
    for function in functions:
        assert settings[function]["MaximumRetryAttempts"] == 0
        assert settings[function]["MaximumEventAgeInSeconds"] == 60
        assert settings[function]["Qualifier"] == "$LATEST"
