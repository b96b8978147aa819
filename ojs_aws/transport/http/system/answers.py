"""Declares the answers about the server itself, events and errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ojs_aws.transport.http.schema_parts import (
    BOOLEAN,
    INSTANT,
    INTEGER,
    STRING,
    Schema,
    array,
    members,
    ref,
)

ANSWERS: Final[Mapping[str, Schema]] = {
    "Object": {"type": "object"},
    "ManifestAnswer": members(
        ("specversion", "implementation", "conformance_level", "capabilities"),
        specversion=STRING,
        ojs_version=STRING,
        implementation=members(
            ("name", "version", "language"), name=STRING, version=STRING, language=STRING
        ),
        conformance_level=INTEGER,
        protocols=array(STRING),
        backend=STRING,
        capabilities={"type": "object"},
        extensions=array(STRING),
    ),
    "HealthAnswer": members(
        ("status", "version", "uptime_seconds", "backend"),
        status={"type": "string", "enum": ["ok", "degraded"]},
        version=STRING,
        uptime_seconds=INTEGER,
        backend=members(
            ("type", "status", "latency_ms"),
            type=STRING,
            status={"type": "string", "enum": ["ok", "unhealthy"]},
            latency_ms=INTEGER,
            error=STRING,
        ),
    ),
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
