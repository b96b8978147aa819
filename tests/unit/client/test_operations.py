"""Each operation of the route table has a client method, or a stated reason for none."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Final

import httpx
import pytest

from ojs_aws.client import Client
from ojs_aws.client.results import Stored
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.client.transports.requests import Answer, RouteRequest
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError
from ojs_aws.transport.http.routes import ROUTES
from tests.unit.client.calls import CALLS, Make, furnished, prepared
from tests.unit.client.doubles import ApiServer, FakeTimer

METHODS: Final = {
    "push": "enqueue",
    "push_batch": "enqueue_many",
    "info": "get",
    "cancel": "cancel",
    "activate": "activate",
    "change_job": "jobs.reprioritise",
    "get_result": "result",
    "get_results": "results",
    "get_progress": "progress",
    "get_checkpoint": "checkpoint",
    "delete_checkpoint": "clear_checkpoint",
    "list_queues": "queues.list",
    "create_queue": "queues.create",
    "delete_queue": "queues.delete",
    "get_queue_config": "queues.settings",
    "change_queue_config": "queues.configure",
    "drain_queue": "queues.drain",
    "queue_stats": "queues.stats",
    "get_queue": "queues.get",
    "priority_stats": "queues.priorities",
    "pause_queue": "queues.pause",
    "resume_queue": "queues.resume",
    "purge_queue": "queues.purge",
    "list_bindings": "queues.bindings",
    "get_binding": "queues.binding",
    "put_binding": "queues.set_binding",
    "delete_binding": "queues.delete_binding",
    "suspend_binding": "queues.suspend_binding",
    "resume_binding": "queues.resume_binding",
    "limit_queue": "queues.limit",
    "unlimit_queue": "queues.limit",
    "list_rate_limits": "rate_limits.list",
    "get_rate_limit": "rate_limits.get",
    "override_rate_limit": "rate_limits.set",
    "lift_rate_limit": "rate_limits.remove",
    "list_workers": "workers.list",
    "get_worker": "workers.get",
    "deregister_worker": "workers.deregister",
    "quiet_worker": "workers.quiet",
    "terminate_worker": "workers.terminate",
    "resume_worker": "workers.resume",
    "quiet_workers": "workers.quiet_all",
    "terminate_workers": "workers.terminate_all",
    "resume_workers": "workers.resume_all",
    "list_sequences": "sequences.list",
    "get_sequence": "sequences.get",
    "skip_sequence": "sequences.skip",
    "list_tenants": "tenants.list",
    "get_tenant": "tenants.get",
    "get_tenant_stats": "tenants.stats",
    "change_tenant": "tenants.set",
    "reset_tenant": "tenants.reset",
    "suspend_tenant": "tenants.suspend",
    "resume_tenant": "tenants.resume",
    "list_pools": "workers.pools",
    "get_pool": "workers.pool",
    "put_pool": "workers.set_pool",
    "delete_pool": "workers.delete_pool",
    "list_dead_letters": "dead_letter.list",
    "dead_letter_stats": "dead_letter.stats",
    "retry_dead_letters": "dead_letter.retry_many",
    "purge_dead_letters": "dead_letter.delete_many",
    "get_dead_letter": "dead_letter.get",
    "retry_dead_letter": "dead_letter.retry",
    "delete_dead_letter": "dead_letter.delete",
    "list_jobs": "jobs.list",
    "get_job_detail": "jobs.detail",
    "why": "jobs.why",
    "cancel_job": "jobs.cancel",
    "retry_job": "jobs.retry",
    "bulk_retry_jobs": "jobs.change_some",
    "bulk_cancel_jobs": "jobs.change_some",
    "bulk_reprioritise_jobs": "jobs.reprioritise_some",
    "bulk_delete_jobs": "jobs.change_some",
    "show_stats": "system.stats",
    "show_overview": "system.overview",
    "show_findings": "system.findings",
    "show_errors": "system.errors",
    "list_api_keys": "system.api_keys",
    "revoke_api_key": "system.revoke_api_key",
    "whoami": "system.whoami",
    "show_stats_history": "system.history",
    "show_config": "system.config",
    "repair": "system.repair",
    "list_events": "events.read",
    "register_cron": "cron.register",
    "list_crons": "cron.list",
    "get_cron": "cron.get",
    "change_cron": "cron.pause",
    "delete_cron": "cron.delete",
    "trigger_cron": "cron.trigger",
    "list_schemas": "schemas.list",
    "register_schema": "schemas.register",
    "put_schema": "schemas.register",
    "get_schema": "schemas.by_uri",
    "get_schema_version": "schemas.get",
    "list_schema_versions": "schemas.versions",
    "delete_schema_version": "schemas.delete",
    "create_workflow": "workflow",
    "list_workflows": "workflows.list",
    "get_workflow": "workflows.get",
    "cancel_workflow": "workflows.cancel",
    "health": "admin.health",
}
"""The method that asks for an operation."""

_WORKERS: Final = "Workers ask for it: ojs_aws.worker does."
_OTHERS: Final = "Other clients ask for it by this path; ours asks for"

REASONS: Final = {
    **dict.fromkeys(("fetch", "ack", "fail", "heartbeat", "report_progress"), _WORKERS),
    "save_checkpoint": _WORKERS,
    "put_checkpoint": f"{_OTHERS} save_checkpoint.",
    "resume_checkpoint": "Workers get the checkpoint with the job; other clients ask for it.",
    "ack_job": f"{_OTHERS} ack.",
    "fail_job": f"{_OTHERS} fail.",
    "post_progress": f"{_OTHERS} report_progress.",
    "report_progress_of": f"{_OTHERS} report_progress.",
    "get_worker_health": "A probe of the worker's own machine asks for it.",
    "bulk_enqueue": "enqueue_many stores all jobs or none; jobs that are judged one by one go over "
    "HTTP.",
    "bulk_cancel": "jobs.change_named reaches active jobs, too.",
    "bulk_retry": "jobs.change_named does the same.",
    "bulk_delete": "jobs.change_named does the same.",
    "get_workflow_progress": "workflows.get has the steps with their states.",
    "list_queues_with_counts": "queues.list and queues.stats say the same.",
    "patch_queue_config": f"{_OTHERS} change_queue_config.",
    "delete_dead_letters": f"{_OTHERS} purge_dead_letters: some proxies drop a DELETE's body.",
    "purge_old_dead_letters": f"{_OTHERS} purge_dead_letters.",
    "purge_jobs": f"{_OTHERS} purge_queue.",
    "direct_workers": f"{_OTHERS} quiet_workers and the like.",
    "set_tenant": "tenants.reset and tenants.set do the same.",
    "change_tenant_limits": f"{_OTHERS} change_tenant.",
    "list_tenant_jobs": "A client with the header X-OJS-Tenant has jobs.list.",
    "list_retries": "jobs.detail has the history.",
    "list_cron_runs": "cron.get has the last run; jobs.list finds the jobs.",
    "pause_cron": f"{_OTHERS} change_cron.",
    "resume_cron": f"{_OTHERS} change_cron.",
    "post_workflow_cancel": f"{_OTHERS} cancel_workflow.",
    "delete_schema": "schemas.delete removes a version by its type and number.",
    **dict.fromkeys(
        ("stream_events", "stream_job_events", "stream_queue_events"),
        "events.follow reads the same log, and goes on by its cursor.",
    ),
    "show_middleware": "It concerns the deployment's own code; `ojs-aws middleware` shows a chain.",
    "show_gauges": "Monitoring scrapes it.",
    "metrics": "Monitoring scrapes it.",
    "show_metrics": "Monitoring scrapes it.",
    "manifest": "It says what the server conforms to; test suites read it.",
    "openapi": "Tools read it.",
}
"""Why the client has no method for an operation."""


class Recording(InProcessTransport):
    """Notes the operations that are asked for, by a route or without one."""

    asked: set[str]

    async def ask(self, request: RouteRequest) -> Answer:
        self.asked.add(request.operation)
        return await super().ask(request)

    async def push(self, job: Job) -> Stored:
        self.asked.add("push")
        return await super().push(job)

    async def push_all(self, jobs: Sequence[Job]) -> list[Stored]:
        self.asked.add("push_batch")
        return await super().push_all(jobs)

    async def get(self, job_id: str) -> Job:
        self.asked.add("info")
        return await super().get(job_id)

    async def cancel(self, job_id: str) -> Job:
        self.asked.add("cancel")
        return await super().cancel(job_id)

    async def activate(self, job_id: str) -> Job:
        self.asked.add("activate")
        return await super().activate(job_id)


def test_every_operation_has_a_method_or_a_reason() -> None:
    """A new route needs one of them here."""
    operations = {route.operation for route in ROUTES}
    assert METHODS.keys() | REASONS.keys() == operations
    assert not METHODS.keys() & REASONS.keys()
    assert all(reason.endswith(".") for reason in REASONS.values())


@pytest.mark.parametrize(("operation", "method"), METHODS.items())
async def test_the_method_asks_for_its_operation(operation: str, method: str) -> None:
    """By its name, with the parameters of its path."""
    transport = Recording(furnished().backend)
    transport.asked = set()
    client = Client(transport=transport, middleware=[], timer=FakeTimer())
    await prepared(client)
    transport.asked.clear()
    await CALLS[method](client)
    assert operation in transport.asked
    assert not transport.asked & REASONS.keys()


@pytest.mark.parametrize(
    ("method", "make", "sends"),
    [
        ("queues.pause", CALLS["queues.pause"], 2),
        ("queues.create", CALLS["queues.create"], 1),
        ("cron.register", CALLS["cron.register"], 2),
        ("cron.trigger", CALLS["cron.trigger"], 1),
        ("jobs.cancel", CALLS["jobs.cancel"], 1),
        ("dead_letter.retry", CALLS["dead_letter.retry"], 1),
        ("admin.health", CALLS["admin.health"], 1),
        ("a bulk change", lambda c: c.jobs.change_some("cancel", queue="work"), 1),
        ("a dry run", lambda c: c.jobs.change_some("cancel", queue="work", dry_run=True), 2),
        ("admin.retry_dead_letter", CALLS["admin.retry_dead_letter"], 3),
    ],
)
async def test_a_lost_answer_is_asked_for_again_where_that_is_safe(
    method: str, make: Make, sends: int
) -> None:
    """As the route table says, unless the method knows more. The first answer is lost."""
    server = ApiServer(furnished())
    client = server.client()
    await prepared(client)
    before = len(server.requests)

    def lose() -> httpx.Response:
        server.respond(server.requests[-1])
        raise httpx.ReadTimeout(method)

    server.script = [lose]
    with nullcontext() if sends > 1 else pytest.raises(BackendError):
        await make(client)
    assert len(server.requests) - before == sends
