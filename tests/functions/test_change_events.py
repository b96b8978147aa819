"""Events name who made the change, over the real table, stream and log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.access import Caller, Scope, permissions_of
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.services.access.api_keys import Verdict
from ojs_aws.services.backend import Backend
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.transport.http.callers import verdict_context
from tests.api import BASE, Api
from tests.aws import EmbeddedAws, embedded
from tests.upgrade.scenario import Following

ANN = {"id": "key:0123456789abcdef", "name": "ann"}
BOB = {"id": "jwt:bob", "name": "bob"}


def known_as(actor: dict[str, str]) -> dict[str, Any]:
    """What the gateway says of somebody who may do everything."""
    permissions = permissions_of([Scope.ADMIN])
    caller = Caller(id=actor["id"], name=actor["name"], permissions=permissions)
    return {"lambda": verdict_context(Verdict(caller))}


class Server:
    """The API of a deployment with keys, whose stream is followed."""

    def __init__(self, aws: EmbeddedAws, auth: str = "api-key") -> None:
        self.aws, self.clock = aws, FakeClock()
        made = build_backend(aws.settings, aws.clients, clock=self.clock, parallel=IN_ORDER)
        self.backend = Backend(replace(made.settings, auth=auth), made.stores)
        self.api = Api(self.backend)
        self.follow = Following(aws, self.backend)

    def done(self, path: str, body: object = None, *, by: Any = ANN, method: str = "POST") -> Any:
        """What a change answers."""
        self.clock.advance(s=1)
        self.api.authorizer = known_as(by)
        reply = self.api.send(method, BASE + path, body)
        assert reply.status in {200, 201}, reply.text
        return reply.json

    def events(self, *types: str) -> list[tuple[str, Any]]:
        """The published events of some types, and whom they name."""
        self.follow()
        self.api.authorizer = known_as(ANN)
        found = self.api.get("/events", query={"types": ",".join(types)}).json["events"]
        return [(each["type"], each["data"].get("by")) for each in found]


@pytest.fixture
def server() -> Iterator[Server]:
    """A deployment."""
    with embedded() as aws:
        yield Server(aws)


def test_a_queue_is_paused_and_resumed_by_somebody(server: Server) -> None:
    """The first pause counts; ``why`` names who paused the queue."""
    job_id = server.done("/jobs", {"type": "a.b", "args": []})["id"]
    server.done("/queues/default/pause")
    server.done("/queues/default/pause", by=BOB)
    why = server.api.get(f"/admin/jobs/{job_id}/why").json["reasons"][0]
    assert (why["code"], why["data"]["by"]) == ("queue_paused", ANN)
    assert "has been paused by ann for" in why["message"]
    server.done("/queues/default/resume", by=BOB)
    server.done("/queues/default/pause", by=BOB)
    assert server.events("queue.*") == [
        ("queue.paused", ANN),
        ("queue.resumed", BOB),
        ("queue.paused", BOB),
    ]


def test_settings_of_a_queue_are_changed_by_somebody(server: Server) -> None:
    """Created, changed, drained, resumed and deleted."""
    server.done("/queues", {"name": "q", "config": {"max_size": 5}})
    server.done("/queues/q/config", {"max_size": 6}, by=BOB, method="PATCH")
    server.done("/queues/q/drain")
    server.done("/queues/q/resume", by=BOB)
    server.done("/queues/q", {"strategy": "reject"}, method="DELETE")
    assert server.events("queue.*") == [
        ("queue.created", ANN),
        ("queue.config_updated", BOB),
        ("queue.config_updated", ANN),
        ("queue.config_updated", BOB),
        ("queue.deleted", ANN),
    ]


def test_with_open_access_changes_are_anonymous() -> None:
    """Nobody is known there."""
    with embedded() as aws:
        server = Server(aws, auth="none")
        server.done("/queues/default/pause")
        nobody = {"id": "anonymous", "name": "anonymous"}
        assert server.events("queue.*") == [("queue.paused", nobody)]


def test_jobs_are_cancelled_retried_and_moved_by_somebody(server: Server) -> None:
    """What the backend does with them later is nobody's."""
    job = {"type": "a.b", "args": [], "options": {"retry": {"max_attempts": 1}}}
    ids = [server.done("/jobs", job)["id"] for _ in range(3)]
    server.done(f"/jobs/{ids[0]}", {"priority": 7}, by=BOB, method="PATCH")
    server.done(f"/jobs/{ids[1]}", method="DELETE")
    server.done(f"/admin/jobs/{ids[2]}/cancel", by=BOB)
    for _ in range(2):
        (fetched,) = server.done("/workers/fetch", {"queues": ["default"]})["jobs"]
        assert fetched["id"] == ids[0]
        error = {"message": "no", "retryable": False}
        server.done("/workers/nack", {"job_id": ids[0], "error": error})
        server.done(f"/admin/jobs/{ids[0]}/retry", by=BOB)
    assert server.events("priority.changed", "job.*") == [
        *[("job.enqueued", None)] * 3,
        ("priority.changed", BOB),
        ("job.cancelled", ANN),
        ("job.cancelled", BOB),
        *[("job.started", None), ("job.failed", None), ("job.discarded", None)],
        ("job.enqueued", BOB),
        *[("job.started", None), ("job.failed", None), ("job.discarded", None)],
        ("job.enqueued", BOB),
    ]


