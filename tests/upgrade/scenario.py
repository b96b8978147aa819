"""A table with something of everything in it, as one version writes it, and what it answers then.

    python -m tests.upgrade.scenario

writes ``written/<version>.json``: the items and objects, the instant, and the answers to some
requests. Do so when a version is released, and never again for it; the files are what later
versions must read. (``-early`` and ``-middle`` are what a version wrote while it was made.)
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from ojs_aws import __version__
from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.bootstrap import build_backend, build_key_issuer
from ojs_aws.config import Settings
from ojs_aws.domain.access import Scope
from ojs_aws.domain.events import SetAside
from ojs_aws.domain.runtime import IN_ORDER, IdGenerator
from ojs_aws.services.backend import Backend
from ojs_aws.testing.deployment import CountingIds, FakeClock
from ojs_aws.transport.events.stream import build_stream
from tests.api import BASE, Api
from tests.aws import EmbeddedAws, changes_here, embedded

WRITTEN: Final = Path(__file__).parent / "written"
ERROR: Final = {"type": "Broken", "message": "it broke", "backtrace": ["a", "b"]}
BUCKET: Final = "documents"
SETTINGS: Final = Settings(
    s3_threshold_bytes=8000, stream_deletes_messages=True, stream_lists_completed=True
)
"""As the constructs have it, with objects that are small enough for the file."""

ALIVE: Final = {"worker_id": "w1", "state": "running", "active_jobs": []}


class Died(BaseException):
    """A process that was killed: nothing catches it."""


def backend_on(aws: EmbeddedAws, clock: FakeClock, ids: IdGenerator | None) -> Backend:
    """The services over an embedded AWS, at an instant."""
    return build_backend(aws.settings, aws.clients, clock=clock, ids=ids, parallel=IN_ORDER)


def api_on(aws: EmbeddedAws, clock: FakeClock, ids: IdGenerator | None) -> Api:
    """The functions over an embedded AWS, at an instant."""
    return Api(backend_on(aws, clock, ids))


def fill(api: Api, clock: FakeClock) -> dict[str, str]:
    """Put something of everything into the table; names and paths of what can be read again."""
    jobs: dict[str, str] = {}

    def push(name: str, **more: object) -> None:
        clock.advance(ms=7)
        body = {"type": f"t.{name}", "args": [name, {"n": 1}], "options": {"queue": name} | more}
        reply = api.post("/jobs", body)
        assert reply.status in {200, 201}, reply.text
        jobs[name] = reply.json["id"]

    def take(name: str) -> dict[str, str]:
        reply = api.post("/workers/fetch", {"queues": [name], "worker_id": "w1"})
        assert [job["id"] for job in reply.json["jobs"]] == [jobs[name]], reply.text
        return {"job_id": jobs[name], "worker_id": "w1"}

    def done(path: str, body: object) -> None:
        reply = api.post(path, body)
        assert reply.status in {200, 201}, reply.text

    push("available", priority=7, metadata={"tenant": "t-1", "ünï": "☃"})
    push("scheduled", scheduled_at="+PT2H")
    push("pending", pending=True)
    push("unique", unique={"keys": ["type", "args"], "period": "PT1H"})
    push("large")
    push("limited", rate_limit={"key": "k1", "concurrency": 2})
    for name in ("active", "completed", "retryable", "discarded", "dead", "cancelled"):
        exhausted = {"max_attempts": 1, "on_exhaustion": "dead_letter"} if name == "dead" else {}
        once = {"max_attempts": 1} if name == "discarded" else {"initial_interval": "PT1H"}
        push(name, retry=exhausted or once)
    take("active")
    take("limited")
    done("/workers/ack", take("completed") | {"result": {"sum": 12345678901234567890}})
    for name in ("retryable", "discarded", "dead"):
        done("/workers/nack", take(name) | {"error": ERROR})
    assert api.delete(f"/jobs/{jobs['cancelled']}").status == 200
    batch = [{"type": "t.batch", "args": [n], "options": {"queue": "batch"}} for n in range(101)]
    reply = api.post("/jobs/batch", {"jobs": batch})
    assert reply.status == 201, reply.text
    jobs["batched"] = reply.json["jobs"][100]["id"]
    done("/workers/heartbeat", ALIVE)
    done("/cron", {"name": "nightly", "cron": "0 3 * * *", "type": "t.cron", "args": []})
    done("/queues/available/pause", None)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    done("/schemas", {"uri": "urn:t:1", "type": "t.s", "version": "1", "schema": schema})
    steps = [{"type": "t.step", "args": [n]} for n in range(2)]
    reply = api.post("/workflows", {"type": "chain", "name": "two", "steps": steps})
    assert reply.status == 201, reply.text
    paths = {name: f"/jobs/{job_id}" for name, job_id in jobs.items()}
    return paths | {
        "workflow": f"/workflows/{reply.json['id']}",
        "cron": "/cron/nightly",
        "worker": "/admin/workers/w1",
        "queue": "/queues/available",
        "limit": "/rate-limits/k1",
        "schema": "/schemas/t.s/1",
        "dead letters": "/dead-letter",
    }


def fill_an_earlier_minute(api: Api, follow: Following, clock: FakeClock) -> dict[str, str]:
    """Complete a job a minute before others of its queue: lists and counts get items then."""
    job = {"type": "t.earlier", "args": [], "options": {"queue": "earlier"}}
    for _ in range(2):
        assert api.post("/jobs", job).status == 201
    reply = api.post("/workers/fetch", {"queues": ["earlier"], "worker_id": "w1"})
    job_id = reply.json["jobs"][0]["id"]
    assert api.post("/workers/ack", {"job_id": job_id, "worker_id": "w1"}).status == 200
    follow()
    clock.advance(s=60)
    assert api.post("/jobs", job).status == 201
    follow()
    return {"completed earlier": f"/jobs/{job_id}", "earlier": "/queues/earlier/stats"}


def unpackable(size: int) -> str:
    """Text that stays as large as it is, the same in every run."""
    text, number = "", 1
    while len(text) < size:
        number = number * 6364136223846793005 % 2**127
        text += f"{number:x}"
    return text[:size]


def extend(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock, follow: Following
) -> dict[str, str]:
    """Put into the table what the first scenario has not; paths of what can be read again."""
    api = Api(backend)
    jobs: dict[str, str] = {}

    def done(path: str, body: object, method: str = "POST") -> Any:
        clock.advance(ms=7)
        reply = api.send(method, BASE + path, body)
        assert reply.status in {200, 201}, reply.text
        return reply.json

    def push(name: str, args: list[object], **options: object) -> None:
        body = {"type": f"t.{name}", "args": args, "options": {"queue": name} | options}
        jobs[name] = done("/jobs", body)["id"]

    def take(name: str) -> dict[str, str]:
        fetch = {"queues": [name], "worker_id": "w2", "heartbeat_interval_ms": 15_000}
        (job,) = done("/workers/fetch", fetch)["jobs"]
        return {"job_id": job["id"], "worker_id": "w2"}

    push("in-an-item", [unpackable(10_000)])
    push("in-s3", [unpackable(20_000)])
    push("large-result", [], result_ttl=86_400)
    done("/workers/ack", take("large-result") | {"result": unpackable(18_000)})
    push("running", [])
    held = take("running")
    done(f"/jobs/{held['job_id']}/progress", held | {"progress": 0.5, "data": {"n": 1}}, "PUT")
    done(f"/jobs/{held['job_id']}/checkpoint", held | {"state": {"row": 17}})
    push("changed", [], priority=3)
    done(f"/jobs/{jobs['changed']}", {"priority": 9}, "PATCH")
    push("twice", [], retry={"max_attempts": 1, "on_exhaustion": "dead_letter"})
    done("/workers/nack", take("twice") | {"error": ERROR})
    done(f"/dead-letter/{jobs['twice']}/retry", None)

    config = {"max_size": 1, "retention": {"completed": "P7D"}, "concurrency": 2}
    done("/queues/bounded/config", config, "PUT")
    push("bounded", [])
    body = {"type": "t.bounded", "args": [], "options": {"queue": "bounded"}}
    assert api.post("/jobs", body).status == 429
    push("throttled", [], rate_limit={"key": "k2", "rate": {"limit": 5, "period": "PT1M"}})
    done("/rate-limits/k2", {"concurrency": 3}, "PUT")
    done("/queues/throttled/rate-limit", {"rate": {"limit": 10, "period": "PT1M"}}, "PUT")
    bulk = {"items": [], "jobs": [{"type": "t.b", "args": [n], "queue": "bulk"} for n in range(3)]}
    done("/jobs/bulk", bulk | {"idempotency_key": "same"})
    done("/cron", {"name": "hourly", "cron": "0 * * * *", "type": "t.cron", "args": [1]})
    done("/cron/hourly/trigger", None)
    done("/workers/heartbeat", ALIVE | {"worker_id": "w2", "active_jobs": [jobs["running"]]})
    done("/admin/workers/w2/quiet", None)

    paths = flows_in(done) | in_order(done) | shared(done)
    follow()
    for _ in range(2):
        done("/workers/ack", take("steps") | {"result": {"n": 1}})
    follow()
    broken = {"eventName": "MODIFY", "dynamodb": {"SequenceNumber": "7"}}
    change = SetAside(number="7", reason="Broken: it broke", record=json.dumps(broken))
    backend.stores.events().set_aside(change, clock.now())
    backend.upkeep.sweep.tick()
    follow()
    jobs |= committed(aws, api)
    return paths | {
        **{name: f"/jobs/{job_id}" for name, job_id in jobs.items()},
        "result": f"/jobs/{jobs['large-result']}/result",
        "progress": f"/jobs/{jobs['running']}/progress",
        "checkpoint": f"/jobs/{jobs['running']}/checkpoint",
        "settings": "/queues/bounded/config",
        "k2": "/rate-limits/k2",
        "hourly": "/cron/hourly",
        "w2": "/admin/workers/w2",
        "events": "/events",
        "counted": "/queues/large-result/stats",
    }


def flows_in(done: Callable[[str, object], Any]) -> dict[str, str]:
    """Begin a workflow of each kind; their paths."""
    step = [{"type": "t.step", "args": [n], "queue": "steps"} for n in range(3)]
    flows = {
        "chain": {"type": "chain", "name": "three", "steps": step},
        "group": {"type": "group", "name": "all", "jobs": step},
        "batch": {
            "type": "batch",
            "name": "told",
            "jobs": step,
            "callbacks": {"on_complete": {"type": "t.told", "args": [], "queue": "told"}},
        },
    }
    return {name: f"/workflows/{done('/workflows', body)['id']}" for name, body in flows.items()}


def in_order(done: Callable[[str, object], Any]) -> dict[str, str]:
    """Enqueue jobs of sequences: a running one, one that was discarded, and those behind them."""

    def push(key: str, **options: object) -> str:
        more = {"queue": "ordered", "sequence": key, "retry": {"max_attempts": 1}, **options}
        return str(done("/jobs", {"type": "t.ordered", "args": [], "options": more})["id"])

    jobs = {"head": push("s1"), "stopped": push("s2")}
    fetch = {"queues": ["ordered"], "worker_id": "w2", "count": 2}
    assert len(done("/workers/fetch", fetch)["jobs"]) == 2
    done("/workers/nack", {"job_id": jobs["stopped"], "worker_id": "w2", "error": ERROR})
    jobs |= {"blocked": push("s1"), "blocked later": push("s1", scheduled_at="+PT2H")}
    jobs["behind"] = push("s2")
    paths = {name: f"/jobs/{job_id}" for name, job_id in jobs.items()}
    return paths | {"s1": "/admin/sequences/s1"}


def shared(done: Callable[[str, object], Any]) -> dict[str, str]:
    """Enqueue jobs of two fairness keys, one of twice the weight."""
    paths = {}
    for key, weight in (("a", 1), ("b", 2)):
        options = {"queue": "fair", "fairness": {"key": key, "weight": weight}}
        jobs = [{"type": f"t.{key}", "args": [n], "options": options} for n in range(4)]
        answer = done("/jobs/batch", {"jobs": jobs})
        paths[f"fair {key}"] = f"/jobs/{answer['jobs'][0]['id']}"
    return paths | {"fair": "/queues/fair/config"}


class Following:
    """The consumer of the table's stream, called when there is something to publish."""

    def __init__(self, aws: EmbeddedAws, backend: Backend) -> None:
        self._clock = backend.clock
        self._read = changes_here(aws)
        self._consume = build_stream(backend, read_image)

    def __call__(self) -> None:
        """Publish all that has happened, and what comes of that."""
        while True:
            before = self._read.position
            records, done = self._read()
            for record in records:  # moto has a clock of its own
                record["dynamodb"]["ApproximateCreationDateTime"] = self._clock.now() // 1000
            if records:
                assert self._consume({"Records": records}, None) == {"batchItemFailures": []}
            done()
            if self._read.position == before:
                return


