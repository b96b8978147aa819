"""Decides whether a request is allowed: by the operation's access, and by its caller's bounds.

The operation is decided before anything of the request is looked at. What only the body names is
checked by the handlers, with the functions here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.domain.access import Caller, PermissionDeniedError, View
from ojs_aws.domain.attributes import check_job_id, unknown_cron, unknown_workflow
from ojs_aws.domain.errors import JsonValue, NotFoundError
from ojs_aws.services.stored_jobs.change import found
from ojs_aws.transport.http.callers import caller_if_known, caller_of
from ojs_aws.transport.http.calls import Call, Middleware, Next, Server
from ojs_aws.transport.http.route import Bounds, Route

if TYPE_CHECKING:
    from aws_lambda_powertools.event_handler import ApiGatewayResolver
    from aws_lambda_powertools.event_handler.api_gateway import Response

    from ojs_aws.domain.cron.entry import CronDefinition, CronEntry
    from ojs_aws.domain.envelope import Job
    from ojs_aws.domain.job import JobRecord

_WHOLE: Final = frozenset({Bounds.WHOLE_QUEUE, Bounds.QUEUES})
"""Where all jobs of queues are meant, also those of other types."""

TENANT_HEADER: Final = "x-ojs-tenant"

CALLER: Final = "caller"
"""Where the middleware of a request keep its caller."""


def authenticating(server: Server) -> Callable[[ApiGatewayResolver], Caller]:
    """Find the caller of a request without a route, once.

    :raises UnauthenticatedError: by what it returns, where nobody is known.
    """

    def authenticate(app: ApiGatewayResolver) -> Caller:
        event = server.authorized(app.current_event.raw_event)
        caller = caller_of(event, server.backend.settings, server.backend.clock.now())
        app.context[CALLER] = caller
        return caller

    return authenticate


def authorizing(server: Server, route: Route) -> Middleware:
    """Return the request middleware of one operation: it finds the caller and checks access."""
    access, settings = route.access, server.backend.settings
    is_open = route.is_public and settings.public_status

    def find(event: Mapping[str, Any]) -> Caller:
        # As the gateway: it does not ask the authorizer where anybody may call.
        if is_open:
            return caller_if_known(event, settings, server.backend.clock.now())
        return caller_of(server.authorized(event), settings, server.backend.clock.now())

    def authorize(app: ApiGatewayResolver, next_middleware: Next) -> Response[str]:
        event = app.current_event.raw_event
        caller, named = find(event), (event.get("headers") or {}).get(TENANT_HEADER)
        if named is not None:
            caller = _for_tenant(caller, named)
        app.context[CALLER] = caller
        caller.check(access.permission, route.operation)
        if access.bounds is Bounds.REFUSED:
            caller.check_unbound(route.operation)
        return next_middleware(app)

    return authorize


def _for_tenant(caller: Caller, named: str) -> Caller:
    """Return the caller of a request whose header names a tenant."""
    from ojs_aws.transport.http.tenants.isolation import caller_for  # few deployments have tenants

    return caller_for(caller, named)


def check_bounds(call: Call, route: Route) -> None:
    """Refuse what path or query name outside the caller's bounds.

    :raises PermissionDeniedError: a queue or type.
    :raises NotFoundError: a job, exactly as if there were none: its existence stays hidden.
    """
    caller = call.request.caller
    if not caller.is_bound:
        return
    bounds = route.access.bounds
    if caller.tenant:
        from ojs_aws.transport.http.tenants.isolation import check_operation

        check_operation(caller, route)
    if bounds is Bounds.TYPES and not caller.types:
        caller.check_unbound(route.operation)  # schemas of which types are whose nobody knows
    if bounds in _WHOLE:
        caller.check_untyped(route.operation)
    if bounds is Bounds.JOB:
        check_job(call, call.job_id)
    elif bounds in {Bounds.QUEUE, Bounds.WHOLE_QUEUE}:
        caller.check_queue(call.named("queue"))
    elif bounds in {Bounds.QUEUES, Bounds.FILTERED}:
        check_named(call, call.request.query)


def check_named(call: Call, given: Mapping[str, JsonValue]) -> None:
    """Refuse a filter that names a queue or a type outside the caller's bounds.

    The beginning of types (``shop.*``) finds those within the bounds.
    """
    caller = call.request.caller
    queue, job_type = given.get("queue"), given.get("type")
    if isinstance(queue, str) and queue:
        caller.check_queue(queue)
    if isinstance(job_type, str) and job_type and not job_type.endswith("*"):
        caller.check_type(job_type)


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
    listed = [*jobs]
    if caller.tenant:
        from ojs_aws.transport.http.tenants.isolation import bind_tenant

        bind_tenant(caller, listed)
    if not (caller.queues or caller.types):
        return  # a tenant's own uniqueness keys are apart from those of others anyway
    for place, job in listed:
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
    if not may_see_cron(caller.view, known):
        raise PermissionDeniedError(
            "These credentials are not for the cron job of this name.",
            details={"field": "name"},
            hint="Give the cron job another name.",
        )


def check_cron(call: Call) -> None:
    """Refuse a cron job outside the caller's bounds: one read, only for callers with bounds.

    :raises NotFoundError: as if there were no such cron job.
    """
    if call.request.caller.is_bound:
        found_cron(call)


def found_cron(call: Call) -> CronEntry:
    """Return the cron job that the path names.

    :raises NotFoundError: there is none within the caller's bounds.
    """
    name = call.named("name")
    entry = call.backend.cron.service.get(name)
    if not may_see_cron(call.request.caller.view, entry.definition):
        raise unknown_cron(name)
    return entry


def may_see_cron(view: View, known: CronDefinition) -> bool:
    """Return whether a view includes the jobs that a cron job enqueues."""
    if not view.tenant:
        return view.shows(known.queue, known.type)
    from ojs_aws.transport.http.tenants.isolation import tenant_of_cron

    return view.shows(known.queue, known.type, tenant_of_cron(known))


def check_workflow(call: Call, workflow_id: str) -> None:
    """Refuse a workflow with jobs outside the caller's bounds, or with none.

    One more query, only for callers with bounds.

    :raises NotFoundError: as if there were no such workflow.
    """
    caller = call.request.caller
    if not caller.is_bound:
        return
    jobs = call.backend.workflows.service.jobs_of(workflow_id)
    if not jobs or not all(caller.may_touch(*job) for job in jobs):
        raise unknown_workflow(workflow_id)


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
    from ojs_aws.domain.limits import scope_of
    from ojs_aws.domain.limits.policies import read_limit  # few callers and jobs

    limit = read_limit(policy, job.queue, {"args": job.get("args"), "meta": job.get("meta")})
    scope = scope_of(limit.key) if limit else None
    if scope is None:
        return
    view = replace(caller.view, tenant="")  # what is limited are queues and types
    is_outside = scope.queue and not view.shows(scope.queue)
    is_wider = caller.queues and not scope.queue  # the type in all queues
    if is_outside or is_wider or (scope.type and not view.shows(job.queue, scope.type)):
        raise PermissionDeniedError(
            "These credentials are bound: a limit of theirs cannot be that of other jobs.",
            details={"field": f"{place}rate_limit.key"},
            hint="Give the limit a key of its own, or none for the job's own queue.",
        )


def _bind_unique(caller: Caller, job: Job, place: str) -> None:
    """Limit a job's uniqueness to jobs that the caller may touch.

    Without this the job could be answered with a foreign one, replace it, or keep it out.
    """
    from ojs_aws.domain.unique import keys  # few do

    if caller.queues and not keys.counts_queue(job.get("unique")):
        raise PermissionDeniedError(
            "These credentials are bound to queues: their jobs can be unique within a queue only.",
            details={"field": f"{place}unique.keys"},
            hint='Add "queue" to the keys of the unique policy.',
        )
    given = keys.chosen_key(job)
    if isinstance(given, str) and keys.is_key(given):  # anything else is refused by PUSH
        job[keys.UNIQUE_KEY] = keys.bound_key(job, given)


def _may_touch(caller: Caller, job: JobRecord) -> bool:
    return caller.view.shows_job(job)
