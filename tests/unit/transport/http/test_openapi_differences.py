"""The comparison of the specification's OpenAPI document with ours finds what differs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from scripts.compare_openapi import compare, differences, explained

FILE = os.environ.get("OJS_OPENAPI_YAML", "")


def document(request: dict[str, Any], answer: dict[str, Any], path: str = "/x/{id}") -> Any:
    """A document with one operation, its schemas by reference."""
    json = {"schema": {"$ref": "#/components/schemas/Answer"}}
    return {
        "paths": {
            path: {
                "post": {
                    "requestBody": {"content": {"application/json": {"schema": request}}},
                    "responses": {"200": {"content": {"application/json": json}}},
                }
            }
        },
        "components": {"schemas": {"Answer": answer}},
    }


def an_object(*required: str, **properties: Any) -> dict[str, Any]:
    """A schema of an object."""
    return {"type": "object", "required": [*required], "properties": properties}


TEXT: dict[str, Any] = {"type": "string"}
NUMBER: dict[str, Any] = {"type": "integer"}


def test_the_same_fields_are_no_difference() -> None:
    """Whatever parameters are called; more fields, values and types of ours are none either."""
    theirs = document(an_object("a", a=TEXT), an_object(b={"enum": ["x"]}))
    ours = document(
        an_object(a={"anyOf": [TEXT, {"type": "null"}]}, more=TEXT),
        {"allOf": [an_object("b", b={"enum": ["x", "y"]}), an_object(c=TEXT)]},
        "/x/<name>".replace("<name>", "{name}"),
    )
    assert differences(theirs, ours) == []


def test_each_kind_of_difference_is_found() -> None:
    """In requests and answers, in objects and lists within them."""
    inner = {"type": "array", "items": an_object(deep=TEXT)}
    theirs = document(
        an_object(a=TEXT, b=TEXT), an_object("c", c=TEXT, d={"enum": [1, 2]}, e=inner)
    )
    mine = {"type": "array", "items": an_object(other=TEXT)}
    ours = document(an_object("b", b=NUMBER), an_object(c=TEXT, d={"enum": [1]}, e=mine))
    assert differences(theirs, ours) == [
        "POST /x/{} request: a: missing",
        "POST /x/{} request: b: string, ours integer",
        "POST /x/{} request: b: required by us only",
        "POST /x/{} answer: d: values that ours has not: 2",
        "POST /x/{} answer: e[].deep: missing",
        "POST /x/{} answer: c: may be absent",
    ]
    assert differences(document(TEXT, TEXT, "/y"), ours) == ["POST /y: there is no such operation"]


def test_unexplained_differences_and_stale_reasons_are_reported() -> None:
    """By the whole difference, its beginning or its end."""
    found = ["GET /a answer: x: missing", "GET /b answer: x: missing", "GET /c: no"]
    assert explained(found, {"*x: missing": "why"}) == (["GET /c: no"], [])
    assert explained(found, {"GET /*": "why", "GET /d": "why"}) == ([], ["GET /d"])


@pytest.mark.skipif(not FILE, reason="OJS_OPENAPI_YAML names the specification's openapi.yaml")
def test_every_difference_is_explained_and_every_explanation_needed() -> None:
    """Those of docs/openapi-differences.json."""
    found, reasons = compare(Path(FILE))
    assert found
    assert explained(found, reasons) == ([], [])
