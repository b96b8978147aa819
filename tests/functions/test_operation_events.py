"""Each operation that changes something is an event that names its caller, or has a reason not to.

Over the real table, stream and log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.access import Scope
from ojs_aws.domain.api_keys import ApiKey
from ojs_aws.transport.http.route import Route
from ojs_aws.transport.http.routes import ROUTES
from tests.aws import embedded
from tests.functions.test_change_events import ANN, BOB, Server

_PRODUCER: Final = "who enqueues is in the log line; an attribute in each job would cost each job"
_WORKER: Final = "the event names the worker, which belongs to who registered it"

UNNAMED: Final[Mapping[str, str]] = {
    "push": _PRODUCER,
    "push_batch": _PRODUCER,
    "create_workflow": _PRODUCER,
    "activate": _PRODUCER,
    "fetch": _WORKER,
    "ack": _WORKER,
    "ack_job": _WORKER,
    "fail": _WORKER,
    "fail_job": _WORKER,
    "heartbeat": _WORKER,
    "report_progress": _WORKER,
    "post_progress": _WORKER,
    "report_progress_of": _WORKER,
    "save_checkpoint": "of the worker that executes the job; checkpoints publish no events",
    "put_checkpoint": "the same",
    "delete_checkpoint": "the same",
    "get_results": "it changes nothing",
}
"""Operations whose callers no event names, and why."""

JOB: Final = {"type": "a.b", "args": []}
CRON: Final = {"name": "nightly", "cron": "0 9 * * *", "type": "a.b", "args": []}
SCHEMA: Final = {"type": "a.b", "version": 1, "schema": {"type": "object"}}
LIMIT: Final = {"concurrency": 2}
TARGETS: Final = '{"mailer": {"queues": ["default"], "types": []}}'
MOST: Final = {"limits": {"max_concurrency": 2}}
CHAIN: Final = {"type": "chain", "steps": [JOB]}


def push(server: Server, **more: Any) -> str:
    """The id of a job that somebody else enqueued."""
    found: str = server.done("/jobs", {**JOB, **more}, by=BOB)["id"]
    return found


def die(server: Server) -> str:
    """The id of a dead letter."""
    policy = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
    job_id = push(server, options={"retry": policy})
    server.done("/workers/fetch", {"queues": ["default"], "worker_id": "w"}, by=BOB)
    error = {"type": "Broken", "message": "no"}
    body = {"job_id": job_id, "worker_id": "w", "error": error}
    server.done("/workers/nack", body, by=BOB)
    return job_id


def cron(server: Server) -> str:
    """The name of a cron job."""
    server.done("/cron", CRON, by=BOB)
    return "nightly"


def queue(server: Server) -> str:
    """The name of a queue with settings."""
    server.done("/queues", {"name": "q", "config": {"max_size": 5}}, by=BOB)
    return "q"


def worker(server: Server) -> str:
    """The id of a worker."""
    body = {"worker_id": "w", "queues": ["default"], "active_jobs": []}
    server.done("/workers/heartbeat", body, by=BOB)
    return "w"


def silent_worker(server: Server) -> str:
    """The id of a worker that missed its heartbeats."""
    name = worker(server)
    server.clock.advance(s=3_000)
    return name


def schema(server: Server) -> str:
    """The version of a schema."""
    server.done("/schemas", SCHEMA, by=BOB)
    return "a.b/1"


def schema_uri(server: Server) -> str:
    """The URI of a schema."""
    uri: str = server.done("/schemas", SCHEMA, by=BOB)["uri"]
    return uri


def limit(server: Server) -> str:
    """The key of a limit."""
    server.done("/rate-limits/slow", LIMIT, by=BOB, method="PUT")
    return "slow"


def queue_limit(server: Server) -> str:
    """The name of a queue with a limit."""
    push(server)
    server.done("/queues/default/rate-limit", LIMIT, by=BOB, method="PUT")
    return "default"


def flow(server: Server) -> str:
    """The id of a workflow."""
    found: str = server.done("/workflows", CHAIN, by=BOB)["id"]
    return found


def pool(server: Server) -> str:
    """The name of a worker pool."""
    server.done("/admin/pools/general", {"queues": ["a"]}, by=BOB, method="PUT")
    return "general"


def bound(server: Server) -> str:
    """The name of a binding with registered job types."""
    push(server)
    path, body = "/queues/default/bindings/mailer", {"job_types": ["a"]}
    server.done(path, body, by=BOB, method="PUT")
    return "mailer"


def tenant(server: Server) -> str:
    """The id of a tenant with a limit."""
    server.done("/admin/tenants/acme", MOST, by=BOB, method="PUT")
    return "acme"


def sequence(server: Server) -> str:
    """The key of a sequence whose job was discarded."""
    job_id = push(server, sequence="order-1")
    server.done("/workers/fetch", {"queues": ["default"], "worker_id": "w"}, by=BOB)
    error = {"type": "Broken", "message": "no", "code": "DISCARD"}
    body = {"job_id": job_id, "worker_id": "w", "error": error}
    server.done("/workers/nack", body, by=BOB)
    return "order-1"


def key(server: Server) -> str:
    """The id of an API key."""
    made = ApiKey(
        id="0123456789abcdef",
        name="k",
        scopes=frozenset({Scope.ADMIN}),
        created_at=server.clock.now(),
        secrets=(),
    )
    server.backend.stores.api_keys().save(made)
    return made.id


Make = Callable[[Server], str]
DISCARDED: Final = {"filter": {"state": "discarded"}, "confirm": True}
WAITING: Final = {"filter": {"state": "available"}, "confirm": True}
ALL_DEAD: Final = {"filter": {}, "confirm": True}
PURGE: Final = {"states": ["available"], "confirm": True}

CHANGES: Final[Mapping[str, tuple[Make, str, object, str]]] = {
    "cancel": (push, "/jobs/{}", None, "job.cancelled"),
    "change_job": (push, "/jobs/{}", {"priority": 5}, "priority.changed"),
    "cancel_job": (push, "/admin/jobs/{}/cancel", None, "job.cancelled"),
    "retry_job": (die, "/admin/jobs/{}/retry", None, "job.enqueued"),
    "bulk_retry_jobs": (die, "/admin/jobs/bulk/retry", DISCARDED, "bulk.retry.completed"),
    "bulk_reprioritise_jobs": (
        push,
        "/admin/jobs/bulk/priority",
        {**WAITING, "priority": 5},
        "bulk.reprioritise.completed",
    ),
    "bulk_cancel_jobs": (push, "/admin/jobs/bulk/cancel", WAITING, "bulk.cancel.completed"),
    "bulk_delete_jobs": (die, "/admin/jobs/bulk/delete", DISCARDED, "bulk.delete.completed"),
    "bulk_enqueue": (push, "/jobs/bulk", {"jobs": [JOB]}, "bulk.enqueue.completed"),
    "bulk_cancel": (push, "/jobs/bulk/cancel", WAITING, "bulk.cancel.completed"),
    "bulk_retry": (die, "/jobs/bulk/retry", DISCARDED, "bulk.retry.completed"),
    "bulk_delete": (die, "/jobs/bulk/delete", DISCARDED, "bulk.delete.completed"),
    "create_queue": (push, "/queues", {"name": "q", "config": {}}, "queue.created"),
    "delete_queue": (queue, "/queues/{}", {"strategy": "reject"}, "queue.deleted"),
    "change_queue_config": (queue, "/queues/{}/config", {"max_size": 6}, "queue.config_updated"),
    "patch_queue_config": (queue, "/queues/{}/config", {"max_size": 6}, "queue.config_updated"),
    "drain_queue": (queue, "/queues/{}/drain", None, "queue.config_updated"),
    "pause_queue": (queue, "/queues/{}/pause", None, "queue.paused"),
    "purge_queue": (push, "/queues/default/jobs", PURGE, "operation.completed"),
    "purge_jobs": (
        push,
        "/queues/default/purge",
        {"states": ["available"]},
        "operation.completed",
    ),
    "limit_queue": (push, "/queues/default/rate-limit", LIMIT, "operation.completed"),
    "unlimit_queue": (queue_limit, "/queues/{}/rate-limit", None, "operation.completed"),
    "override_rate_limit": (push, "/rate-limits/slow", LIMIT, "operation.completed"),
    "lift_rate_limit": (limit, "/rate-limits/{}", None, "operation.completed"),
    "put_binding": (
        push,
        "/queues/default/bindings/mailer",
        {"job_types": ["a"]},
        "operation.completed",
    ),
    "delete_binding": (bound, "/queues/default/bindings/{}", None, "operation.completed"),
    "suspend_binding": (
        push,
        "/queues/default/bindings/mailer/suspend",
        None,
        "operation.completed",
    ),
    "resume_binding": (
        push,
        "/queues/default/bindings/mailer/resume",
        None,
        "operation.completed",
    ),
    "put_pool": (push, "/admin/pools/general", {"queues": ["a"]}, "operation.completed"),
    "delete_pool": (pool, "/admin/pools/{}", None, "operation.completed"),
    "set_tenant": (push, "/admin/tenants/acme", MOST, "operation.completed"),
    "change_tenant": (push, "/admin/tenants/acme", MOST, "operation.completed"),
    "change_tenant_limits": (
        push,
        "/admin/tenants/acme/limits",
        MOST["limits"],
        "operation.completed",
    ),
    "reset_tenant": (tenant, "/admin/tenants/{}", None, "operation.completed"),
    "suspend_tenant": (push, "/admin/tenants/acme/suspend", None, "operation.completed"),
    "resume_tenant": (tenant, "/admin/tenants/{}/resume", None, "operation.completed"),
    "skip_sequence": (sequence, "/admin/sequences/{}/skip", None, "operation.completed"),
    "deregister_worker": (silent_worker, "/admin/workers/{}", None, "operation.completed"),
    "quiet_worker": (worker, "/admin/workers/{}/quiet", None, "worker.directed"),
    "terminate_worker": (worker, "/admin/workers/{}/terminate", None, "worker.directed"),
    "quiet_workers": (worker, "/admin/workers/quiet", {"all": True}, "worker.directed"),
    "terminate_workers": (worker, "/admin/workers/terminate", {"all": True}, "worker.directed"),
    "direct_workers": (
        worker,
        "/admin/workers/directive",
        {"directive": "quiet", "all": True},
        "worker.directed",
    ),
    "delete_dead_letters": (die, "/dead-letter", ALL_DEAD, "bulk.delete.completed"),
    "retry_dead_letters": (die, "/dead-letter/retry", ALL_DEAD, "bulk.retry.completed"),
    "purge_dead_letters": (die, "/dead-letter/delete", ALL_DEAD, "bulk.delete.completed"),
    "purge_old_dead_letters": (die, "/dead-letter/purge", None, "bulk.delete.completed"),
    "retry_dead_letter": (die, "/dead-letter/{}/retry", None, "job.enqueued"),
    "delete_dead_letter": (die, "/dead-letter/{}", None, "operation.completed"),
    "register_cron": (push, "/cron", CRON, "cron.registered"),
    "change_cron": (cron, "/cron/{}", {"cron": "0 8 * * *"}, "cron.updated"),
    "delete_cron": (cron, "/cron/{}", None, "operation.completed"),
    "pause_cron": (cron, "/cron/{}/pause", None, "cron.updated"),
    "trigger_cron": (cron, "/cron/{}/trigger", None, "cron.triggered"),
    "post_workflow_cancel": (flow, "/workflows/{}/cancel", None, "workflow.cancelled"),
    "cancel_workflow": (flow, "/workflows/{}", None, "workflow.cancelled"),
    "register_schema": (push, "/schemas", SCHEMA, "schema.registered"),
    "put_schema": (push, "/schemas/a.b/1", {"schema": {"type": "object"}}, "schema.registered"),
    "delete_schema": (schema_uri, "/schemas/{}", None, "operation.completed"),
    "delete_schema_version": (schema, "/schemas/{}", None, "operation.completed"),
    "repair": (push, "/admin/repair", None, "operation.completed"),
    "revoke_api_key": (key, "/admin/api-keys/{}/revoke", None, "operation.completed"),
}
"""Each operation that changes something: what has to be there, the request, and its event."""

UNDONE: Final[Mapping[str, str]] = {
    "resume_queue": "pause_queue",
    "resume_worker": "quiet_worker",
    "resume_workers": "quiet_workers",
    "resume_cron": "pause_cron",
}
"""Operations that undo another one, at a path that ends in ``resume``."""

ALL: Final = {route.operation: route for route in ROUTES if route.method != "GET"}


def test_each_operation_is_an_event_or_has_a_reason() -> None:
    """A new operation has to be in one of the lists."""
    assert {*CHANGES, *UNDONE, *UNNAMED} == ALL.keys()
    assert not {*CHANGES, *UNDONE} & UNNAMED.keys()
    assert all(UNNAMED.values())


def path_of(route: Route, path: str, name: str) -> str:
    """The path of a request about something."""
    return path.replace("{}", name if name.startswith("a.b/") else quote(name, safe=""))


@pytest.mark.parametrize("operation", [*CHANGES, *UNDONE])
def test_the_event_of_an_operation_names_its_caller(operation: str) -> None:
    """Only one event does so for each request about one thing."""
    first = UNDONE.get(operation, operation)
    make, path, body, kind = CHANGES[first]
    with embedded(Settings(binding_targets=TARGETS)) as aws:
        server = Server(aws)
        name = make(server)
        target = path_of(ALL[first], path, name)
        server.done(target, body, by=BOB if operation in UNDONE else ANN, method=ALL[first].method)
        if operation in UNDONE:
            kind = {"queue.paused": "queue.resumed"}.get(kind, kind)
            again = target.rpartition("/")[0] + "/resume"
            server.done(again, body, method=ALL[operation].method)
        found = server.events(kind)
    assert [event for event in found if event[1] == ANN] == [(kind, ANN)]


def test_an_event_of_many_jobs_costs_one_write() -> None:
    """A dry run writes nothing, and neither does a request that meets no job."""
    with embedded() as aws:
        server = Server(aws)
        for _ in range(3):
            push(server)
        writes = []
        path = "/admin/jobs/bulk/cancel"
        for body in ({**WAITING, "dry_run": True}, WAITING, WAITING):
            with aws.calls.counted() as calls:
                server.done(path, body)
            writes.append(calls["PutItem"] + calls["UpdateItem"])
        assert writes == [0, 3 + 1, 0]
        die(server)
        for more, count in ({"dry_run": True}, 0), ({}, 1 + 1), ({}, 0):
            with aws.calls.counted() as calls:
                server.done("/dead-letter", {**ALL_DEAD, **more}, method="DELETE")
            assert calls["PutItem"] + calls["DeleteItem"] == count


def test_the_record_of_an_operation_costs_one_write() -> None:
    """It has what the path names."""
    with embedded() as aws:
        server = Server(aws)
        cron(server)
        with aws.calls.counted() as calls:
            server.done("/cron/nightly", method="DELETE")
        assert (calls["PutItem"], calls["DeleteItem"]) == (1, 1)
        server.follow()
        query = {"types": "operation.*"}
        (event,) = server.api.get("/events", query=query).json["events"]
        assert event["data"] == {
            "operation": "delete_cron",
            "target": {"name": "nightly"},
            "by": ANN,
        }
