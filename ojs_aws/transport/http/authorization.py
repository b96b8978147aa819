"""Decides whether a request is allowed: by the operation's access, and by its caller's bounds.

The operation is decided before anything of the request is looked at. What only the body names is
checked by the handlers, with the functions here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.access import Caller, Permission
from ojs_aws.domain.access_errors import PermissionDeniedError
from ojs_aws.domain.attributes import check_job_id
from ojs_aws.domain.errors import JsonValue, NotFoundError
from ojs_aws.services.jobs.change import found
from ojs_aws.transport.http.access import Bounds
from ojs_aws.transport.http.callers import caller_if_known, caller_of
from ojs_aws.transport.http.calls import Call, Middleware, Next, Server
from ojs_aws.transport.http.route import Route

if TYPE_CHECKING:
    from aws_lambda_powertools.event_handler import ApiGatewayResolver
    from aws_lambda_powertools.event_handler.api_gateway import Response

    from ojs_aws.domain.cron.entry import CronDefinition
    from ojs_aws.domain.envelope import Job
    from ojs_aws.domain.job import JobRecord

CALLER: Final = "caller"
"""Where the middleware of a request keep its caller."""


def authenticating(server: Server) -> Callable[[ApiGatewayResolver], Caller]:
    """Find the caller of a request without a route, once.

    :raises UnauthenticatedError: by what it returns, where nobody is known.
    """

    def authenticate(app: ApiGatewayResolver) -> Caller:
        caller = caller_of(app.current_event.raw_event, server.backend.settings)
        app.context[CALLER] = caller
        return caller

    return authenticate


def authorizing(server: Server, route: Route) -> Middleware:
    """Return the request middleware of one operation: it finds the caller and checks access."""
    access, settings = route.access, server.backend.settings
    is_open = route.is_public and settings.public_status
    find = caller_if_known if is_open else caller_of

    def authorize(app: ApiGatewayResolver, next_middleware: Next) -> Response[str]:
        caller = find(app.current_event.raw_event, settings)
        app.context[CALLER] = caller
        caller.check(access.permission, route.operation)
        if access.bounds is Bounds.REFUSED:
            caller.check_unbound(route.operation)
        return next_middleware(app)

    return authorize


def check_bounds(call: Call, route: Route) -> None:
    """Refuse what path or query name outside the caller's bounds.

    :raises PermissionDeniedError: a queue or type.
    :raises NotFoundError: a job, exactly as if there were none: its existence stays hidden.
    """
    caller = call.request.caller
    if not caller.is_bound:
        return
    access, bounds = route.access, route.access.bounds
    if bounds is Bounds.JOB:
        check_job(call, call.job_id)
    elif bounds is Bounds.QUEUE:
        caller.check_queue(call.named("queue"))
        if caller.types and access.permission is not Permission.INSPECT:
            caller.check_unbound(route.operation)  # a queue has jobs of other types, too
    elif bounds is Bounds.QUERY:
        _check_query(call)


def check_job(call: Call, job_id: str) -> None:
    """Refuse a job outside the caller's bounds: one read, only for callers with bounds.

    :raises NotFoundError: as if there were no such job.
    """
    caller = call.request.caller
    if caller.is_bound:
        job = found(call.backend.changer.find(check_job_id(job_id)), job_id)
        found(job if _may_touch(caller, job) else None, job_id)


def within_bounds(call: Call, job_ids: list[str]) -> list[str]:
    """Return the jobs within the caller's bounds, without those that do not exist."""
    caller = call.request.caller
    if not caller.is_bound or not job_ids:
        return job_ids
    known = call.backend.changer.find_many([check_job_id(each) for each in job_ids])
    return [each for each in job_ids if each in known and _may_touch(caller, known[each])]


def bind_jobs(call: Call, jobs: Iterable[tuple[str, Job]]) -> None:
    """Limit jobs that are to be enqueued to the caller's bounds.

    Jobs outside of them are refused, and nothing is enqueued then. The uniqueness keys that the
    client chose become keys of their queues and types, wherever the job is enqueued later.

    :param jobs: each with where it stands in the body: empty, or ending in a dot.
    """
    caller = call.request.caller
    if not caller.is_bound:
        return
    for place, job in jobs:
        caller.check_queue(job.queue, job.type, f"{place}queue")
        _check_limit(caller, job, place)
        if job.get("unique") is not None:
            _bind_unique(caller, job, place)


