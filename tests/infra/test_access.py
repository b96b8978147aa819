"""Who may call what was deployed, and who may read the API keys: from the template."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aws_cdk import App, Environment, RemovalPolicy, Stack
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from infra.app import ContextError, make_app
from ojs_aws.cdk import (
    ApiKeys,
    Iam,
    JobBackend,
    JobBackendProps,
    Jwt,
    OpenAccess,
    OwnAuthorizer,
)
from ojs_aws.cdk.permissions import KEY_OPERATOR, KEYS_DENIED
from ojs_aws.config import Settings
from tests.infra.conftest import NO_BUNDLING, Synthesise, Synthesised
from tests.infra.templates import of_backend, of_context

API_FUNCTIONS = ("producer", "worker_api", "operator", "system")
OTHERS = (*API_FUNCTIONS, "tick", "stream")
DOCUMENT_READERS = ("producer", "worker_api", "operator", "tick", "stream")
STATUS = {
    f"{method} {path}"
    for method in ("GET", "HEAD")
    for path in ("/ojs/manifest", "/ojs/v1/health", "/health", "/ready", "/ojs/v1/ready")
}


def handler_of(function: str) -> str:
    return f"functions.{function}.handler.handler"


def routes_by_authorization(template: Synthesised) -> dict[str, set[str]]:
    """The keys of the routes, by the type of their authorization."""
    found: dict[str, set[str]] = {}
    for route in template.of("AWS::ApiGatewayV2::Route"):
        found.setdefault(route.get("AuthorizationType", "NONE"), set()).add(route["RouteKey"])
    return found


def backend(**props: Any) -> tuple[JobBackend, Stack, App]:
    """A backend in an app of its own."""
    app = App(context=NO_BUNDLING)
    scope = Stack(app, "Mine")
    return JobBackend(scope, "Jobs", JobBackendProps(**props)), scope, app


def synthesised(app: App) -> Synthesised:
    return Synthesised(app.synth().get_stack_by_name("Mine").template)


# ---------------------------------------------------------------------------------- the gateway


def test_sec_007_only_health_and_manifest_answer_without_credentials(
    stack: Synthesised,
) -> None:
    """SEC-007: by default; the default route, which takes whatever is unknown, included."""
    routes = routes_by_authorization(stack)
    assert set(routes) == {"NONE", "CUSTOM"}
    assert routes["NONE"] == STATUS
    assert "$default" in routes["CUSTOM"]


def test_health_and_manifest_can_be_closed() -> None:
    """At the gateway and in the functions."""
    template = of_backend(public_status=False)
    assert set(routes_by_authorization(template)) == {"CUSTOM"}
    variables = template.function(handler_of("system"))["Environment"]["Variables"]
    assert variables["OJS_PUBLIC_STATUS"] == "0"


def test_the_authorizers_answer_is_remembered_by_the_header(stack: Synthesised) -> None:
    """For five minutes; it is a simple response of payload format 2.0."""
    (authorizer,) = stack.of("AWS::ApiGatewayV2::Authorizer")
    assert authorizer["AuthorizerResultTtlInSeconds"] == 300
    assert authorizer["IdentitySource"] == ["$request.header.Authorization"]
    assert authorizer["EnableSimpleResponses"] is True
    assert authorizer["AuthorizerPayloadFormatVersion"] == "2.0"


def test_without_a_cache_every_request_reaches_the_authorizer() -> None:
    """So that one without a header is answered in the form of OJS, too."""
    template = of_backend(access=ApiKeys(cache_s=0))
    (authorizer,) = template.of("AWS::ApiGatewayV2::Authorizer")
    assert authorizer["AuthorizerResultTtlInSeconds"] == 0
    assert "IdentitySource" not in authorizer  # API Gateway refuses an empty list of them


@pytest.mark.parametrize(
    ("access", "kind", "auth"),
    [
        (OpenAccess(), "NONE", "none"),
        (Jwt(issuer="https://issuer.example.com", audience=["ojs"]), "JWT", "jwt"),
        (Iam(), "AWS_IAM", "iam"),
        (OwnAuthorizer(authorizer=authorizers.HttpIamAuthorizer()), "AWS_IAM", "gateway"),
    ],
)
def test_the_other_ways_to_be_known(access: Any, kind: str, auth: str) -> None:
    """Chosen by a property; there is no authorizer function then, and the functions know."""
    template = of_backend(access=access)
    assert "$default" in routes_by_authorization(template)[kind]
    handlers = {function["Handler"] for function in template.of("AWS::Lambda::Function")}
    assert handler_of("authorizer") not in handlers
    for name in API_FUNCTIONS:
        variables = template.function(handler_of(name))["Environment"]["Variables"]
        assert Settings.from_env({"OJS_AUTH": variables["OJS_AUTH"]}).auth == auth


def test_a_tokens_issuer_and_claim_reach_gateway_and_functions() -> None:
    """The gateway checks signature, issuer, audience and times; the functions read the scopes."""
    jwt = Jwt(issuer="https://issuer.example.com", audience=["ojs"], scope_claim="scp")
    template = of_backend(access=jwt)
    (authorizer,) = template.of("AWS::ApiGatewayV2::Authorizer")
    assert authorizer["JwtConfiguration"] == {
        "Audience": ["ojs"],
        "Issuer": "https://issuer.example.com",
    }
    variables = template.function(handler_of("producer"))["Environment"]["Variables"]
    assert variables["OJS_AUTH_SCOPE_CLAIM"] == "scp"


def test_scopes_of_iam_principals_are_settings_that_the_functions_accept() -> None:
    """And who may invoke the API may invoke this one only."""
    arn = "arn:aws:sts::123456789012:assumed-role/Shop/*"
    made, scope, app = backend(access=Iam(scopes={arn: ["producer"]}))
    made.api.grant_invoke(
        iam.Role(scope, "Shop", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"))
    )
    template = synthesised(app)
    variables = template.function(handler_of("producer"))["Environment"]["Variables"]
    given = {"OJS_IAM_SCOPES": variables["OJS_IAM_SCOPES"]}
    assert Settings.from_env(given).iam_scopes == ((arn, ("producer",)),)
    invoking = [
        statement
        for policy in template.of("AWS::IAM::Policy")
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Action"] == "execute-api:Invoke"
    ]
    assert len(invoking) == 1
    assert "Ref" in json.dumps(invoking[0]["Resource"])


def test_cors_is_for_named_origins_only() -> None:
    """And a preflight, which has no credentials, does not meet the authorizer."""
    (plain,) = of_backend().of("AWS::ApiGatewayV2::Api")
    assert "CorsConfiguration" not in plain
    origin = "https://jobs.example.com"
    template = of_backend(cors_origins=[origin])
    (api,) = template.of("AWS::ApiGatewayV2::Api")
    cors = api["CorsConfiguration"]
    assert cors["AllowOrigins"] == [origin]
    assert "authorization" in cors["AllowHeaders"]
    assert "AllowCredentials" not in cors
    routes = routes_by_authorization(template)
    assert "OPTIONS /{proxy+}" in routes["NONE"]
    of_any_method = [key.removeprefix("ANY ") for key in routes["CUSTOM"] if key[:3] == "ANY"]
    assert {f"OPTIONS {path}" for path in of_any_method} <= routes["NONE"]
    assert sum(map(len, routes.values())) <= 300, "API Gateway allows 300 routes"


@pytest.mark.parametrize(
    "origins",
    ["https://a.org", ["*"], ["https://*"], ["a.org"], ["https://a.org/"], ["https://a.org/x"]],
)
def test_what_no_browser_names_as_its_origin_is_refused(origins: object) -> None:
    """API Gateway would refuse it in the middle of a deployment, or let every page in."""
    with pytest.raises(ValueError, match="named origins"):
        of_backend(cors_origins=origins)


@pytest.mark.parametrize("cache_s", [-1, 3601])
def test_keys_are_remembered_for_an_hour_at_most(cache_s: int) -> None:
    """API Gateway takes no more, and the functions would not start."""
    with pytest.raises(ValueError, match="use 0 to 3600"):
        ApiKeys(cache_s=cache_s)
    assert ApiKeys(cache_s=0).cache_s + ApiKeys(cache_s=3600).cache_s == 3600


def test_the_functions_know_whose_pages_may_change_something() -> None:
    """Those that the gateway knows: in an open deployment they refuse all others."""
    origins = ("https://jobs.example.com", "https://ops.example.com")
    template = of_backend(access=OpenAccess(), cors_origins=origins, job_endpoint=True)
    for name in ("producer", "worker_api", "operator", "job_endpoint"):
        variables = template.function(handler_of(name))["Environment"]["Variables"]
        assert Settings.from_env(variables | {"OJS_QUEUE_URL_PREFIX": ""}).cors_origins == origins


def test_the_gateway_gets_a_burst_with_its_rate() -> None:
    """API Gateway takes 0 for the one that is not set, and would answer nothing."""
    (stage,) = of_backend(rate_limit_per_s=50).of("AWS::ApiGatewayV2::Stage")
    assert stage["DefaultRouteSettings"] == {"ThrottlingRateLimit": 50, "ThrottlingBurstLimit": 100}
    with pytest.raises(ValueError, match="rate_limit_per_s None with burst_limit 70"):
        of_backend(burst_limit=70)
    for nothing in ({"rate_limit_per_s": 0}, {"rate_limit_per_s": 5, "burst_limit": 0}):
        with pytest.raises(ValueError, match="lets no request pass"):
            of_backend(**nothing)


def test_the_gateway_throttles_and_logs(stack: Synthesised) -> None:
    """Its own refusals stand in its log, and no header or parameter does."""
    template = of_backend(rate_limit_per_s=50, burst_limit=70)
    (stage,) = template.of("AWS::ApiGatewayV2::Stage")
    assert stage["DefaultRouteSettings"] == {"ThrottlingRateLimit": 50, "ThrottlingBurstLimit": 70}
    (plain,) = stack.of("AWS::ApiGatewayV2::Stage")
    line = json.loads(plain["AccessLogSettings"]["Format"])
    assert line["status"] == "$context.status"
    assert line["error"] == "$context.error.message", "messageString brings quotes of its own"
    assert not [each for each in line.values() if "header" in each or "path" in each.lower()]
    (group,) = [each for each in stack.of("AWS::Logs::LogGroup") if "LogGroupName" in each]
    assert group["LogGroupName"].startswith("/aws/vendedlogs/")
    log = {"Fn::GetAtt": [stack.logical_id("AWS::Logs::LogGroup", group), "Arn"]}
    assert plain["AccessLogSettings"]["DestinationArn"] == log
    (silent,) = of_backend(access_log=False).of("AWS::ApiGatewayV2::Stage")
    assert "AccessLogSettings" not in silent


# ------------------------------------------------------------------------------- the API keys


def test_the_authorizer_reads_the_records_of_keys_and_nothing_else(stack: Synthesised) -> None:
    """One action, on one partition of the table."""
    (statement,) = stack.conditional(handler_of("authorizer"), "Allow")
    assert statement["Action"] == "dynamodb:GetItem"
    assert statement["Condition"] == {
        "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["apikeys"]}
    }
    statements = stack.statements(handler_of("authorizer"))
    of_its_log = [actions for actions, _ in statements if "logs:PutLogEvents" in actions]
    assert len(statements) - len(of_its_log) == 1


def test_the_function_of_keys_uses_their_records_and_nothing_else(stack: Synthesised) -> None:
    """It deletes none, scans nothing, and can use no queue, bucket or bus.

    But it records who did so, where the stream publishes that.
    """
    of_keys = {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"}
    allowed = {
        each["Condition"]["ForAllValues:StringEquals"]["dynamodb:LeadingKeys"][0]: each["Action"]
        for each in stack.conditional(handler_of("api_keys"), "Allow")
    }
    assert {partition: {*_listed(actions)} for partition, actions in allowed.items()} == {
        "apikeys": of_keys,
        "operations": {"dynamodb:PutItem"},
    }
    statements = stack.statements(handler_of("api_keys"))
    of_its_log = [actions for actions, _ in statements if "logs:PutLogEvents" in actions]
    assert len(statements) - len(of_its_log) == 2


def _listed(actions: str | list[str]) -> list[str]:
    return [actions] if isinstance(actions, str) else actions


@pytest.mark.parametrize("access", [OpenAccess(), Iam()])
def test_without_keys_there_is_no_function_of_keys(access: Any) -> None:
    """And no route to it: the system's function says that there is no such operation."""
    template = of_backend(access=access)
    handlers = {each["Handler"] for each in template.of("AWS::Lambda::Function")}
    assert handler_of("api_keys") not in handlers
    keys = [each["RouteKey"] for each in template.of("AWS::ApiGatewayV2::Route")]
    assert not any("api-keys" in key for key in keys)


