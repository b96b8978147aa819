"""What lists cost callers with bounds, over the real table."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.access import Caller, Scope, permissions_of
from ojs_aws.domain.envelope import Job
from ojs_aws.services.access.api_keys import Verdict
from ojs_aws.services.backend import Backend
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.transport.http.callers import verdict_context
from tests.api import Api
from tests.aws import EmbeddedAws

OTHERS = [f"other-{number}" for number in range(12)]


def bound(queues: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> dict[str, Any]:
    """What the gateway says of an administrator with bounds."""
    permissions = permissions_of([Scope.ADMIN])
    caller = Caller(id="key:1", permissions=permissions, queues=queues, types=types)
    return {"lambda": verdict_context(Verdict(caller))}


@pytest.fixture
def api(backend: Backend, clock: FakeClock) -> Api:
    """The functions of a deployment with API keys, with jobs of many queues and two types."""
    for queue in ("email", *OTHERS):
        for kind in ("email.send", "secret.type"):
            backend.jobs.push(Job(kind, [queue], queue=queue))
            clock.advance(s=1)
    return Api(Backend(replace(backend.settings, auth="api-key"), backend.stores))


COSTS: Mapping[str, Mapping[str, int]] = {
    "/queues": {"Query": 2},
    "/admin/queues": {"Query": 2 + 7 + 1},  # completed jobs have two lists
    "/admin/stats": {"Query": 6},
    "/admin/overview": {"Query": 6, "GetItem": 1},
    "/admin/jobs": {"Query": 1 + 7 + 1, "BatchGetItem": 1},
    "/admin/jobs?state=available": {"Query": 1 + 2, "BatchGetItem": 1},
    "/dead-letter": {"Query": 1 + 1},
    "/cron": {"Query": 1},
    "/admin/workers": {"Query": 1},
    "/rate-limits": {"Query": 1, "GetItem": 1},
}


@pytest.mark.parametrize("path", COSTS)
def test_a_list_costs_what_a_caller_with_bounds_may_see(
    path: str, aws: EmbeddedAws, api: Api
) -> None:
    """The lists of twelve other queues are not read."""
    api.authorizer = bound(queues=("email",))
    plain, _, query = path.partition("?")
    wanted = dict([query.split("=")]) if query else {}
    api.get(plain, query=wanted)
    with aws.calls.counted() as calls:
        reply = api.get(plain, query=wanted)
    assert reply.status == 200, reply.text
    assert "other" not in reply.text
    assert calls == COSTS[path]


def test_jobs_of_other_types_are_passed_by_unread(aws: EmbeddedAws, api: Api) -> None:
    """Their rows say what they are."""
    api.authorizer = bound(queues=("email",), types=("email.*",))
    with aws.calls.counted() as calls:
        items = api.get("/admin/jobs").json["items"]
    assert [each["type"] for each in items] == ["email.send"]
    assert calls == {"Query": 1 + 7 + 1, "BatchGetItem": 1}
    api.authorizer = bound(queues=("email",), types=("none.*",))
    with aws.calls.counted() as calls:
        assert api.get("/admin/jobs").json["items"] == []
    assert calls == {"Query": 1 + 7 + 1}


def test_workflows_within_bounds_cost_one_read_more(aws: EmbeddedAws, backend: Backend) -> None:
    """The plans of the page: a query, a read of the workflows, and one of 25 plans each."""
    own = Api(backend)
    for queue in ("email", "other"):
        steps = [{"type": "email.send", "args": [], "queue": queue}]
        for _ in range(15):
            assert own.post("/workflows", {"type": "chain", "steps": steps}).status == 201
    closed = Api(Backend(replace(backend.settings, auth="api-key"), backend.stores))
    for caller, count, reads in ((bound(), 30, 1), (bound(queues=("email",)), 15, 1 + 2)):
        closed.authorizer = caller
        with aws.calls.counted() as calls:
            items = closed.get("/workflows").json["items"]
        assert len(items) == count
        assert calls == {"Query": 1, "BatchGetItem": reads}
    cursor, seen = "", 0
    while True:
        page = closed.get("/workflows", query={"limit": "4", "cursor": cursor}).json
        seen += len(page["items"])
        cursor = page["pagination"].get("next_cursor", "")
        if not cursor:
            break
        last = page["items"][-1]["id"]
        assert f"workflow#{last}" in base64.urlsafe_b64decode(cursor + "===").decode()
    assert seen == 15
