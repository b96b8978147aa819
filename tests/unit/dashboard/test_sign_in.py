"""Tests what the page gets of an issuer, and which servers its policy lets it ask."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from typing import Any

import pytest

from ojs_aws.dashboard.files import CONTENT_SECURITY_POLICY, STATIC, SignIn, answer_file, origin_of
from ojs_aws.dashboard.page_function import SIGN_IN, handler

CHOSEN = SignIn(
    issuer="https://id.example.com/realms/ops",
    client_id='page"><script>',
    scopes=("openid", "ojs:operator"),
    origins=("https://tokens.example.com:8443", "https://id.example.com"),
)


def asked(route: str = "GET /", **event: Any) -> dict[str, Any]:
    """Return the answer of the page's function."""
    headers = {"accept": "text/html", **event.pop("headers", {})}
    return handler({"routeKey": route, "headers": headers, **event}, None)


def test_the_page_names_the_issuer_in_its_head(monkeypatch: pytest.MonkeyPatch) -> None:
    """As data in an attribute, which no text of the configuration leaves."""
    monkeypatch.setenv(SIGN_IN, CHOSEN.to_json())
    page = base64.b64decode(asked()["body"]).decode()
    (content,) = re.findall(r'<meta name="ojs-sign-in" content="([^"]*)">', page)
    assert json.loads(html.unescape(content)) == json.loads(CHOSEN.to_json())
    assert page.count("<script") == 1


def test_the_page_is_packed_with_the_issuer_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other files are those that were built; their tags differ."""
    built = asked()["headers"]["ETag"]
    monkeypatch.setenv(SIGN_IN, CHOSEN.to_json())
    answer = asked(headers={"accept-encoding": "gzip"})
    assert answer["headers"]["Content-Encoding"] == "gzip"
    assert b"ojs-sign-in" in gzip.decompress(base64.b64decode(answer["body"]))
    assert asked()["headers"]["ETag"] != built
    script = next(STATIC.glob("assets/app-*.js")).name
    packed = asked(
        "GET /assets/{file}",
        pathParameters={"file": script},
        headers={"accept-encoding": "gzip"},
    )
    assert base64.b64decode(packed["body"]) == (STATIC / "assets" / f"{script}.gz").read_bytes()


def test_the_policy_names_the_issuer_alone() -> None:
    """Nothing else of the policy changes, and without an issuer nothing does."""
    answer = answer_file("/", {}, CHOSEN)
    plain = answer_file("/", {})
    assert answer is not None
    assert plain is not None
    policy = answer.headers["Content-Security-Policy"]
    sources = "'self' https://id.example.com https://tokens.example.com:8443"
    assert f"connect-src {sources}; " in policy
    without = policy.replace(sources, "'self'")
    assert without == CONTENT_SECURITY_POLICY == plain.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://id.example.com/a/b", "https://id.example.com"),
        ("https://id.example.com:8443", "https://id.example.com:8443"),
        ("http://127.0.0.1:9000/", "http://127.0.0.1:9000"),
        ("http://localhost:9000", "http://localhost:9000"),
        ("http://localhost", "http://localhost"),
        ("http://[::1]/a", "http://[::1]"),
        ("http://[::1]:9000", "http://[::1]:9000"),
    ],
)
def test_the_origin_of_an_issuer_is_found(url: str, origin: str) -> None:
    """Plain HTTP is for an issuer on this machine."""
    assert origin_of(url) == origin


@pytest.mark.parametrize(
    "url",
    [
        "",
        "id.example.com",
        "http://id.example.com",
        "https://",
        "https://a.example; script-src *",
        "https://a.example 'unsafe-inline'",
        "https://*",
        "https://user:secret@a.example",
        "http://127.0.0.1.example.com:80",
        "javascript:alert(1)",
    ],
)
def test_what_would_change_the_policy_is_no_origin(url: str) -> None:
    """A policy reads spaces, semicolons and stars as its own."""
    with pytest.raises(ValueError, match="is no https URL"):
        origin_of(url)
