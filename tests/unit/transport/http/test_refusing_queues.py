"""What operations answer where a queue takes no jobs is what the OpenAPI document says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.transport.http.openapi import openapi_document
from ojs_aws.transport.http.routes import find
from tests.api import Api
from tests.simulation.world import World

JOB = {"type": "email.send", "args": [], "options": {"queue": "email"}}
CRON = {"name": "nightly", "cron": "0 0 * * *", **JOB}
REQUESTS: dict[str, Any] = {
    "POST /jobs": JOB,
    "POST /jobs/batch": {"jobs": [JOB, JOB]},
    "POST /jobs/bulk": {"items": [JOB]},
    "POST /cron": CRON,
    "PATCH /cron/other": {"options": {"queue": "email"}},
    "POST /cron/other/trigger": None,
    "POST /workflows": {"type": "chain", "name": "w", "steps": [JOB, JOB]},
}


def draining(api: Api) -> None:
    """Let the queue take no new jobs."""
    api.send("PUT", "/ojs/v1/queues/email/config", {})
    assert api.post("/queues/email/drain").status == 200


def other_types(api: Api) -> None:
    """Let it take jobs of other types."""
    config = {"allowed_job_types": ["report.make"]}
    assert api.send("PUT", "/ojs/v1/queues/email/config", config).status == 200


def full(api: Api) -> None:
    """Let it be full."""
    config = {"backpressure": {"max_depth": 1, "strategy": "reject"}}
    reply = api.send("PUT", "/ojs/v1/queues/email/config", config)
    assert reply.status == 200, reply.text
    assert api.post("/jobs", JOB).status == 201


def as_it_is(_: Api) -> None:
    """Leave it as it is: nobody has declared it."""


@pytest.fixture(scope="module")
def documented() -> dict[str, Any]:
    """The operations of the document, by path."""
    paths: dict[str, Any] = openapi_document()["paths"]
    return paths


@pytest.mark.parametrize("request_line", REQUESTS)
@pytest.mark.parametrize(
    ("prepare", "settings"),
    [
        (draining, Settings()),
        (other_types, Settings()),
        (full, Settings()),
        (as_it_is, Settings(allow_undeclared_queues=False)),
        (as_it_is, Settings(client_rate_per_s=1, client_burst=1)),
    ],
    ids=["draining", "other types", "full", "undeclared", "too often"],
)
def test_a_refusal_of_a_queue_is_documented(
    request_line: str,
    prepare: Callable[[Api], None],
    settings: Settings,
    documented: dict[str, Any],
) -> None:
    """Whatever operation makes jobs."""
    api = Api(World(settings=settings).backend)
    prepare(api)
    method, _, path = request_line.partition(" ")
    other = {**CRON, "name": "other", "options": {"queue": "default"}}
    if "other" in path:
        api.post("/cron", other)
    reply = api.send(method, f"/ojs/v1{path}", REQUESTS[request_line])
    route = find(method, f"/ojs/v1{path}")
    assert route is not None
    operation = documented[route.path.replace("<", "{").replace(">", "}")][method.lower()]
    assert str(reply.status) in operation["responses"], reply.text
