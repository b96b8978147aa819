"""Logs one line for each execution, for people who watch a worker; never arguments or results."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import TypeAlias

from ojs_aws.client.retry_schedule import short
from ojs_aws.domain.envelope import Job, uncounted_attempts
from ojs_aws.worker.active import ActiveJob, about
from ojs_aws.worker.executor import Failed, Outcome, Snoozed
from ojs_aws.worker.failure import NO_HANDLER
from ojs_aws.worker.registry import NoHandlerError
from ojs_aws.worker.tracebacks import own_traceback

_log = logging.getLogger(__name__)

_Traced: TypeAlias = tuple[type[BaseException], BaseException, TracebackType]


class JobLines:
    """Logs how executions end."""

    def ended(self, active: ActiveJob, outcome: Outcome | None, seconds: float) -> None:
        """Log the end of an execution; never fails, since the outcome must be reported then.

        :param outcome: None for a job that was given up.
        :param seconds: how long it took.
        """
        try:
            self._log(active, outcome, seconds)
        except Exception:  # noqa: BLE001 - whatever a broken error raises
            _log.exception("The end of job %s could not be shown", active.job.id)

    def _log(self, active: ActiveJob, outcome: Outcome | None, seconds: float) -> None:
        milliseconds = round(seconds * 1000)
        problem = outcome.problem if isinstance(outcome, Failed) else None
        is_given_back = isinstance(outcome, Snoozed) and outcome.error.get("type") == NO_HANDLER
        if is_given_back or isinstance(problem, NoHandlerError):
            return  # the executor has logged it, in every kind of worker
        level, ending = _ending(active, outcome)
        fields = about(active.job) | {"status": ending, "duration_ms": milliseconds}
        took = short(milliseconds) if milliseconds else "less than 1ms"
        text = f"{label(active.job)} {ending} {'in' if outcome else 'after'} {took}"
        if isinstance(outcome, Snoozed):
            text += f"; it comes again in {short(outcome.delay_ms)}"
        if isinstance(outcome, Failed):
            text += f": {outcome.error.get('type')}: {outcome.error.get('message')}"
        _log.log(level, "%s", text, extra=fields, exc_info=_traced(problem))


def _traced(problem: BaseException | None) -> _Traced | None:
    """Return an error with the frames of the application; None if it has none."""
    frames = None if problem is None else own_traceback(problem)
    return None if problem is None or frames is None else (type(problem), problem, frames)


def label(job: Job) -> str:
    """Return what a line calls a job: type, id and attempt, of those that count."""
    return f"{job.type} {job.id} attempt {max(job.attempt - uncounted_attempts(job), 1)}"


def _ending(active: ActiveJob, outcome: Outcome | None) -> tuple[int, str]:
    """Return the level of a line, and the word for how the execution ended."""
    if outcome is None:
        return logging.WARNING, f"given up ({active.gone})" if active.gone else "given up"
    if isinstance(outcome, Failed):
        return logging.ERROR, "failed"
    return logging.INFO, "snoozed" if isinstance(outcome, Snoozed) else "completed"
