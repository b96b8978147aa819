"""Calls the public API of the official Python SDK, and prints a line of JSON for each call.

Runs with the SDK's own interpreter, which has nothing of this project. ``OJS_URL`` names the
server, ``OJS_API_KEY`` the key if it asks for one.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import ojs  # type: ignore[import-not-found]
from ojs.durable import DurableContext  # type: ignore[import-not-found]
from ojs.errors import (  # type: ignore[import-not-found]
    DuplicateJobError,
    JobNotFoundError,
    OJSAPIError,
)
from ojs.progress import report_progress  # type: ignore[import-not-found]
from ojs.subscribe import subscribe_queue  # type: ignore[import-not-found]
from ojs.transport.http import HTTPTransport  # type: ignore[import-not-found]

URL = os.environ["OJS_URL"]
KEY = os.environ.get("OJS_API_KEY", "")
HEADERS = {"Authorization": f"Bearer {KEY}"} if KEY else {}
RUN = secrets.token_hex(4)
QUEUE = f"py-{RUN}"
PATIENCE_S = 180

logging.disable(logging.CRITICAL)


def same(found: object, expected: object) -> None:
    """Fail unless two values are equal."""
    if found != expected:
        raise AssertionError(f"found {found!r}, expected {expected!r}")


def holds(is_true: object, what: object = "") -> None:
    """Fail unless something holds."""
    if not is_true:
        raise AssertionError(f"does not hold: {what!r}")


async def call(name: str, made: Callable[[], Awaitable[object]]) -> Any:
    """Make one call and print what became of it; None when it failed."""
    try:
        answer = await asyncio.wait_for(made(), PATIENCE_S)
    except BaseException as problem:  # noqa: BLE001 - each failure is a line of the table
        detail = f"{type(problem).__name__}: {problem}"[:400]
        print(json.dumps({"call": name, "ok": False, "detail": detail}), flush=True)
        return None
    print(json.dumps({"call": name, "ok": True}), flush=True)
    return answer


async def raises(kind: type[BaseException], made: Callable[[], Awaitable[object]]) -> Any:
    """Fail unless a call raises an error of one kind; the error."""
    try:
        await made()
    except kind as problem:
        return problem
    raise AssertionError(f"{kind.__name__} was not raised")


async def until(is_done: Callable[[], Awaitable[object]]) -> None:
    """Wait for something to become true."""
    while not await is_done():
        await asyncio.sleep(0.1)


def soon(seconds: float) -> str:
    """An instant so many seconds from now."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def schema_of(field: str) -> dict[str, object]:
    """A schema of arguments."""
    items = {"type": "object", "required": [field]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "array",
        "items": items,
    }


