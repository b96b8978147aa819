"""Requests made from the API's own OpenAPI document, and who sends them.

Two sources for each operation: requests that the document's constraints suggest, at, below and
above each bound (an even choice of them), and requests by chance. Both are the same in every run,
so that CI judges the change and not its luck; ``FUZZ=20`` makes twenty times as many, of which
those by chance are new each time.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import islice
from math import ceil
from typing import Any, Final, TypeAlias

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.config import GenerationConfig
from schemathesis.core.result import Ok
from schemathesis.core.transport import Response
from schemathesis.generation import GenerationMode
from schemathesis.openapi import from_dict
from schemathesis.schemas import APIOperation

from ojs_aws.bootstrap import build_backend
from ojs_aws.config import Settings
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.local.http import Application
from ojs_aws.local.lambdas import Handler
from ojs_aws.transport.http.openapi import openapi_document
from ojs_aws.transport.http.resolver import build_resolver
from ojs_aws.transport.http.routes import ROUTES, Group, Route, find, group_of
from tests.aws import embedded
from tests.simulation.world import World

load_all_checks()
CHECKED: Final[list[Any]] = [
    CHECKS.get_one(name)
    for name in (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
    )
]
TIMES: Final = int(os.environ.get("FUZZ", "1"))
KEPT: Final = 120 * TIMES
"""How many of the requests that the document suggests for an operation are ever sent."""
Operation: TypeAlias = APIOperation[Any, Any, Any, Any]
Use: TypeAlias = Callable[[Case[Any]], object]


class Fuzzed:
    """The functions behind the document, and its operations by name (``POST /ojs/v1/jobs``)."""

    def __init__(self, authorizer: Handler | None = None, auth: str = "none") -> None:
        """The functions over the model in memory.

        :param authorizer: asked before each request, as the gateway asks it.
        :param auth: how the deployment knows its callers.
        """
        self.world = World(settings=Settings(auth=auth))
        self.handlers: dict[str, Handler] = {
            group: build_resolver(self.world.backend, group) for group in Group
        }
        self._application = Application(self.handlers, group_of, authorizer=authorizer)

    def labels(self, groups: Iterable[Group] = Group) -> list[str]:
        """The operations that some of the functions serve."""
        chosen = set(groups)
        return [
            f"{route.method} {path.replace('<', '{').replace('>', '}')}"
            for route in ROUTES
            if route.group in chosen
            for path in route.paths
        ]

    def named(self, label: str) -> Operation:
        """An operation, whose requests these functions answer until others are asked for it."""
        _answering.application = self._application
        return _operations()[label]

    @contextmanager
    def over_aws(self, groups: Iterable[Group]) -> Iterator[None]:
        """Put an embedded AWS behind some functions."""
        with quiet(), embedded() as aws:
            backend = build_backend(aws.settings, aws.clients, parallel=IN_ORDER)
            for group in groups:
                self.handlers[group] = build_resolver(backend, group)
            yield


class _Answering:
    """Hands requests on to the functions that were asked for an operation last."""

    application: Application

    def __call__(self, *request: Any) -> Any:
        """Answer as a WSGI application."""
        return self.application(*request)


_answering = _Answering()


@cache
def _operations() -> dict[str, Operation]:
    """The operations of this process. Reading the document takes a second, so not on import."""
    return documented(_answering)


def documented(application: object = None) -> dict[str, Operation]:
    """The operations of the document by name.

    :param application: what answers them; None: what their calls name by ``base_url``.
    """
    schema = from_dict(_without_credentials(openapi_document()))
    schema.app = application
    found = [each.ok() for each in schema.get_all_operations() if isinstance(each, Ok)]
    assert len(found) == sum(len(route.paths) for route in ROUTES), "one is malformed"
    return {operation.label: operation for operation in found}


def _without_credentials(document: dict[str, Any]) -> dict[str, Any]:
    """The document as if there were none to send: the tests say which are sent."""
    for entry in document["paths"].values():
        for operation in entry.values():
            operation.pop("security", None)
    return document


@contextmanager
def quiet() -> Iterator[None]:
    """Without the functions' lines: thousands of requests are answered."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)


def route_of(label: str) -> Route:
    """Return the operation of a label."""
    method, path = label.split(" ", 1)
    route = find(method, path)
    assert route is not None, label
    return route


def suggested(operation: Operation, most: float, share: float = 1) -> list[Case[Any]]:
    """Up to ``most`` requests that the document's constraints suggest.

    :param share: below 1 that part of them, one at least, of the first that are suggested: to make
        all of them takes seconds.
    """
    wanted = max(1, most * share * TIMES)
    if share < 1:
        return _spread([*islice(_made(operation), ceil(10 * wanted))], wanted)
    return [_again(case) for case in _spread(_kept(operation), wanted)]


_KEPT: Final[dict[int, list[Case[Any]]]] = {}


def _kept(operation: Operation) -> list[Case[Any]]:
    """Some of all requests that are suggested, made once in a process."""
    if id(operation) not in _KEPT:
        _KEPT[id(operation)] = _spread([*_made(operation)], KEPT)
    return _KEPT[id(operation)]


def _made(operation: Operation) -> Iterator[Case[Any]]:
    made = operation.schema.iter_coverage_cases(
        operation, generation_modes=list(GenerationMode), generation_config=GenerationConfig()
    )
    return (case for case in made if case.method.upper() == operation.method.upper())


def _spread(cases: list[Case[Any]], wanted: float) -> list[Case[Any]]:
    """So many of them, evenly."""
    return cases[:: max(1, ceil(len(cases) / wanted))]


def _again(case: Case[Any]) -> Case[Any]:
    """The same request, for a test to change."""
    made: Case[Any] = case.operation.Case(
        path_parameters=dict(case.path_parameters or {}),
        headers=dict(case.headers or {}),
        cookies=dict(case.cookies or {}),
        query=dict(case.query or {}),
        body=case.body,
        media_type=case.media_type,
    )
    return made


def by_chance(operation: Operation, use: Use, most: int) -> None:
    """Use ``most`` requests to the operation that chance makes, valid ones and others."""
    strategies = [operation.as_strategy(generation_mode=mode) for mode in GenerationMode]

    @given(case=st.one_of(strategies))
    @settings(
        max_examples=most * TIMES,
        deadline=None,
        database=None,
        derandomize=TIMES == 1,
        suppress_health_check=list(HealthCheck),
    )
    def run(case: Case[Any]) -> None:
        use(case)

    run()


def checked(case: Case[Any], headers: Mapping[str, str] | None = None) -> Response:
    """Send a request and check the answer: it is as documented, and no 5xx."""
    case.headers.update(headers or {})
    response = case.call()
    case.validate_response(response, checks=CHECKED)
    return response
