"""The error object of a failed job (core, section 8; ojs-retry, section 7)."""

from __future__ import annotations

from typing import NoReturn

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.chain.enqueue import EnqueueChain
from ojs_aws.middleware.chain.execution import ExecutionChain
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.protocols import ExecutionNext
from ojs_aws.middleware.results import ChainFrozenError, JobTimeoutError
from ojs_aws.worker import DeadLetterError, DiscardError, JobError, PermanentError, RetryError
from ojs_aws.worker.failure import failure_of
from ojs_aws.worker.registry import NoHandlerError


def throw(problem: BaseException) -> NoReturn:
    raise problem


def raised(problem: BaseException) -> BaseException:
    try:
        throw(problem)
    except BaseException as caught:  # noqa: BLE001
        return caught


def test_an_exception_gives_type_message_code_and_backtrace() -> None:
    """Type is the class; the innermost frame comes first."""
    failure = failure_of(raised(ValueError("no such user")))
    assert failure["type"] == "ValueError"
    assert failure["message"] == "no such user"
    assert failure["code"] == "handler_error"
    frames = failure["backtrace"]
    assert isinstance(frames, list)
    assert "test_failure.py" in str(frames[0])
    assert "in throw" in str(frames[0])
    assert "retryable" not in failure


def test_the_message_is_never_empty() -> None:
    """The specification demands one; the class stands in."""
    assert failure_of(raised(KeyError()))["message"] == "KeyError"

    class BrokenError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert failure_of(raised(BrokenError()))["message"] == "BrokenError"


def test_a_timeout_has_its_own_code() -> None:
    """Binding, table 16.3: the execution timeout, but not any timeout inside the handler."""
    failure = failure_of(raised(JobTimeoutError("30 s")), "middleware:timeout")
    assert (failure["type"], failure["code"]) == ("timeout", "timeout")
    assert "details" not in failure
    assert failure_of(raised(TimeoutError("socket")))["code"] == "handler_error"


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (RetryError, "RETRY"),
        (DiscardError, "DISCARD"),
        (DeadLetterError, "DEAD_LETTER"),
        (PermanentError, "FAIL"),
        (JobError, "handler_error"),
    ],
)
def test_a_handler_may_say_what_is_to_follow(kind: type[JobError], code: str) -> None:
    """ojs-retry, section 7.1: the response codes; type and details as given."""
    failure = failure_of(raised(kind("declined", type="payment.declined", details={"card": 1})))
    assert failure["code"] == code
    assert failure["type"] == "payment.declined"
    assert failure["details"] == {"card": 1}


def test_a_handler_may_say_that_retrying_is_useless() -> None:
    """Which leaves the rest to the policy."""
    assert failure_of(raised(JobError("x", retryable=False)))["retryable"] is False


def test_an_unknown_type_is_not_retried() -> None:
    """Error catalogue, OJS-3010."""
    failure = failure_of(raised(NoHandlerError("no handler")))
    assert failure["type"] == "NoHandlerRegistered"
    assert failure["retryable"] is False


def test_mw_exe_020_the_origin_of_a_middleware_s_error_is_reported() -> None:
    """MW-EXE-020."""
    assert failure_of(raised(ValueError("x")), "middleware:tx")["details"] == {
        "origin": "middleware:tx"
    }


def test_the_backtrace_is_bounded() -> None:
    """At most 50 frames and 10,000 characters, the innermost kept."""

    def deep(n: int) -> None:
        if n == 0:
            raise ValueError("bottom")
        deep(n - 1)

    with pytest.raises(ValueError, match="bottom") as caught:
        deep(200)
    frames = failure_of(caught.value)["backtrace"]
    assert isinstance(frames, list)
    assert len(frames) <= 50
    assert sum(len(str(frame)) for frame in frames) <= 10_000
    assert "raise ValueError" in str(frames[0])


def test_causes_are_reported() -> None:
    """What was behind the error is often what matters."""
    outer = ValueError("outer")
    outer.__cause__ = raised(KeyError("inner"))
    failure = failure_of(raised(outer))
    frames = failure["backtrace"]
    assert isinstance(frames, list)
    assert any("caused by KeyError" in str(frame) for frame in frames)


def test_the_members_of_a_group_are_reported() -> None:
    """What a TaskGroup raises says itself only how many there were."""
    group = BaseExceptionGroup("two", [raised(KeyError("first")), raised(ValueError("second"))])
    frames = failure_of(raised(BaseExceptionGroup("outer", [raised(group)])))["backtrace"]
    assert isinstance(frames, list)
    shown = [str(frame) for frame in frames if str(frame).startswith("with ")]
    assert shown == [
        "with ExceptionGroup: two (2 sub-exceptions)",
        "with KeyError: 'first'",
        "with ValueError: second",
    ]


def test_a_backtrace_that_is_all_of_the_worker_s_own_says_so() -> None:
    chain = EnqueueChain().freeze()
    with pytest.raises(ChainFrozenError) as caught:
        chain.add(lambda job, call_next: job)
    trace = caught.value.__traceback__
    assert trace is not None
    own = caught.value.with_traceback(trace.tb_next)  # without this test's frame
    frames = failure_of(own)["backtrace"]
    assert isinstance(frames, list)
    assert len(frames) == 1
    assert "left out" in str(frames[0])


async def test_a_long_backtrace_says_too_what_was_left_out() -> None:
    """And keeps to the same bounds."""

    async def passes(job: Job, ctx: JobContext, call_next: ExecutionNext) -> object:
        return await call_next()

    def deep(n: int) -> None:
        if n == 0:
            raise ValueError("x" * 300)
        deep(n - 1)

    with pytest.raises(ValueError, match="x") as caught:
        await ExecutionChain([passes]).run(Job("a.b"), JobContext(Job("a.b")), lambda *_: deep(200))
    frames = failure_of(caught.value)["backtrace"]
    assert isinstance(frames, list)
    assert len(frames) == 50
    assert sum(len(str(frame)) for frame in frames) <= 10_000
    assert "left out" in str(frames[-1])
