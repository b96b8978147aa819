"""Both shops do the same: the one in Celery with its own broker, the other with ojs-aws."""

from __future__ import annotations

import pytest

pytest.importorskip("celery", reason="make setup installs it")

from examples.from_celery import celery_shop, ojs_shop
from ojs_aws.testing import Ojs

LINES = ["receipt for 300 cents to ada@example.com", "packed book", "packed pen"]


def test_the_shop_in_celery(capsys: pytest.CaptureFixture[str]) -> None:
    """With a worker in a thread, which leaves the logging of this process alone."""
    celery_shop.app.conf.worker_hijack_root_logger = False
    celery_shop.main()
    assert capsys.readouterr().out.splitlines() == LINES


def test_the_same_shop_in_ojs_aws(ojs: Ojs) -> None:
    """With a backend in memory, which runs the jobs when the test says so."""
    lines = ojs_shop.place_order(1, ["book", "pen"], "ada@example.com")
    ojs.drain_sync(with_scheduled=True, raise_errors=False)
    assert lines() == LINES
    ojs.assert_completed(ojs_shop.charge.call(1, 300), attempt=2)


def test_the_report_is_a_cron_job_in_the_place_of_beat(ojs: Ojs) -> None:
    ojs_shop.register_cron(ojs.sync_client)
    [report] = ojs.sync_client.cron.list()
    entry = celery_shop.app.conf.beat_schedule["daily-report"]
    assert (report.cron, report.type) == ("0 9 * * MON-FRI", entry["task"])
    ojs.sync_client.cron.trigger("daily-report")
    ojs.assert_enqueued(ojs_shop.build_report.call(*entry["args"]))


def test_both_have_the_same_jobs_with_the_same_retries() -> None:
    tasks = {name for name in celery_shop.app.tasks if name.startswith("shop.")}
    assert tasks >= {made.type for made in ojs_shop.jobs}
    policy = ojs_shop.charge.declaration.options["retry"]
    assert policy["max_attempts"] == celery_shop.charge.max_retries + 1
