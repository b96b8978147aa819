"""What docs/platform-teams.md says of the stack is so."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any, Final

import pytest
from aws_cdk import App, Stack
from aws_cdk.assertions import Match, Template

from tests.infra.conftest import NO_BUNDLING

PAGE: Final = (Path(__file__).parents[2] / "docs" / "platform-teams.md").read_text("utf-8")
CERTIFICATE: Final = "arn:aws:acm:eu-west-1:123456789012:certificate/1"


def example(name: str, monkeypatch: pytest.MonkeyPatch, **given: Any) -> dict[str, Any]:
    """The names of a block of the page, run without bundling any code."""
    found = re.search(rf"<!-- example: {name} -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    monkeypatch.setattr("aws_cdk.App", functools.partial(App, context=NO_BUNDLING))
    exec(found[1], given)  # noqa: S102 - our own page
    return given


def test_every_role_has_the_boundary_and_no_function_a_vpc(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the first example asks; tags reach the table, too."""
    template = Template.from_stack(example("boundary", monkeypatch)["stack"])
    roles = template.find_resources("AWS::IAM::Role").values()
    assert len(roles) >= 8
    assert all("PermissionsBoundary" in role["Properties"] for role in roles)
    functions = template.find_resources("AWS::Lambda::Function").values()
    assert not [each for each in functions if "VpcConfig" in each["Properties"]]
    assert not template.find_resources("AWS::EC2::VPC")
    (queue, *_) = template.find_resources("AWS::SQS::Queue").values()
    assert {"Key": "cost-center", "Value": "shop"} in queue["Properties"]["Tags"]


def test_a_domain_is_a_mapping_of_the_api(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the manifest names it."""
    with_domain = example("domain", monkeypatch, Stack=Stack)["with_domain"]
    stack = Stack(App(context=NO_BUNDLING), "Jobs")
    with_domain(stack, "jobs.example.com", CERTIFICATE)
    template = Template.from_stack(stack)
    template.has_resource_properties(
        "AWS::ApiGatewayV2::ApiMapping", {"DomainName": Match.any_value()}
    )
    template.has_resource_properties(
        "AWS::Lambda::Function",
        {"Environment": {"Variables": {"OJS_BASE_URL": "https://jobs.example.com"}}},
    )
