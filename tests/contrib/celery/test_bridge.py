"""Tasks of bridged queues become jobs, and behave as Celery's documentation says."""

from __future__ import annotations

import gc
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime

import pytest
from celery import Celery, chain, chord, current_app, group
from celery.exceptions import TaskRevokedError
from celery.exceptions import TimeoutError as NotReadyError
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws import Jobs
from ojs_aws.contrib.celery import NotBridgedError, celery_jobs
from ojs_aws.contrib.celery.calls import is_job_id, job_id_of, job_type_of
from ojs_aws.domain.attributes import check_job_id, check_type
from ojs_aws.errors import DeadLetterError
from ojs_aws.testing import Ojs
from ojs_aws.worker.base import queues_of
from tests.contrib.celery.shop import (
    SEEN,
    add,
    app,
    automatic,
    change,
    jobs,
    later,
    leave,
    note,
    patient,
    print_label,
    rarely,
    relay,
    send,
)

pytestmark = pytest.mark.thorough

NAIVE = datetime(2031, 5, 1, 9, 0)  # noqa: DTZ001 - Celery takes such for UTC


@pytest.fixture(autouse=True)
def _shop() -> Iterator[None]:
    """The shop is the current app, as in its own process, and its list starts empty."""
    app.set_current()
    app.set_default()
    yield
    SEEN.clear()


def waiting() -> int:
    """Return how many messages Celery's own broker has."""
    with app.connection_for_read() as connection:
        return int(connection.default_channel.queue_declare("celery").message_count)


def test_only_tasks_of_bridged_queues_become_jobs(ojs: Ojs) -> None:
    before = waiting()
    print_label.delay(1)
    assert waiting() == before + 1
    send.delay("ada@example.com")
    later.delay()
    print_label.apply_async((2,), queue="mail-urgent")
    app.send_task("shop.mail.unknown", (3,))
    assert waiting() == before + 1
    for job_type, queue in (
        ("shop.mail.send", "mail"),
        ("shop.later", "celery"),
        ("shop.print", "mail-urgent"),
        ("shop.mail.unknown", "mail"),
    ):
        ojs.assert_enqueued(job_type, queue=queue, count=1)


def test_a_worker_serves_the_bridged_queues() -> None:
    assert set(queues_of(jobs)) == {"celery", "mail"}


def test_the_result_is_read_by_the_id_alone(ojs: Ojs) -> None:
    sent = send.delay("ada@example.com", when=date(2026, 1, 2))
    assert is_job_id(sent.id)
    assert sent.state == "PENDING"
    with pytest.raises(NotReadyError):
        sent.get(timeout=0)
    ojs.drain_sync()
    found = app.AsyncResult(sent.id)
    assert found.get(timeout=0)["when"] == date(2026, 1, 2)
    assert (found.successful(), found.queue, found.retries) == (True, "mail", 0)
    assert found.date_done is not None


def test_a_typed_job_has_the_same_form_on_the_wire(ojs: Ojs) -> None:
    """So a worker with typed jobs can take over the queue before the senders change."""
    typed = Jobs()

    @typed.job("shop.mail.send")
    def send_typed(to: str, template: str = "welcome", *, when: str | None = None) -> str:
        return f"{to} {template} {when}"

    for args, kwargs in (
        (("ada",), {}),
        (("ada",), {"template": "bye"}),
        ((), {"when": "now", "to": "ada"}),
        ((), {"template": "bye", "to": "ada", "when": "now"}),
    ):
        send.apply_async(args, kwargs)
        assert (
            ojs.assert_enqueued("shop.mail.send")[-1].args
            == send_typed.call(*args, **kwargs).to_job().args
        )


def test_options_of_the_call_and_of_the_task_reach_the_job(ojs: Ojs) -> None:
    rarely.delay(1)
    add.apply_async((1, 2), countdown=60, expires=NAIVE, priority=-5, time_limit=None)
    add.apply_async((1, 2), eta=NAIVE)
    [of_task] = ojs.assert_enqueued("shop.mail.rarely", priority=3)
    assert of_task["timeout"] == 2
    assert of_task.meta["celery"] == {"task": "shop.mail.Rarely"}
    assert of_task.get("expires_at") is not None
    ojs.assert_enqueued("shop.mail.add", delay="60s", priority=-5, count=1)
    [due] = ojs.assert_enqueued("shop.mail.add", scheduled_at=NAIVE.replace(tzinfo=UTC))
    assert due["retry"] == {"max_attempts": 4, "non_retryable_errors": ["timeout"]}


def test_the_callers_own_id_is_kept(ojs: Ojs) -> None:
    add.apply_async((1, 2), task_id="order-7")
    ojs.drain_sync()
    assert add.AsyncResult("order-7").get(timeout=0) == 3
    assert ("started", "order-7") in SEEN


@given(st.one_of(st.uuids().map(str), st.text(min_size=1)))
def test_every_task_id_has_one_job_id(task_id: str) -> None:
    job_id = job_id_of(task_id)
    assert check_job_id(job_id) == job_id == job_id_of(task_id) == job_id_of(job_id)


@given(st.text(min_size=1))
def test_every_name_of_a_task_has_a_job_type(name: str) -> None:
    assert check_type(job_type_of(name))


