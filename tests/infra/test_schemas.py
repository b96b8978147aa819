"""The templates are what CloudFormation takes: judged by AWS's schemas of each resource.

No emulator refuses a property that AWS would; these schemas (cfn-lint's) do.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from aws_cdk import App, Stack
from aws_cdk.assertions import Template

from ojs_aws.cdk.published_template import rendered
from tests.infra.conftest import NO_BUNDLING, Synthesised
from tests.infra.variants import VARIANTS, stack_as_deployed

REPEATED_DEPENDENCY = "W3005"  # the CDK writes DependsOn beside references; both are true
REGIONS = ["us-east-1"]
ROUTES_OF_AN_API = 300  # AWS's quota, until it is raised


def findings(template: str) -> list[str]:
    """What is wrong with a template, and where."""
    from cfnlint.api import ManualArgs, lint  # three seconds: only for who runs these tests

    config = ManualArgs(regions=REGIONS, ignore_checks=[REPEATED_DEPENDENCY])
    return [f"{each.rule.id} {each.path}: {each.message}" for each in lint(template, config=config)]


@pytest.mark.parametrize(
    "make",
    [
        each if each is stack_as_deployed else pytest.param(each, marks=pytest.mark.slow)
        for each in VARIANTS
    ],
)
def test_cloudformation_takes_the_template(make: Callable[[App], Stack]) -> None:
    """Types, limits, combinations of properties, references: of each resource."""
    template = Template.from_stack(make(App(context=NO_BUNDLING))).to_json()
    assert findings(json.dumps(template)) == []


@pytest.mark.slow
def test_cloudformation_takes_the_published_template() -> None:
    """With a Lambda worker. CloudFormation ignores a dependency whose condition is false."""
    template = json.dumps(rendered(["default", "email"], worker=True))
    assert [each for each in findings(template) if not each.startswith("E3005 ")] == []


def test_what_aws_would_refuse_is_found() -> None:
    """A check that finds nothing proves nothing: a timeout that Lambda does not allow is found."""
    stack = {
        "Type": "AWS::Lambda::EventSourceMapping",
        "Properties": {"FunctionName": "jobs", "BatchSize": 20_000},
    }
    (found,) = findings(json.dumps({"Resources": {"Mapping": stack}}))
    assert "BatchSize" in found


def test_the_api_stays_within_the_quota_of_routes(stack: Synthesised) -> None:
    """An account allows so many routes of an API, and a deployment is one API."""
    assert len(stack.of("AWS::ApiGatewayV2::Route")) < ROUTES_OF_AN_API
