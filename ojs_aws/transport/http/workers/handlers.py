"""Handles requests on workers (ojs-admin-api, section 9) and pools (ojs-fair-scheduling, 5.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from ojs_aws.domain.attributes import check_queue, field_error, invalid
from ojs_aws.domain.credentials import change_number, read_actor
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.jobs.lists import ListTotal, TotalKind
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.domain.workers import Pool, WorkerInfo, check_pool_name, read_choice, read_pool
from ojs_aws.services.workers import silence_ms
from ojs_aws.services.workers.pools import PoolUse, unknown_pool
from ojs_aws.services.workers.service import (
    STALE,
    Directive,
    Selection,
    queues_of,
    read_about,
    state_of,
    unknown_worker,
)
from ojs_aws.transport.http.calls import CREATED, OK, UNAVAILABLE, Answer, Call, beside, json_of
from ojs_aws.transport.http.negotiation import is_browser
from ojs_aws.transport.http.queries import further, read_mark, requested_page, write_mark

if TYPE_CHECKING:
    from ojs_aws.services.workers.pools import Pools
    from ojs_aws.transport.http.answers import DirectiveName
    from ojs_aws.transport.http.workers import models


MAX_WORKER_ID: Final = 256
_MARK: Final = "w:"


def list_workers(call: Call) -> Answer[models.WorkersAnswer]:
    """Return the workers by id, and how many are in each state."""
    wanted = requested_page(call.request.query)
    now = call.backend.clock.now()
    page = call.backend.workers.service.list(
        wanted.limit, read_mark(_MARK, wanted.cursor), wanted.offset, call.request.caller.view
    )
    names_others = not call.request.caller.is_bound
    items = json_of(
        [_rendered(call, worker, now, names_others=names_others) for worker in page.workers]
    )
    cursor = write_mark(_MARK, page.cursor)
    total = page.summary["total"]
    kind = TotalKind.EXACT if page.is_exact else TotalKind.AT_LEAST
    body: models.WorkersAnswer = {
        "items": items,
        "workers": items,
        "summary": {**cast("models.WorkerSummary", page.summary), "is_exact": page.is_exact},
        "pagination": wanted.pagination(ListTotal(total, kind), cursor),
        "total": total,
    }
    return Answer(body)


def _rendered(call: Call, worker: WorkerInfo, now: Instant, *, names_others: bool) -> models.Worker:
    """Return a worker with what it last reported of itself (section 9.1).

    Its state and its queues fit the schema of the worker's information: the state is what it
    reported, and who names no queues has none. The official admin UI, in a browser, reads
    ``stale`` as a state, and queues of every worker.

    :param names_others: also who directed it last, and when.
    """
    shown: models.Worker = {
        "id": worker.id,
        "worker_id": worker.id,
        "state": cast("DirectiveName", worker.state),
        "stale": state_of(worker, now) == STALE,
        "directive": cast("DirectiveName", worker.directive),
        "active_jobs": worker.active_jobs,
        "active_job_ids": [*worker.job_ids],
        "last_heartbeat_at": format_instant(worker.last_seen),
        "last_heartbeat": format_instant(worker.last_seen),
        "expected_until": format_instant(Instant(worker.last_seen + silence_ms(worker))),
    }
    if worker.interval_ms is not None:
        shown["heartbeat_interval_ms"] = worker.interval_ms
    actor, at = read_actor(worker.directed_by), change_number(worker.directed_by)
    if names_others and actor is not None and at is not None:
        shown["directed_by"] = {"id": actor.id, "name": actor.name}
        shown["directed_at"] = format_instant(Instant(at))
    about = read_about(worker)
    if not queues_of(worker):
        about.pop("queues", None)
    if is_browser(call.request):
        about = {"queues": [], **about} | ({"state": STALE} if shown["stale"] else {})
    return beside(shown, about)


def get_worker(call: Call) -> Answer[models.WorkerAnswer]:
    """Return one worker, with the jobs that it last reported."""
    found = call.backend.workers.service.get(_worker_id(call), call.request.caller.view)
    names_others = not call.request.caller.is_bound
    worker = _rendered(call, found, call.backend.clock.now(), names_others=names_others)
    return Answer({"worker": worker, **worker})


def get_worker_health(call: Call) -> Answer[models.WorkerHealthAnswer]:
    """Return whether a worker takes jobs: 200, or 503 while it drains or is silent.

    Its state is shown as it said it: ``drain``, ``draining`` or ``shutting_down`` for ``quiet``.
    Credentials with bounds see the workers that beat with these credentials, and no others.
    """
    worker_id, caller = _worker_id(call), call.request.caller
    worker = call.backend.workers.service.get(worker_id)
    if caller.is_bound and worker.principal != caller.principal:
        raise unknown_worker(worker_id)
    now = call.backend.clock.now()
    is_stale = state_of(worker, now) == STALE
    state = STALE if is_stale else worker.drain_word or worker.state
    body: models.WorkerHealthAnswer = {
        "status": "stale" if is_stale else "draining" if worker.is_draining else "ok",
        "worker_id": worker.id,
        "state": cast("models.WorkerState", state),
        "directive": cast("DirectiveName", worker.directive),
        "draining": worker.is_draining,
        "active_jobs": worker.active_jobs,
        "last_heartbeat_at": format_instant(worker.last_seen),
    }
    return Answer(body, 200 if body["status"] == "ok" else UNAVAILABLE)


def quiet_worker(call: Call) -> Answer[models.WorkerAnswer]:
    """Let a worker finish its jobs and fetch no more."""
    return _direct(call, Directive.QUIET)


def terminate_worker(call: Call) -> Answer[models.WorkerAnswer]:
    """Ask a worker to end within its grace period."""
    return _direct(call, Directive.TERMINATE)


def resume_worker(call: Call) -> Answer[models.WorkerAnswer]:
    """Let a quiet worker fetch again."""
    return _direct(call, Directive.RUNNING)


def _direct(call: Call, directive: Directive) -> Answer[models.WorkerAnswer]:
    worker = call.backend.workers.service.direct(_worker_id(call), directive, call.actor)
    # The item of before the change: who directed it then is not who does it now.
    shown = _rendered(call, worker, call.backend.clock.now(), names_others=False)
    shown["previous_directive"] = shown["directive"]
    shown["directive"] = directive.value
    return Answer({"worker": shown, **shown})


def quiet_workers(call: Call) -> Answer[models.DirectedAnswer]:
    """Quiet the selected workers."""
    return direct_chosen(call, Directive.QUIET, call.values(optional=True))


def terminate_workers(call: Call) -> Answer[models.DirectedAnswer]:
    """Terminate the selected workers."""
    return direct_chosen(call, Directive.TERMINATE, call.values(optional=True))


def resume_workers(call: Call) -> Answer[models.DirectedAnswer]:
    """Resume the selected workers."""
    return direct_chosen(call, Directive.RUNNING, call.values(optional=True))


def direct_chosen(
    call: Call, directive: Directive, values: Mapping[str, JsonValue]
) -> Answer[models.DirectedAnswer]:
    """Direct the workers of a queue, with a label, or all of them; one must be given."""
    queue, label = values.get("queue"), values.get("label")
    cursor = values.get("cursor") or ""
    if label is not None and not (isinstance(label, str) and 0 < len(label) <= MAX_WORKER_ID):
        raise invalid("label", "a text of 1 to 256 characters", label)
    if not isinstance(cursor, str):
        raise invalid("cursor", "a text", cursor)
    if queue is None and label is None and values.get("all") is not True:
        message = "Say which workers are meant: 'queue', 'label', or 'all': true."
        raise field_error("all", message, expected="true, where neither queue nor label is given")
    selection = Selection(
        queue=check_queue(queue) if queue is not None else "", label=str(label or "")
    )
    done = call.backend.workers.service.direct_all(
        selection, directive, read_mark(_MARK, cursor), call.actor
    )
    body: models.DirectedAnswer = {
        "directive": directive.value,
        "updated": len(done.directed),
        "workers": [*done.directed],
        "refused": [*done.refused],
        **further(write_mark(_MARK, done.cursor)),
    }
    return Answer(body)


def deregister_worker(call: Call) -> Answer[models.WorkerDeletedAnswer]:
    """Remove a worker that missed its heartbeats."""
    worker_id = _worker_id(call)
    jobs = call.backend.workers.service.deregister(worker_id)
    return Answer({"deleted": True, "id": worker_id, "jobs_requeued": [*jobs]})


def _worker_id(call: Call) -> str:
    worker_id = call.named("worker_id")
    if not 0 < len(worker_id) <= MAX_WORKER_ID:
        raise invalid("worker_id", f"a text of 1 to {MAX_WORKER_ID} characters", worker_id)
    return worker_id


def list_pools(call: Call) -> Answer[models.PoolsAnswer]:
    """Return the pools by name."""
    items = json_of([_shown(each) for each in call.backend.workers.pools.list()])
    return Answer({"items": items, "pools": items})


def get_pool(call: Call) -> Answer[models.PoolAnswer]:
    """Return one pool."""
    shown = _shown(call.backend.workers.pools.get(call.named("name")))
    return Answer({"pool": shown, **shown})


def put_pool(call: Call) -> Answer[models.PoolAnswer]:
    """Store a pool: 201 if there was none of this name."""
    pool = read_pool(call.named("name"), call.values())
    is_new = call.backend.workers.pools.put(pool)
    shown = _shown(PoolUse(pool))
    return Answer({"pool": shown, **shown}, CREATED if is_new else OK)


def delete_pool(call: Call) -> Answer[models.PoolDeletedAnswer]:
    """Remove a pool."""
    name = call.named("name")
    call.backend.workers.pools.delete(name)
    return Answer({"deleted": True, "name": name})


def _shown(use: PoolUse) -> models.Pool:
    shown: models.Pool = {
        "name": use.pool.name,
        "queues": [*use.pool.queues],
        "strategy": use.pool.strategy.value,
        "active_workers": use.workers,
        "active_jobs": use.jobs,
    }
    return beside(shown, use.pool.members())


def chosen(pools: Pools, values: Mapping[str, JsonValue]) -> Pool:
    """Return the queues of a FETCH that names a pool, a strategy or weights.

    What the pool says counts for more than the request. If there is no such pool, the request
    counts, where it names queues.

    :raises NotFoundError: there is no such pool, and the request names no queues.
    """
    name, queues = values.get("pool"), values.get("queues")
    if name is not None:
        name = check_pool_name(name if isinstance(name, str) else "")
        pool = pools.known(name)
        if pool is not None:
            return pool
        if not queues:
            raise unknown_pool(name)
    named = queues if isinstance(queues, list) else []
    return read_choice(named, values.get("strategy"), values.get("weights"))