def check_replaced(call: Call, cron_name: object) -> None:
    """Refuse to register a cron job over one outside the caller's bounds."""
    caller = call.request.caller
    if not caller.is_bound or not isinstance(cron_name, str):
        return
    try:
        known = call.backend.cron.service.get(cron_name).definition
    except NotFoundError:
        return
    check_cron_bounds(call, known)


def check_cron_bounds(call: Call, known: CronDefinition) -> None:
    """Refuse to change a cron job outside the caller's bounds."""
    caller = call.request.caller
    if caller.is_bound and not caller.may_touch(known.queue, known.type):
        raise PermissionDeniedError(
            "These credentials are not for the cron job of this name.",
            details={"field": "name"},
            hint="Give the cron job another name.",
        )


def check_override(call: Call, override: Mapping[str, JsonValue] | None) -> None:
    """Refuse to move a dead letter to a queue outside the caller's bounds."""
    queue = (override or {}).get("queue")
    if isinstance(queue, str):
        call.request.caller.check_queue(queue, field="override.queue")


def check_fetched(call: Call, queues: Iterable[str]) -> None:
    """Refuse queues that the caller may not fetch from."""
    caller = call.request.caller
    if caller.types:  # FETCH takes what the queues hold, of whatever type
        caller.check_unbound("fetch")
    for queue in queues:
        caller.check_queue(queue, field="queues")


def _check_limit(caller: Caller, job: Job, place: str) -> None:
    """Refuse a limit counted for a foreign queue or type: it would use up its starts.

    A key that stands for neither is shared by whoever names it.
    """
    if (policy := job.get("rate_limit")) is None:
        return
    from ojs_aws.domain.limits.policies import read_limit  # few callers and jobs
    from ojs_aws.domain.limits.rules import scope_of

    limit = read_limit(policy, job.queue, {"args": job.get("args"), "meta": job.get("meta")})
    scope = scope_of(limit.key) if limit else None
    if scope is None:
        return
    is_outside = scope.queue and not caller.may_touch(scope.queue)
    is_wider = caller.queues and not scope.queue  # the type in all queues
    if is_outside or is_wider or (scope.type and not caller.may_touch(job.queue, scope.type)):
        raise PermissionDeniedError(
            "These credentials are bound: a limit of theirs cannot be that of other jobs.",
            details={"field": f"{place}rate_limit.key"},
            hint="Give the limit a key of its own, or none for the job's own queue.",
        )


def _bind_unique(caller: Caller, job: Job, place: str) -> None:
    """Limit a job's uniqueness to jobs that the caller may touch.

    Without this the job could be answered with a foreign one, replace it, or keep it out.
    """
    from ojs_aws.domain.uniqueness import UNIQUE_KEY, bound_key, is_key  # few do

    policy = job.get("unique")
    keys = policy.get("keys") if isinstance(policy, dict) else None
    if caller.queues and not (isinstance(keys, list) and "queue" in keys):
        raise PermissionDeniedError(
            "These credentials are bound to queues: their jobs can be unique within a queue only.",
            details={"field": f"{place}unique.keys"},
            hint='Add "queue" to the keys of the unique policy.',
        )
    given = job.get(UNIQUE_KEY)
    if isinstance(given, str) and is_key(given):  # anything else is refused by PUSH
        job[UNIQUE_KEY] = bound_key(job, given)


def _check_query(call: Call) -> None:
    caller, query = call.request.caller, call.request.query
    for name, bounds in (("queue", caller.queues), ("type", caller.types)):
        if bounds and not query.get(name):
            raise PermissionDeniedError(
                f"These credentials are bound: say in the query which {name} is meant.",
                details={"field": name},
                hint=f"Add ?{name}=<name>.",
            )
    queue = query.get("queue", "")
    caller.check_queue(queue, query.get("type") if caller.types else None)


def _may_touch(caller: Caller, job: JobRecord) -> bool:
    return caller.may_touch(job.queue, job.type)
