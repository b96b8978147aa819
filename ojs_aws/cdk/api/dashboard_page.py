"""Defines the dashboard's page in front of the API: static files at routes that ask for nothing."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Final

from aws_cdk import Stack
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_logs as logs
from constructs import Construct

from ojs_aws.cdk.bundle import Target, default_target, page_bundle
from ojs_aws.cdk.ojs_function import OjsFunction, OjsFunctionProps
from ojs_aws.cdk.resources.findings import accept
from ojs_aws.dashboard.page_function import SIGN_IN
from ojs_aws.dashboard.sign_in import SignIn

PATHS: Final = ("/", "/LICENSES.txt", "/assets/{file}")
"""Where the page's files are. No operation has such a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardPageProps:
    """Say where the page is served, and by what.

    :ivar api: the API that the page belongs to.
    :ivar sign_in: the issuer that it leads to; None: it asks for a key or token.
    :ivar target: architecture and Python version of the function.
    :ivar log_retention: how long its log is kept.
    :ivar log_level: least level that it logs.
    """

    api: gateway.HttpApi
    sign_in: SignIn | None = None
    target: Target = field(default_factory=default_target)
    log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH
    log_level: str = "INFO"


class DashboardPage(Construct):
    """Serve the page for operators to everybody, by a function that may do nothing else.

    The files are public: what they show comes from the API, which asks for credentials. The
    function has no right but to write its log, and its code is the page without the backend.

    :ivar function: what serves the files.
    """

    def __init__(self, scope: Construct, id_: str, props: DashboardPageProps) -> None:
        """Define the function and its routes."""
        super().__init__(scope, id_)
        self.function = OjsFunction(
            self,
            "Function",
            OjsFunctionProps(
                handler="dashboard.page_function.handler",
                bundle=page_bundle(props.target),
                description="Open Job Spec: Serves the dashboard's page",
                service="ojs-page",
                # The issuer may be made in the same app: its URL is known when it is deployed.
                environment={SIGN_IN: Stack.of(self).to_json_string(asdict(props.sign_in))}
                if props.sign_in
                else {},
                memory_mb=256,
                timeout_s=5,
                log_retention=props.log_retention,
                log_level=props.log_level,
            ),
        )
        answered = integrations.HttpLambdaIntegration(
            "page", self.function.live, scope_permission_to_route=False
        )
        for path in PATHS:
            for route in props.api.add_routes(
                path=path,
                methods=[gateway.HttpMethod.GET, gateway.HttpMethod.HEAD],
                integration=answered,
                authorizer=gateway.HttpNoneAuthorizer(),
            ):
                accept(
                    route,
                    "AwsSolutions-APIG4",
                    "The page's files are the same for everybody and show nothing of jobs; "
                    "has_web_dashboard=False leaves them out.",
                )
