"""Fuzzing the API by its own OpenAPI document: no request makes the server fail."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from schemathesis import Case
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.openapi import from_wsgi

from ojs_aws.bootstrap import build_backend
from ojs_aws.local.lambdas import Handler
from ojs_aws.local.server import Application
from ojs_aws.services.fetch import in_turn
from ojs_aws.transport.http.resolver import build_resolver
from ojs_aws.transport.http.routes import Group, group_of
from tests.aws import embedded
from tests.simulation.world import World

load_all_checks()
CHECKED: list[Any] = [
    CHECKS.get_one(name)
    for name in (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
    )
]


handlers: dict[str, Handler] = {group: build_resolver(World().backend, group) for group in Group}
"""The functions, over the model in memory."""

schema = from_wsgi("/ojs/v1/openapi.json", Application(handlers, group_of))


@pytest.fixture(scope="module", autouse=True)
def _over_aws() -> Iterator[None]:
    """Put an embedded AWS behind the functions; not behind PUSH, whose batches moto is slow at."""
    logging.disable(logging.INFO)
    with embedded() as aws:
        backend = build_backend(aws.settings, aws.clients, both=in_turn)
        for group in (Group.WORKER_API, Group.OPERATOR, Group.SYSTEM):
            handlers[group] = build_resolver(backend, group)
        yield
    logging.disable(logging.NOTSET)


@pytest.mark.slow
@schema.parametrize()
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_makes_the_server_fail(case: Case[Any]) -> None:
    """Every answer has a status, headers and a body that the document names; none is a 5xx."""
    case.call_and_validate(checks=CHECKED)
