"""Every error answer says what to do and where to read about it: all errors, all operations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from ojs_aws.domain import access, errors
from ojs_aws.domain.errors import OjsError
from ojs_aws.transport.http.routes import ROUTES, Route
from tests.api import Api

ID = "01990000-0000-7000-8000-00000000ffff"
FAILED = 400


def kinds(kind: type[OjsError] = OjsError) -> Iterator[type[OjsError]]:
    """All errors of the catalogue."""
    yield kind
    for child in kind.__subclasses__():
        if child.__module__ in {errors.__name__, access.__name__}:
            yield from kinds(child)


@pytest.mark.parametrize("kind", dict.fromkeys(kinds()))
def test_an_error_has_a_hint_and_a_link_of_its_own(kind: type[OjsError]) -> None:
    """One that the caller gives takes precedence."""
    made = kind.__new__(kind)
    OjsError.__init__(made, "m")
    described = made.as_dict()
    assert described["hint"]
    assert described["docs_url"] == f"{errors.DOCS}#{kind.code}"
    OjsError.__init__(made, "m", hint="Look again.")
    assert made.as_dict()["hint"] == "Look again."


def bodies(route: Route) -> list[Any]:
    """What is wrong for most operations, one way or the other."""
    if route.method == "GET":
        return [None]
    return [None, b"{", b"[]", {}, {"unknown": 1}, {"job_id": ID, "id": ID, "error": 5}]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_each_error_of_an_operation_has_a_hint_and_a_link(api: Api, route: Route) -> None:
    """Unknown ids, bodies that are none, parameters that are wrong."""
    path = re.sub(r"<\w+>", ID, route.path)
    for body in bodies(route):
        for query in ({}, {"limit": "-1", "cursor": "?", "since": "x", "period": "x", "page": "0"}):
            check(api.send(route.method, path, body, query=query))
    check(api.send("TRACE", path))


def test_what_is_no_operation_is_answered_so_as_well(api: Api) -> None:
    """Unknown paths, versions, content types."""
    for reply in (
        api.send("GET", "/nowhere"),
        api.send("POST", "/ojs/v1/jobs", b"x", headers={"content-type": "text/plain"}),
        api.send("GET", "/ojs/v1/jobs", headers={"ojs-version": "9.0"}),
        api.send("POST", "/ojs/v1/jobs", b"x", headers={"content-encoding": "br"}),
    ):
        assert reply.status >= FAILED
        check(reply)


def check(reply: Any) -> None:
    """An error has both; anything else is none."""
    if reply.status >= FAILED:
        assert reply.error["hint"], reply.text
        assert reply.error["docs_url"].startswith("https://"), reply.text
