"""Says who may call the API, how its gateway checks that, and where operators sign in.

One of the first five classes is the backend's ``access``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from aws_cdk import Duration, Token
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from ojs_aws.dashboard.files import OPENID, SignIn, origin_of

MAX_CACHE_S: Final = 3600
"""The longest time for which API Gateway remembers what an authorizer found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAccess:
    """Let everybody who knows the URL do everything: for private networks and for trying out."""

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the settings of the functions for this access."""
        return {"OJS_AUTH": "none"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeys:
    """Ask for API keys of ``ojs-aws keys``, which a Lambda authorizer checks.

    :ivar cache_s: how long the gateway and the job endpoint remember what the authorizer found, up
        to 3600 seconds: so long a revoked key may still work. With 0 the authorizer is asked each
        time; only then does the API answer requests without any credentials in the form of OJS,
        too: a gateway that remembers answers those itself, with 401 and a text of its own.
    """

    cache_s: int = 300

    def __post_init__(self) -> None:
        """Refuse at synthesis what API Gateway would refuse.

        :raises ValueError: a time that it does not remember for.
        """
        if not 0 <= self.cache_s <= MAX_CACHE_S:
            raise ValueError(f"cache_s is {self.cache_s}: use 0 to {MAX_CACHE_S}.")

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the settings of the functions for this access."""
        return {"OJS_AUTH": "api-key", "OJS_AUTH_CACHE_S": str(self.cache_s)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Jwt:
    """Ask for tokens of an OpenID Connect issuer, which the gateway checks.

    :ivar issuer: URL of the issuer, whose ``/.well-known/openid-configuration`` names its keys.
    :ivar audience: one of these must be in the token's ``aud`` (or be its ``client_id``).
    :ivar scope_claim: the claim that holds the scopes.
    :ivar scope_prefix: what begins the scopes that are meant: ``ojs:producer`` and so on.
    """

    issuer: str
    audience: Sequence[str]
    scope_claim: str = "scope"
    scope_prefix: str = "ojs:"

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the settings of the functions for this access."""
        return {
            "OJS_AUTH": "jwt",
            "OJS_AUTH_SCOPE_CLAIM": self.scope_claim,
            "OJS_AUTH_SCOPE_PREFIX": self.scope_prefix,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Iam:
    """Ask for signed requests (SigV4) of AWS principals that may invoke the API.

    :ivar scopes: scopes of principals, by their ARN as STS reports it, or by the beginning of one
        that ends in ``*``: ``{"arn:aws:sts::123456789012:assumed-role/Shop/*": ["producer"]}``.
        Principals that are not named may do nothing. Empty: whoever may invoke a route may use it,
        and IAM policies alone decide.
    """

    scopes: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the settings of the functions for this access."""
        listed = {arn: list(scopes) for arn, scopes in self.scopes.items()}
        return {"OJS_AUTH": "iam", **({"OJS_IAM_SCOPES": json.dumps(listed)} if listed else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAuthorizer:
    """Use an authorizer of your own, which decides alone.

    :ivar authorizer: any HTTP API authorizer of the CDK.
    """

    authorizer: gateway.IHttpRouteAuthorizer

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the settings of the functions for this access."""
        return {"OJS_AUTH": "gateway"}


Access: TypeAlias = OpenAccess | ApiKeys | Jwt | Iam | OwnAuthorizer


_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#*\s]+")


def check_origins(origins: Sequence[str]) -> None:
    """Refuse what no browser names as its origin, which API Gateway refuses, or every page's.

    :raises ValueError: naming it.
    """
    wrong = [each for each in origins if not _ORIGIN.fullmatch(each)]
    wrong = [each for each in wrong if not Token.is_unresolved(each)]
    if isinstance(origins, str) or wrong:
        raise ValueError(
            "cors_origins is a list of named origins, such as https://jobs.example.com, without a "
            f"path or '*'; it is {origins!r}."
        )


def gateway_authorizer(
    access: Access, keys: lambda_.IFunction | None
) -> gateway.IHttpRouteAuthorizer | None:
    """Return what checks credentials at the gateway.

    :param keys: the function that finds callers by their API keys.
    :raises ValueError: it is missing, and callers have keys.
    """
    if isinstance(access, ApiKeys):
        if keys is None:
            raise ValueError("API keys need the authorizer's function.")
        return authorizers.HttpLambdaAuthorizer(
            "Keys",
            keys,
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


def leave_out_identity_source(scope: Construct, access: Access) -> None:
    """Remove the authorizer's empty list of identity sources, which API Gateway refuses.

    It takes an authorizer without the list where nothing is remembered. The CDK, given no list,
    names the header ``Authorization``, and the gateway would answer 401 itself where it is missing.
    """
    if not isinstance(access, ApiKeys) or access.cache_s:
        return
    for each in scope.node.find_all():
        if isinstance(each, gateway.CfnAuthorizer):
            each.add_property_deletion_override("IdentitySource")


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


def sign_in_of(chosen: OidcSignIn, access: Access, *, has_page: bool) -> SignIn:
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