@pytest.mark.parametrize("function", [*map(handler_of, OTHERS), "ojs_aws.local.demo.handler"])
def test_nobody_else_touches_them(function: str, stack: Synthesised) -> None:
    """Whoever may use the table is denied that partition: no function can make itself a key."""
    (statement,) = stack.conditional(function, "Deny")
    assert set(statement["Action"]) == set(KEYS_DENIED)
    assert stack.actions(function) & {"dynamodb:DeleteItem", "dynamodb:PutItem"} <= set(KEYS_DENIED)
    assert statement["Condition"] == {
        "ForAnyValue:StringEquals": {"dynamodb:LeadingKeys": ["apikeys"]}
    }


@pytest.mark.parametrize("group", ["producer", "operator", "tick", "stream"])
def test_batch_writes_reach_the_partitions_of_jobs_alone(group: str, stack: Synthesised) -> None:
    """IAM cannot tell their puts from deletions, but which items they are of."""
    allowed = stack.conditional(handler_of(group), "Allow")
    (statement,) = [each for each in allowed if each["Action"] == "dynamodb:BatchWriteItem"]
    assert statement["Condition"] == {
        "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["job#*"]}
    }


@pytest.mark.parametrize(
    "reader", [*map(handler_of, DOCUMENT_READERS), "ojs_aws.local.demo.handler"]
)
def test_who_reads_documents_learns_which_are_missing(reader: str, stack: Synthesised) -> None:
    """To those who may not list the bucket, S3 denies access to what does not exist.

    A read names no prefix: only a condition that holds without one lets S3 say so.
    """
    (bucket,) = stack.of("AWS::S3::Bucket")
    name = stack.logical_id("AWS::S3::Bucket", bucket)
    allowed = stack.conditional(reader, "Allow")
    (statement,) = [each for each in allowed if each["Action"] == "s3:ListBucket"]
    assert statement["Resource"] == {"Fn::GetAtt": [name, "Arn"]}
    assert statement["Condition"] == {"StringLikeIfExists": {"s3:prefix": ["jobs/*"]}}


