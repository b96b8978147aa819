"""The HTTP API in front of the functions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from aws_cdk import Annotations
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from ojs_aws.transport.http.routes import BASE, ROUTES, Group

SPELLINGS: Final = (BASE, BASE + BASE, "/v1")
"""The base path, and what some clients make of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OjsHttpApiProps:
    """What answers, and who may ask.

    :ivar functions: the function of each group of routes.
    :ivar authorizer: decides who may call; None leaves the API open to all who know its URL.
    :ivar rate_limit_per_s: requests a second before the gateway answers 429; None takes the
        account's limit.
    """

    functions: Mapping[Group, lambda_.IFunction]
    authorizer: gateway.IHttpRouteAuthorizer | None = None
    rate_limit_per_s: int | None = None


class OjsHttpApi(Construct):
    """An HTTP API with a route for each operation of the project's route table.

    A route that no function knows, or a method that a path does not have, goes to the system
    function, which knows the table and answers with an OJS error.

    :ivar api: the HTTP API.
    :ivar url: its URL, ending in a slash; clients add ``ojs/v1/...``.
    """

    def __init__(self, scope: Construct, id_: str, props: OjsHttpApiProps) -> None:
        """Define the API, its routes and its stage."""
        super().__init__(scope, id_)
        if props.authorizer is None:
            Annotations.of(self).add_info(
                "The API is open to everyone who knows its URL: give JobBackend an authorizer."
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
            default_authorizer=props.authorizer,
            create_default_stage=False,
        )
        for group, method, path in gateway_routes():
            self.api.add_routes(
                path=path,
                methods=[gateway.HttpMethod(method)],
                integration=answered_by[group],
            )
        self.stage = gateway.HttpStage(
            self,
            "Stage",
            http_api=self.api,
            stage_name="$default",
            auto_deploy=True,
            throttle=None
            if props.rate_limit_per_s is None
            else gateway.ThrottleSettings(
                rate_limit=props.rate_limit_per_s, burst_limit=2 * props.rate_limit_per_s
            ),
        )
        self.url = self.stage.url


def gateway_routes() -> Iterator[tuple[Group, str, str]]:
    """Group, method and path, in API Gateway's notation, of each route but the system's.

    Those are left to the default route, which is the system function's. The operators' paths are
    one route for all: API Gateway has 300 at most. Paths below it that another function serves are
    routes of their own, which come first.
    """
    for base in SPELLINGS:
        yield Group.OPERATOR, "ANY", f"{base}/admin/{{proxy+}}"
    for route in ROUTES:
        if route.group is Group.SYSTEM:
            continue
        for path in route.paths:
            if route.group is Group.OPERATOR and path.startswith(f"{BASE}/admin/"):
                continue
            template = re.sub(r"<(\w+)>", r"{\1}", path)
            for base in SPELLINGS:
                yield route.group, route.method, base + template.removeprefix(BASE)
