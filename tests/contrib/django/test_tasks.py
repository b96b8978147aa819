"""A project switches its setting TASKS to this backend, and its tasks run as jobs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import override_settings

from ojs_aws import Job
from ojs_aws.contrib.django.options import BACKEND, CLIENTS
from ojs_aws.contrib.django.task_runs import (
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_backends,
    task_enqueued,
    task_finished,
    task_jobs,
    task_started,
)
from ojs_aws.contrib.django.workers import make_worker
from ojs_aws.testing import Ojs

TASKS = {
    "default": {
        "BACKEND": BACKEND,
        "QUEUES": ["default", "slow"],
        "OPTIONS": {"retry": {"max_attempts": 2}},
    }
}


@pytest.fixture
def tasks() -> Iterator[Any]:
    with override_settings(TASKS=TASKS):
        task_backends.__dict__.pop("settings", None)
        from tests.contrib.django.shop import tasks

        yield tasks
    task_jobs.close_sync()


def test_a_task_runs_and_its_result_is_read(ojs: Ojs, tasks: Any) -> None:
    result = tasks.add.enqueue(1, second=2)
    assert (result.status, result.args, result.kwargs) == ("READY", [1], {"second": 2})
    ojs.drain_sync()
    result.refresh()
    assert (result.status, result.return_value, result.attempts) == ("SUCCESSFUL", 3, 1)
    assert tasks.add.get_result(result.id).task == tasks.add
    assert None not in (result.enqueued_at, result.started_at, result.finished_at)


async def test_an_asynchronous_task_keeps_queue_and_priority(ojs: Ojs, tasks: Any) -> None:
    result = await tasks.aadd.aenqueue(1, 2)
    [job] = ojs.all_enqueued()
    assert (job.queue, job.priority) == ("slow", 5)
    await ojs.drain()
    found = await tasks.aadd.aget_result(result.id)
    assert (found.return_value, found.task) == (3, tasks.aadd)
    await CLIENTS.close()


def test_a_task_waits_until_its_time(ojs: Ojs, tasks: Any) -> None:
    after = datetime.now(UTC) + timedelta(hours=1)
    result = tasks.add.using(run_after=after).enqueue(1, 2)
    [job] = ojs.all_enqueued()
    assert (job.state, result.status) == ("scheduled", TaskResultStatus.READY)


def test_a_task_that_fails_is_tried_again_and_then_failed(ojs: Ojs, tasks: Any) -> None:
    result = tasks.fail.enqueue()
    ojs.drain_sync(raise_errors=False)
    result.refresh()
    assert (result.status, result.attempts) == (TaskResultStatus.READY, 1)
    ojs.drain_sync(with_scheduled=True, raise_errors=False)
    result.refresh()
    assert (result.status, result.attempts) == (TaskResultStatus.FAILED, 2)
    assert result.errors[0].exception_class is LookupError
    assert "nothing here" in result.errors[0].traceback
    assert all(result.worker_ids)


def test_a_cancelled_task_has_failed(ojs: Ojs, tasks: Any) -> None:
    result = tasks.add.enqueue(1, 2)
    ojs.sync_client.cancel(result.id)
    result.refresh()
    assert result.status == TaskResultStatus.FAILED


def test_a_task_knows_its_attempt(ojs: Ojs, tasks: Any) -> None:
    result = tasks.attempt.enqueue()
    ojs.drain_sync()
    result.refresh()
    assert result.return_value == 1


def test_signals_are_sent_for_each_step(ojs: Ojs, tasks: Any) -> None:
    seen: list[str] = []

    def note(sender: type, task_result: Any, **_: object) -> None:
        seen.append(f"{sender.__name__} {task_result.status}")

    for each in (task_enqueued, task_started, task_finished):
        each.connect(note)
    tasks.add.enqueue(1, 2)
    ojs.drain_sync()
    for each in (task_enqueued, task_started, task_finished):
        each.disconnect(note)
    assert seen == ["OjsBackend READY", "OjsBackend RUNNING", "OjsBackend SUCCESSFUL"]


def test_what_is_no_task_is_never_called(ojs: Ojs, tasks: Any) -> None:
    path = "tests.contrib.django.shop.tasks.no_task"
    meta = {"django.task": path, "django.backend": "default"}
    job = ojs.sync_client.enqueue(Job("django.task", [[], {}], meta=meta))
    ojs.drain_sync(raise_errors=False)
    assert ojs.job(job.id).state == "discarded"
    with pytest.raises(TaskResultDoesNotExist):
        task_backends["default"].get_result(job.id)


@pytest.mark.parametrize("result_id", ["no-id", "01a21a66-f458-767b-b14c-682c8bde72ba"])
def test_a_result_that_does_not_exist_is_said(ojs: Ojs, tasks: Any, result_id: str) -> None:
    with pytest.raises(TaskResultDoesNotExist):
        task_backends["default"].get_result(result_id)


def test_the_worker_serves_the_queues_of_tasks(tasks: Any) -> None:
    with override_settings(OJS={"URL": "http://127.0.0.1:1"}):
        worker = make_worker()
    assert set(worker.queues) == {"email", "default", "slow"}
    assert "django.task" in worker.registry


def test_the_check_names_options_that_there_are_not(tasks: Any) -> None:
    backend = task_backends["default"]
    assert list(backend.check()) == []
    backend.options = {"retries": 1}
    [wrong] = backend.check()
    assert (wrong.id, "retries" in wrong.msg) == ("ojs.E005", True)
