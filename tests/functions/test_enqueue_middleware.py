"""PUSH behind a backend chain of the built-in enqueue middleware, over an embedded AWS."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from ojs_aws.bootstrap import build_backend
from ojs_aws.config import Settings
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.middleware import (
    DeduplicationMiddleware,
    DefaultMetadataMiddleware,
    EnqueueChain,
    QueueRoutingMiddleware,
    RateLimitMiddleware,
    ValidationMiddleware,
)
from ojs_aws.testing.deployment import FakeClock
from tests.api import Api
from tests.aws import EmbeddedAws, embedded

MODULE = "a_users_enqueue_middleware"
SCHEMAS: dict[str, Any] = {
    "test.middleware.reject": {"minItems": 1},
    "email.send": {"prefixItems": [{"type": "string", "format": "email"}], "minItems": 1},
}

Chained = Callable[[EnqueueChain], Api]


@pytest.fixture
def aws() -> Iterator[EmbeddedAws]:
    """A fresh AWS, whose functions load a user's chain."""
    with embedded(Settings(enqueue_middleware=f"{MODULE}:chain")) as aws:
        yield aws


@pytest.fixture
def chained(aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch) -> Chained:
    """The functions with a chain, as a user's module holds it."""

    def build(chain: EnqueueChain) -> Api:
        module = ModuleType(MODULE)
        module.chain = chain  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, MODULE, module)
        return Api(build_backend(aws.settings, aws.clients, clock=FakeClock(), parallel=IN_ORDER))

    return build


def items(aws: EmbeddedAws) -> list[Any]:
    """Everything that the table holds."""
    return aws.clients.dynamodb.scan(TableName=aws.settings.table)["Items"]


def test_ext_mw_002_a_job_that_validation_refuses_is_422(
    aws: EmbeddedAws, chained: Chained
) -> None:
    """The official case ext-middleware/middleware-validation-reject; also MW-ENQ-026."""
    api = chained(EnqueueChain([ValidationMiddleware(SCHEMAS)]))
    with aws.calls.counted() as calls:
        reply = api.post(
            "/jobs",
            {
                "type": "test.middleware.reject",
                "args": [],
                "meta": {"ojs_validate": True},
                "options": {"queue": "conformance-middleware-reject"},
            },
        )
    assert reply.status == 422
    assert reply.error["code"] == "schema_validation"
    assert reply.error["type"] == "validation_error"
    assert reply.error["retryable"] is False
    assert reply.error["message"]
    assert calls == {"Query": 1}  # whether the type has a schema: the job insists on one
    assert items(aws) == []


def test_the_answer_points_at_what_is_wrong_and_a_good_job_is_stored(
    aws: EmbeddedAws, chained: Chained
) -> None:
    """JSON format, section 12.4."""
    api = chained(EnqueueChain([ValidationMiddleware(SCHEMAS)]))
    reply = api.post("/jobs", {"type": "email.send", "args": ["nobody"]})
    assert reply.status == 422
    assert reply.error["details"]["validation_errors"] == [
        {
            "path": "$.args[0]",
            "pointer": "/args/0",
            "message": 'expected format "email"',
            "schema_path": "#/prefixItems/0/format",
        }
    ]
    assert items(aws) == []
    assert api.post("/jobs", {"type": "email.send", "args": ["a@b.c"]}).status == 201
    assert api.post("/jobs", {"type": "other.type", "args": []}).status == 201


def test_a_batch_with_an_invalid_job_is_refused_as_a_whole(
    aws: EmbeddedAws, chained: Chained
) -> None:
    """Option B of the middleware specification, section 9.2, with the index of the job."""
    api = chained(EnqueueChain([ValidationMiddleware(SCHEMAS)]))
    good, bad = (
        {"type": "email.send", "args": ["a@b.c"]},
        {"type": "email.send", "args": [1]},
    )
    reply = api.post("/jobs/batch", {"jobs": [good, bad]})
    assert reply.status == 422
    assert reply.error["details"]["index"] == 1
    assert items(aws) == []


def test_a_registry_that_breaks_does_not_let_jobs_pass(aws: EmbeddedAws, chained: Chained) -> None:
    """MW-ENQ-022: the middleware's own error aborts."""

    class Broken:
        def schema_for(self, job_type: str, version: str | None) -> None:
            raise ConnectionError("no registry")

    api = chained(EnqueueChain([ValidationMiddleware(Broken())]))
    reply = api.post("/jobs", {"type": "email.send", "args": []})
    assert (reply.status, reply.error["code"]) == (422, "x_enqueue_rejected")
    assert items(aws) == []


def test_a_duplicate_is_refused_and_a_repeated_push_is_not(
    aws: EmbeddedAws, chained: Chained
) -> None:
    """A client that did not get its answer sends the same id again, and finds its job."""
    api = chained(EnqueueChain([DeduplicationMiddleware(on_duplicate="raise")]))
    mine = {"type": "a.b", "args": [1], "id": "01900000-0000-7000-8000-000000000001"}
    assert api.post("/jobs", mine).status == 201
    stored = len(items(aws))
    reply = api.post("/jobs", {"type": "a.b", "args": [1]})
    assert (reply.status, reply.error["code"]) == (409, "duplicate")
    assert reply.error["details"]["existing_job_id"] == mine["id"]
    assert api.post("/jobs", mine).json["job"]["id"] == mine["id"]
    assert len(items(aws)) == stored


def test_a_job_beyond_the_rate_limit_is_429_with_retry_after(
    aws: EmbeddedAws, chained: Chained
) -> None:
    """MW-ENQ-025, on the server's side."""
    api = chained(EnqueueChain([RateLimitMiddleware(1, per_s=60.0)]))
    assert api.post("/jobs", {"type": "a.b", "args": []}).status == 201
    stored = len(items(aws))
    reply = api.post("/jobs", {"type": "a.b", "args": []})
    assert (reply.status, reply.error["code"]) == (429, "rate_limited")
    assert 1 <= int(reply.headers["Retry-After"]) <= 60
    assert len(items(aws)) == stored


def test_the_queue_and_metadata_that_the_chain_gives_are_stored(chained: Chained) -> None:
    """MW-ENQ-010, MW-ENQ-026."""
    routed = QueueRoutingMiddleware({"email.*": "mail"})
    api = chained(EnqueueChain([DefaultMetadataMiddleware({"source": "api"}), routed]))
    job_id = api.post("/jobs", {"type": "email.send", "args": ["x"]}).json["job"]["id"]
    job = api.get(f"/jobs/{job_id}").json["job"]
    assert (job["queue"], job["meta"]) == ("mail", {"source": "api"})


def test_the_jobs_of_a_batch_that_fails_are_forgotten(aws: EmbeddedAws, chained: Chained) -> None:
    """Their chains end with the batch's error: nobody was enqueued, so nobody is a duplicate."""
    api = chained(EnqueueChain([DeduplicationMiddleware(on_duplicate="raise")]))
    taken = {"type": "a.b", "args": ["taken"], "id": "01900000-0000-7000-8000-000000000001"}
    assert api.post("/jobs", taken).status == 201
    stored = len(items(aws))
    clash = taken | {"args": ["other"]}
    reply = api.post("/jobs/batch", {"jobs": [{"type": "a.b", "args": [1]}, clash]})
    assert reply.status == 409
    assert len(items(aws)) == stored
    assert api.post("/jobs", {"type": "a.b", "args": [1]}).status == 201
