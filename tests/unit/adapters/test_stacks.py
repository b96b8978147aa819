"""What a change set says of a resource is shown as what happens to it."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.adapters.stacks import Change, _change


def detail(evaluation: str, recreation: str) -> dict[str, Any]:
    return {"Evaluation": evaluation, "Target": {"RequiresRecreation": recreation}}


@pytest.mark.parametrize(
    ("action", "replacement", "details", "expected"),
    [
        ("Add", "", [], "Add"),
        ("Remove", "", [], "Remove"),
        ("Modify", "False", [], "Modify"),
        ("Modify", "True", [], "Replace"),
        ("Modify", "Conditional", [detail("Dynamic", "Always")], "Modify"),
        ("Modify", "Conditional", [detail("Static", "Never")], "Modify"),
        ("Modify", "Conditional", [detail("Static", "Conditionally")], "MayReplace"),
    ],
)
def test_a_resource_may_be_replaced_only_by_a_change_of_its_own(
    action: str, replacement: str, details: list[dict[str, Any]], expected: str
) -> None:
    """A function that changes keeps its ARN, and so does what refers to it."""
    said = {
        "Action": action,
        "Replacement": replacement,
        "Details": details,
        "ResourceType": "AWS::SQS::Queue",
        "LogicalResourceId": "Q",
    }
    assert _change(said) == Change(expected, "AWS::SQS::Queue", "Q")
