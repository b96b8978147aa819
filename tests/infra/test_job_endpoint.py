"""The URL of senders and workers: who may invoke it, what its role may do, how it is left out."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Annotations, Match

from infra.app import ContextError, make_app
from ojs_aws.cdk import (
    ApiKeys,
    Iam,
    JobBackend,
    JobBackendProps,
    Jwt,
    OpenAccess,
    OwnAuthorizer,
    SnapStart,
)
from ojs_aws.cdk.permissions import (
    JOB_ENDPOINT,
    JOB_ENDPOINT_WITH_KEYS,
    KEYS_DENIED,
    PRODUCER,
    SYSTEM,
    WORKER_API,
    Permissions,
)
from ojs_aws.config import Settings
from tests.infra.conftest import NO_BUNDLING, Synthesised
from tests.infra.templates import of_backend, of_context, of_stack

HANDLER = "functions.job_endpoint.handler.handler"
JWT = Jwt(issuer="https://issuer.example.com", audience=["ojs"])


def has_endpoint(template: Synthesised) -> bool:
    """Whether there is a function, and a URL of it."""
    handlers = {each["Handler"] for each in template.of("AWS::Lambda::Function")}
    assert len(template.of("AWS::Lambda::Url")) == (HANDLER in handlers)
    return HANDLER in handlers


def invokers(template: Synthesised) -> list[dict[str, Any]]:
    """The permissions to invoke the function that are not the gateway's."""
    name = template.logical_id("AWS::Lambda::Function", template.function(HANDLER))
    permissions = template.of("AWS::Lambda::Permission")
    return [each for each in permissions if name in json.dumps(each["FunctionName"])]


@pytest.fixture(scope="module")
def stack() -> Synthesised:
    """The stack of ``cdk deploy -c job_endpoint=true``."""
    return of_context(job_endpoint="true")


def warnings(**props: Any) -> list[str]:
    """What synthesis says about the job endpoint of a backend."""
    scope = Stack(App(context=NO_BUNDLING), "Mine")
    JobBackend(scope, "Jobs", JobBackendProps(**props))
    found = Annotations.from_stack(scope).find_warning("*", Match.string_like_regexp("JobEndpoint"))
    return [str(each.entry.data) for each in found]


def test_by_default_the_gateway_is_the_only_door() -> None:
    """No function has a URL of its own; its alarm and its output are not there, either."""
    usual, asked = of_context(), of_context(job_endpoint="true")
    for without in (usual, of_context(job_endpoint="false"), of_backend()):
        assert not has_endpoint(without)
        assert "JobEndpointUrl" not in without.document.get("Outputs", {})
    more = len(asked.of("AWS::CloudWatch::Alarm")) - len(usual.of("AWS::CloudWatch::Alarm"))
    assert more == 1


def test_who_asks_for_it_gets_a_url_for_senders_and_workers(stack: Synthesised) -> None:
    """The function checks API keys itself; everybody may reach it by its URL, and only by it."""
    (url,) = stack.of("AWS::Lambda::Url")
    assert url["AuthType"] == "NONE"
    assert "Cors" not in url
    assert stack.document["Outputs"]["JobEndpointUrl"]
    by_url, invoking = sorted(invokers(stack), key=lambda each: -len(each["Action"]))
    assert (by_url["Action"], by_url["FunctionUrlAuthType"]) == ("lambda:InvokeFunctionUrl", "NONE")
    assert invoking["Action"] == "lambda:InvokeFunction"
    assert invoking["InvokedViaFunctionUrl"] is True


def test_the_function_knows_how_callers_are_found() -> None:
    """It remembers them as long as the gateway does."""
    variables = of_backend(access=ApiKeys(cache_s=60), job_endpoint=True).function(HANDLER)[
        "Environment"
    ]["Variables"]
    given = {name: variables[name] for name in ("OJS_AUTH", "OJS_AUTH_CACHE_S")}
    settings = Settings.from_env(given)
    assert (settings.auth, settings.auth_cache_s) == ("api-key", 60)


def test_its_role_is_the_union_of_what_the_functions_need() -> None:
    """No more: it serves what the producer's, the workers' and the system's function serve."""

    def united(name: str) -> Any:
        values = [getattr(each, name) for each in (PRODUCER, WORKER_API, SYSTEM)]
        if isinstance(values[0], bool):
            return any(values)
        return frozenset().union(*values)

    for name in Permissions.__dataclass_fields__:
        found = getattr(JOB_ENDPOINT, name)
        assert (frozenset(found) if isinstance(found, tuple) else found) == united(name), name
    assert replace(JOB_ENDPOINT_WITH_KEYS, keys=()) == JOB_ENDPOINT


def test_it_reads_one_api_key_at_a_time_and_writes_none(stack: Synthesised) -> None:
    """Everything but GetItem is denied on their records: no query, no batch, no write."""
    (denied,) = stack.conditional(HANDLER, "Deny")
    assert set(denied["Action"]) == {*KEYS_DENIED} - {"dynamodb:GetItem"}
    leading = {"dynamodb:LeadingKeys": ["apikeys"]}
    assert denied["Condition"] == {"ForAnyValue:StringEquals": leading}


def test_without_api_keys_it_reads_none() -> None:
    """The partition is denied to it as to all others."""
    (denied,) = of_backend(access=OpenAccess(), job_endpoint=True).conditional(HANDLER, "Deny")
    assert set(denied["Action"]) == set(KEYS_DENIED)


