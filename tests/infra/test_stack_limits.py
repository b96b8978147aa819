"""AWS's limits of a stack and its parts, which neither the CDK nor an emulator knows of."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from aws_cdk import App, Aws, Stack
from aws_cdk.assertions import Template

from infra.stack import OjsStack, OjsStackProps
from ojs_aws.cdk import (
    ExportOptions,
    JobBackend,
    JobBackendProps,
    LambdaWorkerFunction,
    LambdaWorkerFunctionProps,
    SnapStart,
)
from ojs_aws.cdk.bundle import Target, backend_bundle
from ojs_aws.cdk.ojs_function import OjsFunction, OjsFunctionProps
from tests.infra.conftest import NO_BUNDLING, Synthesised
from tests.infra.templates import of_context

MANY: tuple[str, ...] = tuple(f"customer-{number:04}" for number in range(200))
LATER: tuple[str, ...] = tuple(f"later-{number:04}" for number in range(40))
MAX_RESOURCES = 500
WORKER_RESOURCES = 5
SPARE = 50
"""Resources of a stack that docs/deploy.md leaves for workers, alarms, and what comes later."""
ROUTES_AT_A_TIME = 10
"""API Gateway takes ten requests a second that change an account's APIs, and forty at once."""
MAX_INLINE_POLICIES = 10_240
MAX_MANAGED_POLICY = 6_144
REFERENCE = re.compile(r'\{"(Ref":"[^"]+"|Fn::GetAtt":\[[^]]+\])\}')
ARN = "a" * 125
"""What a reference becomes: as long as the ARN of a queue can be."""


def written(value: Any) -> int:
    """How long a policy is when its references are ARNs; IAM does not count white space."""
    return len(REFERENCE.sub(ARN, json.dumps(value, separators=(",", ":"))))


def inline_policies(template: Synthesised) -> dict[str, int]:
    """How long the inline policies of each role are."""
    found: dict[str, int] = {}
    for policy in template.of("AWS::IAM::Policy"):
        for role in policy["Roles"]:
            found[str(role)] = found.get(str(role), 0) + written(policy["PolicyDocument"])
    return found


def test_two_hundred_declared_queues_fit_into_a_stack() -> None:
    """With all the defaults; CloudFormation takes 500 resources and a megabyte."""
    stack = OjsStack(App(context=NO_BUNDLING), "Ojs", OjsStackProps(queues=MANY))
    document = Template.from_stack(stack).to_json()
    assert len(document["Resources"]) < MAX_RESOURCES
    assert len(json.dumps(document)) < 1_000_000
    template = Synthesised(document)
    assert max(inline_policies(template).values()) < MAX_INLINE_POLICIES
    names = {queue.get("QueueName") for queue in template.of("AWS::SQS::Queue")}
    assert {f"ojs__{name}" for name in MANY} <= names


def test_a_hundred_queues_fit_with_everything_that_can_be_chosen() -> None:
    """As docs/deploy.md says: whatever adds resources, but for alarms and workers of queues."""
    stack = OjsStack(
        App(context=NO_BUNDLING),
        "Ojs",
        OjsStackProps(
            queues=MANY[:100],
            cors_origins=["https://shop.example"],
            has_web_dashboard=True,
            has_dashboard=True,
            export=ExportOptions(documents=True),
            start=SnapStart(),
            job_endpoint=True,
            alarm_email="ops@example.com",
            tracing=True,
        ),
    )
    resources = Template.from_stack(stack).to_json()["Resources"]
    assert len(resources) + SPARE <= MAX_RESOURCES


def test_too_many_queues_are_refused_with_advice() -> None:
    """At synthesis: CloudFormation would refuse the deployment with a number alone."""
    props = OjsStackProps(queues=[*MANY, *LATER], cors_origins=["https://shop.example"])
    stack = OjsStack(App(context=NO_BUNDLING), "Ojs", props)
    with pytest.raises(RuntimeError) as refused:
        Template.from_stack(stack)
    said = str(refused.value)
    assert re.search(r"The stack Ojs has 5\d\d resources, and CloudFormation takes 500", said)
    assert "created on their first use" in said