def committed(aws: EmbeddedAws, api: Api) -> dict[str, str]:
    """A large batch whose process died when it was committed, before a job was in its place."""
    ids = [f"01990000-0000-7000-9000-{number:012d}" for number in range(101)]
    jobs = [
        {"id": each, "type": "t.logged", "args": [], "options": {"queue": "logged"}} for each in ids
    ]

    def die(**_: object) -> None:
        raise Died

    events = aws.clients.dynamodb.meta.events
    events.register("after-call.dynamodb.TransactWriteItems", die)
    try:
        api.post("/jobs/batch", {"jobs": jobs})
    except Died:
        return {"logged": ids[100]}
    finally:
        events.unregister("after-call.dynamodb.TransactWriteItems", die)
    raise AssertionError("It was stored at once.")


def items_of(aws: EmbeddedAws) -> list[dict[str, Any]]:
    """Everything in the table, as DynamoDB's JSON; binaries are Base64."""
    found: list[dict[str, Any]] = []
    more: dict[str, Any] = {}
    while True:
        page = aws.clients.dynamodb.scan(TableName=aws.settings.table, **more)
        found += _text(page["Items"])
        if "LastEvaluatedKey" not in page:
            return found
        more = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def _text(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: _text(member) for name, member in value.items()}
    return [_text(member) for member in value] if isinstance(value, list) else value