def test_by_iam_requests_are_signed_and_principals_granted() -> None:
    """Nobody is allowed in general: who may invoke the URL is granted that."""
    scope = Stack(App(context=NO_BUNDLING), "Mine")
    backend = JobBackend(scope, "Jobs", JobBackendProps(access=Iam(), job_endpoint=True))
    role = iam.Role(scope, "Shop", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"))
    assert backend.job_endpoint is not None
    backend.job_endpoint.grant_invoke(role)
    template = of_stack(scope)
    (url,) = template.of("AWS::Lambda::Url")
    assert url["AuthType"] == "AWS_IAM"
    assert invokers(template) == []
    name = scope.get_logical_id(role.node.default_child)  # type: ignore[arg-type]
    (policy,) = [p for p in template.of("AWS::IAM::Policy") if p["Roles"] == [{"Ref": name}]]
    statements = policy["PolicyDocument"]["Statement"]
    assert {each["Action"] for each in statements} == {
        "lambda:InvokeFunctionUrl",
        "lambda:InvokeFunction",
    }
    assert all(each["Condition"] for each in statements)


@pytest.mark.parametrize("access", [JWT, OwnAuthorizer(authorizer=authorizers.HttpIamAuthorizer())])
def test_where_a_gateway_must_check_callers_there_is_none(access: Any) -> None:
    """Nothing behind the URL could check a token, and an error says so."""
    assert not has_endpoint(of_backend(access=access))
    with pytest.raises(ValueError, match="no gateway"):
        of_backend(access=access, job_endpoint=True)


def test_synthesis_says_once_what_an_upgrade_removes_and_how_to_keep_it() -> None:
    """Versions after 0.1 made the URL unasked: unset, it goes, and who uses it must know before."""
    (warning,) = warnings()
    assert "deletes its URL" in warning
    assert "job_endpoint=true" in warning
    assert warnings(job_endpoint=True) == warnings(job_endpoint=False) == []


@pytest.mark.parametrize("props", [{"access": JWT}, {"rate_limit_per_s": 50}])
def test_where_there_was_no_url_an_upgrade_removes_none(props: dict[str, Any]) -> None:
    """So synthesis is silent."""
    assert warnings(**props) == []


def test_executions_of_a_url_that_there_is_not_are_refused() -> None:
    """Somebody who reserves them relies on the URL."""
    reserved = of_backend(job_endpoint=True, job_endpoint_concurrency=5, rate_limit_per_s=50)
    assert reserved.function(HANDLER)["ReservedConcurrentExecutions"] == 5
    plain = of_backend(job_endpoint=True).function(HANDLER)
    assert "ReservedConcurrentExecutions" not in plain
    for wanted in (None, False):
        with pytest.raises(ValueError, match="job_endpoint=True"):
            of_backend(job_endpoint=wanted, job_endpoint_concurrency=5)


@pytest.mark.parametrize("text", ["perhaps", "auto"])
def test_the_context_switches_it_on_or_off(text: str) -> None:
    """Nothing chooses by itself."""
    with pytest.raises(ContextError, match="job_endpoint"):
        make_app(App(context={**NO_BUNDLING, "job_endpoint": text}))


def in_region(region: str | None, *, job_endpoint: bool) -> Stack:
    """A stack with a backend in a region; None: the region is known only when it is deployed."""
    env = Environment(region=region) if region else None
    scope = Stack(App(context=NO_BUNDLING), "Mine", env=env)
    JobBackend(scope, "Jobs", JobBackendProps(job_endpoint=job_endpoint))
    return scope


@pytest.mark.parametrize("region", ["ap-southeast-5", "eu-south-2", "us-gov-west-1"])
def test_a_region_without_function_urls_is_refused_with_the_way_out(region: str) -> None:
    """CloudFormation would refuse the template with the name of a type."""
    with pytest.raises(ValueError, match=rf"{region}.*job_endpoint=False.*API Gateway"):
        in_region(region, job_endpoint=True)
    in_region(region, job_endpoint=False)


@pytest.mark.parametrize("region", ["eu-central-1", None])
def test_a_region_with_function_urls_or_unknown_is_not_refused(region: str | None) -> None:
    """The preflight checks the region where synthesis does not know it."""
    in_region(region, job_endpoint=True)


def test_pages_of_the_same_origins_may_use_it() -> None:
    """As at the gateway. Lambda answers preflights itself, and knows no OPTIONS in that list."""
    (url,) = of_backend(cors_origins=["https://jobs.example.com"], job_endpoint=True).of(
        "AWS::Lambda::Url"
    )
    cors = url["Cors"]
    assert cors["AllowOrigins"] == ["https://jobs.example.com"]
    assert "OPTIONS" not in cors["AllowMethods"]
    assert "authorization" in cors["AllowHeaders"]
    assert "AllowCredentials" not in cors


def test_its_alarm_watches_the_errors_of_its_url(stack: Synthesised) -> None:
    """Those of the function, and Lambda's own."""
    alarms = stack.of("AWS::CloudWatch::Alarm")
    (alarm,) = [each for each in alarms if each["MetricName"] == "Url5xxCount"]
    name = stack.logical_id("AWS::Lambda::Function", stack.function(HANDLER))
    assert alarm["Dimensions"] == [{"Name": "FunctionName", "Value": {"Ref": name}}]


def test_a_url_that_starts_warm_is_that_of_the_alias() -> None:
    """A URL of the function itself would start cold."""
    template = of_backend(start=SnapStart(), job_endpoint=True)
    (url,) = template.of("AWS::Lambda::Url")
    assert url["Qualifier"] == "live"
    assert template.function(HANDLER)["SnapStart"] == {"ApplyOn": "PublishedVersions"}


def test_it_takes_few_resources_of_a_stack() -> None:
    """CloudFormation allows 500, and a stack with many queues is close to them."""
    asked, without = of_backend(job_endpoint=True), of_backend()
    more = len(asked.document["Resources"]) - len(without.document["Resources"])
    assert more <= 8
