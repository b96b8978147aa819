"""A function that delivers jobs to an endpoint is a Lambda worker without code of its own."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from aws_cdk import App, Aws, Stack
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_secretsmanager as secretsmanager

from ojs_aws.cdk import (
    ApiKeys,
    DeliveryFunction,
    DeliveryFunctionProps,
    EndpointTarget,
    Iam,
    JobBackend,
    JobBackendProps,
    OpenAccess,
    Target,
)
from ojs_aws.cdk.bundle import BACKEND_SERVICES, backend_bundle, with_services
from ojs_aws.worker.delivery import delivery_worker
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
    assert of_stack(defined(types="*")).function(HANDLER)
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


def test_the_endpoint_may_be_the_url_of_a_function_of_the_same_stack() -> None:
    """It is known when it is deployed."""
    stack = Stack(App(context=NO_BUNDLING), "S")
    backend = JobBackend(stack, "Jobs", JobBackendProps(queues=["email"]))
    code = lambda_.InlineCode("def handler(*_): ...")
    endpoint = lambda_.Function(
        stack, "Shop", code=code, handler="index.handler", runtime=lambda_.Runtime.PYTHON_3_13
    ).add_function_url(auth_type=lambda_.FunctionUrlAuthType.NONE)
    props = DeliveryFunctionProps(
        backend=backend,
        queues=["email"],
        url=endpoint.url,
        signing_secret=ecs.Secret.from_secrets_manager(secretsmanager.Secret(stack, "Key")),
    )
    DeliveryFunction(stack, "Mail", props)
    variables = of_stack(stack).function(HANDLER)["Environment"]["Variables"]
    assert "FunctionUrl" in str(variables["OJS_DELIVERY"]["Fn::Join"])


def test_endpoints_may_be_registered_below_prefixes_of_the_stack() -> None:
    """The function and the API know them; there is nothing of the events of functions."""
    prefixes = {"shop": ["https://app.example.com/jobs/", "https://b.example.com:8443/"]}
    template = of_stack(defined(url="", bindings=prefixes))
    (function,) = [
        each for each in template.of("AWS::Lambda::Function") if each["Handler"] == HANDLER
    ]
    said = json.loads(function["Environment"]["Variables"]["OJS_DELIVERY"])
    assert said == {"queues": ["email"], "bindings": prefixes, "timeout_s": 30}
    (operator,) = [
        each
        for each in template.of("AWS::Lambda::Function")
        if "OJS_BINDING_TARGETS" in each.get("Environment", {}).get("Variables", {})
    ]
    assert json.loads(operator["Environment"]["Variables"]["OJS_BINDING_TARGETS"]) == {
        "shop": {"queues": ["email"], "types": [], "prefixes": prefixes["shop"]}
    }
    assert '"events/"' not in json.dumps(template.of("AWS::S3::Bucket"))


def test_a_binding_of_endpoints_may_have_a_config() -> None:
    """The function and the API know it; one without is described as before."""
    shop = EndpointTarget(
        prefixes=[URL + "/"], non_retryable_errors=["card.*"], job_timeout_s=5, max_jobs=20
    )
    template = of_stack(defined(url="", bindings={"shop": shop, "crm": [URL + "/crm/"]}))
    variables = [
        each.get("Environment", {}).get("Variables", {})
        for each in template.of("AWS::Lambda::Function")
    ]
    (said,) = [json.loads(each["OJS_DELIVERY"]) for each in variables if "OJS_DELIVERY" in each]
    config = {
        "timeout_ms": 5_000,
        "max_concurrency": 20,
        "retry": {"non_retryable_errors": ["card.*"]},
    }
    assert said["bindings"] == {"shop": [URL + "/"], "crm": [URL + "/crm/"]}
    assert said["configs"] == {"shop": config}
    (targets,) = [
        json.loads(each["OJS_BINDING_TARGETS"])
        for each in variables
        if "OJS_BINDING_TARGETS" in each
    ]
    assert targets["shop"]["config"] == config
    assert "config" not in targets["crm"]
    assert delivery_worker({"OJS_DELIVERY": json.dumps(said)}).queues == ("email",)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"url": "", "bindings": {"shop": EndpointTarget(prefixes=[])}}, "a list of prefixes"),
        (
            {"url": "", "bindings": {"shop": EndpointTarget(prefixes=[URL + "/"], max_jobs=0)}},
            "max_jobs of 'shop' is between",
        ),
        ({"bindings": {"shop": ["https://app.example.com/"]}}, "or bindings"),
        ({"url": "", "bindings": {"shop": ["https://app.example.com"]}}, "A prefix is as"),
        ({"url": "", "bindings": {"shop": ["http://app.example.com/"]}}, "A prefix is as"),
        ({"url": "", "bindings": {"shop": []}}, "a list of prefixes"),
        ({"url": "", "bindings": {"shop": "https://app.example.com/"}}, "a list of prefixes"),
        ({"url": "", "bindings": {"no-name": ["https://app.example.com/"]}}, "letters and digits"),
        ({"url": ""}, "by HTTPS"),
        ({"url": "http://app.example.com/jobs"}, "by HTTPS"),
        ({"url": f"http://{Aws.REGION}.example.com/jobs"}, "by HTTPS"),
        ({"url": "https://"}, "by HTTPS"),
        ({"url": "https://shop:password@app.example.com/jobs"}, "by HTTPS"),
        ({"url": "https://app.example.com/my jobs"}, "by HTTPS"),
        ({"types": "email.send"}, "types is a list"),
        ({"types": []}, "types is a list"),
        ({"endpoint_timeout_s": 0}, "between 1 and 880"),
        ({"endpoint_timeout_s": 881}, "between 1 and 880"),
        ({"queues": ["other"]}, "other"),
    ],
)
def test_what_cannot_work_is_refused_at_synthesis(given: dict[str, Any], problem: str) -> None:
    """Saying what can."""
    with pytest.raises(ValueError, match=problem):
        defined(**given)


# ---------------------------------------------------------------------------- reports later
def reporting(access: Any = None, *, knows_secret: bool = True, within_s: int = 300) -> Stack:
    """A stack whose endpoint may answer 202."""
    stack = Stack(App(context=NO_BUNDLING), "S")
    secret = ecs.Secret.from_secrets_manager(secretsmanager.Secret(stack, "Key"))
    backend = JobBackend(
        stack,
        "Jobs",
        JobBackendProps(
            access=access or ApiKeys(),
            job_endpoint=True,
            report_secrets=[secret] if knows_secret else [],
        ),
    )
    DeliveryFunction(
        stack,
        "Mail",
        DeliveryFunctionProps(
            backend=backend,
            queues=["default"],
            url=URL,
            signing_secret=secret,
            report_within_s=within_s,
        ),
    )
    return stack


def with_secrets(template: Any) -> set[str]:
    """The handlers of the functions that may read a secret."""
    return {
        each["Handler"]
        for each in template.of("AWS::Lambda::Function")
        if "secretsmanager:GetSecretValue" in template.actions(each["Handler"])
    }


def test_an_endpoint_may_report_later_to_an_api_that_knows_the_secret() -> None:
    """Only the functions that find callers read it, beside the one that signs."""
    template = of_stack(reporting())
    callers = {f"functions.{name}.handler.handler" for name in ("authorizer", "job_endpoint")}
    assert with_secrets(template) == {HANDLER, *callers}
    for function in template.of("AWS::Lambda::Function"):
        variables = function.get("Environment", {}).get("Variables", {})
        if function["Handler"] == HANDLER:
            said = str(variables["OJS_DELIVERY"])
            assert '"report_within_s": 300' in said
            assert "execute-api" in said
        if function["Handler"] in callers:
            assert "OJS_SIGNING_SECRET_1" in str(variables["OJS_SECRETS"])
        if function["Handler"] not in {HANDLER, *callers}:
            assert "OJS_SECRETS" not in variables


def test_where_access_is_open_reports_need_no_secret() -> None:
    """The token narrows what everybody may do anyway."""
    template = of_stack(reporting(OpenAccess(), knows_secret=False))
    assert with_secrets(template) == {HANDLER}


def test_without_reports_no_function_reads_a_secret_for_them() -> None:
    """What is not used has no rights, and no variable."""
    template = of_stack(defined())
    assert with_secrets(template) == {HANDLER}
    (function,) = [
        each for each in template.of("AWS::Lambda::Function") if each["Handler"] == HANDLER
    ]
    assert "reports" not in json.loads(function["Environment"]["Variables"]["OJS_DELIVERY"])


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"within_s": 0}, "between 1 and 43200"),
        ({"within_s": 43_201}, "between 1 and 43200"),
        ({"knows_secret": False}, "report_secrets"),
        ({"access": Iam()}, "need access=ApiKeys"),
        ({"access": OpenAccess()}, "need access=ApiKeys"),
        ({"access": Iam(), "knows_secret": False}, "report_secrets"),
    ],
)
def test_reports_that_nobody_would_accept_are_refused(given: dict[str, Any], problem: str) -> None:
    """At synthesis, saying what to change."""
    with pytest.raises(ValueError, match=problem):
        reporting(**given)


@pytest.mark.parametrize("within_s", [1, 43_200])
def test_reports_may_take_from_a_second_to_twelve_hours(within_s: int) -> None:
    """As long as SQS hides a message."""
    reporting(within_s=within_s)


def test_a_bundle_has_the_models_that_its_secrets_need() -> None:
    """And is the backend's own where it needs none."""
    bundle = backend_bundle(Target())
    assert with_services(bundle, ()) == bundle
    assert with_services(bundle, ("sqs",)) == bundle
    more = with_services(bundle, ("ssm", "secretsmanager"))
    assert more.botocore_services is not None
    assert {*more.botocore_services} == {*BACKEND_SERVICES, "secretsmanager", "ssm"}
    everything = replace(bundle, botocore_services=None)
    assert with_services(everything, ("ssm",)) is everything