def restored(value: Any) -> Any:
    """An attribute as it was before :func:`items_of`."""
    if isinstance(value, dict):
        return {
            name: base64.b64decode(member)
            if name == "B" and isinstance(member, str)
            else [base64.b64decode(each) for each in member]
            if name == "BS"
            else restored(member)
            for name, member in value.items()
        }
    return [restored(member) for member in value] if isinstance(value, list) else value


@contextmanager
def deployment() -> Iterator[EmbeddedAws]:
    """An embedded AWS with the scenario's settings."""
    with embedded(SETTINGS) as aws:
        yield aws


def objects_of(aws: EmbeddedAws) -> dict[str, str]:
    """Everything in the bucket."""
    s3 = aws.clients.s3()
    found = s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])
    keys = [each["Key"] for each in found]
    return {key: s3.get_object(Bucket=BUCKET, Key=key)["Body"].read().decode() for key in keys}


def left_by_this_version() -> dict[str, Any]:
    """Return what the file of this version is to hold."""
    clock = FakeClock()
    with deployment() as aws:
        backend = backend_on(aws, clock, CountingIds())
        api = Api(backend)
        follow = Following(aws, backend)
        paths = fill_an_earlier_minute(api, follow, clock)
        paths |= fill(api, clock) | extend(aws, backend, clock, follow)
        keys = build_key_issuer(aws.settings, aws.clients.dynamodb, clock)
        key = keys.create("shop", [Scope.PRODUCER], queues=["shop"]).text
        found: dict[str, Any] = {"now": clock.at, "paths": paths, "key": key}
        found |= {"items": items_of(aws), "objects": objects_of(aws)}
        replies = {path: api.get(path) for path in paths.values()}
        assert {reply.status for reply in replies.values()} == {200}
        found["answers"] = {path: reply.json for path, reply in replies.items()}
    return found


def main() -> None:
    """Write the file of this version."""
    text = json.dumps(left_by_this_version(), indent=1, ensure_ascii=False)
    (WRITTEN / f"{__version__}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
