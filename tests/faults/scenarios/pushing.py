"""PUSH, in all its forms."""

from __future__ import annotations

from typing import Any, Final

from ojs_aws.domain.envelope import Job
from tests.faults.running import Scenario
from tests.faults.scenarios.parts import ALONE, FIRST, ITEM, OBJECT
from tests.faults.world import World

BY_TYPE: Final[dict[str, Any]] = {"keys": ["type"]}


def envelopes(count: int, **attributes: Any) -> list[dict[str, Any]]:
    """Jobs with ids of their client's."""
    return [
        {
            "type": "demo.echo",
            "args": [number],
            "id": f"01990000-0000-7000-8000-0000000b{number:04x}",
            **attributes,
        }
        for number in range(count)
    ]


def batch(world: World, jobs: list[dict[str, Any]]) -> None:
    """Push a batch."""
    reply = world.ask("POST", "/jobs/batch", {"jobs": jobs}, kind="push")
    ids = [job["id"] for job in jobs]
    world.judge.batches |= dict.fromkeys(ids, frozenset(ids))
    if reply.status < 300:
        world.judge.promised |= set(ids)


def bulk(world: World) -> None:
    """A partial bulk with a unique job and one that is kept in an object."""
    jobs = [*envelopes(3), envelopes(4, unique=BY_TYPE, type="demo.one")[3]]
    jobs.append({"type": "demo.large", "args": [OBJECT]})
    body = {"jobs": jobs, "idempotency_key": "k1"}
    world.ask_all("POST", "/jobs/bulk", body, kind="push")


def transact(world: World) -> None:
    """An application's own transaction."""
    client = world.account.clients.dynamodb

    def commit(backend: Any) -> None:
        prepared = backend.jobs.transact(Job("demo.echo", [1], id=FIRST, unique=BY_TYPE))
        if prepared.actions:
            client.transact_write_items(TransactItems=prepared.actions)

    world.do("push", commit)
    world.flow()


def replace(world: World) -> None:
    """A unique job that takes the place of another one."""
    world.push(unique={**BY_TYPE, "on_conflict": "replace"}, scheduled_at="+PT1M", args=[OBJECT])


def waiting(world: World) -> None:
    """One that waits, and will be replaced."""
    world.push(unique=BY_TYPE, scheduled_at="+PT1M", args=[ITEM])
    world.flow()


def bounded(world: World) -> None:
    """A queue with a bound."""
    world.ask("PUT", "/queues/default/config", {"max_size": 5, "warning_threshold": 1})
    world.flow()


def ignored(world: World) -> None:
    """A duplicate that is answered with the job there is; its document is taken back."""
    body = {"type": "demo.echo", "args": [OBJECT], "unique": {**BY_TYPE, "on_conflict": "ignore"}}
    world.ask("POST", "/jobs", body, kind="push")


def undeclared(world: World) -> None:
    """The first job of a queue that nobody declared."""
    world.push(queue="made-up")


TENANT: Final[dict[str, Any]] = {"meta": {"tenant_id": "acme"}}


def limited_tenant(world: World) -> None:
    """A tenant that may enqueue so many jobs, have so many waiting, and run one at a time."""
    limits = {
        "max_concurrency": 1,
        "max_enqueue_rate": {"limit": 100, "period": "PT1M"},
        "max_queue_depth": 50,
        "max_scheduled": 50,
    }
    world.ask("PUT", "/admin/tenants/acme", {"limits": limits})
    world.flow()


PUSHING: Final = (
    Scenario(name="push", play=lambda world: world.pushes()),
    Scenario(
        name="push-in-an-item",
        play=lambda world: world.pushes(args=[ITEM]),
        leaves_documents=True,
    ),
    Scenario(
        name="push-in-an-object",
        play=lambda world: world.pushes(args=[OBJECT]),
        leaves_documents=True,
    ),
    Scenario(name="push-unique", play=lambda world: world.pushes(unique=BY_TYPE)),
    Scenario(name="push-soon", play=lambda world: world.pushes(scheduled_at="+PT1M")),
    Scenario(name="push-far", play=lambda world: world.pushes(scheduled_at="+PT20M")),
    Scenario(name="push-limited", play=lambda world: world.pushes(rate_limit=ALONE)),
    Scenario(name="push-bounded", before=bounded, play=lambda world: world.pushes()),
    Scenario(
        name="push-of-a-tenant",
        before=limited_tenant,
        play=lambda world: world.pushes(**TENANT),
    ),
    Scenario(name="push-undeclared", play=undeclared, queues=("made-up",)),
    Scenario(name="push-replacing", before=waiting, play=replace, leaves_documents=True),
    Scenario(name="push-ignored", before=waiting, play=ignored, leaves_documents=True),
    Scenario(name="batch", play=lambda world: batch(world, envelopes(25))),
    Scenario(
        name="batch-in-objects",
        play=lambda world: batch(world, [*envelopes(2), *envelopes(4, args=[OBJECT])[2:]]),
        leaves_documents=True,
    ),
    Scenario(
        name="batch-unique",
        play=lambda world: batch(
            world, envelopes(3, unique={"keys": ["type", "args"]}, scheduled_at="+PT1M")
        ),
    ),
    Scenario(
        name="batch-bounded",
        before=bounded,
        play=lambda world: batch(world, envelopes(4)),
    ),
    Scenario(
        name="batch-of-a-tenant",
        before=limited_tenant,
        play=lambda world: batch(world, envelopes(3, **TENANT)),
    ),
    Scenario(
        name="batch-by-log",
        play=lambda world: batch(
            world, [*envelopes(101), {**envelopes(102)[101], "args": [OBJECT]}]
        ),
        leaves_documents=True,
    ),
    Scenario(
        name="batch-by-log-unique",
        play=lambda world: batch(world, envelopes(54, unique={"keys": ["type", "args"]})),
    ),
    Scenario(name="bulk", play=bulk, leaves_documents=True),
    Scenario(name="transactional", play=transact),
)