def test_operators_of_keys_can_be_granted_just_that() -> None:
    """For who runs ``ojs-aws keys``."""
    made, scope, app = backend()
    role = iam.Role(scope, "Role", assumed_by=iam.AccountRootPrincipal())
    made.grant(role, KEY_OPERATOR)
    template = synthesised(app)
    name = scope.get_logical_id(role.node.default_child)  # type: ignore[arg-type]
    (policy,) = [p for p in template.of("AWS::IAM::Policy") if p["Roles"] == [{"Ref": name}]]
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert set(statement["Action"]) == {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"}
    assert statement["Condition"]["ForAllValues:StringEquals"]


# ------------------------------------------------------------------------------------- storage


def test_a_key_of_ones_own_encrypts_table_and_bucket() -> None:
    """Who uses them may use the key, by named actions; nobody else may."""
    app = App(context=NO_BUNDLING)
    # A table with a key of its own is of one region, which must be known.
    scope = Stack(app, "Mine", env=Environment(account="123456789012", region="eu-west-1"))
    key = kms.Key(scope, "Key")
    JobBackend(scope, "Jobs", JobBackendProps(encryption_key=key))
    template = synthesised(app)
    name = scope.get_logical_id(key.node.default_child)  # type: ignore[arg-type]
    arn = {"Fn::GetAtt": [name, "Arn"]}
    (table,) = template.of("AWS::DynamoDB::GlobalTable")
    assert table["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}
    assert table["Replicas"][0]["SSESpecification"] == {"KMSMasterKeyId": arn}
    (bucket,) = template.of("AWS::S3::Bucket")
    (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"]["KMSMasterKeyID"] == arn
    for function in (*OTHERS, "authorizer"):
        used = [s for s in template.statements(handler_of(function)) if s[1] == f"<{name}.Arn>"]
        assert used  # the stream's trigger adds its own
        actions = {action for each, _ in used for action in each}
        assert all(each.startswith("kms:") and "*" not in each for each in actions)


def test_a_table_that_stays_cannot_be_deleted_by_hand(
    stack: Synthesised, synthesise: Synthesise
) -> None:
    """One that goes with its stack can, and one is configured otherwise."""

    def is_protected(template: Synthesised) -> bool:
        (table,) = template.of("AWS::DynamoDB::GlobalTable")
        return bool(table["Replicas"][0].get("DeletionProtectionEnabled"))

    assert is_protected(stack)
    assert not is_protected(synthesise(removal_policy=RemovalPolicy.DESTROY))
    assert not is_protected(of_backend(deletion_protection=False))


def test_everything_is_reached_by_tls_only(stack: Synthesised) -> None:
    """Bucket and queues refuse plain HTTP."""
    policies = [*stack.of("AWS::SQS::QueuePolicy"), *stack.of("AWS::S3::BucketPolicy")]
    kept = [each for policy in stack.of("AWS::SQS::QueuePolicy") for each in policy["Queues"]]
    assert len(kept) == len(stack.of("AWS::SQS::Queue"))
    for policy in policies:
        statements = policy["PolicyDocument"]["Statement"]
        assert any(
            each["Effect"] == "Deny"
            and each["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
            for each in statements
        )


# ------------------------------------------------------------------------------------- the app


@pytest.mark.parametrize(
    ("context", "word"),
    [
        ({"auth": "maybe"}, "api-key"),
        ({"auth": "jwt"}, "jwt_issuer"),
        ({"auth_cache_s": "7200"}, "3600"),
    ],
)
def test_a_context_that_cannot_be_used_is_refused_in_words(
    context: dict[str, str], word: str
) -> None:
    """Before anything is deployed."""
    with pytest.raises(ContextError, match=word):
        make_app(App(context={**NO_BUNDLING, **context}))


@pytest.mark.parametrize(
    ("context", "kind"),
    [
        ({}, "CUSTOM"),
        ({"auth": "none"}, "NONE"),
        ({"auth": "iam"}, "AWS_IAM"),
        ({"auth": "jwt", "jwt_issuer": "https://i.example", "jwt_audience": "a,b"}, "JWT"),
    ],
)
def test_the_context_chooses_who_may_call(context: dict[str, str], kind: str) -> None:
    """``cdk deploy -c auth=...``."""
    template = of_context(**context)
    assert "$default" in routes_by_authorization(template)[kind]
