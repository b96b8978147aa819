"""Handles operators' requests on workers (ojs-admin-api, section 9), and one worker's health."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from ojs_aws.domain.attributes import check_queue, invalid
from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.services.workers.service import (
    STALE,
    Directive,
    Selection,
    render_worker,
    state_of,
    unknown_worker,
)
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.pages import read_mark, requested_page, write_mark

MAX_WORKER_ID: Final = 256
_MARK: Final = "w:"
_UNAVAILABLE: Final = 503


def list_workers(call: Call) -> Answer:
    """Return the workers by id, and how many are in each state."""
    wanted = requested_page(call.request.query)
    now = call.backend.clock.now()
    page = call.backend.workers.list(wanted.limit, read_mark(_MARK, wanted.cursor), wanted.offset)
    items: list[JsonValue] = [{**render_worker(worker, now)} for worker in page.workers]
    cursor = write_mark(_MARK, page.cursor)
    total = page.summary["total"]
    body: dict[str, JsonValue] = {
        "items": items,
        "workers": items,
        "summary": {**page.summary, "is_exact": page.is_exact},
        "pagination": wanted.pagination(total, cursor, is_exact=page.is_exact),
        "total": total,
    }
    return Answer(encode(body))


def get_worker(call: Call) -> Answer:
    """Return one worker, with the jobs that it last reported."""
    worker = call.backend.workers.get(_worker_id(call))
    return Answer(_answered(render_worker(worker, call.backend.clock.now())))


def get_worker_health(call: Call) -> Answer:
    """Return whether a worker takes jobs: 200, or 503 while it drains or is silent.

    Credentials with bounds see the workers that beat with these credentials, and no others.
    """
    worker_id, caller = _worker_id(call), call.request.caller
    worker = call.backend.workers.get(worker_id)
    if caller.is_bound and worker.principal != caller.principal:
        raise unknown_worker(worker_id)
    now = call.backend.clock.now()
    state = state_of(worker, now)
    status = STALE if state == STALE else "draining" if worker.is_draining else "ok"
    body: dict[str, JsonValue] = {
        "status": status,
        "worker_id": worker.id,
        "state": state,
        "directive": worker.directive,
        "draining": worker.is_draining,
        "active_jobs": worker.active_jobs,
        "last_heartbeat_at": format_instant(worker.last_seen),
    }
    return Answer(encode(body), 200 if status == "ok" else _UNAVAILABLE)


def quiet_worker(call: Call) -> Answer:
    """Let a worker finish its jobs and fetch no more."""
    return _direct(call, Directive.QUIET)


def terminate_worker(call: Call) -> Answer:
    """Ask a worker to end within its grace period."""
    return _direct(call, Directive.TERMINATE)


def resume_worker(call: Call) -> Answer:
    """Let a quiet worker fetch again."""
    return _direct(call, Directive.RUNNING)


def _direct(call: Call, directive: Directive) -> Answer:
    worker = call.backend.workers.direct(_worker_id(call), directive)
    rendered = render_worker(worker, call.backend.clock.now())
    more: dict[str, JsonValue] = {
        "previous_directive": worker.directive,
        "directive": str(directive),
    }
    return Answer(_answered(rendered | more))


def _answered(worker: dict[str, JsonValue]) -> str:
    return encode({"worker": {**worker}, **worker})


def quiet_workers(call: Call) -> Answer:
    """Quiet the selected workers."""
    return _direct_all(call, Directive.QUIET)


def terminate_workers(call: Call) -> Answer:
    """Terminate the selected workers."""
    return _direct_all(call, Directive.TERMINATE)


def resume_workers(call: Call) -> Answer:
    """Resume the selected workers."""
    return _direct_all(call, Directive.RUNNING)


def _direct_all(call: Call, directive: Directive) -> Answer:
    values = call.values(optional=True)
    return direct_chosen(call, directive, values)


def direct_chosen(call: Call, directive: Directive, values: Mapping[str, JsonValue]) -> Answer:
    """Direct the workers of a queue, with a label, or all of them; one must be given."""
    queue, label = values.get("queue"), values.get("label")
    cursor = values.get("cursor") or ""
    if label is not None and not (isinstance(label, str) and 0 < len(label) <= MAX_WORKER_ID):
        raise invalid("label", "a text of 1 to 256 characters", label)
    if not isinstance(cursor, str):
        raise invalid("cursor", "a text", cursor)
    if queue is None and label is None and values.get("all") is not True:
        raise InvalidRequestError(
            "Say which workers are meant: 'queue', 'label', or 'all': true.",
            details={"field": "all", "expected": "true, where neither queue nor label is given"},
        )
    selection = Selection(
        queue=check_queue(queue) if queue is not None else "", label=str(label or "")
    )
    done = call.backend.workers.direct_all(selection, directive, read_mark(_MARK, cursor))
    told: list[JsonValue] = list(done.told)
    refused: list[JsonValue] = list(done.refused)
    body: dict[str, JsonValue] = {
        "directive": str(directive),
        "updated": len(told),
        "workers": told,
        "refused": refused,
        "has_more": bool(done.cursor),
    }
    if done.cursor:
        body["next_cursor"] = write_mark(_MARK, done.cursor)
    return Answer(encode(body))


def deregister_worker(call: Call) -> Answer:
    """Remove a worker that missed its heartbeats."""
    worker_id = _worker_id(call)
    jobs: list[JsonValue] = list(call.backend.workers.deregister(worker_id))
    body: dict[str, JsonValue] = {"deleted": True, "id": worker_id, "jobs_requeued": jobs}
    return Answer(encode(body))


def _worker_id(call: Call) -> str:
    worker_id = unquote(call.path["worker_id"])
    if not 0 < len(worker_id) <= MAX_WORKER_ID:
        raise invalid("worker_id", f"a text of 1 to {MAX_WORKER_ID} characters", worker_id)
    return worker_id
