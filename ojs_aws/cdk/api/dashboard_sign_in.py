"""Says where operators sign in to the deployed dashboard, and checks it at synthesis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import Token

from ojs_aws.cdk.api.access import Access, Jwt, OwnAuthorizer
from ojs_aws.dashboard.sign_in import OPENID, SignIn, origin_of


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
