"""Make the mistakes of a newcomer: a type checker finds each marked line.

The marks are comments that silence the error of their line. A checker that reports needless ones,
as ``mypy --strict`` does, fails where a mistake is not found.
"""

from __future__ import annotations

from ojs_aws import Call, JobContext, chain, enqueue_many
from tests.typing.shop import Order, Receipt, add, audit, build_report, encode, jobs, send_email

ORDER = Order(1)


async def mistakes(ctx: JobContext) -> None:
    await send_email.enqueue("a@b.c")  # type: ignore[call-arg]  # too few
    await send_email.enqueue("a@b.c", ORDER, True)  # type: ignore[call-arg]  # too many
    await send_email.enqueue(1, ORDER)  # type: ignore[arg-type]  # a wrong type
    await send_email.enqueue("a@b.c", ORDER, urgnt=True)  # type: ignore[call-arg]  # a wrong name
    await send_email.enqueue("a@b.c", ORDER, urgent="yes")  # type: ignore[arg-type]  # keyword-only
    await encode.enqueue("a.mp4", 20)  # type: ignore[call-arg]  # a keyword-only one by its place
    send_email.options(prioritty=5)  # type: ignore[call-arg]  # an option's name
    send_email.options(delay=10)  # type: ignore[arg-type]  # an option's value
    jobs.job("a.b", quue="email")  # type: ignore[call-overload]  # an option's name
    number: int = await (await send_email.enqueue("a@b.c", ORDER)).result()  # type: ignore[assignment]
    text: str = await (await build_report.enqueue("today")).result()  # type: ignore[assignment]
    await build_report.enqueue(ctx, "today")  # type: ignore[arg-type]  # the context is passed
    await build_report("today")  # type: ignore[call-arg, arg-type]  # the context is forgotten
    audit(ctx, "note")  # type: ignore[arg-type]  # the other kind of context
    receipt: Receipt = send_email("a@b.c", ORDER)  # type: ignore[assignment]  # no await
    send_email.enqueue("a@b.c", ORDER).result()  # type: ignore[attr-defined]  # no await
    encode("a.mp4")  # type: ignore[operator]  # a remote job is not called
    await enqueue_many([add])  # type: ignore[arg-type]  # no call
    flow: Call[str] = chain(send_email.call("a", ORDER), add.call(1, 2))  # type: ignore[arg-type]
    chain(send_email)  # type: ignore[arg-type]  # no call
    await enqueue_many([chain(add.call(1, 2))])  # type: ignore[arg-type]  # no call of a job
    print(number, text, receipt, flow)
