"""Use the testing kit as it is meant: a type checker knows the types of jobs and results."""

from __future__ import annotations

from typing import Any, assert_type
from unittest.mock import ANY

from ojs_aws import Job
from ojs_aws.testing import EnqueuedJob, Ojs, Performed
from tests.typing.shop import Order, Receipt, add, build_report, encode, send_email


async def assertions(ojs: Ojs) -> None:
    assert_type(ojs.assert_enqueued("email.send", queue="email"), list[EnqueuedJob[Any]])
    assert_type(ojs.assert_enqueued(send_email, count=1), list[EnqueuedJob[Receipt]])
    assert_type(ojs.assert_enqueued(send_email.call("a@b.c", ANY)), list[EnqueuedJob[Receipt]])
    assert_type(ojs.assert_completed(encode)[0].returned, dict[str, int])
    assert_type(ojs.assert_performed(add.call(1, ANY))[0].returned, int)
    assert_type(ojs.assert_failed(add)[0].state, str | None)
    assert_type(ojs.all_enqueued(build_report), list[EnqueuedJob[int]])
    assert_type(ojs.all_enqueued(), list[EnqueuedJob[Any]])
    ojs.refute_enqueued(build_report, meta={"tenant": 1})
    ojs.refute_performed(send_email.call("a@b.c", Order(1)))
    ojs.fail_next(send_email, TimeoutError("SMTP"))
    ojs.fail_all("email.send", TimeoutError)


async def performing(ojs: Ojs) -> None:
    done = await ojs.perform(build_report.call("d"), attempt=2, checkpoint={"page": 3})
    assert_type(done, Performed[int])
    assert_type(done.result, int)
    assert_type(ojs.perform_sync(send_email.call("a@b.c", Order(1))).result, Receipt)
    assert_type(await ojs.perform(Job("email.send", ["a@b.c"])), Performed[Any])


async def mistakes(ojs: Ojs) -> None:
    ojs.assert_enqueued(send_email, queu="email")  # type: ignore[call-overload]  # a criterion
    ojs.assert_enqueued(send_email.call(1, ANY))  # type: ignore[arg-type]  # an argument
    ojs.assert_enqueued(len)  # type: ignore[call-overload]  # no job
    text: str = (await ojs.perform(add.call(1, 2))).result  # type: ignore[assignment]  # its result
    await ojs.perform(add.call(1, 2), attemp=2)  # type: ignore[call-overload]  # an option
    await ojs.perform(add)  # type: ignore[call-overload]  # no call
    print(text)
