"""Queues that were made at their first use, and are declared later."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aws_cdk import App, Stack

from ojs_aws.cdk import (
    JobBackend,
    JobBackendProps,
    LambdaWorkerFunction,
    LambdaWorkerFunctionProps,
)
from tests.infra.conftest import NO_BUNDLING, Synthesised
from tests.infra.templates import of_context, of_stack


def made(**props: Any) -> Synthesised:
    """A stack whose worker serves the queue ``late``, which was made at its first use."""
    scope = Stack(App(context=NO_BUNDLING), "S")
    options: dict[str, Any] = {"queues": ["email", "late"], "adopted_queues": ["late"], **props}
    backend = JobBackend(scope, "Jobs", JobBackendProps(**options))
    worker = LambdaWorkerFunctionProps(backend=backend, handler="jobs.handler", queues=["late"])
    LambdaWorkerFunction(scope, "Worker", worker)
    return of_stack(scope)


def test_an_adopted_queue_is_declared_and_not_made() -> None:
    """CloudFormation refuses a name that exists; all else of a declared queue is there."""
    template = made()
    names = {each.get("QueueName") for each in template.of("AWS::SQS::Queue")}
    assert "ojs__email" in names
    assert "ojs__late" not in names
    variables = template.function("functions.producer.handler.handler")["Environment"]["Variables"]
    assert variables["OJS_QUEUES"] == "email,late"
    (trigger,) = template.triggers("jobs.handler")
    assert "ojs__late" in json.dumps(trigger["EventSourceArn"])
    queues = {
        resource.rpartition(":")[2]
        for actions, resource in template.statements("jobs.handler")
        if "sqs:ReceiveMessage" in actions
    }
    assert queues == {"ojs__late"}


@pytest.mark.parametrize("separator", ["__", "-"])
def test_an_adopted_queue_is_reached_by_tls_only(separator: str) -> None:
    """As those that the stack makes; the policy finds it by its URL."""
    policies = made(queue_separator=separator).of("AWS::SQS::QueuePolicy")
    named = [json.dumps(queue) for policy in policies for queue in policy["Queues"]]
    assert any(f"ojs{separator}late" in each for each in named)


def test_only_declared_queues_are_adopted() -> None:
    """Otherwise it would be a typing error that nobody notices."""
    with pytest.raises(ValueError, match=r"too: lat\.$"):
        made(adopted_queues=["lat"])


def test_the_context_names_adopted_queues() -> None:
    """``cdk deploy -c adopted_queues=...``."""
    template = of_context(queues="default,late", adopted_queues="late")
    names = {each.get("QueueName") for each in template.of("AWS::SQS::Queue")}
    assert "ojs__default" in names
    assert "ojs__late" not in names
