"""Defines the HTTP API in front of the functions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from aws_cdk import Annotations, Duration, Names, RemovalPolicy, Stack
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from ojs_aws.cdk.api.access import Access, ApiKeys, Iam, Jwt, OpenAccess, OwnAuthorizer
from ojs_aws.cdk.api.api_routes import RoutesInRows, gateway_routes, public_routes
from ojs_aws.cdk.resources.storage import accept, resource_of
from ojs_aws.transport.http.routes import (
    CORS_EXPOSED,
    CORS_HEADERS,
    CORS_MAX_AGE_S,
    CORS_METHODS,
    Group,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OjsHttpApiProps:
    """Say which functions answer, and who may call.

    :ivar functions: the function of each group of routes.
    :ivar access: who may call.
    :ivar authorizer: the function that finds callers by their API keys, where they have some.
    :ivar public_status: leave health and manifest to everybody.
    :ivar cors_origins: origins whose pages may use the API.
    :ivar rate_limit_per_s: requests a second before the gateway answers 429; None takes the
        account's limit.
    :ivar burst_limit: requests at a moment; None: twice the rate.
    :ivar access_log_retention: how long a line of each request is kept; None: no such lines.
    """

    functions: Mapping[Group, lambda_.IFunction]
    access: Access = field(default_factory=ApiKeys)
    authorizer: lambda_.IFunction | None = None
    public_status: bool = True
    cors_origins: Sequence[str] = ()
    rate_limit_per_s: int | None = None
    burst_limit: int | None = None
    access_log_retention: logs.RetentionDays | None = logs.RetentionDays.ONE_MONTH


class OjsHttpApi(Construct):
    """Lead each operation of the route table to its function, by an HTTP API.

    What no operation has, a path or a method, is answered with an OJS error by the function that
    it reaches: each of them knows the table.

    :ivar api: the HTTP API.
    :ivar url: its URL, ending in a slash; clients add ``ojs/v1/...``.
    """

    def __init__(self, scope: Construct, id_: str, props: OjsHttpApiProps) -> None:
        """Define the API, its routes and its stage."""
        super().__init__(scope, id_)
        if "*" in props.cors_origins:
            raise ValueError("CORS is for named origins: '*' would let every page use the API.")
        if isinstance(props.access, OpenAccess):
            Annotations.of(self).add_info(
                "The API is open to everyone who knows its URL: its access is OpenAccess."
            )
        answered_by = {
            group: integrations.HttpLambdaIntegration(
                group.value,
                function,
                # One permission for a function, not one for each of its routes.
                scope_permission_to_route=False,
            )
            for group, function in props.functions.items()
        }
        self.api = gateway.HttpApi(
            self,
            "Api",
            description="Open Job Spec HTTP API",
            default_integration=answered_by[Group.SYSTEM],
            default_authorizer=_authorizer(props),
            cors_preflight=_cors(props.cors_origins),
            create_default_stage=False,
        )
        RoutesInRows(self.api)
        for group, method, path in gateway_routes():
            if group not in answered_by:  # without API keys the system's function says so
                continue
            self.api.add_routes(
                path=path,
                methods=[gateway.HttpMethod(method)],
                integration=answered_by[group],
            )
        for method, path in public_routes(
            has_status=props.public_status, has_cors=bool(props.cors_origins)
        ):
            for route in self.api.add_routes(
                path=path,
                methods=[gateway.HttpMethod(method)],
                integration=answered_by[Group.SYSTEM],
                authorizer=gateway.HttpNoneAuthorizer(),
            ):
                accept(
                    route,
                    "AwsSolutions-APIG4",
                    "Health and manifest show nothing of jobs; public_status=False closes them.",
                )
        _leave_out_identity_source(self, props.access)
        retention = props.access_log_retention
        self.access_log = None if retention is None else _access_log(self, retention)
        self.stage = gateway.HttpStage(
            self,
            "Stage",
            http_api=self.api,
            stage_name="$default",
            auto_deploy=True,
            throttle=_throttle(props),
        )
        if self.access_log is not None:
            resource = resource_of(self.stage, gateway.CfnStage)
            resource.access_log_settings = gateway.CfnStage.AccessLogSettingsProperty(
                destination_arn=self.access_log.log_group_arn, format=json.dumps(ACCESS_LINE)
            )
        self.url = self.stage.url

    def grant_invoke(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a principal call the API with signed requests, where access is by IAM."""
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["execute-api:Invoke"],
            resource_arns=[self.api.arn_for_execute_api("*", "/*", "$default")],
        )