def test_workers_in_a_stack_of_their_own_leave_room_for_queues() -> None:
    """As the advice says; each worker has five resources."""
    sizes = []
    for has_own_stack in (False, True):
        app = App(context=NO_BUNDLING)
        stack = Stack(app, "Jobs")
        backend = JobBackend(stack, "Jobs", JobBackendProps(queues=["a"]))
        props = LambdaWorkerFunctionProps(backend=backend, handler="jobs.handler", queues=["a"])
        LambdaWorkerFunction(Stack(app, "Workers") if has_own_stack else stack, "Worker", props)
        sizes.append(len(Template.from_stack(stack).to_json()["Resources"]))
    assert sizes[0] - sizes[1] == WORKER_RESOURCES


def test_two_hundred_queues_by_name_fit_into_the_policies_of_a_role() -> None:
    """Where undeclared queues are not allowed, and a worker serves many queues."""
    scope = Stack(App(context=NO_BUNDLING), "S")
    backend = JobBackend(scope, "Jobs", JobBackendProps(queues=MANY, allow_undeclared_queues=False))
    props = LambdaWorkerFunctionProps(backend=backend, handler="jobs.handler", queues=MANY[:60])
    LambdaWorkerFunction(scope, "Worker", props)
    template = Synthesised(Template.from_stack(scope).to_json())
    assert len(template.document["Resources"]) <= MAX_RESOURCES
    assert max(inline_policies(template).values()) < MAX_INLINE_POLICIES
    managed = template.of("AWS::IAM::ManagedPolicy")
    assert managed
    assert max(written(each["PolicyDocument"]) for each in managed) < MAX_MANAGED_POLICY


def test_the_rights_of_a_pause_do_not_grow_with_the_workers() -> None:
    """A policy for each worker was too much for a role after some forty of them."""
    sizes = []
    for count in (1, 4):
        scope = Stack(App(context=NO_BUNDLING), "S")
        backend = JobBackend(scope, "Jobs", JobBackendProps(queues=["a"]))
        for number in range(count):
            props = LambdaWorkerFunctionProps(backend=backend, handler=f"w{number}.h", queues=["a"])
            LambdaWorkerFunction(scope, f"Worker{number}", props)
        template = Synthesised(Template.from_stack(scope).to_json())
        roles = {
            str(
                {
                    "Ref": template.function(f"functions.{name}.handler.handler")["Role"][
                        "Fn::GetAtt"
                    ][0]
                }
            )
            for name in ("operator", "tick")
        }
        found = inline_policies(template)
        sizes.append({role: found[role] for role in roles})
    assert sizes[0] == sizes[1]


def test_an_environment_that_is_too_large_is_refused() -> None:
    """Lambda takes 4 KB of variables; the deployment would fail half-way."""
    scope = Stack(App(context=NO_BUNDLING), "S")
    names = [f"a-name-as-long-as-some-companies-make-them-{number:04}" for number in range(100)]
    with pytest.raises(ValueError, match="4 KB"):
        JobBackend(scope, "Jobs", JobBackendProps(queues=names))


def test_a_reference_counts_for_what_the_deployment_makes_of_it() -> None:
    """In the template it is a mark of some twenty characters, and fifty of them are 4 KB."""
    props = OjsFunctionProps(
        handler="jobs.handler",
        bundle=backend_bundle(Target()),
        description="Runs jobs",
        service="jobs",
        environment={f"V{number}": Aws.STACK_ID for number in range(50)},
    )
    with pytest.raises(ValueError, match="4 KB"):
        OjsFunction(Stack(App(context=NO_BUNDLING), "S"), "F", props)


@pytest.mark.parametrize(
    "context", [{}, {"cors_origins": "https://shop.example", "web_dashboard": "true"}], ids=str
)
def test_at_most_ten_routes_are_made_at_a_time(context: dict[str, str]) -> None:
    """CloudFormation makes at once whatever waits for nothing, and removes it as fast."""
    resources = of_context(**context).document["Resources"]
    routes = {
        name: {*each.get("DependsOn", ())}
        for name, each in resources.items()
        if each["Type"] == "AWS::ApiGatewayV2::Route"
    }
    waits_for = {name: earlier & routes.keys() for name, earlier in routes.items()}
    assert all(len(earlier) <= 1 for earlier in waits_for.values())
    awaited = [name for earlier in waits_for.values() for name in earlier]
    assert len(awaited) == len({*awaited})  # so each route is in one row of routes
    assert len(routes) - len(awaited) == ROUTES_AT_A_TIME
