"""Serves the page in a deployment: a Lambda function behind routes that ask for no credentials.

This package is all of its code: it imports nothing of the backend, and is named without it.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from typing import Any, Final

from .files import FileAnswer, SignIn, answer_file, wants_page

SIGN_IN: Final = "DASHBOARD_SIGN_IN"
"""The variable with the issuer that the page leads to; without it the page asks for a token."""

ENVIRONMENT: Final = "DASHBOARD_ENVIRONMENT"
"""The variable with what the page calls the environment."""


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Answer a request of API Gateway's HTTP API (payload format 2.0).

    The route says which file is meant: the path has the stage and the domain's prefix in it.
    """
    del context
    headers = {name.lower(): value for name, value in event.get("headers", {}).items()}
    method, _, path = event["routeKey"].partition(" ")
    parts = event.get("pathParameters") or {}
    name = path.replace("{file}", parts.get("file", ""))
    found = answer_file(name, headers, _sign_in(), os.environ.get(ENVIRONMENT, ""))
    if found is None or (path == "/" and not wants_page(headers.get("accept", ""))):
        return _not_found(method, name)
    return _answer(found, has_body=method != "HEAD")


def _sign_in() -> SignIn | None:
    text = os.environ.get(SIGN_IN)
    return SignIn.from_json(text) if text else None


def _answer(found: FileAnswer, *, has_body: bool) -> dict[str, Any]:
    return {
        "statusCode": found.status,
        "headers": {**found.headers},
        "body": base64.b64encode(found.body).decode() if has_body else "",
        "isBase64Encoded": has_body,
    }


def _not_found(method: str, path: str) -> dict[str, Any]:
    """Return what the API says of a path that it does not have."""
    error = {
        "code": "not_found",
        "type": "not_found",
        "message": f"There is no {method} {path}.",
        "retryable": False,
        "details": {"method": method, "path": path},
        "hint": "GET /ojs/v1/openapi.json lists the operations; browsers get the dashboard at /.",
    }
    return {
        "statusCode": 404,
        "headers": {"Content-Type": "application/openjobspec+json", "Vary": "Accept"},
        "body": json.dumps({"error": error}) if method != "HEAD" else "",
        "isBase64Encoded": False,
    }