@pytest.mark.parametrize(
    ("path", "body", "kind"),
    [
        ("/jobs/bulk/cancel", {"job_ids": None}, "bulk.cancel.completed"),
        ("/jobs/bulk/cancel", {"job_ids": None, "atomicity": "atomic"}, "bulk.cancel.completed"),
        ("/jobs/bulk/cancel", {"filter": {"queue": "default"}}, "bulk.cancel.completed"),
        (
            "/admin/jobs/bulk/cancel",
            {"filter": {"queue": "default"}, "confirm": True},
            "bulk.cancel.completed",
        ),
        ("/queues/default/purge", {"states": ["available"]}, ""),
    ],
)
def test_bulk_changes_are_made_by_somebody(
    path: str, body: dict[str, Any], kind: str, server: Server
) -> None:
    """Each job's event names them, and so does that of the operation where it has one."""
    ids = [server.done("/jobs", {"type": "a.b", "args": []})["id"] for _ in range(2)]
    given = {name: ids if value is None else value for name, value in body.items()}
    server.done(path, given, by=BOB)
    assert server.events("job.cancelled") == [("job.cancelled", BOB)] * 2
    assert server.events("bulk.*") == ([(kind, BOB)] if kind else [])


def test_dead_letters_are_retried_by_somebody(server: Server) -> None:
    """Many at once."""
    retry = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
    job_id = server.done("/jobs", {"type": "a.b", "args": [], "options": {"retry": retry}})["id"]
    server.done("/workers/fetch", {"queues": ["default"]})
    server.done("/workers/nack", {"job_id": job_id, "error": {"message": "no"}})
    server.done("/dead-letter/retry", {"confirm": True, "ids": [job_id]}, by=BOB)
    assert server.events("job.enqueued") == [("job.enqueued", None), ("job.enqueued", BOB)]


def test_cron_jobs_are_changed_by_somebody(server: Server) -> None:
    """The same definition again makes no event; the event of a removal does not say by whom."""
    entry = {"name": "c", "cron": "0 9 * * *", "type": "a.b", "args": []}
    server.done("/cron", entry)
    server.done("/cron", entry, by=BOB)
    server.done("/cron/c/pause", by=BOB)
    server.done("/cron/c/pause")
    server.done("/cron/c/trigger")
    server.done("/cron/c", {"cron": "0 8 * * *"}, method="PATCH")
    server.done("/cron/c", method="DELETE")
    assert server.events("cron.*") == [
        ("cron.registered", ANN),
        ("cron.updated", BOB),
        ("cron.triggered", ANN),
        ("cron.updated", ANN),
        ("cron.deleted", None),
    ]


def test_workers_are_directed_by_somebody(server: Server) -> None:
    """One, or all; the same directive again makes no event."""
    server.done("/workers/heartbeat", {"worker_id": "w", "active_jobs": []})
    server.done("/admin/workers/w/quiet")
    server.done("/admin/workers/w/quiet", by=BOB)
    server.done("/admin/workers/resume", {"all": True}, by=BOB)
    assert server.events("worker.directed") == [("worker.directed", ANN), ("worker.directed", BOB)]


def test_a_worker_starts_at_its_first_heartbeat(server: Server) -> None:
    """moto's stream shows the worker's item without attributes before it shows the heartbeat."""
    server.done("/workers/heartbeat", {"worker_id": "w1"})
    server.follow()
    found = server.api.get("/events", query={"types": "worker.started,worker.heartbeat"}).json
    shown = [(each["type"], each["time"]) for each in found["events"]]
    assert shown == [("worker.started", format_instant(server.clock.now()))]


def test_schemas_are_registered_by_somebody(server: Server) -> None:
    """The same schema again makes no event; a removal does not say by whom."""
    server.done("/schemas/a.b/1", {"schema": {"type": "array"}}, method="PUT")
    server.done("/schemas/a.b/1", {"schema": {"type": "array"}}, by=BOB, method="PUT")
    server.done("/schemas/a.b/1", method="DELETE")
    assert server.events("schema.*") == [("schema.registered", ANN), ("schema.deleted", None)]


def test_a_workflow_is_cancelled_by_somebody(server: Server) -> None:
    """Its jobs are cancelled by it."""
    steps = [{"type": "a.b", "args": []}] * 2
    flow = server.done("/workflows", {"type": "chain", "steps": steps})["id"]
    server.done(f"/workflows/{flow}", by=BOB, method="DELETE")
    assert server.events("workflow.cancelled", "job.cancelled") == [
        ("workflow.cancelled", BOB),
        ("job.cancelled", None),
    ]


def test_a_claim_forgets_nobody_and_names_nobody(server: Server) -> None:
    """What was stored with an earlier version is about that one."""
    job_id = server.done("/jobs", {"type": "a.b", "args": []})["id"]
    server.done(f"/jobs/{job_id}", {"priority": 7}, by=BOB, method="PATCH")
    server.done("/workers/fetch", {"queues": ["default"]})
    kept = server.backend.stores.store.load(job_id)
    assert kept is not None
    assert kept.changed_by.endswith("jwt:bob")
    server.done("/workers/nack", {"job_id": job_id, "requeue": True})
    assert server.events("job.*") == [
        ("job.enqueued", None),
        ("job.started", None),
        ("job.enqueued", None),
    ]
