"""Test typed jobs: what is sent, what the functions do, and the whole program against a server."""

from __future__ import annotations

from decimal import Decimal
from unittest.mock import ANY

import pytest

from examples.typed_jobs import Order, Receipt, confirm, count, jobs, main
from ojs_aws import chain
from ojs_aws.errors import DiscardError
from ojs_aws.testing import Ojs, OjsServer

ORDER = Order(number=1, total=Decimal("9.90"))


async def test_the_order_comes_as_it_was_sent(ojs: Ojs) -> None:
    await confirm.enqueue("ada@example.com", ORDER, urgent=True)
    [job] = ojs.assert_enqueued(confirm.call("ada@example.com", ANY, urgent=True), queue="email")
    assert job.arguments["order"] == ORDER


async def test_the_result_is_a_receipt(ojs: Ojs) -> None:
    done = await ojs.perform(confirm.call("ada@example.com", ORDER), attempt=2)
    assert done.result == Receipt(sent_to="ada@example.com", attempt=2)
    assert "sending" in done.messages


async def test_a_wrong_address_is_not_tried_again(ojs: Ojs) -> None:
    await confirm.enqueue("nobody", ORDER)
    await ojs.drain(raise_errors=False)
    [job] = ojs.assert_failed(confirm, state="discarded", attempt=1)
    assert job.error is not None
    assert job.error["type"] == "email.bad_address"
    done = await ojs.perform(confirm.call("nobody", ORDER))
    assert isinstance(done.error, DiscardError)


async def test_a_failure_is_tried_again(ojs: Ojs) -> None:
    ojs.fail_next(confirm, TimeoutError("SMTP"))
    await confirm.enqueue("ada@example.com", ORDER)
    await ojs.drain(with_scheduled=True)
    ojs.assert_completed(confirm, attempt=2)


async def test_the_words_are_counted_after_the_mail(ojs: Ojs) -> None:
    flow = chain(confirm.call("ada@example.com", ORDER), count.call(2, words_on_a_page=100))
    handle = await flow.enqueue()
    ojs.refute_enqueued(count)
    await ojs.drain()
    assert await handle.result() == 200


def test_a_function_can_be_called() -> None:
    assert count(2) == 600


async def test_the_program_prints_its_results(
    ojs_server: OjsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a worker that runs in this process."""
    with ojs_server.work(jobs):
        await main()
    assert capsys.readouterr().out.splitlines() == [
        "sent to   ada@example.com",
        "words     3300",
        "workflow  200",
        "failed    email.bad_address 'nobody' is no address",
    ]
