"""Define what hooks get and return, and mark functions as hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol, TypeVar, Unpack, cast, overload

from ojs_aws.domain.cron import CronOptions
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.middleware.protocols import HOOKS
from ojs_aws.middleware.results import InvalidMiddlewareError

F = TypeVar("F", bound=Callable[..., object])
_INTERFACES: Final = {interface.name: interface for interface in HOOKS}


@dataclass(frozen=True, slots=True)
class WorkOutcome:
    """Says how an execution ended.

    :ivar result: what the handler returned; None beside an error.
    :ivar error: what was raised; None when the execution succeeded.
    """

    result: object = None
    error: BaseException | None = None

    @property
    def is_success(self) -> bool:
        """Return True if the handler returned."""
        return self.error is None


@dataclass(frozen=True, slots=True)
class Metric:
    """Holds one measurement, as ``metric_emit`` hooks get it.

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
    """Describes a lifecycle event, as hooks of the backend get it (ojs-events, section 2).

    :ivar id: the same whenever the event is sent again.
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


class Periodic(Protocol):
    """Registers cron jobs of the backend; the hook ``periodic_start`` gets it."""

    def register(
        self,
        name: str,
        cron: str,
        job: Job | str,
        args: Sequence[JsonValue] = (),
        **options: Unpack[CronOptions],
    ) -> None:
        """Register a cron job, or change the one of this name, as ``client.cron.register`` does.

        :param cron: such as ``0 9 * * MON-FRI``, ``@hourly`` or ``@every 30m``.
        :param job: what is enqueued: a job, whose id does not matter, or a type with ``args``.
        :param options: ``timezone``, ``overlap_policy``, ``enabled``, ``description``: see
            :class:`~ojs_aws.domain.cron.CronOptions`.
        :raises InvalidRequestError: it names what is wrong, and the field of the expression.
        """


@overload
def hook(name_or_function: F, /) -> F: ...


@overload
def hook(
    name_or_function: str = "", /, *, job_type: str | Sequence[str] = ()
) -> Callable[[F], F]: ...


def hook(name_or_function: object = "", /, *, job_type: str | Sequence[str] = ()) -> object:
    """Make a function a hook, or bind a method of a hook to some job types.

    The function stays as it is. Without a name it is the hook whose name it has::

        @hook
        def work_begin(job, ctx): ...

        @hook("insert_begin", job_type="email.send")
        def stamp(job): job.meta["sent_from"] = "shop"

        client = Client(url, hooks=[stamp])

    :param job_type: one job type, or several; all by default.
    :raises InvalidMiddlewareError: there is no such hook, or the function cannot be called as it.
    """
    job_types = (job_type,) if isinstance(job_type, str) else tuple(job_type)

    def mark(function: F) -> F:
        name = name_or_function if isinstance(name_or_function, str) else ""
        name = name or str(getattr(function, "__name__", ""))
        if name not in _INTERFACES:
            raise InvalidMiddlewareError(
                f"There is no hook {name!r}; there are {', '.join(_INTERFACES)}."
            )
        try:
            for mark, value in {"hook_name": name, "hook_job_types": job_types}.items():
                setattr(function, mark, value)
        except AttributeError:
            raise InvalidMiddlewareError(
                f"{function!r} cannot be marked as a hook: mark the function itself, where it is "
                "defined."
            ) from None
        return function

    if callable(name_or_function):
        return mark(cast("Callable[..., object]", name_or_function))
    return mark