async def jobs(client: Any) -> None:
    """Enqueue, read and cancel."""

    async def enqueue() -> Any:
        job = await client.enqueue("py.simple", ["a", 1], queue=QUEUE)
        same(
            (job.type, job.queue, job.args, str(job.state)),
            ("py.simple", QUEUE, ["a", 1], "available"),
        )
        holds(job.created_at and job.enqueued_at, job)
        return job

    first = await call("Client.enqueue", enqueue)

    async def options() -> Any:
        job = await client.enqueue(
            "py.options",
            [{"to": "x"}],
            queue=QUEUE,
            meta={"k": "v"},
            priority=7,
            timeout_ms=90_000,
            expires_at=soon(3600),
            retry=ojs.RetryPolicy(max_attempts=5, initial_interval="PT2S"),
            tags=["one", "two"],
        )
        same((job.priority, job.timeout_ms, job.meta), (7, 90_000, {"k": "v"}))
        same((job.max_attempts, job.retry.max_attempts, job.tags), (5, 5, ["one", "two"]))
        holds(job.expires_at, job)

    await call("Client.enqueue with options", options)

    async def delayed() -> None:
        job = await client.enqueue("py.delayed", [], queue=QUEUE, delay_until=soon(3600))
        same(str(job.state), "scheduled")
        holds(job.scheduled_at and job.enqueued_at is None, job)

    await call("Client.enqueue with delay_until", delayed)

    async def unique() -> None:
        policy = ojs.UniquePolicy(keys=["type", "queue", "args"], period="PT1H")
        job = await client.enqueue("py.unique", [RUN], queue=QUEUE, unique=policy)
        same(job.unique.keys, ["type", "queue", "args"])
        again = lambda: client.enqueue("py.unique", [RUN], queue=QUEUE, unique=policy)  # noqa: E731
        error = await raises(DuplicateJobError, again)
        same((error.status_code, error.error.details["existing_job_id"]), (409, job.id))

    await call("Client.enqueue with unique (reject)", unique)

    async def ignored() -> None:
        policy = ojs.UniquePolicy(keys=["type", "args"], on_conflict="ignore")
        one = await client.enqueue("py.ignored", [RUN], queue=QUEUE, unique=policy)
        two = await client.enqueue("py.ignored", [RUN], queue=QUEUE, unique=policy)
        same(one.id, two.id)

    await call("Client.enqueue with unique (ignore)", ignored)

    async def replaced() -> None:
        policy = ojs.UniquePolicy(keys=["type", "args"], on_conflict="replace")
        one = await client.enqueue("py.replaced", [RUN], queue=QUEUE, unique=policy)
        two = await client.enqueue("py.replaced", [RUN], queue=QUEUE, unique=policy)
        holds(one.id != two.id, one.id)
        same(str((await client.get_job(one.id)).state), "cancelled")

    await call("Client.enqueue with unique (replace)", replaced)

    async def with_middleware() -> None:
        other = ojs.Client(URL, headers=HEADERS)

        async def stamp(request: Any, following: Any) -> Any:
            request.meta = {"trace": "t1"}
            return await following(request)

        other.enqueue_middleware(stamp)
        same((await other.enqueue("py.middleware", [], queue=QUEUE)).meta, {"trace": "t1"})
        await other.close()

    await call("Client.enqueue_middleware", with_middleware)

    async def batch() -> None:
        wanted = [ojs.JobRequest(type="py.batch", args=[n], queue=QUEUE) for n in range(3)]
        made = await client.enqueue_batch(wanted)
        same([job.args for job in made], [[0], [1], [2]])

    await call("Client.enqueue_batch", batch)

    async def read() -> None:
        same((await client.get_job(first.id)).args, ["a", 1])

    await call("Client.get_job", read)

    async def missing() -> None:
        unknown = "01900000-0000-7000-8000-000000000000"
        error = await raises(JobNotFoundError, lambda: client.get_job(unknown))
        holds(error.error.request_id, error)

    await call("Client.get_job of an unknown job", missing)

    async def cancel() -> None:
        same(str((await client.cancel_job(first.id)).state), "cancelled")

    await call("Client.cancel_job", cancel)

    async def cancel_again() -> None:
        error = await raises(OJSAPIError, lambda: client.cancel_job(first.id))
        same(error.status_code, 409)

    await call("Client.cancel_job of a cancelled job", cancel_again)

    async def refused() -> None:
        job = ojs.JobRequest(type="NOT A TYPE", args=[])
        error = await raises(OJSAPIError, lambda: client.enqueue_batch([job]))
        same((error.status_code, error.retryable), (400, False))

    await call("Client.enqueue_batch of an invalid job", refused)


async def queues(client: Any) -> None:
    """List, count, pause and resume."""

    async def listed() -> None:
        found = {queue.name: queue for queue in await client.list_queues()}
        same(found[QUEUE].status, "active")

    await call("Client.list_queues", listed)

    async def stats() -> None:
        name = f"{QUEUE}-stats"
        await client.enqueue_batch(
            [ojs.JobRequest(type="py.counted", queue=name) for _ in range(3)]
            + [ojs.JobRequest(type="py.counted", queue=name, delay_until=soon(3600))]
        )
        found = await client.queue_stats(name)
        same((found.queue, found.status), (name, "active"))
        same((found.available, found.scheduled, found.active), (3, 1, 0))
        holds(found.computed_at, found)
        same((type(found.avg_duration_ms), type(found.avg_wait_ms)), (float, float))

    await call("Client.queue_stats", stats)

    async def paused() -> None:
        answer = await client.pause_queue(QUEUE)
        holds(answer.get("status") == "paused", answer)
        same({queue.name: queue.status for queue in await client.list_queues()}[QUEUE], "paused")

    await call("Client.pause_queue", paused)

    async def resumed() -> None:
        await client.resume_queue(QUEUE)
        same((await client.queue_stats(QUEUE)).status, "active")

    await call("Client.resume_queue", resumed)


