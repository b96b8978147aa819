"""A function that delivers jobs to an endpoint is a Lambda worker without code of its own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_secretsmanager as secretsmanager

from ojs_aws.cdk import DeliveryFunction, DeliveryFunctionProps, JobBackend, JobBackendProps
from tests.infra.conftest import NO_BUNDLING
from tests.infra.templates import of_stack

HANDLER = "ojs_aws.worker.delivery.function.handler"
URL = "https://app.example.com/jobs"


def defined(**given: Any) -> Stack:
    """A stack with a backend and a function that delivers its e-mails."""
    stack = Stack(App(context=NO_BUNDLING), "S")
    backend = JobBackend(stack, "Jobs", JobBackendProps(queues=["email", "media"]))
    secret = ecs.Secret.from_secrets_manager(secretsmanager.Secret(stack, "Key"))
    options: dict[str, Any] = {"queues": ["email"], "url": URL} | given
    DeliveryFunction(
        stack, "Mail", DeliveryFunctionProps(backend=backend, signing_secret=secret, **options)
    )
    return stack


def test_the_function_delivers_what_its_queue_invokes_it_with() -> None:
    """It has the rights of a worker and those to its secret, and the time of its endpoint."""
    template = of_stack(defined(types=["email.*"], endpoint_timeout_s=45, max_concurrency=5))
    (function,) = [
        each for each in template.of("AWS::Lambda::Function") if each["Handler"] == HANDLER
    ]
    variables = function["Environment"]["Variables"]
    assert json.loads(variables["OJS_DELIVERY"]) == {
        "queues": ["email"],
        "url": URL,
        "types": ["email.*"],
        "timeout_s": 45,
    }
    assert "OJS_SIGNING_SECRET" in str(variables["OJS_SECRETS"])
    assert function["Timeout"] == 65
    (trigger,) = [
        each
        for each in template.of("AWS::Lambda::EventSourceMapping")
        if "ScalingConfig" in each and each["ScalingConfig"]["MaximumConcurrency"] == 5
    ]
    assert trigger["BatchSize"] == 10
    assert "secretsmanager:GetSecretValue" in template.actions(HANDLER)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"url": "http://app.example.com/jobs"}, "by HTTPS"),
        ({"endpoint_timeout_s": 0}, "between 1 and 880"),
        ({"endpoint_timeout_s": 881}, "between 1 and 880"),
        ({"queues": ["other"]}, "other"),
    ],
)
def test_what_cannot_work_is_refused_at_synthesis(given: dict[str, Any], problem: str) -> None:
    """Saying what can."""
    with pytest.raises(ValueError, match=problem):
        defined(**given)
