"""Test the handlers of a worker that has no typed jobs."""

from __future__ import annotations

import pytest

from examples.worker import worker
from ojs_aws import Job, Worker
from ojs_aws.testing import Ojs


@pytest.fixture
def ojs_worker() -> Worker:
    """Run jobs by this worker, in its middleware; the fixture `ojs` asks for it."""
    return worker


async def test_a_mail_is_sent(ojs: Ojs) -> None:
    done = await ojs.perform(Job("email.send", ["ada@example.com", "welcome"]))
    assert done.result == {"sent_to": "ada@example.com"}
    assert "sending" in done.messages


async def test_a_wrong_address_is_discarded(ojs: Ojs) -> None:
    await ojs.client.enqueue("email.send", ["nobody", "welcome"], queue="email")
    await ojs.drain(raise_errors=False)
    ojs.assert_failed("email.send", args=["nobody", "welcome"], state="discarded")


def test_a_report_is_built_in_a_thread(ojs: Ojs) -> None:
    ojs.sync_client.enqueue("report.build", [10], queue="reports")
    ojs.drain_sync("reports")
    [job] = ojs.assert_completed("report.build")
    assert job.result == 10 * len("page 0")


async def test_a_type_without_a_handler_is_named(ojs: Ojs) -> None:
    await ojs.client.enqueue("email.sent")
    with pytest.raises(AssertionError, match=r"'email.sent'. Did you mean 'email.send'"):
        await ojs.drain()
