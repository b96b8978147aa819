"""What clients and operators do with jobs and queues that are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ojs_aws.adapters.dynamodb.access import ApiKeys
from ojs_aws.domain.access import Scope
from ojs_aws.services.access.api_keys import KeyIssuer
from tests.faults.running import Scenario
from tests.faults.scenarios.parts import ALONE, FIRST, ITEM, OBJECT, QUICK, dead, held
from tests.faults.world import World

SECOND: Final = FIRST[:-1] + "2"
UNIQUE: Final = {"keys": ["type"]}


def void(_: object) -> None:
    """Nothing."""


def ask(
    method: str, path: str, body: object = None, *, kind: str = "", then: tuple[int, ...] = ()
) -> Callable[[World], None]:
    """A request."""

    def play(world: World) -> None:
        world.ask(method, path, body, kind=kind, then=then)

    return play


def ask_all(method: str, path: str, body: dict[str, Any], *, kind: str) -> Callable[[World], None]:
    """A request about many jobs."""

    def play(world: World) -> None:
        world.ask_all(method, path, body, kind=kind)

    return play


def push(**attributes: Any) -> Callable[[World], None]:
    """A job that the stream has published."""

    def before(world: World) -> None:
        world.push(**attributes)
        world.flow()

    return before


def holding(world: World) -> None:
    """Two jobs with one place between them: the first has it."""
    held(world, rate_limit=ALONE)
    world.push(rate_limit=ALONE)
    world.flow()


def due(world: World) -> None:
    """A job whose worker fell silent."""
    held(world, retry=QUICK)
    world.clock.advance(s=120)


def ready(world: World) -> None:
    """Three jobs."""
    for _ in range(3):
        world.push()
    world.flow()


def large(world: World) -> None:
    """Two with documents elsewhere."""
    for _ in range(2):
        world.push(args=[OBJECT])
    world.flow()


def three_dead(world: World) -> None:
    """Three dead letters."""
    for number in range(3):
        dead(world, args=[number, OBJECT[:10]])


def ended(world: World) -> None:
    """Jobs that have ended, with documents everywhere."""
    for unique in (None, UNIQUE):
        more = {"unique": unique} if unique else {}
        job_id = held(world, args=[OBJECT], **more)
        world.ack(job_id, result={"text": OBJECT})
        world.flow()


def pause(world: World) -> None:
    """Pause, and resume."""
    world.ask("POST", "/queues/default/pause")
    world.fetch()  # may still find a job: the index lags
    world.ask("POST", "/queues/default/resume")


def resume(world: World) -> None:
    """Who sees the queue paused: a pause that timed out may come after what followed it."""
    world.ask("POST", "/queues/default/resume")


def limits(world: World) -> None:
    """Lay a limit down, use it, and lift it."""
    body = {"concurrency": 1}
    world.ask("PUT", "/rate-limits/queue:default", body)
    for job in world.fetch("w1", 2):
        world.ack(job["id"])
    world.ask("DELETE", "/rate-limits/queue:default", then=(404,))


def configure(world: World) -> None:
    """Settings, in a queue with jobs; and without them again."""
    body = {"max_size": 10, "visibility_timeout": 60, "concurrency": 2}
    world.ask("PUT", "/queues/email/config", body)
    world.push(queue="email")
    world.ask("PUT", "/queues/email/config", {})


def declare(world: World) -> None:
    """Make a queue, and delete it."""
    world.ask("POST", "/queues", {"name": "aside", "config": {"max_size": 5}}, then=(409,))
    world.ask("DELETE", "/queues/aside", {"strategy": "reject"}, then=(404,))


def keys(world: World) -> None:
    """A key of the API: made, given another secret, and ended."""
    client = world.account.clients.dynamodb
    made = iter(range(1, 1000))
    issuer = KeyIssuer(
        ApiKeys(client, world.settings.table),
        world.clock,
        lambda count: next(made).to_bytes(count, "big"),
    )
    issued = world.do("keys", lambda _: issuer.create("k", [Scope.PRODUCER]))
    world.do("keys", lambda _: issuer.rotate(issued.key.id))
    world.do("keys", lambda _: issuer.revoke(issued.key.id))
    with world.aside():
        if any(key.revoked_at is None and key.id == issued.key.id for key in issuer.list()):
            world.breach("a key was not revoked")


def schemas(world: World) -> None:
    """A schema, a job that needs it, and its end."""
    path = "/schemas/demo.echo/1"
    body = {"schema": {"type": "array", "maxItems": 2}}
    world.ask("PUT", path, body)
    world.push()
    world.ask("DELETE", path, then=(404,))


def delete_schema(world: World) -> None:
    """A registration that timed out may come after what followed it."""
    world.ask("DELETE", "/schemas/demo.echo/1", ok=(200, 204, 404))


def workers(world: World) -> None:
    """A worker that is asked to be quiet, and to go on."""
    world.ask("POST", "/workers/heartbeat", {"worker_id": "w1"}, kind="beat", worker="w1")
    for what in ("quiet", "resume"):
        world.ask("POST", f"/admin/workers/w1/{what}")


def lost(world: World) -> None:
    """A restored table: the jobs are there, their messages are not."""
    for attributes in ({}, {"scheduled_at": "+PT5M"}, {"scheduled_at": "+PT2H"}):
        world.push(**attributes)
    held(world)
    steps = [{"type": "demo.a", "args": []}, {"type": "demo.b", "args": []}]
    world.ask("POST", "/workflows", {"type": "chain", "steps": steps}, kind="push")
    world.flow()
    world.lose_messages()


def repair(world: World) -> None:
    """Send messages again."""
    world.ask("POST", "/admin/repair", {})


def suspended_and_resumed(world: World) -> None:
    """A tenant that is suspended, and goes on: its job must end all the same."""
    for verb in ("suspend", "resume"):
        world.ask("POST", f"/admin/tenants/acme/{verb}")


OPERATING: Final = (
    Scenario(
        name="cancel",
        before=push(args=[OBJECT]),
        play=ask("DELETE", f"/jobs/{FIRST}", kind="cancel", then=(409,)),
    ),
    Scenario(
        name="cancel-held",
        before=holding,
        play=ask("DELETE", f"/jobs/{FIRST}", kind="cancel", then=(409,)),
    ),
    Scenario(
        name="cancel-unique",
        before=push(unique=UNIQUE, scheduled_at="+PT1H"),
        play=ask("DELETE", f"/jobs/{FIRST}", kind="cancel", then=(409,)),
    ),
    Scenario(
        name="activate",
        before=push(pending=True),
        play=ask("POST", f"/jobs/{FIRST}/activate", kind="activate", then=(409,)),
    ),
    Scenario(
        name="priority",
        before=push(),
        play=ask("PATCH", f"/jobs/{FIRST}", {"priority": 9}, kind="patch"),
    ),
    Scenario(
        name="tenant-limits",
        before=push(meta={"tenant_id": "acme"}),
        play=ask(
            "PUT",
            "/admin/tenants/acme",
            {"limits": {"max_concurrency": 5, "max_queue_depth": 50}},
        ),
    ),
    Scenario(
        name="tenant-suspended-and-resumed",
        before=push(meta={"tenant_id": "acme"}),
        play=suspended_and_resumed,
    ),
    Scenario(
        name="info-of-what-is-due",
        before=due,
        play=ask("GET", f"/jobs/{FIRST}", kind="info"),
    ),
    Scenario(
        name="dead-letter-retry",
        before=lambda world: void(dead(world, args=[OBJECT])),
        play=ask("POST", f"/dead-letter/{FIRST}/retry", kind="retry", then=(404, 409)),
    ),
    Scenario(
        name="dead-letter-override",
        before=lambda world: void(dead(world, args=[ITEM[:1000]])),
        play=ask(
            "POST",
            f"/dead-letter/{FIRST}/retry",
            {"override": {"args": [ITEM[:900]], "queue": "email"}},
            kind="retry",
            then=(404, 409),
        ),
        queues=("default", "email"),
        leaves_documents=True,
    ),
    Scenario(
        name="dead-letter-delete",
        before=lambda world: void(dead(world, args=[OBJECT], unique=UNIQUE)),
        play=ask("DELETE", f"/dead-letter/{FIRST}", kind="delete", then=(404,)),
        removes=True,
    ),
    Scenario(
        name="dead-letters-retry",
        before=three_dead,
        play=ask_all("POST", "/dead-letter/retry", {"confirm": True, "filter": {}}, kind="retry"),
    ),
    Scenario(
        name="bulk-cancel",
        before=ready,
        play=ask_all(
            "POST",
            "/jobs/bulk/cancel",
            {"filter": {"queue": "default"}, "idempotency_key": "k"},
            kind="cancel",
        ),
    ),
    Scenario(
        name="bulk-retry",
        before=three_dead,
        play=ask_all(
            "POST",
            "/jobs/bulk/retry",
            {"filter": {"queue": "default"}, "idempotency_key": "k"},
            kind="retry",
        ),
    ),
    Scenario(
        name="bulk-retry-at-once",
        before=three_dead,
        play=ask_all(
            "POST",
            "/jobs/bulk/retry",
            {"job_ids": [FIRST, SECOND], "atomicity": "atomic", "idempotency_key": "k"},
            kind="retry",
        ),
    ),
    Scenario(
        name="bulk-delete",
        before=ended,
        play=ask_all(
            "POST",
            "/jobs/bulk/delete",
            {"job_ids": [FIRST, SECOND], "idempotency_key": "k"},
            kind="delete",
        ),
        removes=True,
    ),
    Scenario(
        name="admin-retry",
        before=three_dead,
        play=ask_all(
            "POST",
            "/admin/jobs/bulk/retry",
            {"filter": {"queue": "default"}, "confirm": True},
            kind="retry",
        ),
    ),
    Scenario(
        name="purge",
        before=large,
        play=ask_all(
            "DELETE",
            "/queues/default/jobs",
            {"states": ["available"], "confirm": True},
            kind="cancel",
        ),
    ),
    Scenario(
        name="purge-ended",
        before=ended,
        play=ask_all(
            "DELETE",
            "/queues/default/jobs",
            {"states": ["completed", "cancelled", "discarded"], "confirm": True},
            kind="delete",
        ),
        removes=True,
    ),
    Scenario(name="pause", before=push(), play=pause, then=resume),
    Scenario(
        name="rate-limit",
        before=ready,
        play=limits,
    ),
    Scenario(name="queue-settings", play=configure, queues=("default", "email")),
    Scenario(name="queue-made-and-deleted", play=declare),
    Scenario(name="keys", play=keys),
    Scenario(name="schemas", play=schemas, then=delete_schema),
    Scenario(name="workers", play=workers),
    Scenario(name="repair", before=lost, play=repair),
)
