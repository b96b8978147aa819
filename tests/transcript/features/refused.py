"""What is wrong for most operations, sent to every operation by each of its paths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from ojs_aws.transport.http.openapi import openapi_document
from ojs_aws.transport.http.routes import ROUTES, Route, methods_of
from tests.transcript.steps import Feature, Step

ID: Final = "01990000-0000-7000-8000-00000000ffff"
BODIES: Final = {"no body": None, "broken JSON": "{", "an array": "[]", "no members": "{}"}
VALUES: Final = {"cursor": "%3F", "limit": "-1", "page": "0", "per_page": "0", "offset": "-1"}
DOCUMENT: Final = openapi_document()
METHODS: Final = ("PUT", "PATCH", "DELETE", "POST", "GET")


def area_of(path: str) -> str:
    """Return the first name of a path below the base."""
    return path.removeprefix("/ojs/v1").removeprefix("/ojs").split("/")[1]


def queries_of(route: Route) -> list[str]:
    """Return the names of the query's parameters, as the document has them."""
    operation = DOCUMENT["paths"][re.sub(r"<(\w+)>", r"{\1}", route.path)]
    parameters = operation[route.method.lower()].get("parameters", [])
    return [each["name"] for each in parameters if each.get("in") == "query"]


def steps_of(route: Route) -> Iterator[Step]:
    """Yield the wrong requests to a route."""
    for path in route.paths:
        where = re.sub(r"<\w+>", ID, path)
        bodies = BODIES if route.method != "GET" else {"unknown names": None}
        for name, body in bodies.items():
            yield Step(
                name=f"{route.method} {path}: {name}", method=route.method, path=where, body=body
            )
    where = re.sub(r"<\w+>", ID, route.path)
    for name in queries_of(route):
        wrong = f"{where}?{name}={VALUES.get(name, 'x')}"
        yield Step(
            name=f"{route.method} {route.path}: a wrong {name}", method=route.method, path=wrong
        )


def wrong_method(path: str) -> Step | None:
    """Return a request by a method that a path does not know."""
    where = re.sub(r"<\w+>", ID, path)
    unknown = [method for method in METHODS if method not in methods_of(where)]
    if not unknown:
        return None
    return Step(name=f"{unknown[0]} {path}: not its method", method=unknown[0], path=where)


def feature_of(area: str, routes: list[Route]) -> Feature:
    """Return the wrong requests to the routes of an area."""
    routes.sort(key=lambda route: (route.path, route.method))
    paths = sorted({path for route in routes for path in route.paths})
    methods = [step for path in paths if (step := wrong_method(path))]
    steps = [step for route in routes for step in steps_of(route)] + methods
    name = "refused_" + re.sub(r"\W", "_", area)
    return Feature(name=name, steps=steps, by_alias=False)


BY_AREA: Final = groupby(
    sorted(ROUTES, key=lambda route: area_of(route.path)), key=lambda route: area_of(route.path)
)
FEATURES: Final = [feature_of(area, list(routes)) for area, routes in BY_AREA]
