"""Says who may call the API: one of these classes is the backend's ``access``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from aws_cdk import aws_apigatewayv2 as gateway


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
