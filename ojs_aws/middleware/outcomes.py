"""What an exception says about the execution that it ended."""

from __future__ import annotations

from typing import Final

from ojs_aws.middleware.errors import JobTimeoutError

COMPLETED: Final = "completed"
FAILED: Final = "failed"
TIMEOUT: Final = "timeout"
GIVEN_UP: Final = "given up"


def outcome_of(problem: BaseException) -> str:
    """``failed``, ``timeout``, or ``given up``: the worker stopped the job, which did not fail."""
    if isinstance(problem, JobTimeoutError):
        return TIMEOUT
    if isinstance(problem, (Exception, SystemExit)):
        return FAILED
    from asyncio import CancelledError, current_task  # noqa: PLC0415 - PUSH does without asyncio

    if not isinstance(problem, CancelledError):
        return GIVEN_UP  # the process ends
    task = current_task()
    return GIVEN_UP if task is not None and task.cancelling() else FAILED
