"""A call of every method of the client, and a backend that has something to do for each."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

from ojs_aws.client import Client, group
from ojs_aws.config import Settings
from ojs_aws.domain.access import Scope
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.events import Event
from ojs_aws.domain.jobs.progress import read_report
from ojs_aws.domain.json_text import RawJson, encode, parse_object
from ojs_aws.domain.workers import WorkerReport
from ojs_aws.services.access.api_keys import KeyIssuer
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.jobs import any_job
from tests.simulation.world import World
from tests.unit.client.doubles import UNKNOWN

Make = Callable[[Client], Awaitable[object]]

AVAILABLE, PENDING, ACTIVE, COMPLETED, DEAD, ALSO_DEAD, WIDE = (
    f"01980000-0000-7000-8000-{number:012x}" for number in range(1, 8)
)
SCHEMA: Final[Mapping[str, Any]] = {"type": "array", "prefixItems": [{"type": "string"}]}


def furnished() -> World:
    """Make a backend in which every kind of thing exists; always the same one."""
    targets = '{"mailer": {"queues": ["work"], "types": ["email.send"]}}'
    world = World(settings=Settings(binding_targets=targets))
    backend = world.backend
    _add_jobs(world)
    backend.queues.config.create("media", {"max_size": 10})
    backend.workers.heartbeat(
        "stale", [], None, WorkerReport(about='{"hostname":"h","labels":["v1"]}')
    )
    world.clock.advance(s=45)
    backend.workers.heartbeat("w", [ACTIVE], None, WorkerReport(about='{"queues":["work"]}'))
    world.events.append([_event(world)], world.clock.now())
    digits = itertools.repeat(b"\x01\x23\x45\x67\x89\xab\xcd\xef" * 4)
    issuer = KeyIssuer(world.api_keys, world.clock, lambda size: next(digits)[:size])
    issuer.create("checkout", [Scope.PRODUCER])
    return world


ORDERED: Final = "01990000-0000-7000-8000-0000000000ab"


async def _ordered(client: Client) -> None:
    """Enqueue a job of a sequence."""
    await client.enqueue("demo.echo", [6], id=ORDERED, queue="ordered", sequence="o-1")


async def prepared(client: Client) -> None:
    """Register what the client itself registers: a cron job, schemas and a workflow."""
    await client.cron.register("daily", "0 9 * * *", "report.make", [1.5])
    await client.cron.register("off", "@hourly", "report.make", enabled=False)
    await client.schemas.register("email.send", "1.0", SCHEMA, uri="urn:x:1")
    await client.schemas.register("email.send", "1.1", SCHEMA, uri="urn:x:2")
    await client.workflow(group(Job("step.one", queue="steps")), id="flow")


def _add_jobs(world: World) -> None:
    backend = world.backend
    once: dict[str, JsonValue] = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
    backend.jobs.push(any_job("demo.echo", [1], id=COMPLETED, queue="work"))
    backend.jobs.fetch(FetchRequest(("work",), worker_id="w"))
    backend.jobs.ack(COMPLETED, "w", RawJson('{"n":[1.50,null]}'))
    for job_id in (DEAD, ALSO_DEAD):
        backend.jobs.push(any_job("demo.echo", [2], id=job_id, queue="work", retry=once))
        backend.jobs.fetch(FetchRequest(("work",), worker_id="w"))
        backend.jobs.fail(job_id, "w", parse_object(encode({"type": "Broken", "message": "m"})))
        world.clock.advance(s=1)
    backend.jobs.push(any_job("demo.echo", [3], id=ACTIVE, queue="work"))
    backend.jobs.fetch(FetchRequest(("work",), worker_id="w"))
    report = read_report(parse_object('{"progress":0.5,"data":{"row":5},"message":"half"}'))
    backend.outcomes.progress(ACTIVE, "w", report, RawJson('{"row":5}'))
    backend.jobs.push(any_job("demo.echo", [4], id=AVAILABLE, queue="work", priority=3))
    backend.jobs.push(any_job("demo.echo", [5], id=PENDING, queue="work", pending=True))
    exact = RawJson('[1.50,12345678901234567890123,"\\u00e9"]')
    wide = {"id": encode(WIDE), "type": encode("demo.wide"), "args": exact}
    backend.jobs.push(Job.from_members({**wide, "queue": encode("wide"), "retry": encode(once)}))
    backend.jobs.fetch(FetchRequest(("wide",), worker_id="w"))
    backend.jobs.fail(WIDE, "w", parse_object(encode({"type": "Wide", "message": "m"})))


def _event(world: World) -> Event:
    return Event(
        id="evt_01990000-0000-7000-8000-000000000001",
        type="job.enqueued",
        time=world.clock.now(),
        subject=AVAILABLE,
        data=RawJson('{"queue":"work"}'),
        queue="work",
        job_type="demo.echo",
    )


async def _all(parts: AsyncIterator[object]) -> list[object]:
    return [part async for part in parts]


async def _first(parts: AsyncIterator[object]) -> object:
    return await anext(parts)


async def _each(*calls: Awaitable[object]) -> list[object]:
    return [await call for call in calls]


def _limited(client: Client) -> Awaitable[object]:
    return client.rate_limits.set("stripe", {"concurrency": 2})


def _pooled(client: Client) -> Awaitable[object]:
    return client.workers.set_pool("p", ["work"], strategy="strict")


CALLS: Final[Mapping[str, Make]] = {
    "enqueue": lambda c: c.enqueue("demo.echo", ["x"], queue="work", meta={"a": 1}),
    "enqueue_many": lambda c: c.enqueue_many([Job("demo.echo", [1]), Job("demo.echo", [2])]),
    "enqueue_prepared": lambda c: c.enqueue_prepared(
        [Job("demo.echo", [3], id="01990000-0000-7000-8000-00000000abcd")]
    ),
    "workflow": lambda c: c.workflow(group(Job("a"), Job("b")), id="second"),
    "get": lambda c: c.get(AVAILABLE),
    "cancel": lambda c: c.cancel(ACTIVE),
    "activate": lambda c: c.activate(PENDING),
    "result": lambda c: c.result(COMPLETED),
    "wait": lambda c: c.wait(COMPLETED),
    "results": lambda c: c.results([COMPLETED, ACTIVE, DEAD, UNKNOWN]),
    "progress": lambda c: c.progress(ACTIVE),
    "checkpoint": lambda c: c.checkpoint(ACTIVE),
    "clear_checkpoint": lambda c: c.clear_checkpoint(ACTIVE),
    "close": lambda c: c.close(),
    "admin.dead_letters": lambda c: c.admin.dead_letters("work", limit=1),
    "admin.retry_dead_letter": lambda c: c.admin.retry_dead_letter(DEAD),
    "admin.delete_dead_letter": lambda c: c.admin.delete_dead_letter(DEAD),
    "admin.queues": lambda c: c.admin.queues(),
    "admin.health": lambda c: c.admin.health(),
    "jobs.list": lambda c: c.jobs.list(queue="work", states=["available"], type="demo.*"),
    "jobs.why": lambda c: c.jobs.why(AVAILABLE),
    "jobs.detail": lambda c: c.jobs.detail(ACTIVE, events=True),
    "jobs.cancel": lambda c: c.jobs.cancel(AVAILABLE),
    "jobs.retry": lambda c: c.jobs.retry(DEAD),
    "jobs.reprioritise": lambda c: c.jobs.reprioritise(AVAILABLE, 50),
    "jobs.change_named": lambda c: _each(
        c.jobs.change_named("cancel", [AVAILABLE, DEAD]),
        c.jobs.change_named("retry", [DEAD]),
        c.jobs.change_named("delete", [AVAILABLE]),
    ),
    "jobs.change_some": lambda c: _each(
        c.jobs.change_some("retry", queue="work", dry_run=True),
        c.jobs.change_some("retry", queue="work", states=["discarded"], limit=1),
        c.jobs.change_some("cancel", queue="work", states=["available"]),
        c.jobs.change_some("delete", queue="work", states=["cancelled"]),
    ),
    "jobs.reprioritise_some": lambda c: _each(
        c.jobs.reprioritise_some(7, queue="work", dry_run=True),
        c.jobs.reprioritise_some(7, queue="work", states=["pending"], limit=1),
    ),
    "jobs.reprioritise_all": lambda c: _all(c.jobs.reprioritise_all(9, queue="work")),
    "jobs.change_all": lambda c: _all(c.jobs.change_all("cancel", queue="work")),
    "queues.list": lambda c: c.queues.list(),
    "queues.get": lambda c: c.queues.get("work"),
    "queues.stats": lambda c: c.queues.stats("work"),
    "queues.priorities": lambda c: c.queues.priorities("work"),
    "queues.pause": lambda c: c.queues.pause("work"),
    "queues.resume": lambda c: _each(c.queues.drain("media"), c.queues.resume("media")),
    "queues.create": lambda c: c.queues.create("fresh", {"visibility_timeout": 60}),
    "queues.settings": lambda c: _each(c.queues.settings("media"), c.queues.settings("_default")),
    "queues.configure": lambda c: c.queues.configure("media", {"max_size": None, "concurrency": 3}),
    "queues.drain": lambda c: c.queues.drain("media"),
    "queues.delete": lambda c: _each(c.queues.delete("media"), c.queues.list()),
    "rate_limits.list": lambda c: _each(_limited(c), c.rate_limits.list()),
    "rate_limits.get": lambda c: _each(_limited(c), c.rate_limits.get("stripe")),
    "rate_limits.set": _limited,
    "rate_limits.remove": lambda c: _each(_limited(c), c.rate_limits.remove("stripe")),
    "queues.limit": lambda c: _each(
        c.queues.limit("media", {"concurrency": 5}), c.queues.limit("media", None)
    ),
    "queues.bindings": lambda c: c.queues.bindings("work"),
    "queues.binding": lambda c: c.queues.binding("work", "mailer"),
    "queues.set_binding": lambda c: c.queues.set_binding("work", "mailer", ["email.*"]),
    "queues.delete_binding": lambda c: _each(
        c.queues.set_binding("work", "mailer", ["email.*"]),
        c.queues.delete_binding("work", "mailer"),
    ),
    "queues.suspend_binding": lambda c: c.queues.suspend_binding("work", "mailer"),
    "queues.resume_binding": lambda c: _each(
        c.queues.suspend_binding("work", "mailer"), c.queues.resume_binding("work", "mailer")
    ),
    "queues.purge": lambda c: c.queues.purge("work", ["available", "completed"]),
    "cron.register": lambda c: c.cron.register("daily", "@daily", Job("a.b", [1], queue="q")),
    "cron.get": lambda c: c.cron.get("daily"),
    "cron.list": lambda c: _each(c.cron.list(), c.cron.list(enabled=False)),
    "cron.pause": lambda c: c.cron.pause("daily"),
    "cron.resume": lambda c: c.cron.resume("off"),
    "cron.delete": lambda c: _each(c.cron.delete("daily"), c.cron.list()),
    "cron.trigger": lambda c: c.cron.trigger("daily"),
    "workers.list": lambda c: c.workers.list(limit=1),
    "workers.get": lambda c: c.workers.get("w"),
    "workers.quiet": lambda c: _each(c.workers.quiet("w"), c.workers.get("w")),
    "workers.terminate": lambda c: _each(c.workers.terminate("w"), c.workers.get("w")),
    "workers.resume": lambda c: _each(c.workers.resume("w"), c.workers.get("w")),
    "sequences.list": lambda c: c.sequences.list(limit=1),
    "sequences.get": lambda c: _each(_ordered(c), c.sequences.get("o-1")),
    "sequences.skip": lambda c: _each(_ordered(c), c.cancel(ORDERED), c.sequences.skip("o-1")),
    "tenants.list": lambda c: c.tenants.list(limit=1),
    "tenants.get": lambda c: c.tenants.get("acme"),
    "tenants.stats": lambda c: c.tenants.stats("acme"),
    "tenants.set": lambda c: c.tenants.set("acme", {"max_concurrency": 5}),
    "tenants.reset": lambda c: _each(c.tenants.reset("acme"), c.tenants.get("acme")),
    "tenants.suspend": lambda c: c.tenants.suspend("acme"),
    "tenants.resume": lambda c: c.tenants.resume("acme"),
    "workers.quiet_all": lambda c: c.workers.quiet_all(label="v1"),
    "workers.terminate_all": lambda c: c.workers.terminate_all(queue="work"),
    "workers.resume_all": lambda c: c.workers.resume_all(),
    "workers.set_pool": lambda c: c.workers.set_pool("p", {"work": 3, "wide": 1}, concurrency=4),
    "workers.pools": lambda c: _each(_pooled(c), c.workers.pools()),
    "workers.pool": lambda c: _each(_pooled(c), c.workers.pool("p")),
    "workers.delete_pool": lambda c: _each(_pooled(c), c.workers.delete_pool("p")),
    "workers.deregister": lambda c: c.workers.deregister("stale"),
    "dead_letter.list": lambda c: c.dead_letter.list(limit=1),
    "dead_letter.get": lambda c: _each(c.dead_letter.get(WIDE), c.dead_letter.list(queue="wide")),
    "dead_letter.stats": lambda c: c.dead_letter.stats(),
    "dead_letter.retry": lambda c: c.dead_letter.retry(DEAD, {"meta": {"b": 2}}),
    "dead_letter.delete": lambda c: _each(c.dead_letter.delete(DEAD), c.dead_letter.list()),
    "dead_letter.retry_many": lambda c: c.dead_letter.retry_many(ids=[DEAD, UNKNOWN]),
    "dead_letter.delete_many": lambda c: c.dead_letter.delete_many(error_type="Broken", limit=1),
    "workflows.create": lambda c: c.workflows.create(
        RawJson('{"id":"raw","type":"chain","steps":[{"type":"a","args":[1.50]}]}')
    ),
    "workflows.get": lambda c: c.workflows.get("flow"),
    "workflows.list": lambda c: c.workflows.list(state="running"),
    "workflows.cancel": lambda c: c.workflows.cancel("flow"),
    "workflows.wait": lambda c: c.workflows.wait("flow", timeout_s=1),
    "schemas.register": lambda c: _each(
        c.schemas.register("a.b", 1, SCHEMA), c.schemas.register("a.c", "2", SCHEMA, exist_ok=False)
    ),
    "schemas.get": lambda c: _each(c.schemas.get("email.send"), c.schemas.get("email.send", "1.0")),
    "schemas.by_uri": lambda c: c.schemas.by_uri("urn:x:1"),
    "schemas.versions": lambda c: c.schemas.versions("email.send"),
    "schemas.list": lambda c: c.schemas.list(),
    "schemas.delete": lambda c: _each(c.schemas.delete("email.send", "1.1"), c.schemas.list()),
    "events.read": lambda c: c.events.read(types=["job.*"], queues=["work"], limit=10),
    "events.follow": lambda c: _first(c.events.follow(job_ids=[AVAILABLE])),
    "system.whoami": lambda c: c.system.whoami(),
    "system.overview": lambda c: c.system.overview(),
    "system.errors": lambda c: c.system.errors(queue="work", limit=5),
    "system.revoke_api_key": lambda c: c.system.revoke_api_key("0123456789abcdef"),
    "system.api_keys": lambda c: c.system.api_keys(),
    "system.findings": lambda c: c.system.findings(),
    "system.stats": lambda c: c.system.stats(),
    "system.history": lambda c: c.system.history("1m", queue="work"),
    "system.config": lambda c: c.system.config(),
    "system.repair": lambda c: _all(c.system.repair(dry_run=True)),
}
"""A call of each public method, by its name below the client."""

MISTAKES: Final[Mapping[str, Make]] = {
    "no such job": lambda c: c.jobs.detail(UNKNOWN),
    "no job id": lambda c: c.progress("not an id"),
    "no such result": lambda c: c.result(UNKNOWN),
    "no ids": lambda c: c.results([]),
    "an available job is no dead letter": lambda c: c.dead_letter.retry(AVAILABLE),
    "a dead letter that may not change so": lambda c: c.dead_letter.retry(DEAD, {"id": "x"}),
    "too many dead letters": lambda c: c.dead_letter.retry_many(limit=1000),
    "a cursor of nothing": lambda c: c.dead_letter.list(cursor="x"),
    "a cursor of another list": lambda c: c.workers.list(cursor="x"),
    "a purge of active jobs": lambda c: c.queues.purge("work", ["active"]),
    "a purge of no state": lambda c: c.queues.purge("work", []),
    "a purge of an unknown queue": lambda c: c.queues.purge("never", ["available"]),
    "a setting that cannot be": lambda c: c.queues.configure("media", {"max_size": -1}),
    "a queue that exists": lambda c: c.queues.create("media"),
    "a queue name that cannot be": lambda c: c.queues.create("Not A Queue!"),
    "no such queue": lambda c: c.queues.stats("never"),
    "a limit that cannot be": lambda c: c.queues.limit("media", {"concurrency": -1}),
    "a priority that cannot be": lambda c: c.jobs.reprioritise(AVAILABLE, 1000),
    "a bulk change of no job": lambda c: c.jobs.change_named("cancel", []),
    "a bulk change without a filter": lambda c: c.jobs.change_some("cancel"),
    "a bulk change of a wrong state": lambda c: c.jobs.change_some("retry", states=["active"]),
    "a bulk change that is too large": lambda c: c.jobs.change_some(
        "cancel", queue="work", limit=5000
    ),
    "a cron expression": lambda c: c.cron.register("x", "61 * * * *", "a.b"),
    "no such cron job": lambda c: c.cron.pause("never"),
    "no such key": lambda c: c.system.revoke_api_key("0" * 16),
    "no such worker": lambda c: c.workers.quiet("never"),
    "a worker that beats": lambda c: c.workers.deregister("w"),
    "a queue name of workers": lambda c: c.workers.quiet_all(queue="Not A Queue!"),
    "no such workflow": lambda c: c.workflows.get("never"),
    "a workflow of nothing": lambda c: c.workflows.create(RawJson('{"type":"chain","steps":[]}')),
    "a workflow that is no JSON": lambda c: c.workflows.create(RawJson("{")),
    "a schema that is none": lambda c: c.schemas.register("a.b", 1, {"type": "nothing"}),
    "a schema version that is none": lambda c: c.schemas.register("a.b", "x", SCHEMA),
    "another schema of a version": lambda c: c.schemas.register("email.send", "1.0", {}),
    "no such schema": lambda c: c.schemas.get("none.such"),
    "no such version": lambda c: c.schemas.get("email.send", "9"),
    "a period that is none": lambda c: c.system.history("2m"),
    "an event type that is none": lambda c: c.events.read(types=["*.*"]),
}
"""Calls that the backend refuses."""
