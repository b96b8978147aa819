"""Makes the OpenAPI 3.1 document from the route table, query parameters and models.

Nothing about an operation is written here: its route names the model of its body, and its handler
declares the type of its answer. Imported with the first request for the document.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import sys
from collections.abc import Mapping
from typing import Any, Final, TypeAlias, get_args, get_type_hints

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from ojs_aws._version import __version__
from ojs_aws.domain.attributes import ID_PATTERN
from ojs_aws.transport.http import admin_requests, requests
from ojs_aws.transport.http.answers import ErrorAnswer
from ojs_aws.transport.http.calls import CREATED, JSON_TYPE, NO_CONTENT, OJS_TYPE
from ojs_aws.transport.http.negotiation import CLOUD_EVENT_TYPE, EVENT_PREFIX
from ojs_aws.transport.http.queries import PARAMETERS, Parameter
from ojs_aws.transport.http.route import scopes_of
from ojs_aws.transport.http.routes import ROUTES, Route, handler_of

Schema: TypeAlias = dict[str, Any]

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
    415: "The body is compressed in a way that the server does not read.",
    422: "Well formed, but not to be followed: a policy, a version, or the middleware refuses.",
    429: "Too many requests, or the queue is full; Retry-After says when to come back.",
    500: "The server failed; whether the request took effect may be unknown.",
    503: "The server cannot reach its table.",
}
_BEARER: Final[Schema] = {
    "type": "http",
    "scheme": "bearer",
    "description": "An API key, or a token of the issuer that the deployment names. A deployment "
    "may leave access open, or ask for AWS signatures instead: its manifest says which.",
}
_SCHEME: Final[Schema] = {"bearer": []}
_JOB_ID: Final[Schema] = {"type": "string", "pattern": f"^{ID_PATTERN}$"}
_STRING: Final[Schema] = {"type": "string"}
_REF: Final = "#/components/schemas/"
_ERROR: Final = "error"
_EVENT: Final = "CloudEventBody"
_EVENT_HEADERS: Final[Mapping[str, str]] = {
    "specversion": "Says that the headers hold a CloudEvent, and the body its data (binary mode).",
    "id": "Of the CloudEvent: with its source and time it decides the id of the job.",
    "source": "Of the CloudEvent.",
    "type": "Of the CloudEvent: the type of the job.",
}


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


def _schemas() -> Schema:
    """Return the schemas of bodies and answers, by name."""
    return {**body_schemas(), **answer_schemas()[1]}


def body_schemas() -> Schema:
    """Return the schemas of the models that the routes name."""
    models = {**_declared(), **vars(requests), **vars(admin_requests)}
    names = sorted({_EVENT} | {route.request for route in ROUTES if route.request})
    chosen: list[tuple[type[BaseModel], Any]] = [(models[name], "validation") for name in names]
    generated: Schema = models_json_schema(chosen, ref_template=_REF + "{model}")[1]["$defs"]
    return generated


@functools.cache
def answer_schemas() -> tuple[Mapping[str, Schema], Schema]:
    """Return the schema of each operation's answer, and the named schemas that these refer to."""
    types = {route.operation: answer_type(route) for route in ROUTES} | {_ERROR: ErrorAnswer}
    made, named = TypeAdapter.json_schemas(
        [(name, "serialization", TypeAdapter(each)) for name, each in types.items()],
        schema_generator=_WithoutTitles,
        ref_template=_REF + "{model}",
    )
    return {name: schema for (name, _), schema in made.items()}, named["$defs"]


class _WithoutTitles(GenerateJsonSchema):
    """Describes members without titles, which would repeat their names."""

    def field_title_should_be_set(self, schema: object) -> bool:
        """Return False for every member."""
        del schema
        return False


def answer_type(route: Route) -> Any:
    """Return the type of the answer that the handler of an operation declares."""
    handler = handler_of(route)
    module = sys.modules[handler.__module__]
    declared = _declared()
    own = sys.modules.get(f"{module.__package__}.models")
    names = {**declared, **vars(module), "models": own}
    return get_args(get_type_hints(handler, names)["return"])[0]


@functools.cache
def _declared() -> Mapping[str, Any]:
    """Return what the ``models`` of the features that have them declare."""
    found: dict[str, Any] = {}
    for feature in dict.fromkeys(route.module.partition(".")[0] for route in ROUTES):
        name = f"{__package__}.{feature}.models"
        if importlib.util.find_spec(name):
            found |= vars(importlib.import_module(name))
    return found


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
        "security": [{}, _SCHEME] if route.is_public else [_SCHEME],
        "x-ojs-scopes": [*scopes_of(route.access)],
    }
    if route.request:
        schema = {"$ref": _REF + route.request}
        operation["requestBody"] = {
            "required": not route.is_body_optional,
            "content": {OJS_TYPE: {"schema": schema}, JSON_TYPE: {"schema": schema}},
        }
    if route.events:
        _add_events(operation, route.events)
    return operation


def _add_events(operation: Schema, content_type: str) -> None:
    """Add that an operation takes CloudEvents: one, also in binary mode, or a batch."""
    schema: Schema = {"$ref": _REF + _EVENT}
    if content_type == CLOUD_EVENT_TYPE:
        operation["parameters"] += [
            {
                "name": EVENT_PREFIX + name,
                "in": "header",
                "required": False,
                "description": description,
                "schema": _STRING,
            }
            for name, description in _EVENT_HEADERS.items()
        ]
    else:
        schema = {"type": "array", "items": schema}
    operation["requestBody"]["content"][content_type] = {"schema": schema}


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
    answers = answer_schemas()[0]
    content = {route.media_type or OJS_TYPE: {"schema": answers[route.operation]}}
    error = {OJS_TYPE: {"schema": answers[_ERROR]}}
    found = dict.fromkeys(route.statuses, content)
    not_found = {404} if _PATH_PARAMETER.search(route.path) else set()
    unread = {413, 415} if route.request else set()
    refused = {400, 401, 403, 422, 429, 500, 503, *route.errors, *not_found, *unread}
    found |= dict.fromkeys(sorted(refused), error)
    return {str(status): _response(status, each) for status, each in found.items()}


def _response(status: int, content: Schema) -> Schema:
    names = ("OJS-Version", "X-Request-Id", *(("Location",) if status == CREATED else ()))
    return {
        "description": _DESCRIPTIONS[status],
        "headers": {name: {"schema": _STRING} for name in names},
        **({} if status == NO_CONTENT else {"content": content}),
    }
