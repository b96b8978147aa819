"""The OpenAPI document: generated, complete, and true to what PUSH checks."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, get_args

import pytest
from typing_extensions import is_typeddict

from ojs_aws.domain import attributes as rules
from ojs_aws.domain.retry import MAX_ATTEMPTS
from ojs_aws.transport.http.answers import JsonObject
from ojs_aws.transport.http.openapi import (
    answer_schemas,
    answer_type,
    body_schemas,
    openapi_document,
)
from ojs_aws.transport.http.requests import PushBody
from ojs_aws.transport.http.routes import ROUTES, Route
from tests.api import Api


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The document."""
    return openapi_document("https://jobs.example.com/")


def references(part: object) -> set[str]:
    """The schemas that a part of the document refers to."""
    if isinstance(part, dict):
        own = {part["$ref"]} if "$ref" in part else set()
        return own.union(*(references(value) for value in part.values()))
    if isinstance(part, list):
        return set().union(*(references(item) for item in part))
    return set()


def test_it_has_exactly_the_routes_of_the_table(document: dict[str, Any]) -> None:
    """Aliases included; nothing beside them."""
    described = {
        (method.upper(), path) for path, entry in document["paths"].items() for method in entry
    }
    table = {
        (route.method, path.replace("<", "{").replace(">", "}"))
        for route in ROUTES
        for path in route.paths
    }
    assert described == table


def test_operation_ids_are_unique(document: dict[str, Any]) -> None:
    """Generated clients name their methods by them."""
    ids = [op["operationId"] for entry in document["paths"].values() for op in entry.values()]
    assert len(set(ids)) == len(ids)


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    """The schemas of bodies and answers name each other."""
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert references(document) <= known


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_each_operation_declares_the_type_of_its_answer(route: Route) -> None:
    """mypy checks its members; only Prometheus gets text, and the document is its own schema."""
    answer = answer_type(route)
    if route.media_type not in {"", "text/event-stream"}:
        assert answer is (str if route.media_type == "text/plain" else JsonObject)
    else:
        assert all(is_typeddict(each) for each in get_args(answer) or [answer])


def test_no_schema_of_an_answer_has_the_name_of_a_body() -> None:
    """One of them would take the place of the other."""
    assert not body_schemas().keys() & answer_schemas()[1].keys()


def test_it_states_the_constraints_that_push_checks(document: dict[str, Any]) -> None:
    """From the same constants."""
    properties = document["components"]["schemas"]["PushBody"]["properties"]
    assert properties["type"]["pattern"] == f"^{rules.TYPE_PATTERN}$"
    assert properties["id"]["anyOf"][0]["pattern"] == f"^{rules.ID_PATTERN}$"
    assert properties["queue"]["anyOf"][0]["pattern"] == f"^{rules.QUEUE_PATTERN}$"
    assert properties["priority"]["anyOf"][0]["maximum"] == rules.PRIORITY_LIMIT
    assert properties["schema"]["anyOf"]
    policy = document["components"]["schemas"]["RetryPolicyBody"]["properties"]
    assert policy["max_attempts"]["anyOf"][0]["maximum"] == MAX_ATTEMPTS
    assert document["components"]["schemas"]["PushBody"]["additionalProperties"] is True


def test_it_is_served_as_json(api: Api) -> None:
    """GET /ojs/v1/openapi.json."""
    reply = api.get("/openapi.json")
    assert reply.headers["Content-Type"] == "application/json"
    assert reply.json == openapi_document()


def test_the_models_describe_the_envelope_that_push_accepts() -> None:
    """What a model refuses, PUSH would refuse as well; the full case of the suites passes both."""
    PushBody.model_validate(
        {"type": "email.send", "args": [], "options": {"queue": "q", "retry": {"jitter": True}}}
    )


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    """Decision 6: pydantic and the document cost a cold start nothing."""
    code = (
        "import sys\n"
        "import ojs_aws.transport.http.resolver\n"
        "from ojs_aws.transport.http.routes import Group, import_main_handlers\n"
        "[import_main_handlers(group) for group in Group]\n"
        "print([n for n in ('pydantic', 'isodate', 'boto3', 'httpx', 'email.parser', "
        "'ojs_aws.transport.http.requests', 'ojs_aws.transport.http.admin_requests', "
        "'ojs_aws.transport.http.jobs.models', 'ojs_aws.transport.http.openapi', "
        "'ojs_aws.transport.http.test_aids') if n in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "[]"
