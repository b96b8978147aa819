"""Test a program that enqueues and waits, against a real server and a worker."""

from __future__ import annotations

import pytest

from examples.enqueue import main
from examples.worker import worker
from ojs_aws.testing import OjsServer


async def test_the_program_prints_what_became_of_its_jobs(
    ojs_server: OjsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with ojs_server.work(worker):
        await main()
    first, *others = capsys.readouterr().out.splitlines()
    [mail] = ojs_server.assert_completed("email.send")
    assert first == f"enqueued {mail.id} available"
    assert others == [
        "result   {'sent_to': 'ada@example.com'}",
        "report   6",
        "report   60",
        "failed   email.bad_address 'nobody' is no address",
    ]
    ojs_server.assert_completed("report.build", queue="reports", priority=-10, count=2)