VENDED_LOGS: Final = "/aws/vendedlogs/ojs"
"""Begins the name of the log group."""

ACCESS_LINE: Final = {
    "requestId": "$context.requestId",
    "time": "$context.requestTime",
    "sourceIp": "$context.identity.sourceIp",
    "method": "$context.httpMethod",
    "route": "$context.routeKey",
    "status": "$context.status",
    "error": "$context.error.messageString",
    "authorizerError": "$context.authorizer.error",
    "latencyMs": "$context.responseLatency",
    "bytes": "$context.responseLength",
}
"""A line of the gateway's log: no header, no query and no path parameter is in it."""


def _authorizer(props: OjsHttpApiProps) -> gateway.IHttpRouteAuthorizer | None:
    """Return what checks credentials at the gateway."""
    access = props.access
    if isinstance(access, ApiKeys):
        if props.authorizer is None:
            raise ValueError("API keys need the authorizer's function.")
        return authorizers.HttpLambdaAuthorizer(
            "Keys",
            props.authorizer,
            response_types=[authorizers.HttpLambdaResponseType.SIMPLE],
            results_cache_ttl=Duration.seconds(access.cache_s),
            # A gateway that remembers answers 401 itself where this is missing.
            identity_source=["$request.header.Authorization"] if access.cache_s else [],
        )
    if isinstance(access, Jwt):
        return authorizers.HttpJwtAuthorizer(
            "Tokens", access.issuer, jwt_audience=list(access.audience)
        )
    if isinstance(access, Iam):
        return authorizers.HttpIamAuthorizer()
    return access.authorizer if isinstance(access, OwnAuthorizer) else None


def _leave_out_identity_source(scope: Construct, access: Access) -> None:
    """Remove the authorizer's empty list of identity sources, which API Gateway refuses.

    It takes an authorizer without the list where nothing is remembered. The CDK, given no list,
    names the header ``Authorization``, and the gateway would answer 401 itself where it is missing.
    """
    if not isinstance(access, ApiKeys) or access.cache_s:
        return
    for each in scope.node.find_all():
        if isinstance(each, gateway.CfnAuthorizer):
            each.add_property_deletion_override("IdentitySource")


def _access_log(scope: Construct, retention: logs.RetentionDays) -> logs.LogGroup:
    """Make the log group of the gateway's own lines.

    CloudWatch Logs lets log-delivering services write to ``/aws/vendedlogs/`` by one rule for all.
    Any other name adds to a resource policy of the account, whose size is limited: some ten
    deployments fill it.
    """
    name = f"{Stack.of(scope).stack_name}-{Names.unique_resource_name(scope, max_length=64)}"
    return logs.LogGroup(
        scope,
        "AccessLog",
        log_group_name=f"{VENDED_LOGS}/{name}",
        retention=retention,
        removal_policy=RemovalPolicy.DESTROY,
    )


def _cors(origins: Sequence[str]) -> gateway.CorsPreflightOptions | None:
    if not origins:
        return None
    return gateway.CorsPreflightOptions(
        allow_origins=list(origins),
        allow_methods=[gateway.CorsHttpMethod(method) for method in CORS_METHODS],
        allow_headers=list(CORS_HEADERS),
        expose_headers=list(CORS_EXPOSED),
        max_age=Duration.seconds(CORS_MAX_AGE_S),
    )


def _throttle(props: OjsHttpApiProps) -> gateway.ThrottleSettings | None:
    rate = props.rate_limit_per_s
    if rate is None and props.burst_limit is None:
        return None
    burst = props.burst_limit if props.burst_limit is not None else 2 * (rate or 0)
    return gateway.ThrottleSettings(rate_limit=rate, burst_limit=burst)
