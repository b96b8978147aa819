"""No value of a member makes the server fail: each operation refuses it, or does without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from ojs_aws.transport.http.openapi import openapi_document
from ojs_aws.transport.http.routes import ROUTES, Route
from tests.api import Api

FAULT: Final = 500
ODD: Final[tuple[Any, ...]] = (
    *(None, [], [{}], {}, {"a": 1}, "", "\ud800", "a\ud800\0", True, -1, 1e308, 10**40),
)
JOB_ID: Final = "019539a4-b68c-7def-8000-1a2b3c4d5e6f"


class Bodies:
    """Makes bodies of the schemas in the OpenAPI document."""

    def __init__(self) -> None:
        self.document: Any = openapi_document()

    def schema_of(self, route: Route) -> Any:
        """Return the schema of the body of an operation; None where it has none."""
        path = route.path.replace("<", "{").replace(">", "}")
        body = self.document["paths"][path][route.method.lower()].get("requestBody")
        return None if body is None else self.whole(next(iter(body["content"].values()))["schema"])

    def whole(self, schema: Any) -> Any:
        while "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return schema

    def plausible(self, schema: Any, depth: int = 0) -> Any:
        """Return a value that a schema allows, or nearly."""
        schema = self.whole(schema)
        if "anyOf" in schema:
            return self.plausible(schema["anyOf"][0], depth)
        if "enum" in schema or "examples" in schema:
            return (schema.get("enum") or schema["examples"])[0]
        kind = schema.get("type")
        if kind == "object":
            members = schema.get("properties", {}) if depth < 2 else {}
            return {name: self.plausible(each, depth + 1) for name, each in members.items()}
        if kind == "array":
            return [self.plausible(schema.get("items", {}), depth + 1)]
        return {"integer": 1, "number": 1, "boolean": True}.get(kind, "default")

    def odd(self, schema: Any) -> Iterator[dict[str, Any]]:
        """Yield bodies in which one member is odd, with all others and without them."""
        usual = self.plausible(schema)
        for name, member in schema.get("properties", {}).items():
            for value in ODD:
                yield {**usual, name: value}
                yield {name: value}
            for value in self.odd_parts(member):
                yield {**usual, name: value}

    def odd_parts(self, schema: Any) -> Iterator[Any]:
        """Yield objects in which one member is odd; none for a member that is no object."""
        for each in map(self.whole, self.whole(schema).get("anyOf", [schema])):
            usual = self.plausible(each)
            for name in each.get("properties", {}):
                for value in ODD:
                    yield {**usual, name: value}


@pytest.fixture(scope="module")
def bodies() -> Bodies:
    return Bodies()


@pytest.mark.thorough
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_no_value_of_a_member_makes_the_server_fail(api: Api, bodies: Bodies, route: Route) -> None:
    schema = bodies.schema_of(route)
    path = route.path
    for name in ("job_id", "id", "event_id", "workflow_id"):
        path = path.replace(f"<{name}>", JOB_ID)
    path = path.replace("<", "").replace(">", "")
    for body in () if schema is None else bodies.odd(schema):
        reply = api.send(route.method, path, body)
        assert reply.status < FAULT, (body, reply.text)
