"""A small OpenID Connect issuer: it checks what a real one checks, and misbehaves when asked to.

It wants PKCE with S256, takes each code and each refresh token once, and keeps what it was asked.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlencode

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

CLIENT: Final = "dashboard"
OK: Final = "200 OK"
BAD: Final = "400 Bad Request"

Answer = tuple[str, str, str]
"""Status line, content type and body; a redirect has its address as the body."""


def encoded(content: bytes) -> str:
    """Return base64url without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def json_answer(status: str, value: object) -> Answer:
    """Return an answer with JSON."""
    return status, "application/json", json.dumps(value)


class Issuer:
    """Answers what the page asks of an issuer; what it does wrong is set by its attributes.

    :ivar page: the redirect URI of the page.
    :ivar answer_changes: parameters of its answer that are changed.
    :ivar claim_changes: claims of the ID token that are changed.
    :ivar lifetime_s: of access tokens.
    :ivar gives_refresh_tokens: whether there are any.
    :ivar answers_in_fragment: whether it can answer after the ``#``.
    :ivar down: paths that answer 503.
    :ivar asked: method, path with query, and body of each request.
    :ivar access: the access tokens that are valid, with the instant of their end.
    :ivar refresh: the refresh tokens that can be used.
    :ivar given: every token that it gave.
    """

    def __init__(self) -> None:
        self.url = ""
        self.page = ""
        self.token_origin = ""
        self.answer_changes: dict[str, str] = {}
        self.claim_changes: dict[str, Any] = {}
        self.lifetime_s = 3600
        self.gives_refresh_tokens = True
        self.answers_in_fragment = False
        self.down: set[str] = set()
        self.asked: list[tuple[str, str, str]] = []
        self.access: dict[str, float] = {}
        self.refresh: set[str] = set()
        self.given: set[str] = set()
        self._codes: dict[str, dict[str, str]] = {}
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def grants(self) -> list[str]:
        """Return the kinds of grants that the token endpoint was asked for."""
        bodies = [body for method, path, body in self.asked if path == "/token"]
        return [dict(parse_qsl(body))["grant_type"] for body in bodies]

    def is_valid(self, token: str) -> bool:
        """Return True if an access token can be used now."""
        return self.access.get(token, 0) > time.time()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request (WSGI)."""
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        query = environ.get("QUERY_STRING", "")
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)).decode()
        self.asked.append((method, f"{path}?{query}" if query else path, body))
        status, kind, text = self._answer(path, dict(parse_qsl(query)), dict(parse_qsl(body)))
        headers = [("Content-Type", kind), ("Cache-Control", "no-store")]
        if status.startswith("302"):
            headers, text = [("Location", text)], ""
        if path not in {"/authorize", "/decide", "/logout"}:  # these are pages of its own
            headers.append(("Access-Control-Allow-Origin", "*"))
        start_response(status, headers)
        return [text.encode()]

    def _answer(self, path: str, query: dict[str, str], form: dict[str, str]) -> Answer:
        if path in self.down:
            return json_answer("503 Service Unavailable", {})
        answers: dict[str, Callable[[], Answer]] = {
            "/.well-known/openid-configuration": lambda: json_answer(OK, self._description()),
            "/jwks": lambda: json_answer(OK, {"keys": [self._public_key()]}),
            "/authorize": lambda: self._ask(query),
            "/decide": lambda: self._redirect(query),
            "/token": lambda: self._give(form),
            "/revoke": lambda: self._revoke(form),
            "/logout": lambda: _page("Signed out", {"Back": query["post_logout_redirect_uri"]}),
        }
        return answers[path]() if path in answers else ("404 Not Found", "text/plain", "")

    def _description(self) -> dict[str, Any]:
        tokens = self.token_origin or self.url
        found: dict[str, Any] = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{tokens}/token",
            "revocation_endpoint": f"{self.url}/revoke",
            "end_session_endpoint": f"{self.url}/logout",
            "jwks_uri": f"{self.url}/jwks",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
        }
        if self.answers_in_fragment:
            found["response_modes_supported"] = ["query", "fragment"]
        return found

    def _ask(self, query: dict[str, str]) -> Answer:
        """Show who wants to sign in, with a way to allow it and one to decline."""
        wanted = {
            "client_id": CLIENT,
            "redirect_uri": self.page,
            "response_type": "code",
            "code_challenge_method": "S256",
        }
        wrong = [name for name, value in wanted.items() if query.get(name) != value]
        wrong += [name for name in ("state", "nonce", "code_challenge") if not query.get(name)]
        if wrong or "openid" not in query.get("scope", "").split():
            return BAD, "text/plain", f"wrong: {wrong}"
        choices = ("Allow", "Decline")
        return _page(
            "Who are you?",
            {each: f"/decide?{urlencode({**query, 'is': each})}" for each in choices},
        )

    def _redirect(self, query: dict[str, str]) -> Answer:
        answer = {"state": query["state"], "iss": self.url}
        if query["is"] == "Allow":
            code = secrets.token_urlsafe(16)
            self._codes[code] = query
            answer["code"] = code
        else:
            answer |= {"error": "access_denied", "error_description": "Nobody <b>allowed</b> it"}
        answer |= self.answer_changes
        mark = "#" if query.get("response_mode") == "fragment" else "?"
        return "302 Found", "", f"{self.page}{mark}{urlencode(answer)}"

    def _give(self, form: dict[str, str]) -> Answer:
        """Give tokens for a code or a refresh token, which can be used once."""
        nonce = None
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.refresh or form["client_id"] != CLIENT:
                return json_answer(BAD, {"error": "invalid_grant"})
            self.refresh.discard(form["refresh_token"])
        else:
            asked = self._codes.pop(form["code"], {})
            challenge = encoded(hashlib.sha256(form["code_verifier"].encode()).digest())
            sent = (challenge, form["redirect_uri"], form["client_id"])
            names = ("code_challenge", "redirect_uri", "client_id")
            if sent != tuple(asked.get(name) for name in names):
                return json_answer(BAD, {"error": "invalid_grant"})
            nonce = asked["nonce"]
        return json_answer(OK, self._tokens(nonce))

    def _revoke(self, form: dict[str, str]) -> Answer:
        self.refresh.discard(form["token"])
        return OK, "text/plain", ""

    def _tokens(self, nonce: str | None) -> dict[str, Any]:
        now = int(time.time())
        access = self.give_token()
        claims = {"iss": self.url, "aud": CLIENT, "sub": "ada", "iat": now, "exp": now + 300}
        found: dict[str, Any] = {
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": self.lifetime_s,
            "id_token": self.signed({**claims, "nonce": nonce, **self.claim_changes}),
        }
        if self.gives_refresh_tokens:
            found["refresh_token"] = secrets.token_urlsafe(16)
            self.refresh.add(found["refresh_token"])
        self.given |= {found["id_token"], *self.refresh}
        return found

    def give_token(self) -> str:
        """Return a new access token."""
        now = int(time.time())
        claims = {"iss": self.url, "aud": "jobs", "scope": "ojs:admin", "iat": now}
        token = self.signed({**claims, "exp": now + self.lifetime_s})
        self.access[token] = now + self.lifetime_s
        self.given.add(token)
        return token

    def signed(self, claims: dict[str, Any]) -> str:
        """Return a token with claims, signed by RS256."""
        header = {"alg": "RS256", "kid": "1"}
        claims = {"jti": secrets.token_hex(8), **claims}
        text = ".".join(encoded(json.dumps(each).encode()) for each in (header, claims))
        signature = self._key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{text}.{encoded(signature)}"

    def _public_key(self) -> dict[str, str]:
        numbers = self._key.public_key().public_numbers()
        return {
            "kty": "RSA",
            "kid": "1",
            "alg": "RS256",
            "use": "sig",
            "n": encoded(numbers.n.to_bytes(256, "big")),
            "e": encoded(numbers.e.to_bytes(3, "big")),
        }


def _page(heading: str, links: dict[str, str]) -> Answer:
    written = "".join(
        f'<p><a href="{html.escape(url)}">{text}</a></p>' for text, url in links.items()
    )
    head = f'<link rel="icon" href="data:,"><title>{heading}</title>'
    page = f'<!doctype html><html lang="en">{head}<h1>{heading}</h1>{written}'
    return OK, "text/html", page


@contextmanager
def served(application: Any) -> Iterator[str]:
    """Serve a WSGI application on this machine; yield its address without a slash."""
    from werkzeug.serving import make_server

    server = make_server("127.0.0.1", 0, application, threaded=True)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
