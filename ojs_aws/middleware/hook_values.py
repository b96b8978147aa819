"""What hooks get and give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from ojs_aws.domain.errors import JsonValue


@dataclass(frozen=True, slots=True)
class WorkOutcome:
    """How an execution ended.

    :ivar result: what the handler returned; None beside an error.
    :ivar error: what was raised; None when the execution succeeded.
    """

    result: object = None
    error: BaseException | None = None

    @property
    def is_success(self) -> bool:
        """Whether the handler returned."""
        return self.error is None


@dataclass(frozen=True, slots=True)
class Metric:
    """One measurement, as ``metric_emit`` hooks get it.

    :ivar name: such as ``ojs.jobs.completed``.
    :ivar unit: ``{job}`` for counts, ``ms`` or ``s`` for what is measured.
    :ivar attributes: few values each: job type and queue, never an id.
    """

    name: str
    value: float
    unit: str
    attributes: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEvent:
    """A lifecycle event, as hooks of the backend get it (ojs-events, section 2).

    :ivar id: the same whenever the event is told again.
    :ivar type: such as ``job.retrying``.
    :ivar time: when it happened.
    :ivar subject: id of the job or worker, name of the queue or cron job.
    :ivar data: what happened, as docs/events.md lists it for each type.
    :ivar queue: the queue it concerns, or empty.
    :ivar job_type: type of the job it concerns, or empty.
    """

    id: str
    type: str
    time: datetime
    subject: str
    data: Mapping[str, JsonValue]
    queue: str = ""
    job_type: str = ""
