"""In what order the resources of a stack are made: what needs a right has it from its beginning."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.infra.conftest import Synthesised
from tests.infra.order import Order
from tests.infra.templates import of_context

CONTEXTS: Final[tuple[dict[str, str], ...]] = (
    {},
    {"removal": "destroy", "export_days": "3", "web_dashboard": "true", "start": "2"},
    {"cors_origins": "https://shop.example", "job_endpoint": "true", "queue_separator": "-"},
)


@pytest.fixture(params=CONTEXTS, ids=str)
def template(request: pytest.FixtureRequest) -> Synthesised:
    """A stack."""
    return of_context(**request.param)


def rights_of(template: Synthesised, function: str) -> set[str]:
    """The logical ids of a function's role and of its policies."""
    resources: dict[str, Any] = dict(template.document["Resources"])
    role = resources[function]["Properties"]["Role"]["Fn::GetAtt"][0]
    policies = {
        name
        for name, each in resources.items()
        if each["Type"] in {"AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"}
        and {"Ref": role} in each["Properties"]["Roles"]
    }
    assert policies, function
    return {role, *policies}


def test_every_stack_can_be_ordered(template: Synthesised) -> None:
    """Without a circle, and without a name that is no resource's."""
    order = Order(template)
    assert all(name not in order.earlier(name) for name in template.document["Resources"])


def test_a_function_is_made_after_the_rights_of_its_role(template: Synthesised) -> None:
    """Its first invocation may come at once; and its last comes before they go."""
    order = Order(template)
    functions = order.of("AWS::Lambda::Function")
    assert functions
    for function in functions:
        assert rights_of(template, function) <= order.earlier(function)


def test_a_trigger_is_made_after_the_rights_that_lambda_checks(template: Synthesised) -> None:
    """Lambda refuses a trigger whose role may not read the queue or stream."""
    order = Order(template)
    functions = {*order.of("AWS::Lambda::Function")}
    triggers = order.of("AWS::Lambda::EventSourceMapping")
    assert triggers
    for trigger in triggers:
        source = template.document["Resources"][trigger]["Properties"]["EventSourceArn"]
        assert source["Fn::GetAtt"][0] in order.earlier(trigger)
        invoked = functions & order.earlier(trigger)
        assert any(rights_of(template, each) <= order.earlier(trigger) for each in invoked)