async def workflows(client: Any) -> None:
    """Chains, groups, batches."""

    def step(number: int) -> Any:
        return ojs.JobRequest(type=f"py.step{number}", args=[number], queue=QUEUE)

    async def chain() -> Any:
        made = await client.workflow(ojs.chain("py-chain", [step(1), step(2)]))
        same([each.id for each in made.steps], ["step-0", "step-1"])
        same([each.depends_on for each in made.steps], [[], ["step-0"]])
        same([each.args for each in made.steps], [[1], [2]])
        same(made.name, "py-chain")
        return made

    made = await call("Client.workflow (chain)", chain)

    async def group() -> None:
        made = await client.workflow(ojs.group("py-group", [step(1), step(2)]))
        same(len({each.job_id for each in made.steps}), 2)

    await call("Client.workflow (group)", group)

    async def batch() -> None:
        definition = ojs.batch("py-batch", [step(1), step(2)], on_complete=step(3))
        made = await client.workflow(definition)
        same([each.id for each in made.steps], ["step-0", "step-1", "on_complete"])

    await call("Client.workflow (batch)", batch)

    async def read() -> None:
        found = await client.get_workflow(made.id)
        same((found.id, found.name, len(found.steps)), (made.id, "py-chain", 2))
        holds(found.steps[0].job_id, found)

    await call("Client.get_workflow", read)

    async def cancel() -> None:
        await client.cancel_workflow(made.id)
        same((await client.get_workflow(made.id)).state, "cancelled")

    await call("Client.cancel_workflow", cancel)


async def dead_letters(client: Any, transport: Any) -> None:
    """Jobs that failed for good."""

    async def failed() -> str:
        # The SDK's RetryPolicy cannot say on_exhaustion, so this one is pushed by the transport.
        retry = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
        options = {"queue": f"{QUEUE}-dead", "retry": retry}
        job = await transport.push({"type": "py.dead", "args": [], "options": options})
        await until(lambda: transport.fetch([f"{QUEUE}-dead"]))
        error = {"code": "handler_error", "message": "no", "retryable": False}
        await transport.nack(job.id, error)
        return str(job.id)

    one, two = await failed(), await failed()

    async def listed() -> None:
        page = await client.list_dead_letter_jobs(queue=f"{QUEUE}-dead", limit=10)
        same({job["id"] for job in page["jobs"]}, {one, two})
        same(page["pagination"]["total"], 2)

    await call("Client.list_dead_letter_jobs", listed)

    async def retried() -> None:
        job = await client.retry_dead_letter_job(one)
        same((str(job.state), job.attempt), ("available", 0))

    await call("Client.retry_dead_letter_job", retried)

    async def deleted() -> None:
        await client.delete_dead_letter_job(two)
        await raises(JobNotFoundError, lambda: client.get_job(two))

    await call("Client.delete_dead_letter_job", deleted)


async def crons(client: Any) -> None:
    """Cron jobs."""
    name = f"py-cron-{RUN}"

    async def registered() -> None:
        answer = await client.register_cron_job(
            name, "0 9 * * *", "py.cron", [1], timezone="Europe/Vienna", queue=QUEUE, tags=["t"]
        )
        same((answer["cron_job"]["cron"], answer["cron_job"]["queue"]), ("0 9 * * *", QUEUE))

    await call("Client.register_cron_job", registered)

    async def listed() -> None:
        page = await client.list_cron_jobs(limit=100)
        found = {each["name"]: each for each in page["cron_jobs"]}
        same((found[name]["timezone"], found[name]["type"]), ("Europe/Vienna", "py.cron"))
        holds(page["pagination"]["total"] >= 1, page)

    await call("Client.list_cron_jobs", listed)

    async def removed() -> None:
        await client.unregister_cron_job(name)
        page = await client.list_cron_jobs(limit=100)
        holds(name not in {each["name"] for each in page["cron_jobs"]}, name)

    await call("Client.unregister_cron_job", removed)


async def schemas(client: Any) -> None:
    """Schemas, by URIs with slashes."""
    uri = f"https://example.com/schemas/py.schema{RUN}/1.0.0"

    async def registered() -> None:
        answer = await client.register_schema(uri, f"py.schema{RUN}", "1.0.0", schema_of("to"))
        same(answer["schema"]["uri"], uri)

    await call("Client.register_schema", registered)

    async def listed() -> None:
        page = await client.list_schemas(limit=100)
        holds(uri in {each["uri"] for each in page["schemas"]}, page)

    await call("Client.list_schemas", listed)

    async def read() -> None:
        same((await client.get_schema(uri))["schema"]["schema"], schema_of("to"))

    await call("Client.get_schema", read)

    async def validated() -> None:
        job = await client.enqueue(f"py.schema{RUN}", [{"to": "x"}], queue=QUEUE, schema=uri)
        holds(job.id, job)
        wrong = lambda: client.enqueue(f"py.schema{RUN}", [{}], queue=QUEUE, schema=uri)  # noqa: E731
        await raises(OJSAPIError, wrong)

    await call("Client.enqueue with schema", validated)

    async def deleted() -> None:
        await client.delete_schema(uri)
        await raises(JobNotFoundError, lambda: client.get_schema(uri))

    await call("Client.delete_schema", deleted)


