"""Answers requests that no function of the backend is asked for (WSGI)."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from ojs_aws.bootstrap.machine import UuidGenerator
from ojs_aws.transport.http.calls import OJS_TYPE, OJS_VERSION
from ojs_aws.transport.http.errors import answer_error

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse

    from ojs_aws.domain.errors import OjsError


def status_line(status: int) -> str:
    """Return a status with its phrase, as WSGI wants it."""
    return f"{status} {HTTPStatus(status).phrase}"


def refuse(problem: OjsError, start_response: StartResponse) -> list[bytes]:
    """Answer with an error in the form of the API."""
    request_id = UuidGenerator().request_id()
    body = answer_error(problem, request_id).text.encode()
    start_response(
        status_line(problem.status),
        [
            ("Content-Type", OJS_TYPE),
            ("OJS-Version", OJS_VERSION),
            ("X-Request-Id", request_id),
            ("Content-Length", str(len(body))),
        ],
    )
    return [body]
