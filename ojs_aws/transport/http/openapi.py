"""Makes the OpenAPI 3.1 document from the route table, query parameters and models.

Nothing about a route is written here. What is, by area: the shapes of answers, which are assembled
from raw text and have no models. Imported with the first request for the document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from ojs_aws._version import __version__
from ojs_aws.transport.http.access import scopes_of
from ojs_aws.transport.http.bulk import bodies as bulk
from ojs_aws.transport.http.calls import JSON_TYPE, OJS_TYPE
from ojs_aws.transport.http.cron import answers as cron
from ojs_aws.transport.http.cron import bodies as cron_bodies
from ojs_aws.transport.http.jobs import answers as jobs
from ojs_aws.transport.http.jobs import bodies as envelopes
from ojs_aws.transport.http.limits import bodies as limits
from ojs_aws.transport.http.outcomes import answers as outcomes
from ojs_aws.transport.http.queries import PARAMETERS, Parameter
from ojs_aws.transport.http.queues import answers as queues
from ojs_aws.transport.http.queues import bodies as queue_bodies
from ojs_aws.transport.http.routes import ROUTES, Route
from ojs_aws.transport.http.schema_parts import JOB_ID, REF, STRING, Schema, ref
from ojs_aws.transport.http.schemas import answers as schemas
from ojs_aws.transport.http.schemas import bodies as schema_bodies
from ojs_aws.transport.http.system import admin_answers as admin
from ojs_aws.transport.http.system import answers as system
from ojs_aws.transport.http.system import bodies as operators
from ojs_aws.transport.http.workers import answers as workers
from ojs_aws.transport.http.workers import bodies as worker_bodies
from ojs_aws.transport.http.workflows import answers as workflows
from ojs_aws.transport.http.workflows import bodies as workflow_bodies

__all__ = ["ANSWERS", "openapi_document"]

_PATH_PARAMETER: Final = re.compile(r"<(\w+)>")
_DESCRIPTIONS: Final[Mapping[int, str]] = {
    200: "Done.",
    201: "Created.",
    207: "Some succeeded and some did not; each has its result.",
    204: "Done; the answer has no body.",
    400: "The request is malformed, or an attribute is missing or invalid.",
    401: "There are no valid credentials; the deployment asks for some.",
    403: "The credentials do not allow this operation, queue or job type.",
    404: "There is no such job, queue or route.",
    408: "The job is not over yet; ask again.",
    409: "The state of the job does not permit this, or its id is taken.",
    410: "The outcome of the job is not kept any more.",
    413: "The body or the envelope is too large.",
    422: "Well formed, but not to be followed: a policy, a version, or the middleware refuses.",
    500: "The server failed; whether the request took effect may be unknown.",
    503: "The server cannot reach its table.",
}
_BODIES: Final = (
    bulk,
    cron_bodies,
    envelopes,
    limits,
    operators,
    queue_bodies,
    schema_bodies,
    worker_bodies,
    workflow_bodies,
)
_BEARER: Final[Schema] = {
    "type": "http",
    "scheme": "bearer",
    "description": "An API key, or a token of the issuer that the deployment names. A deployment "
    "may leave access open, or ask for AWS signatures instead: its manifest says which.",
}
_SCHEMES: Final[tuple[Schema, ...]] = ({"bearer": []},)
ANSWERS: Final[Mapping[str, Schema]] = {
    **jobs.ANSWERS,
    **outcomes.ANSWERS,
    **workers.ANSWERS,
    **queues.ANSWERS,
    **admin.ANSWERS,
    **cron.ANSWERS,
    **schemas.ANSWERS,
    **workflows.ANSWERS,
    **system.ANSWERS,
}
"""The shapes of answers; further members may stand in each."""


def openapi_document(base_url: str = "") -> Schema:
    """Return the OpenAPI document.

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
        "components": {"schemas": _schemas(), "securitySchemes": {"bearer": _BEARER}},
    }


def _schemas() -> dict[str, Schema]:
    """Return the bodies' schemas as pydantic makes them, and the answers'."""
    bodies: dict[str, type[BaseModel]] = {
        name: model
        for module in _BODIES
        for name, model in vars(module).items()
        if isinstance(model, type) and issubclass(model, BaseModel)
    }
    names = sorted({route.request for route in ROUTES if route.request})
    chosen: list[tuple[type[BaseModel], Any]] = [(bodies[name], "validation") for name in names]
    _, generated = models_json_schema(chosen, ref_template=REF + "{model}")
    return {**generated["$defs"], **ANSWERS}


def _operation(route: Route, position: int) -> Schema:
    """Return one operation; an alias gets an id of its own."""
    operation: Schema = {
        "operationId": route.operation + (f"_{position}" if position else ""),
        "summary": route.summary,
        "tags": [str(route.group)],
        "parameters": [
            *(_path_parameter(name) for name in _PATH_PARAMETER.findall(route.path)),
            *(_query_parameter(PARAMETERS[name]) for name in route.query),
        ],
        "responses": _responses(route),
        "security": [{}, *_SCHEMES] if route.is_public else [*_SCHEMES],
        "x-ojs-scopes": [*scopes_of(route.access)],
    }
    if route.request:
        schema = ref(route.request)
        operation["requestBody"] = {
            "required": route.needs_body,
            "content": {OJS_TYPE: {"schema": schema}, JSON_TYPE: {"schema": schema}},
        }
    return operation


def _path_parameter(name: str) -> Schema:
    schema = JOB_ID if name == "job_id" else STRING
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
    answer = STRING if media_type == "text/plain" else ref(route.response)
    responses = {
        str(status): {
            "description": _DESCRIPTIONS[status],
            "headers": _headers(with_location=status == 201),  # noqa: PLR2004
            "content": {media_type: {"schema": answer}},
        }
        for status in route.statuses
    }
    error = {OJS_TYPE: {"schema": ref("ErrorAnswer")}}
    for status in sorted({400, 401, 403, 422, 500, 503, *route.errors}):
        responses[str(status)] = {
            "description": _DESCRIPTIONS[status],
            "headers": _headers(),
            "content": error,
        }
    return responses


def _headers(*, with_location: bool = False) -> Schema:
    names = ("OJS-Version", "X-Request-Id", *(("Location",) if with_location else ()))
    return {name: {"schema": STRING} for name in names}
