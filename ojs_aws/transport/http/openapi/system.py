"""What a server says of itself, of events and of errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ojs_aws.transport.http.openapi.parts import (
    BOOLEAN,
    INSTANT,
    STRING,
    Schema,
    array,
    members,
    ref,
)

ANSWERS: Final[Mapping[str, Schema]] = {
    "Object": {"type": "object"},
    "Middleware": members(
        ("enqueue", "hooks"), enqueue=array(ref("Member")), hooks=array(ref("Member"))
    ),
    "Member": members(
        ("name", "kind", "implements"), name=STRING, kind=STRING, implements=array(STRING)
    ),
    "EventsAnswer": members(
        ("events", "cursor", "has_more"),
        events=array(
            members(
                ("specversion", "id", "type", "source", "time", "data"),
                id=STRING,
                type=STRING,
                time=INSTANT,
                subject=STRING,
                data={"type": "object"},
            )
        ),
        cursor=STRING,
        has_more=BOOLEAN,
    ),
    "ErrorAnswer": members(
        ("error",),
        error=members(
            ("code", "message", "retryable", "request_id"),
            code=STRING,
            type=STRING,
            message=STRING,
            retryable=BOOLEAN,
            details={"type": "object"},
            hint=STRING,
            docs_url=STRING,
            request_id=STRING,
        ),
    ),
}
