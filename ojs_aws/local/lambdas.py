"""Calls Lambda handlers the way AWS does: with events and a context."""

from __future__ import annotations

import base64
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

Event: TypeAlias = dict[str, Any]
Handler: TypeAlias = Callable[[Event, Any], Any]

API_TIMEOUT_S: Final = 29.0
WORKER_TIMEOUT_S: Final = 900.0


@dataclass(frozen=True, slots=True)
class LambdaContext:
    """Holds what a handler may ask of its invocation."""

    function_name: str
    timeout_s: float
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    function_version: str = "$LATEST"
    memory_limit_in_mb: int = 512
    started_at: float = field(default_factory=time.monotonic)

    @property
    def invoked_function_arn(self) -> str:
        """Return the ARN of the function."""
        return f"arn:aws:lambda:us-east-1:123456789012:function:{self.function_name}"

    @property
    def log_group_name(self) -> str:
        """Return the log group of the function."""
        return f"/aws/lambda/{self.function_name}"

    @property
    def log_stream_name(self) -> str:
        """Return the log stream of the invocation."""
        return "local"

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until the invocation would be ended."""
        return max(0, round((self.timeout_s - (time.monotonic() - self.started_at)) * 1000))


def http_event(
    method: str, path: str, query: str, headers: Mapping[str, str], body: bytes
) -> Event:
    """Return the API Gateway HTTP API event (payload format 2.0) of a request.

    Bodies whose content type API Gateway does not know as text arrive base64-encoded, as they do
    when deployed.
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    event: Event = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": query,
        "headers": lowered,
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "local",
            "domainName": lowered.get("host", "localhost"),
            "domainPrefix": "local",
            "http": {
                "method": method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": lowered.get("user-agent", ""),
            },
            "requestId": str(uuid.uuid4()),
            "routeKey": "$default",
            "stage": "$default",
            "time": "",
            "timeEpoch": int(time.time() * 1000),
        },
        "isBase64Encoded": bool(body),
    }
    if query:
        event["queryStringParameters"] = _query(query)
    if body:
        event["body"] = base64.b64encode(body).decode()
    return event


def _query(query: str) -> dict[str, str]:
    """Return parameters as API Gateway passes them on: repeated ones joined by commas."""
    from urllib.parse import parse_qsl

    joined: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Holds a handler's answer to a request."""

    status: int
    headers: dict[str, str]
    body: bytes


def http_answer(result: Mapping[str, Any]) -> HttpAnswer:
    """Read a handler's answer in payload format 2.0."""
    raw = result.get("body") or ""
    body = base64.b64decode(raw) if result.get("isBase64Encoded") else str(raw).encode()
    headers = {str(name): str(value) for name, value in (result.get("headers") or {}).items()}
    return HttpAnswer(int(result.get("statusCode", 200)), headers, body)
