"""Jobs are sent after the outermost transaction commits, and never before."""

from __future__ import annotations

import logging
import unittest

import pytest
from django.db import transaction
from django.test import TestCase

from ojs_aws import Job
from ojs_aws.contrib.django import enqueue_after_commit, enqueue_many_after_commit
from ojs_aws.errors import InvalidRequestError, QueueFullError
from ojs_aws.testing import Ojs
from tests.contrib.django.shop.jobs import welcome


def sent(ojs: Ojs) -> list[str]:
    return [job.id for job in ojs.all_enqueued()]


def test_a_job_is_sent_after_the_outermost_commit(ojs: Ojs) -> None:
    with transaction.atomic():
        with transaction.atomic():
            job_id = enqueue_after_commit(welcome.call(1))
        assert sent(ojs) == []
    assert sent(ojs) == [job_id]
    ojs.drain_sync()
    ojs.assert_completed(welcome.call(1))


def test_a_rollback_of_the_outer_transaction_sends_nothing(ojs: Ojs) -> None:
    with pytest.raises(RuntimeError), transaction.atomic():  # noqa: PT012
        with transaction.atomic():
            enqueue_after_commit(welcome.call(1))
        raise RuntimeError
    assert sent(ojs) == []


def test_a_savepoint_that_rolls_back_takes_its_own_jobs(ojs: Ojs) -> None:
    with transaction.atomic():
        kept = enqueue_after_commit(welcome.call(1))
        with pytest.raises(RuntimeError), transaction.atomic():  # noqa: PT012
            enqueue_after_commit(welcome.call(2))
            raise RuntimeError
    assert sent(ojs) == [kept]


def test_without_a_transaction_a_job_is_sent_at_once(ojs: Ojs) -> None:
    assert enqueue_after_commit(Job("shop.welcome", [1], queue="email")) == sent(ojs)[0]


def test_several_jobs_are_sent_together(ojs: Ojs) -> None:
    with transaction.atomic():
        ids = enqueue_many_after_commit([welcome.call(1), Job("shop.welcome", [2])])
        assert sent(ojs) == []
    assert sorted(sent(ojs)) == sorted(ids)


def test_each_database_has_its_own_commits(ojs: Ojs) -> None:
    with transaction.atomic(), transaction.atomic(using="other"):
        here = enqueue_after_commit(welcome.call(1))
        with pytest.raises(RuntimeError), transaction.atomic(using="other"):  # noqa: PT012
            enqueue_after_commit(welcome.call(2), using="other")
            raise RuntimeError
        there = enqueue_after_commit(welcome.call(3), using="other")
    assert sent(ojs) == [there, here]


def test_a_job_that_is_invalid_is_refused_before_the_commit(ojs: Ojs) -> None:
    with transaction.atomic(), pytest.raises(InvalidRequestError):
        enqueue_after_commit(Job("shop.welcome", [1], queue="Not A Queue"))


def test_a_delay_counts_from_the_call(ojs: Ojs) -> None:
    with transaction.atomic():
        enqueue_after_commit(welcome.options(delay="1h").call(1))
        ojs.advance_time("10m")
    [job] = ojs.all_enqueued()
    assert job.state == "scheduled"


def test_an_error_is_raised_after_the_commit(ojs: Ojs, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch)
    with pytest.raises(QueueFullError), transaction.atomic():
        enqueue_after_commit(welcome.call(1))


def test_a_robust_job_lets_the_others_be_sent(
    ojs: Ojs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[int] = []
    refuse(monkeypatch)
    with caplog.at_level(logging.ERROR), transaction.atomic():
        enqueue_after_commit(welcome.call(1), robust=True)
        transaction.on_commit(lambda: done.append(1))
    assert done == [1]
    assert "enqueue_after_commit of shop.welcome" in caplog.text


def refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise QueueFullError("full")

    monkeypatch.setattr("ojs_aws.contrib.django.commits.sending_sync_client", fail)


def test_in_a_test_case_the_kit_says_what_waits_for_a_commit(ojs: Ojs) -> None:
    class SignUp(TestCase):
        def test_it(self) -> None:
            enqueue_after_commit(welcome.call(1))
            with pytest.raises(AssertionError, match="1 job waits for a commit"):
                ojs.assert_enqueued(welcome)
            with self.captureOnCommitCallbacks(execute=True):
                enqueue_after_commit(welcome.call(2))
            ojs.assert_enqueued(welcome.call(2))

    result = unittest.TestResult()
    unittest.TestSuite([SignUp("test_it")]).run(result)
    assert result.errors + result.failures == []
    with pytest.raises(AssertionError) as raised:  # what TestCase rolled back waits no more
        ojs.assert_enqueued(welcome.call(1))
    assert "for a commit" not in str(raised.value)
