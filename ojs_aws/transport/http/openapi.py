"""The OpenAPI 3.1 document, made from the route table, the query parameters and the models.

Nothing about a route is written here. What is: the shapes of answers, which are assembled from
raw text and have no models. Imported with the first request for the document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from ojs_aws._version import __version__
from ojs_aws.domain import validation as rules
from ojs_aws.domain.job import JobState
from ojs_aws.transport.http import models
from ojs_aws.transport.http.calls import JSON_TYPE, OJS_TYPE
from ojs_aws.transport.http.queries import PARAMETERS, Parameter
from ojs_aws.transport.http.routes import ROUTES, Route

Schema: TypeAlias = dict[str, Any]

_REF: Final = "#/components/schemas/"
_PATH_PARAMETER: Final = re.compile(r"<(\w+)>")
_STRING: Final[Schema] = {"type": "string"}
_INTEGER: Final[Schema] = {"type": "integer"}
_BOOLEAN: Final[Schema] = {"type": "boolean"}
_INSTANT: Final[Schema] = {"type": "string", "format": "date-time"}
_DESCRIPTIONS: Final[Mapping[int, str]] = {
    200: "Done.",
    201: "Created.",
    204: "Done; the answer has no body.",
    400: "The request is malformed, or an attribute is missing or invalid.",
    404: "There is no such job, queue or route.",
    409: "The state of the job does not permit this, or its id is taken.",
    413: "The body or the envelope is too large.",
    422: "Well formed, but not to be followed: a policy, a version, or the middleware refuses.",
    500: "The server failed; whether the request took effect may be unknown.",
    503: "The server cannot reach its table.",
}


def _ref(name: str) -> Schema:
    return {"$ref": f"{_REF}{name}"}


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _object(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    return {"type": "object", "required": list(required), "properties": properties}


_JOB_ID: Final[Schema] = {"type": "string", "pattern": f"^{rules.ID_PATTERN}$"}
_STATE: Final[Schema] = {"type": "string", "enum": [str(state) for state in JobState]}
_JOB: Final = _object(
    ("id", "type", "state", "queue", "attempt", "max_attempts", "created_at"),
    id=_JOB_ID,
    type=_STRING,
    queue=_STRING,
    state=_STATE,
    args={"type": "array"},
    meta={"type": "object"},
    priority=_INTEGER,
    attempt=_INTEGER,
    max_attempts=_INTEGER,
    timeout_ms=_INTEGER,
    created_at=_INSTANT,
    enqueued_at=_INSTANT,
    started_at=_INSTANT,
    completed_at=_INSTANT,
    cancelled_at=_INSTANT,
    discarded_at=_INSTANT,
    next_attempt_at=_INSTANT,
    retry_delay_ms=_INTEGER,
    previous_state=_STATE,
    error=_ref("Failure"),
    errors=_array(_ref("Failure")),
    result={},
)
_PAGINATION: Final = _object(
    ("total", "limit", "offset", "has_more"),
    total=_INTEGER,
    limit=_INTEGER,
    offset=_INTEGER,
    has_more=_BOOLEAN,
    next_cursor=_STRING,
    total_is_exact=_BOOLEAN,
    page=_INTEGER,
    per_page=_INTEGER,
)
_STATUS: Final[Schema] = {"type": "string", "enum": ["active", "paused"]}
_QUEUE: Final = _object(
    ("name", "status", "paused"),
    name=_STRING,
    status=_STATUS,
    state=_STATUS,
    paused=_BOOLEAN,
    paused_at=_INSTANT,
    created_at=_INSTANT,
    counts={"type": "object"},
    depth=_INTEGER,
    estimated=_array(_STRING),
)
_RATE_LIMIT: Final = _object(
    ("key",),
    key=_STRING,
    concurrency=_object((), limit=_INTEGER, active=_INTEGER, available=_INTEGER),
    rate=_object((), limit=_INTEGER, period=_STRING, current_count=_INTEGER),
    throttle=_object((), limit=_INTEGER, period=_STRING, next_allowed_at=_INSTANT),
)
_WORKER: Final = _object(
    ("id", "state", "directive", "last_heartbeat_at"),
    id=_STRING,
    state={"type": "string", "enum": ["running", "quiet", "terminate", "stale"]},
    directive={"type": "string", "enum": ["running", "quiet", "terminate"]},
    hostname=_STRING,
    queues=_array(_STRING),
    concurrency=_INTEGER,
    labels=_array(_STRING),
    active_jobs=_INTEGER,
    active_job_ids=_array(_JOB_ID),
    last_heartbeat_at=_INSTANT,
    expected_until=_INSTANT,
    heartbeat_interval_ms=_INTEGER,
)

_INSTANT_OR_NULL: Final[Schema] = {"type": ["string", "null"], "format": "date-time"}
_CRON: Final = _object(
    ("name", "cron", "timezone", "type", "args", "overlap_policy", "enabled", "created_at"),
    name=_STRING,
    cron=_STRING,
    expression=_STRING,
    timezone=_STRING,
    type=_STRING,
    args={"type": "array"},
    meta={"type": "object"},
    options={"type": "object"},
    job_template={"type": "object"},
    queue=_STRING,
    overlap_policy={"type": "string", "enum": ["skip", "allow", "cancel_previous", "enqueue"]},
    enabled=_BOOLEAN,
    status={"type": "string", "enum": ["active", "paused"]},
    description={"type": ["string", "null"]},
    last_run_at=_INSTANT_OR_NULL,
    next_run_at=_INSTANT_OR_NULL,
    run_count=_INTEGER,
    last_occurrence={"type": ["object", "null"]},
    created_at=_INSTANT,
    updated_at=_INSTANT,
)

_SCHEMA_NAME: Final = _object(
    ("uri", "type", "version", "created_at"),
    uri=_STRING,
    type=_STRING,
    job_type=_STRING,
    version={"type": ["string", "integer"]},
    created_at=_INSTANT,
    is_latest=_BOOLEAN,
)

_STEP: Final = _object(
    ("type", "state", "job_id"),
    id=_STRING,
    index=_INTEGER,
    type=_STRING,
    state=_STRING,
    job_id={"type": ["string", "null"]},
    job_state=_STATE,
    depends_on=_array(_STRING),
    started_at=_INSTANT,
    completed_at=_INSTANT,
    result={},
    steps=_array(_ref("Step")),
    jobs=_array(_ref("Step")),
    callbacks={"type": "object", "additionalProperties": _ref("Step")},
)
_WORKFLOW: Final = _object(
    ("id", "type", "state", "metadata", "created_at"),
    id=_STRING,
    type={"type": "string", "enum": ["chain", "group", "batch", "dag"]},
    name=_STRING,
    state={"type": "string", "enum": ["running", "completed", "failed", "cancelled"]},
    steps=_array(_ref("Step")),
    jobs=_array(_ref("Step")),
    callbacks={"type": "object", "additionalProperties": _ref("Step")},
    steps_total=_INTEGER,
    steps_completed=_INTEGER,
    jobs_total=_INTEGER,
    jobs_completed=_INTEGER,
    metadata={"type": "object"},
    created_at=_INSTANT,
    started_at=_INSTANT,
    completed_at=_INSTANT,
    cancelled_at=_INSTANT,
)

ANSWERS: Final[Mapping[str, Schema]] = {
    "Object": {"type": "object"},
    "Job": _JOB,
    "Failure": _object(
        ("type", "message", "attempt", "occurred_at"),
        type=_STRING,
        code=_STRING,
        message=_STRING,
        retryable=_BOOLEAN,
        backtrace=_array(_STRING),
        attempt=_INTEGER,
        occurred_at=_INSTANT,
    ),
    "Middleware": _object(
        ("enqueue", "hooks"), enqueue=_array(_ref("Member")), hooks=_array(_ref("Member"))
    ),
    "Member": _object(
        ("name", "kind", "implements"), name=_STRING, kind=_STRING, implements=_array(_STRING)
    ),
    "Pagination": _PAGINATION,
    "JobAnswer": _object(
        ("job", "id"),
        job={"oneOf": [_ref("Job"), {"type": "null"}]},
        id=_JOB_ID,
        dropped_by=_STRING,
    ),
    "BatchAnswer": _object(
        ("jobs", "count"), jobs=_array(_ref("Job")), count=_INTEGER, dropped=_array({})
    ),
    "JobsAnswer": _object(("jobs",), jobs=_array(_ref("Job"))),
    "JobPageAnswer": _object(
        ("pagination",),
        jobs=_array(_ref("Job")),
        items=_array(_ref("Job")),
        pagination=_ref("Pagination"),
    ),
    "OutcomeAnswer": _object(
        ("id", "job_id", "state", "attempt", "max_attempts", "job"),
        id=_JOB_ID,
        job_id=_JOB_ID,
        state=_STATE,
        attempt=_INTEGER,
        max_attempts=_INTEGER,
        acknowledged=_BOOLEAN,
        completed_at=_INSTANT,
        discarded_at=_INSTANT,
        next_attempt_at=_INSTANT,
        retry_delay_ms=_INTEGER,
        job=_ref("Job"),
    ),
    "HeartbeatAnswer": _object(
        ("state", "jobs_extended", "server_time"),
        state={"type": "string", "enum": ["running", "quiet", "terminate"]},
        jobs_extended=_array(_JOB_ID),
        jobs_cancelled=_array(_JOB_ID),
        jobs_lost=_array(_JOB_ID),
        server_time=_INSTANT,
    ),
    "Worker": _WORKER,
    "WorkerAnswer": _object(("worker", "id"), worker=_ref("Worker"), id=_STRING),
    "WorkersAnswer": _object(
        ("items", "summary", "pagination"),
        items=_array(_ref("Worker")),
        summary=_object(("total",), total=_INTEGER, running=_INTEGER, stale=_INTEGER),
        pagination=_ref("Pagination"),
    ),
    "DirectedAnswer": _object(
        ("directive", "updated", "workers"),
        directive=_STRING,
        updated=_INTEGER,
        workers=_array(_STRING),
        refused=_array(_STRING),
        has_more=_BOOLEAN,
        next_cursor=_STRING,
    ),
    "BulkAnswer": _object(
        ("results", "has_more"),
        retried=_INTEGER,
        deleted=_INTEGER,
        failed=_INTEGER,
        results=_array(
            _object(("id", "status"), id=_JOB_ID, status=_STRING, reason=_STRING),
        ),
        has_more=_BOOLEAN,
        next_cursor=_STRING,
    ),
    "DeletedAnswer": _object(("deleted", "job_id"), deleted=_BOOLEAN, job_id=_JOB_ID),
    "Queue": _QUEUE,
    "PurgeAnswer": _object(
        ("purged_count", "states", "has_more"),
        purged_count=_INTEGER,
        deleted=_INTEGER,
        cancelled=_INTEGER,
        states=_array(_STRING),
        has_more=_BOOLEAN,
        next_cursor=_STRING,
    ),
    "RateLimitAnswer": _RATE_LIMIT,
    "RateLimitsAnswer": _object(
        ("items", "pagination"), items=_array(_RATE_LIMIT), pagination=_ref("Pagination")
    ),
    "QueueAnswer": _object(
        ("queue", "name", "status", "paused"),
        queue=_ref("Queue"),
        name=_STRING,
        status=_STATUS,
        paused=_BOOLEAN,
        paused_at=_INSTANT,
        resumed_at=_INSTANT,
    ),
    "QueueStatsAnswer": _object(
        ("queue", "stats", "status", "computed_at"),
        queue=_ref("Queue"),
        stats={"type": "object"},
        status=_STATUS,
        computed_at=_INSTANT,
    ),
    "CountedQueuesAnswer": _object(
        ("items", "pagination"), items=_array(_ref("Queue")), pagination=_ref("Pagination")
    ),
    "QueuesAnswer": _object(
        ("queues", "pagination"),
        queues=_array(_object(("name", "status"), name=_STRING, status=_STRING, paused=_BOOLEAN)),
        pagination=_ref("Pagination"),
    ),
    "Cron": _CRON,
    "CronAnswer": _object(
        ("cron", "cron_job", "name"),
        cron=_ref("Cron"),
        cron_job=_ref("Cron"),
        name=_STRING,
        deleted=_BOOLEAN,
        warnings=_array(_STRING),
    ),
    "CronTriggerAnswer": _object(
        ("cron", "cron_job", "triggered"),
        cron=_ref("Cron"),
        cron_job=_ref("Cron"),
        triggered=_BOOLEAN,
        job_id={"type": ["string", "null"]},
        reason={"type": ["string", "null"]},
        active_job_id={"type": ["string", "null"]},
    ),
    "CronsAnswer": _object(
        ("crons", "cron_jobs", "entries", "count", "pagination"),
        crons=_array(_ref("Cron")),
        cron_jobs=_array(_ref("Cron")),
        entries=_array(_ref("Cron")),
        count=_INTEGER,
        pagination=_ref("Pagination"),
    ),
    "SchemaName": _SCHEMA_NAME,
    "SchemaAnswer": _object(
        ("uri", "type", "version", "created_at", "schema"),
        **_SCHEMA_NAME["properties"],
        schema={"type": "object"},
    ),
    "SchemasAnswer": _object(
        ("schemas", "pagination"),
        schemas=_array(_ref("SchemaName")),
        pagination=_ref("Pagination"),
    ),
    "SchemaVersionsAnswer": _object(
        ("type", "versions"), type=_STRING, versions=_array(_ref("SchemaName"))
    ),
    "SchemaDeletedAnswer": _object(
        ("deleted", "uri", "type", "version"),
        deleted=_BOOLEAN,
        **_SCHEMA_NAME["properties"],
    ),
    "Step": _STEP,
    "Workflow": _WORKFLOW,
    "WorkflowAnswer": _object(
        ("workflow", "id", "state"), workflow=_ref("Workflow"), id=_STRING, state=_STRING
    ),
    "WorkflowsAnswer": _object(
        ("workflows", "items", "pagination"),
        workflows=_array(_ref("Workflow")),
        items=_array(_ref("Workflow")),
        pagination=_ref("Pagination"),
    ),
    "EventsAnswer": _object(
        ("events", "cursor", "has_more"),
        events=_array(
            _object(
                ("specversion", "id", "type", "source", "time", "data"),
                id=_STRING,
                type=_STRING,
                time=_INSTANT,
                subject=_STRING,
                data={"type": "object"},
            )
        ),
        cursor=_STRING,
        has_more=_BOOLEAN,
    ),
    "ErrorAnswer": _object(
        ("error",),
        error=_object(
            ("code", "message", "retryable", "request_id"),
            code=_STRING,
            type=_STRING,
            message=_STRING,
            retryable=_BOOLEAN,
            details={"type": "object"},
            hint=_STRING,
            docs_url=_STRING,
            request_id=_STRING,
        ),
    ),
}
"""The shapes of answers; further members may stand in each."""


def openapi_document(base_url: str = "") -> Schema:
    """The document.

    :param base_url: URL of the server; empty leaves it to where the document came from.
    """
    paths: dict[str, Schema] = {}
    for route in ROUTES:
        for position, path in enumerate(route.paths):
            entry = paths.setdefault(_PATH_PARAMETER.sub(r"{\1}", path), {})
            entry[route.method.lower()] = _operation(route, position)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ojs-aws",
            "version": __version__,
            "description": "Open Job Spec over HTTP, on AWS primitives.",
        },
        "servers": [{"url": base_url.rstrip("/") or "/"}],
        "paths": paths,
        "components": {"schemas": _schemas()},
    }


def _schemas() -> dict[str, Schema]:
    """The bodies' schemas as pydantic makes them, and the answers'."""
    names = sorted({route.request for route in ROUTES if route.request})
    chosen: list[tuple[type[BaseModel], Any]] = [
        (getattr(models, name), "validation") for name in names
    ]
    _, generated = models_json_schema(chosen, ref_template=_REF + "{model}")
    return {**generated["$defs"], **ANSWERS}


def _operation(route: Route, position: int) -> Schema:
    """One operation; an alias gets an id of its own."""
    operation: Schema = {
        "operationId": route.operation + (f"_{position}" if position else ""),
        "summary": route.summary,
        "tags": [str(route.group)],
        "parameters": [
            *(_path_parameter(name) for name in _PATH_PARAMETER.findall(route.path)),
            *(_query_parameter(PARAMETERS[name]) for name in route.query),
        ],
        "responses": _responses(route),
    }
    if route.request:
        schema = _ref(route.request)
        operation["requestBody"] = {
            "required": route.needs_body,
            "content": {OJS_TYPE: {"schema": schema}, JSON_TYPE: {"schema": schema}},
        }
    return operation


def _path_parameter(name: str) -> Schema:
    schema = _JOB_ID if name == "job_id" else _STRING
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _query_parameter(parameter: Parameter) -> Schema:
    if parameter.default is None:
        schema: Schema = {"type": "string", "maxLength": parameter.most}
    else:
        schema = {"type": "integer", "minimum": parameter.least, "default": parameter.default}
        schema["maximum"] = parameter.most
    return {
        "name": parameter.name,
        "in": "query",
        "required": False,
        "description": parameter.description,
        "schema": schema,
    }


def _responses(route: Route) -> Schema:
    media_type = route.media_type or OJS_TYPE
    answer = _STRING if media_type == "text/plain" else _ref(route.response)
    responses = {
        str(status): {
            "description": _DESCRIPTIONS[status],
            "headers": _headers(with_location=status == 201),  # noqa: PLR2004
            "content": {media_type: {"schema": answer}},
        }
        for status in route.statuses
    }
    error = {OJS_TYPE: {"schema": _ref("ErrorAnswer")}}
    for status in sorted({400, 422, 500, 503, *route.errors}):
        responses[str(status)] = {
            "description": _DESCRIPTIONS[status],
            "headers": _headers(),
            "content": error,
        }
    return responses


def _headers(*, with_location: bool = False) -> Schema:
    names = ("OJS-Version", "X-Request-Id", *(("Location",) if with_location else ()))
    return {name: {"schema": _STRING} for name in names}
