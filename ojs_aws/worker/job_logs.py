"""Logs what a worker process does: lines for people, JSON, and short tracebacks."""

from __future__ import annotations

import itertools
import json
import logging
import os
import traceback
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, TypeAlias

from ojs_aws.client.retry_rules import short
from ojs_aws.domain.envelope import Job, uncounted_attempts
from ojs_aws.domain.jobs.failures import MAX_MESSAGE_CHARACTERS
from ojs_aws.middleware.context import CURRENT_JOB
from ojs_aws.worker.executor import ActiveJob, Failed, Outcome, Snoozed, about
from ojs_aws.worker.failure import NO_HANDLER
from ojs_aws.worker.registry import NoHandlerError

_PACKAGE: Final = str(Path(__file__).parents[1]) + os.sep
_LIBRARY: Final = str(Path(os.__file__).parent) + os.sep
_IMPORTING: Final = ("<frozen importlib", f"{os.sep}importlib{os.sep}__init__.py")
_logger = logging.getLogger(__name__)
_Traced: TypeAlias = tuple[type[BaseException], BaseException, TracebackType]
ExcInfo: TypeAlias = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)
ABOUT: Final = ("job_id", "job_type", "queue", "attempt")
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_LONGEST: Final = 200
"""Characters of a field that a line shows."""


def own_traceback(problem: BaseException) -> TracebackType | None:
    """Return the traceback of an error from the first frame of the application on.

    Before it are frames of this package, and of Python's library, by which it calls a handler. None
    for an error that only has such frames.
    """
    frames = problem.__traceback__
    while frames is not None and _calls_handlers(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    return frames


def own_lines(problem: BaseException) -> str:
    """Return the traceback of an error and of its causes, without the frames of this package."""
    whole = traceback.TracebackException.from_exception(problem)
    part: traceback.TracebackException | None = whole
    while part is not None:
        first = itertools.dropwhile(lambda frame: _calls_handlers(frame.filename), part.stack)
        part.stack = traceback.StackSummary.from_list(
            [frame for frame in first if not is_internal(frame.filename)]
        )
        part = part.__cause__ or part.__context__
    return "".join(map(_bounded, whole.format())).rstrip()


def _bounded(line: str) -> str:
    """Return a line of a traceback; of a huge message only the beginning."""
    return line if len(line) <= MAX_MESSAGE_CHARACTERS else f"{line[:MAX_MESSAGE_CHARACTERS]} ...\n"


def _calls_handlers(filename: str) -> bool:
    """Return whether a file is of this package or of Python's library."""
    is_installed = "site-packages" in filename or "dist-packages" in filename
    return is_internal(filename) or (filename.startswith(_LIBRARY) and not is_installed)


def is_internal(filename: str) -> bool:
    """Return whether a file is part of this package, or of Python's import."""
    return filename.startswith(_PACKAGE) or any(each in filename for each in _IMPORTING)


class JobLines:
    """Logs how executions end."""

    def ended(self, active: ActiveJob, outcome: Outcome | None, seconds: float) -> None:
        """Log the end of an execution; never fails, since the outcome must be reported then.

        :param outcome: None for a job that was given up.
        :param seconds: how long it took.
        """
        try:
            self._log(active, outcome, seconds)
        except Exception:  # whatever a broken error raises
            _logger.exception("The end of job %s could not be shown", active.job.id)

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
        _logger.log(level, "%s", text, extra=fields, exc_info=_traced(problem))


def _traced(problem: BaseException | None) -> _Traced | None:
    """Return an error with the frames of the application; None if it has none."""
    frames = None if problem is None else own_traceback(problem)
    return None if problem is None or frames is None else (type(problem), problem, frames)


def label(job: Job) -> str:
    """Return what a line calls a job: type, id and attempt, of those that count."""
    return f"{job.type} {job.id} attempt {max(job.attempt - uncounted_attempts(job), 1)}"


def _ending(active: ActiveJob, outcome: Outcome | None) -> tuple[int, str]:
    """Return the level of a line, and the word for how the execution ended."""
    if outcome is None and active.ctx.is_handed_over:
        return logging.INFO, "handed over to its endpoint"
    if outcome is None:
        return logging.WARNING, f"given up ({active.gone})" if active.gone else "given up"
    if isinstance(outcome, Failed):
        return logging.ERROR, "failed"
    return logging.INFO, "snoozed" if isinstance(outcome, Snoozed) else "completed"


class OfJob(logging.Filter):
    """Adds the job that is being executed to records that do not name one."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the fields of the job; every record passes."""
        ctx = CURRENT_JOB.get(None)
        if ctx is not None and not hasattr(record, "job_id"):
            known = about(ctx.job)
            vars(record).update({name: known[name] for name in ABOUT if name in known})
        return True


class OwnFrames(logging.Formatter):
    """Writes tracebacks with the frames of the application, which are what people can change."""

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802 - its name
        """Return the traceback; whole, if it has no frame of the application."""
        problem = ei[1]
        if problem is None or own_traceback(problem) is None:
            return super().formatException(ei)
        return own_lines(problem)


class LineFormatter(OwnFrames):
    """Writes a record as a line: time, level, message, and the fields that it carries."""

    def __init__(self) -> None:
        """Use the local time, with seconds."""
        super().__init__("%(asctime)s %(levelname)-7s %(message)s", "%Y-%m-%d %H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - its name
        """Append the fields of a record that a handler or a middleware wrote about a job."""
        line = super().formatMessage(record)
        if record.name == JobLines.__module__:
            return line
        fields = _fields(record)
        known = {name: fields.pop(name, "") for name in ABOUT}
        if known["job_id"] and str(known["job_id"]) not in record.message:
            line += f" [{known['job_type']} {known['job_id']} attempt {known['attempt']}]"
        more = [f"{name}={each}" for name, each in fields.items() if _is_short(each)]
        return " ".join([line, *more])


class JsonFormatter(OwnFrames):
    """Writes a record as an object of JSON in one line, with the fields that it carries."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object; what JSON cannot say is written as text."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        shown: dict[str, object] = {
            "timestamp": at.replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            shown["exception"] = self.formatException(record.exc_info)
        return json.dumps(shown, ensure_ascii=False, default=str)


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """Return what a record carries beside what all records do."""
    return {name: each for name, each in vars(record).items() if name not in _STANDARD}


def _is_short(value: object) -> bool:
    return isinstance(value, (str, int, float)) and len(str(value)) <= _LONGEST


def place_of_mistake(problem: BaseException) -> str:
    """Return the line of the application that this package refuses; empty for another error.

    Its message says what is wrong, and the frames inside this package say nothing more.
    """
    frames = traceback.extract_tb(problem.__traceback__)
    own = [each for each in frames if not is_internal(each.filename)]
    if not own or not is_ours(problem) or isinstance(problem, ImportError):
        return ""
    return f"{os.path.relpath(own[-1].filename)}, line {own[-1].lineno}"


def is_ours(problem: BaseException) -> bool:
    """Return whether this package has raised an error itself; its message then says enough."""
    frames = traceback.extract_tb(problem.__traceback__)
    return bool(frames) and is_internal(frames[-1].filename)
