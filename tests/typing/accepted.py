"""Use typed jobs as they are meant: a type checker has nothing to say."""

from __future__ import annotations

from typing import assert_type

from ojs_aws import (
    Call,
    Client,
    Handle,
    JobContext,
    LambdaWorker,
    SyncClient,
    SyncHandle,
    SyncJobContext,
    Worker,
    chain,
    current_job,
    enqueue_many,
    enqueue_many_sync,
    group,
)
from ojs_aws.client import batch
from tests.typing.shop import (
    Order,
    Receipt,
    add,
    audit,
    build_report,
    encode,
    jobs,
    late,
    send_email,
)

ORDER = Order(1)


async def send() -> None:
    handle = await send_email.enqueue("a@b.c", ORDER, urgent=True)
    assert_type(handle, Handle[Receipt])
    assert_type(await handle.result(timeout="30s"), Receipt)
    assert_type(await (await build_report.enqueue("2024-01-01")).result(), int)
    assert_type(await (await build_report.enqueue("2024-01-01", limit=3)).result(), int)
    assert_type(await (await encode.enqueue("a.mp4", crf=20)).result(), dict[str, int])
    assert_type(await (await late.enqueue("x")).result(), str)
    later = send_email.options(delay="10m", priority=5).options(tags=["a"])
    assert_type(await (await later.enqueue("a@b.c", ORDER)).result(timeout=None), Receipt)
    handles = await enqueue_many(send_email.call(to, ORDER) for to in ["a@b.c"])
    assert_type(handles, list[Handle[Receipt]])


def send_synchronously() -> None:
    handle = audit.enqueue_sync("hello")
    assert_type(handle, SyncHandle[None])
    assert_type(add.enqueue_sync(1, two=2).result(timeout="1m"), int)
    assert_type(enqueue_many_sync([add.call(1, 2)]), list[SyncHandle[int]])


async def call_as_functions(ctx: JobContext, sync_ctx: SyncJobContext) -> None:
    assert_type(await send_email("a@b.c", ORDER), Receipt)
    assert_type(await build_report(ctx, "2024-01-01"), int)
    assert_type(add(1, 2), int)
    audit(sync_ctx, "note")
    assert_type(current_job(), JobContext)


async def send_by_clients(client: Client, sync_client: SyncClient) -> None:
    call: Call[Receipt] = send_email.call("a@b.c", ORDER)
    await call.enqueue()
    with client.use() as used:
        assert_type(used, Client)
        await client.enqueue(send_email.call("a@b.c", ORDER))
        await client.enqueue_many([send_email.call("a@b.c", ORDER), add.call(1, 2)])
        await client.cron.register("report", "@daily", build_report.call("today"))
    with sync_client.use():
        sync_client.enqueue(add.call(1, 2))


def make_workers() -> None:
    Worker(jobs, concurrency=5)
    Worker(jobs, url="http://127.0.0.1:8080")
    Worker("http://127.0.0.1:8080")
    LambdaWorker(jobs, queues=["email"])
    jobs.configure(lambda: Client("http://127.0.0.1:8080"))


async def build_workflows(client: Client) -> None:
    flow = chain(send_email.call("a", ORDER), build_report.call("2024-01-01"))
    both: Call[tuple[Receipt, int]] = group(
        send_email.call("a", ORDER), build_report.call("2024-01-01")
    )
    started: Call[int] = flow
    assert_type(await (await flow.enqueue()).result(timeout="5m"), int)
    assert_type(await (await started.enqueue()).result(), int)
    assert_type(await (await both.enqueue()).result(), tuple[Receipt, int])
    nested = chain(add.call(1, 2), group(*[send_email.call("a", ORDER)]))
    assert_type(nested.enqueue_sync().result(), tuple[Receipt, ...])
    await client.workflow(nested)
    await client.workflow(batch(add.call(1, 2), on_success=audit.call("x")))