async def system(client: Any) -> None:
    """What the server says of itself."""

    async def health() -> None:
        same((await client.health())["status"], "ok")

    await call("Client.health", health)

    async def manifest() -> None:
        found = await client.manifest()
        holds(found["capabilities"]["batch_enqueue"] is True, found)
        holds(found["ojs_version"] and found["implementation"]["name"], found)

    await call("Client.manifest", manifest)


async def reports(client: Any, transport: Any) -> None:
    """What workers send, call by call."""
    queue = f"{QUEUE}-reports"

    async def taken() -> Any:
        await client.enqueue("py.report", [], queue=queue)
        found: list[Any] = []

        async def fetched() -> object:
            found.extend(await transport.fetch([queue], worker_id="py-worker"))
            return found

        await until(fetched)
        return found[0]

    job = await call("Transport.fetch", taken)

    async def beat() -> None:
        answer = await transport.heartbeat("py-worker", [job.id], 30_000)
        same((answer["state"], answer["jobs_extended"]), ("running", [job.id]))

    await call("Transport.heartbeat", beat)

    async def idle_beat() -> None:
        same((await transport.heartbeat("py-idle", []))["state"], "running")

    await call("Transport.heartbeat without jobs", idle_beat)

    async def progress() -> None:
        await report_progress(transport, job.id, 40, "half", {"rows": 4})
        found = await transport.get_progress(job.id)
        same((found["percentage"], found["progress"], found["data"]), (40, 0.4, {"rows": 4}))

    await call("report_progress", progress)

    async def acknowledged() -> None:
        same((await transport.ack(job.id, {"sum": 3}))["state"], "completed")
        same((await client.get_job(job.id)).result, {"sum": 3})

    await call("Transport.ack", acknowledged)

    async def failed() -> None:
        other = await taken()
        error = {"code": "handler_error", "message": "no", "retryable": True}
        same((await transport.nack(other.id, error))["state"], "retryable")
        same((await client.get_job(other.id)).errors[0]["message"], "no")

    await call("Transport.nack", failed)


async def workers(client: Any) -> None:
    """The worker with its handlers, middleware, heartbeats and shutdown."""
    queue = f"{QUEUE}-worker"

    async def run(worker: Any, job_id: str, states: set[str]) -> Any:
        running = asyncio.create_task(worker.start())
        try:

            async def ended() -> bool:
                return str((await client.get_job(job_id)).state) in states

            await until(ended)
        finally:
            await worker.stop()
            await asyncio.wait([running], timeout=10)
        return await client.get_job(job_id)

    def made() -> Any:
        return ojs.Worker(
            URL, queues=[queue], poll_interval=0.1, heartbeat_interval=0.2, headers=HEADERS
        )

    async def completes() -> None:
        worker, seen = made(), []

        async def work(ctx: Any) -> object:
            seen.append(ctx.attempt)
            await asyncio.sleep(0.5)
            return {"doubled": ctx.args[0] * 2}

        async def around(ctx: Any, following: Any) -> Any:
            seen.append(ctx.job_type)
            return await following()

        worker.register("py.work")(work)
        worker.middleware(around)
        job = await client.enqueue("py.work", [21], queue=queue)
        done = await run(worker, job.id, {"completed"})
        same((done.result, seen), ({"doubled": 42}, ["py.work", 1]))

    await call("Worker: handler and middleware", completes)

    async def retries() -> None:
        worker, attempts = made(), []

        async def flaky(ctx: Any) -> object:
            attempts.append(ctx.attempt)
            if len(attempts) == 1:
                raise RuntimeError("not yet")
            return "ok"

        worker.handler("py.flaky", flaky)
        retry = ojs.RetryPolicy(max_attempts=3, initial_interval="PT0.2S", jitter=False)
        job = await client.enqueue("py.flaky", [], queue=queue, retry=retry)
        done = await run(worker, job.id, {"completed", "discarded"})
        same((str(done.state), attempts), ("completed", [1, 2]))
        same(done.errors[0]["message"], "not yet")

    await call("Worker: retry after an error", retries)

    async def unknown() -> None:
        job = await client.enqueue("py.nobody", [], queue=queue)
        same(str((await run(made(), job.id, {"discarded"})).state), "discarded")

    await call("Worker: no handler", unknown)

    async def directed() -> None:
        worker = made()
        running = asyncio.create_task(worker.start())
        admin = HTTPTransport(URL, headers=HEADERS)
        path = f"/admin/workers/{worker.worker_id}/terminate"

        async def is_reported() -> bool:
            try:
                await admin.request("POST", path)
            except OJSAPIError:
                return False
            return True

        await until(is_reported)
        await asyncio.wait_for(running, 10)
        same(str(worker.state), "idle")
        await admin.close()

    await call("Worker: terminate by directive", directed)


