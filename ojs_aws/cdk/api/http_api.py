"""Defines the HTTP API in front of the functions, with few routes, of which few change at a time.

API Gateway allows 300 routes in an API, and CloudFormation 500 resources in a stack. So each
feature has one greedy route (``/jobs/{proxy+}``) to the function that serves most of its
operations. An operation that another function serves has a route of its own, which API Gateway
prefers: a full match comes before a greedy one, and a method before ``ANY``. A request for no
operation reaches the function of a greedy route, which has the table of all operations to answer.

API Gateway accepts ten requests a second that change an account's APIs, and forty at once, and
CloudFormation makes all resources at once that depend on nothing: a deployment of a hundred routes
would fail. So the routes wait for one another, ten at a time.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Final

import jsii
from aws_cdk import Annotations, Aspects, Duration, IAspect, Names, RemovalPolicy, Stack
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct, IConstruct

from ojs_aws.cdk.api.access import (
    Access,
    ApiKeys,
    OpenAccess,
    check_origins,
    gateway_authorizer,
    leave_out_identity_source,
)
from ojs_aws.cdk.storage import accept, resource_of
from ojs_aws.transport.http.routes import (
    BASE,
    CORS_EXPOSED,
    CORS_HEADERS,
    CORS_MAX_AGE_S,
    CORS_METHODS,
    ROUTES,
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
    :ivar burst_limit: requests at a moment, where there is a rate; None: twice the rate.
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
        check_origins(props.cors_origins)
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
            default_authorizer=gateway_authorizer(props.access, props.authorizer),
            cors_preflight=_cors(props.cors_origins),
            create_default_stage=False,
        )
        RoutesInRows(self.api)
        for group, method, path in gateway_routes():
            if group not in answered_by:  # without API keys the system's function says so
                continue
            methods = [gateway.HttpMethod(method)]
            self.api.add_routes(path=path, methods=methods, integration=answered_by[group])
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
        leave_out_identity_source(self, props.access)
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
    "error": "$context.error.message",
    "authorizerError": "$context.authorizer.error",
    "latencyMs": "$context.responseLatency",
    "bytes": "$context.responseLength",
}
"""A line of the gateway's log: no header, no query and no path parameter is in it."""


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
    rate, most = props.rate_limit_per_s, props.burst_limit
    if 0 in {rate, most} or (rate is None and most is not None):
        raise ValueError(f"rate_limit_per_s {rate} with burst_limit {most} lets no request pass.")
    if rate is None:
        return None
    return gateway.ThrottleSettings(rate_limit=rate, burst_limit=2 * rate if most is None else most)


SPELLINGS: Final = (BASE, BASE + BASE, "/v1")
"""The base path, and two other spellings of it that clients send."""
ANY: Final = "ANY"
GREEDY: Final = "{proxy+}"
_Served = tuple[str, str, Group]
"""The method of an operation, its path as API Gateway writes it, and its function."""
AT_A_TIME: Final = 10
"""Routes that are made or removed at a time."""


def gateway_routes() -> Iterator[tuple[Group, str, str]]:
    """Return group, method and path of each route but the default one.

    The default route leads to the system function, so a feature that it serves needs no route.
    """
    for operations in _features().values():
        main = Counter(group for _, _, group in operations).most_common(1)[0][0]
        for group, method, path in _folded(operations, main):
            # Clients that spell the base path otherwise have no operations on keys.
            for base in (BASE,) if group is Group.API_KEYS else SPELLINGS:
                yield group, method, base + path.removeprefix(BASE)


def public_routes(*, has_status: bool, has_cors: bool) -> Iterator[tuple[str, str]]:
    """Return method and path of each route that needs no credentials."""
    if has_status:
        for route in ROUTES:
            if route.is_public:
                yield from product(route.methods, route.paths)
    if has_cors:  # a preflight has no credentials, and would meet the authorizer of other routes
        yield "OPTIONS", f"/{GREEDY}"
        for _, method, path in gateway_routes():
            if method == ANY:
                yield "OPTIONS", path


def _features() -> dict[str, list[_Served]]:
    """Group the operations below the base path by the segment that follows it."""
    found: dict[str, list[_Served]] = defaultdict(list)
    for route in ROUTES:
        for path in route.paths:
            if path.startswith(f"{BASE}/"):
                template = re.sub(r"<(\w+)>", r"{\1}", path)
                feature = path.removeprefix(f"{BASE}/").partition("/")[0]
                found[feature].append((route.method, template, route.group))
    return found


def _folded(operations: Iterable[_Served], main: Group) -> Iterator[tuple[Group, str, str]]:
    """Yield the routes of a feature: those of its main function, then those that others serve."""
    by_path: dict[str, dict[str, Group]] = defaultdict(dict)
    for method, path, group in operations:
        by_path[path][method] = group
    root = "/".join(next(iter(by_path)).split("/")[: BASE.count("/") + 2])
    if main is not Group.SYSTEM:
        if root in by_path:
            yield main, ANY, root
        if by_path.keys() - {root}:
            yield main, ANY, f"{root}/{GREEDY}"
    for path, groups in by_path.items():
        if main not in groups.values() and len({*groups.values()}) == 1 and len(groups) > 1:
            yield next(iter(groups.values())), ANY, path
            continue
        yield from ((group, method, path) for method, group in groups.items() if group is not main)


@jsii.implements(IAspect)
class RoutesInRows:
    """Makes each route of an API depend on the one that stands ten places before it.

    An aspect sees the routes of other constructs, too, such as the dashboard's. It is added to the
    API's own resource, which has nothing below it: added to the API itself, Node would call Python
    once for each route, which took a fourth of a synthesis.
    """

    def __init__(self, api: gateway.HttpApi) -> None:
        """Order the routes of an API when it is synthesised."""
        self._api = api
        Aspects.of(resource_of(api, gateway.CfnApi)).add(self)

    def visit(self, _: IConstruct) -> None:
        """Order the routes, when all of them are there."""
        routes = [each for each in self._api.node.find_all() if isinstance(each, gateway.CfnRoute)]
        for route, earlier in zip(routes[AT_A_TIME:], routes, strict=False):
            route.add_resource_dependency(earlier)
