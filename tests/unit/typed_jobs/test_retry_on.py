"""A declared job says by their classes which errors are retried."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws import Client, Job, RetryPolicy
from ojs_aws.domain.errors import JsonValue
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.results import JobTimeoutError, RegistrationError
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.worker.base import BaseWorker
from ojs_aws.worker.failure import JobError, PermanentError, RetryError
from ojs_aws.worker.reservations import WorkerContext
from tests.unit.typed_jobs.conftest import Shop, error_of, execute, stays


class DeclinedError(JobError):
    """A class of an application."""


def failing(problem: Exception, *classes: type[Exception]) -> tuple[Jobs, Job]:
    """A job that fails, and whose errors of some classes are retried."""
    jobs = Jobs()

    @jobs.job("card.charge", retry=RetryPolicy(max_attempts=5, retry_on=classes))
    def charge() -> None:
        raise problem

    return jobs, charge.call().to_job()


@pytest.mark.parametrize(
    ("problem", "retryable"),
    [
        (ConnectionError("gone"), None),
        (ConnectionResetError("gone"), None),  # a subclass
        (KeyError("gone"), False),
        (DeclinedError("no"), False),
        (DeclinedError("no", retryable=True), True),
        (RetryError("later"), None),
        (PermanentError("never"), None),
        (JobTimeoutError("too long"), None),
    ],
)
async def test_only_errors_of_the_named_classes_are_retried(
    problem: Exception, retryable: JsonValue
) -> None:
    """Timeouts always are, and what says itself what becomes of the job is obeyed."""
    error = error_of(await execute(*failing(problem, ConnectionError, OSError)))
    assert error.get("retryable") is retryable


async def test_errors_of_middleware_are_retried_by_the_policy() -> None:
    """The function did not raise them."""

    async def broken(job: Job, ctx: JobContext, call_next: Any) -> Any:
        raise KeyError("middleware")

    jobs, job = failing(ConnectionError(), ConnectionError)
    executor = BaseWorker(jobs=jobs, middleware=[broken]).freeze()
    outcome = await executor.execute(WorkerContext(job, extend=stays))
    assert "retryable" not in error_of(outcome)


async def test_a_job_whose_error_is_not_named_ends_in_the_backend(shop: Shop) -> None:
    """And goes where its policy sends jobs that are not retried any more."""
    jobs = Jobs()

    @jobs.job("card.charge", retry=RetryPolicy(retry_on=OSError, on_exhaustion="dead_letter"))
    def charge(problem: str) -> None:
        raise OSError if problem == "disk" else ValueError

    sent = [await charge.enqueue(each) for each in ("disk", "value")]
    await shop.work(jobs)
    states = [(await shop.client.get(each.id)).state for each in sent]
    assert states == ["retryable", "discarded"]


def test_the_classes_are_not_sent() -> None:
    """The server has no such list; a job that is sent otherwise keeps the worker's."""
    jobs = Jobs()
    policy = RetryPolicy(max_attempts=5, retry_on=[OSError])

    @jobs.job("card.charge", retry=policy)
    def charge() -> None: ...

    assert charge.call().to_job().retry == {"max_attempts": 5} == dict(policy)
    assert charge.options(priority=3).call().to_job().retry == {"max_attempts": 5}
    once = charge.options(retry=RetryPolicy(max_attempts=1)).call()
    assert once.to_job().retry == {"max_attempts": 1}
    assert charge.declaration.retry_on == (OSError,)


async def test_classes_are_refused_where_no_worker_would_learn_of_them(shop: Shop) -> None:
    """A sender, an untyped job, and a job of a worker elsewhere."""
    jobs, _ = failing(ValueError(), OSError)
    policy = RetryPolicy(retry_on=OSError)

    @jobs.job("card.refund")
    def refund() -> None: ...

    client: Client = shop.client
    for send in (
        lambda: refund.options(retry=policy),
        lambda: Job("card.charge", [], retry=policy),
    ):
        with pytest.raises(ValueError, match="works where a job is declared"):
            send()
    with pytest.raises(ValueError, match="works where a job is declared"):
        await client.enqueue("card.charge", [], retry=policy)
    with pytest.raises(RegistrationError, match="is elsewhere"):
        jobs.remote("card.move", retry=policy)(refund.declaration.function)


@pytest.mark.parametrize("wrong", ["TimeoutError", [OSError, "x"], [BaseException], 3])
def test_what_is_no_class_of_errors_is_refused(wrong: object) -> None:
    """Names are those of the deny-list."""
    with pytest.raises(TypeError, match=r"retry_on|iterable"):
        RetryPolicy(retry_on=wrong)  # type: ignore[arg-type]


def test_an_empty_list_is_refused_with_what_to_write() -> None:
    """It would say that nothing is retried."""
    with pytest.raises(ValueError, match="max_attempts=1"):
        RetryPolicy(retry_on=[])


def test_a_policy_knows_the_name_that_celery_has_for_it() -> None:
    """Of the classes that are retried, and of those that are not."""
    with pytest.raises(TypeError, match="did you mean 'retry_on'"):
        RetryPolicy(autoretry_for=(OSError,))  # type: ignore[arg-type]


def test_a_sender_cannot_change_which_errors_are_retried() -> None:
    """Only the worker, which has the declaration, knows the classes."""
    jobs = Jobs()

    @jobs.job("card.charge", retry=RetryPolicy(retry_on=OSError))
    def charge() -> None: ...

    with pytest.raises(ValueError, match="works where a job is declared"):
        charge.options(retry=RetryPolicy(retry_on=KeyError)).call().to_job()
