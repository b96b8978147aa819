"""Defines the dashboard's page in front of the API, and where operators sign in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

from aws_cdk import Stack, Token
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_logs as logs
from constructs import Construct

from ojs_aws.cdk.api.access import Access, Jwt, OwnAuthorizer
from ojs_aws.cdk.bundle import Target, default_target, page_bundle
from ojs_aws.cdk.ojs_function import OjsFunction, OjsFunctionProps
from ojs_aws.cdk.resources.storage import accept
from ojs_aws.dashboard.files import OPENID, SignIn, origin_of
from ojs_aws.dashboard.page_function import ENVIRONMENT, SIGN_IN

PATHS: Final = ("/", "/LICENSES.txt", "/assets/{file}")
"""Where the page's files are. No operation has such a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardPageProps:
    """Say where the page is served, and by what.

    :ivar api: the API that the page belongs to.
    :ivar sign_in: the issuer that it leads to; None: it asks for a key or token.
    :ivar environment: what it calls the environment; empty: what its host's name says.
    :ivar target: architecture and Python version of the function.
    :ivar log_retention: how long its log is kept.
    :ivar log_level: least level that it logs.
    """

    api: gateway.HttpApi
    sign_in: SignIn | None = None
    environment: str = ""
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
        known = {ENVIRONMENT: props.environment} if props.environment else {}
        if props.sign_in:
            # The issuer may be made in the same app: its URL is known when it is deployed.
            known[SIGN_IN] = Stack.of(self).to_json_string(asdict(props.sign_in))
        self.function = OjsFunction(
            self,
            "Function",
            OjsFunctionProps(
                handler="dashboard.page_function.handler",
                bundle=page_bundle(props.target),
                description="Open Job Spec: Serves the dashboard's page",
                service="ojs-page",
                environment=known,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcSignIn:
    """Let operators sign in to the dashboard at an OpenID Connect issuer (code flow with PKCE).

    The page is registered there as a public client (a single-page app), with the API's URL and a
    slash as its redirect URI. The access token that it gets is what the API's authorizer checks.

    :ivar client_id: the page's id at the issuer. There is no secret.
    :ivar scopes: what to ask for: ``openid``, the scopes of the API such as ``ojs:operator``, and
        ``offline_access`` where the issuer gives refresh tokens for it.
    :ivar audience: sent to the issuer where it asks for the API's name (Auth0); empty: not.
    :ivar origins: origins of the issuer's endpoints for tokens that are not the issuer's own, such
        as ``https://mine.auth.eu-west-1.amazoncognito.com`` of a Cognito user pool.
    :ivar issuer: its URL, where the access is an ``OwnAuthorizer``. ``Jwt`` names it already.
    """

    client_id: str
    scopes: Sequence[str] = (OPENID,)
    audience: str = ""
    origins: Sequence[str] = ()
    issuer: str = ""


def described(chosen: OidcSignIn, access: Access, *, has_page: bool) -> SignIn:
    """Return what the page gets to know.

    :raises ValueError: it cannot be used: without the page, with another access, or an URL is none.
    """
    if not has_page:
        raise ValueError("web_dashboard_sign_in needs the page, too: has_web_dashboard=True.")
    if not isinstance(access, (Jwt, OwnAuthorizer)):
        raise ValueError(
            "web_dashboard_sign_in gets tokens of an issuer: set access=Jwt(...), so that the API "
            "accepts them."
        )
    issuer = access.issuer if isinstance(access, Jwt) else chosen.issuer
    if not issuer or chosen.issuer not in {"", issuer}:
        raise ValueError("web_dashboard_sign_in: name one issuer, in Jwt or with OwnAuthorizer.")
    if not chosen.client_id or OPENID not in chosen.scopes:
        raise ValueError(f"web_dashboard_sign_in needs a client_id, and {OPENID!r} in its scopes.")
    for url in (issuer, *chosen.origins):
        if not Token.is_unresolved(url):  # Such as the URL of a user pool of the same app.
            origin_of(url)
    return SignIn(
        issuer=issuer,
        client_id=chosen.client_id,
        scopes=list(chosen.scopes),
        audience=chosen.audience,
        origins=list(chosen.origins),
    )