def test_a_task_decides_about_its_retries(ojs: Ojs) -> None:
    """By self.retry, with Celery's count, delay and last error."""
    works, fails = patient.delay(2), patient.delay(9)
    ojs.drain_sync(raise_errors=False)
    assert works.state == "RETRY"
    ojs.assert_enqueued("shop.mail.patient", state="retryable")
    assert ojs.job(works)["retry_delay_ms"] == 7000
    assert isinstance(works.result, TimeoutError)
    ojs.drain_sync(with_scheduled=True, raise_errors=False)
    assert works.get(timeout=0) == 2
    assert [each[1] for each in SEEN if each[0] == works.id] == [0, 1, 2]
    with pytest.raises(TimeoutError, match="slow"):
        fails.get(timeout=0)
    assert "TimeoutError: slow" in fails.traceback
    ojs.assert_failed("shop.mail.patient", state="discarded", attempt=3)


def test_only_the_errors_of_autoretry_for_are_retried(ojs: Ojs) -> None:
    automatic.delay("broken")
    automatic.delay("wrong")
    ojs.drain_sync(with_scheduled=True, raise_errors=False)
    states = {
        job.args[0]: job.attempt
        for job in ojs.assert_failed("shop.mail.automatic", state="discarded")
    }
    assert states == {"broken": 5, "wrong": 1}


def test_a_retry_with_other_arguments_is_refused(ojs: Ojs) -> None:
    sent = change.delay(1)
    ojs.drain_sync(raise_errors=False)
    with pytest.raises(Exception, match="other arguments"):
        sent.get(timeout=0)


@pytest.mark.parametrize(
    ("how", "state"), [("ignore", "SUCCESS"), ("reject", "FAILURE"), ("requeue", "RETRY")]
)
def test_ignore_and_reject_end_the_attempt(ojs: Ojs, how: str, state: str) -> None:
    sent = leave.delay(how)
    ojs.drain_sync(raise_errors=False)
    assert sent.state == state


def test_chains_groups_and_callbacks_go_on(ojs: Ojs) -> None:
    steps = chain(add.s(1, 2), add.s(3), add.s(4))()
    parts = group(add.s(1, 2), add.s(3, 4))()
    add.apply_async((5, 6), link=note.s("linked"))
    automatic.apply_async(("wrong",), link_error=note.si("failed"))
    ojs.drain_sync(raise_errors=False)
    assert steps.get(timeout=0) == 10
    assert parts.get(timeout=0) == [3, 7]
    assert (11, "linked") in SEEN
    assert ("failed",) in SEEN


def test_a_chord_is_refused_before_anything_is_sent(ojs: Ojs) -> None:
    with pytest.raises(NotBridgedError, match=r"docs/workflows\.md"):
        chord([add.s(1, 1), add.s(2, 2)])(add.s(3))
    ojs.refute_enqueued("shop.mail.add")


def test_what_json_cannot_carry_is_refused(ojs: Ojs) -> None:
    with pytest.raises(NotBridgedError, match="JSON"):
        send.delay(object())
    ojs.refute_enqueued("shop.mail.send")


def test_the_app_is_that_of_shared_tasks_in_all_threads() -> None:
    Celery("another").set_default()
    celery_jobs(app)
    gc.collect()  # the jobs of the line above: another test would not know which ones to run
    with ThreadPoolExecutor() as threads:
        assert threads.submit(lambda: current_app.main).result() == "shop"


def test_a_task_sends_others_from_its_thread(ojs: Ojs) -> None:
    """A shared task, which belongs to whatever app is the default one."""
    sent = relay.delay("ada")
    ojs.drain_sync()
    inner = app.AsyncResult(sent.get(timeout=0))
    assert inner.get(timeout=0)["to"] == "ada"


def test_an_error_of_another_worker_is_an_error_of_its_name(ojs: Ojs) -> None:
    """One that runs typed jobs says less than Celery does."""
    sent = add.delay(1, 2)
    ojs.fail_next("shop.mail.add", DeadLetterError("gone", type="LookupError"))
    ojs.drain_sync(raise_errors=False)
    with pytest.raises(LookupError, match="gone"):
        sent.get(timeout=0)


def test_a_revoked_task_is_a_cancelled_job(ojs: Ojs) -> None:
    sent = add.apply_async((1, 2), countdown=60)
    sent.revoke()
    ojs.assert_enqueued("shop.mail.add", state="cancelled")
    with pytest.raises(TaskRevokedError):
        sent.get(timeout=0)


def test_results_from_before_the_move_stay_with_celery(ojs: Ojs) -> None:
    """The name says that the task is bridged; the id is one that Celery made."""
    before = str(uuid.uuid4())
    app.backend.store_result(before, 42, "SUCCESS")
    assert add.AsyncResult(before).get(timeout=0) == 42
    assert app.AsyncResult(before).get(timeout=0) == 42


def test_a_setting_of_another_form_is_refused(monkeypatch: pytest.MonkeyPatch, ojs: Ojs) -> None:
    monkeypatch.setitem(app.conf, "ojs_queues", "mail")
    with pytest.raises(NotBridgedError, match="ojs_queues"):
        add.delay(1, 2)
    ojs.refute_enqueued("shop.mail.add")


def test_a_result_that_is_ignored_is_not_kept(ojs: Ojs) -> None:
    sent = rarely.delay(1)
    ojs.drain_sync()
    assert sent.get(timeout=0) is None