async def durable(client: Any, transport: Any) -> None:
    """Recorded side effects come back in the next attempt."""
    queue = f"{QUEUE}-durable"
    runs: list[str] = []
    states: list[object] = []

    class Context:
        """What DurableContext reads of a handler's context."""

        def __init__(self, job: Any) -> None:
            self.job = job
            self._transport = transport

    async def fetched() -> Any:
        found: list[Any] = []

        async def look() -> object:
            found.extend(await transport.fetch([queue]))
            return found

        await until(look)
        return found[0]

    async def effect() -> str:
        runs.append("ran")
        return "paid"

    async def handler(context: Any) -> tuple[object, ...]:
        done = await DurableContext.create(context)
        states.append(done.is_replaying)
        values = (await done.side_effect("pay", effect), done.now(), done.random(4))
        await done.checkpoint(1, {"paid": True})
        return values

    async def replayed() -> Any:
        retry = ojs.RetryPolicy(max_attempts=3, initial_interval="PT0.1S", jitter=False)
        await client.enqueue("py.durable", [], queue=queue, retry=retry)
        job = await fetched()
        first = await handler(Context(job))
        error = {"code": "crash", "message": "crashed", "retryable": True}
        await transport.nack(job.id, error)
        job = await fetched()
        same(job.attempt, 2)
        same(await handler(Context(job)), first)
        same((runs, states), (["ran"], [False, True]))
        return job

    job = await call("DurableContext: replay after a crash", replayed)

    async def kept() -> None:
        answer = await transport.request("GET", f"/checkpoints/{job.id}/resume")
        saved = answer["checkpoint"]
        same((answer["has_checkpoint"], saved["step_index"]), (True, 1))
        same((saved["state"], saved["metadata"]["attempt"]), ({"paid": True}, "2"))

    await call("DurableContext.checkpoint", kept)

    async def completed() -> None:
        await (await DurableContext.create(Context(job))).complete()
        answer = await transport.request("GET", f"/checkpoints/{job.id}/resume")
        same(answer["has_checkpoint"], False)

    await call("DurableContext.complete", completed)


async def events(client: Any) -> None:
    """Server-sent events."""

    async def received() -> None:
        queue = f"{QUEUE}-events"
        await client.enqueue("py.event", [], queue=queue)  # only a queue that exists is followed
        stream = subscribe_queue(URL, queue, auth=KEY or None)
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(1)
        await client.enqueue("py.event", [], queue=queue)
        await waiting

    await call("subscribe_queue", received)


def synchronous() -> None:
    """The same, for programs without asyncio."""
    with ojs.SyncClient(URL, headers=HEADERS) as client:
        job = client.enqueue("py.sync", [1], queue=QUEUE)
        same(client.get_job(job.id).args, [1])
        same(len(client.enqueue_batch([ojs.JobRequest(type="py.sync", queue=QUEUE)])), 1)
        same(str(client.cancel_job(job.id).state), "cancelled")
        same(client.health()["status"], "ok")


async def main() -> None:
    """Make every call."""
    client = ojs.Client(URL, headers=HEADERS)
    transport = HTTPTransport(URL, headers=HEADERS)
    await system(client)
    await jobs(client)
    await queues(client)
    await workflows(client)
    await dead_letters(client, transport)
    await crons(client)
    await schemas(client)
    await reports(client, transport)
    await durable(client, transport)
    await workers(client)
    await call("SyncClient", lambda: asyncio.to_thread(synchronous))
    await events(client)
    await transport.close()
    await client.close()


if __name__ == "__main__":
    asyncio.run(main())
