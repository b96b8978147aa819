"""Schemas of job types, and jobs that are checked by them."""

from __future__ import annotations

from typing import Final

from tests.transcript.steps import Feature, Step, delete, get, post, put

EMAIL: Final = {"type": "array", "items": [{"type": "string"}], "minItems": 1}
URI: Final = "urn:ojs:schema:mine:v1"
ENCODED: Final = "/schemas/urn%3Aojs%3Aschema%3Amine%3Av1"

STEPS: Final[list[Step]] = [
    get("list no schemas", "/schemas"),
    post(
        "register by a URI",
        "/schemas",
        {"uri": URI, "type": "email.send", "version": "1", "schema": EMAIL},
    ),
    post(
        "register it again",
        "/schemas",
        {"uri": URI, "type": "email.send", "version": "1", "schema": EMAIL},
    ),
    post(
        "register the next version",
        "/schemas",
        {"job_type": "email.send", "version": 2, "args_schema": EMAIL},
    ),
    post(
        "register a URI with a path",
        "/schemas",
        {"uri": "https://example.com/a/b", "type": "web.get", "version": "1.0.0", "schema": EMAIL},
    ),
    post(
        "register what is no schema", "/schemas", {"type": "a", "version": 1, "schema": {"type": 5}}
    ),
    post("register a text", "/schemas", {"type": "a", "version": 1, "schema": "x"}),
    post("register without a schema", "/schemas", {"type": "a", "version": 1}),
    post("register without a type", "/schemas", {"version": 1, "schema": {}}),
    post("register a wrong version", "/schemas", {"type": "a", "version": "one two", "schema": {}}),
    post(
        "register what is too large",
        "/schemas",
        {"type": "a", "version": 1, "schema": {"x": "x" * 500_000}},
    ),
    post("register without a body", "/schemas"),
    post("register with an array", "/schemas", []),
    get("list the schemas", "/schemas"),
    get("list a page", "/schemas?limit=1", save={"page": "pagination.next_cursor"}),
    get("list the next page", "/schemas?limit=1&cursor=<page>"),
    get("list by a page's number", "/schemas?page=2&per_page=1"),
    get("list with a wrong limit", "/schemas?limit=x"),
    get("read a schema by its URI", ENCODED),
    get("read a schema by a URI with a path", "/schemas/https:%2F%2Fexample.com%2Fa%2Fb"),
    get("read the latest of a type", "/schemas/email.send"),
    get("read an unknown schema", "/schemas/nowhere"),
    get("list the versions", "/schemas/email.send/versions"),
    get("list the versions of an unknown type", "/schemas/nowhere/versions"),
    get("read a version", "/schemas/email.send/2"),
    get("read an unknown version", "/schemas/email.send/9"),
    put("put a version", "/schemas/email.send/3", {"schema": EMAIL}),
    put("put the same", "/schemas/email.send/3", {"schema": EMAIL}),
    put("put another", "/schemas/email.send/3", {"schema": {"type": "array"}}),
    put(
        "put a version that is another in the body",
        "/schemas/email.send/4",
        {"schema": EMAIL, "version": 5},
    ),
    put(
        "put a type that is another in the body",
        "/schemas/email.send/4",
        {"schema": EMAIL, "type": "a"},
    ),
    put("put no schema", "/schemas/email.send/4", {}),
    put("put without a body", "/schemas/email.send/4"),
    post(
        "push what the schema allows", "/jobs", {"type": "email.send", "args": ["a"], "schema": URI}
    ),
    post(
        "push what the schema refuses", "/jobs", {"type": "email.send", "args": [5], "schema": URI}
    ),
    post(
        "push by an unknown schema",
        "/jobs",
        {"type": "email.send", "args": [5], "schema": "urn:x:y"},
    ),
    delete("delete a version", "/schemas/email.send/2"),
    delete("delete an unknown version", "/schemas/email.send/2"),
    delete("delete a schema", ENCODED),
    delete("delete it again", ENCODED),
]

FEATURES: Final = [Feature(name="schemas", steps=STEPS)]
