"""Shows log records of a worker process: as lines for people, or as JSON."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, TypeAlias

from ojs_aws.middleware.context import CURRENT_JOB
from ojs_aws.worker.active import about
from ojs_aws.worker.job_lines import JobLines
from ojs_aws.worker.tracebacks import own_lines, own_traceback

ExcInfo: TypeAlias = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)

ABOUT: Final = ("job_id", "job_type", "queue", "attempt")
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_LONGEST: Final = 200
"""Characters of a field that a line shows."""


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
