"""Describes what needs somebody's attention: one finding of ``GET /admin/findings``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from ojs_aws.domain.errors import JsonValue

Sees = Callable[[str, str | None], bool]
"""Says whether the caller may see a queue, and jobs of a type if one is given."""

MAX_NAMED: Final = 20
"""Names that one finding lists."""


class FindingCode(StrEnum):
    """Names what can be found."""

    SWEEP_NEVER = "sweep_never"
    SWEEP_LATE = "sweep_late"
    QUEUE_PAUSED = "queue_paused"
    BINDING_SUSPENDED = "binding_suspended"
    BACKLOG_GROWS = "backlog_grows"
    JOB_WAITS = "job_waits"
    JOBS_FAIL = "jobs_fail"
    WORKERS_SILENT = "workers_silent"
    WORKERS_QUIET = "workers_quiet"
    JOBS_RUN_LONG = "jobs_run_long"
    JOBS_HANG = "jobs_hang"
    WORKERS_DIE = "workers_die"
    HANDLERS_MISSING = "handlers_missing"
    DEAD_LETTERS = "dead_letters"


class Severity(StrEnum):
    """Says how bad a finding is."""

    WARNING = "warning"
    """Perhaps as it should be; somebody should look."""
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Describes one thing that needs attention.

    :ivar check: what was looked at when it was found.
    :ivar message: one or two sentences for people.
    :ivar hint: what to do: a command or a sentence.
    :ivar data: the values that the message was made of.
    """

    code: FindingCode
    check: str
    message: str
    hint: str
    severity: Severity = Severity.WARNING
    data: Mapping[str, JsonValue] = field(default_factory=dict)
