"""Tests signing in to the deployed page at an issuer: what the page gets, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_cognito as cognito

from ojs_aws.cdk import Access, ApiKeys, JobBackend, JobBackendProps, Jwt, OidcSignIn, OpenAccess
from ojs_aws.cdk.api.access import OwnAuthorizer, sign_in_of
from ojs_aws.dashboard.page_function import SIGN_IN
from tests.infra.conftest import NO_BUNDLING, Synthesised
from tests.infra.templates import of_backend, of_context, of_stack

HANDLER = "dashboard.page_function.handler"
JWT = Jwt(issuer="https://id.example.com/realm", audience=["jobs"])
SIGN = OidcSignIn(client_id="page", scopes=["openid", "ojs:operator"])


def variables(template: Synthesised) -> dict[str, Any]:
    """Return the variables of the page's function."""
    found: dict[str, Any] = template.function(HANDLER)["Environment"]["Variables"]
    return found


def test_the_page_gets_the_issuer_and_no_secret() -> None:
    """The issuer is the one whose tokens the gateway accepts."""
    chosen = OidcSignIn(
        client_id="page",
        scopes=["openid", "ojs:operator"],
        audience="jobs",
        origins=["https://tokens.example.com"],
    )
    props = {"access": JWT, "has_web_dashboard": True, "web_dashboard_sign_in": chosen}
    template = of_backend(**props)
    assert json.loads(variables(template)[SIGN_IN]) == {
        "issuer": JWT.issuer,
        "client_id": "page",
        "scopes": ["openid", "ojs:operator"],
        "audience": "jobs",
        "origins": ["https://tokens.example.com"],
    }
    (authorizer,) = template.of("AWS::ApiGatewayV2::Authorizer")
    assert authorizer["JwtConfiguration"]["Issuer"] == JWT.issuer


def test_the_page_gets_no_sign_in_without_an_issuer() -> None:
    """Then it asks for a key or a token."""
    template = of_backend(access=JWT, has_web_dashboard=True)
    assert SIGN_IN not in variables(template)


def test_a_user_pool_of_the_same_app_can_be_the_issuer() -> None:
    """Its URL is known only when it is deployed."""
    stack = Stack(App(context=NO_BUNDLING), "Mine")
    pool = cognito.UserPool(stack, "Operators")
    client = pool.add_client("Page")
    JobBackend(
        stack,
        "Jobs",
        JobBackendProps(
            access=Jwt(issuer=pool.user_pool_provider_url, audience=[client.user_pool_client_id]),
            has_web_dashboard=True,
            web_dashboard_sign_in=OidcSignIn(client_id=client.user_pool_client_id),
        ),
    )
    given = json.dumps(variables(of_stack(stack))[SIGN_IN])
    assert "Fn::Join" in given
    assert "ProviderURL" in given


def test_the_context_names_the_issuer_of_the_page() -> None:
    """As `cdk deploy -c sign_in_client=...` does."""
    template = of_context(
        auth="jwt",
        jwt_issuer="https://id.example.com",
        jwt_audience="jobs",
        web_dashboard="true",
        sign_in_client="page",
        sign_in_scopes="openid,offline_access",
        sign_in_origins="https://tokens.example.com",
    )
    given = json.loads(variables(template)[SIGN_IN])
    assert (given["issuer"], given["client_id"]) == ("https://id.example.com", "page")
    assert given["scopes"] == ["openid", "offline_access"]
    assert given["origins"] == ["https://tokens.example.com"]


@pytest.mark.parametrize(
    ("access", "chosen", "has_page", "problem"),
    [
        (JWT, SIGN, False, "has_web_dashboard=True"),
        (ApiKeys(), SIGN, True, "access=Jwt"),
        (OpenAccess(), SIGN, True, "access=Jwt"),
        (JWT, OidcSignIn(client_id=""), True, "client_id"),
        (JWT, OidcSignIn(client_id="page", scopes=["ojs:operator"]), True, "'openid'"),
        (JWT, OidcSignIn(client_id="page", issuer="https://other.example"), True, "one issuer"),
        (JWT, OidcSignIn(client_id="page", origins=["http://id.example"]), True, "no https URL"),
        (JWT, OidcSignIn(client_id="page", origins=["https://a.b; script-src *"]), True, "https"),
        (Jwt(issuer="id.example.com", audience=["a"]), SIGN, True, "no https URL"),
    ],
)
def test_what_cannot_be_used_is_refused(
    access: Access, chosen: OidcSignIn, problem: str, *, has_page: bool
) -> None:
    """At synthesis, and not when somebody signs in."""
    with pytest.raises(ValueError, match=problem):
        sign_in_of(chosen, access, has_page=has_page)


def test_an_authorizer_of_your_own_needs_the_name_of_its_issuer() -> None:
    """It may check the tokens of any issuer."""
    access = OwnAuthorizer(authorizer=None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one issuer"):
        sign_in_of(SIGN, access, has_page=True)
    chosen = OidcSignIn(client_id="page", issuer="https://id.example.com")
    assert sign_in_of(chosen, access, has_page=True).issuer == "https://id.example.com"
