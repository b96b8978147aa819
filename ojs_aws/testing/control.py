"""Moves the clock of a test, and lets its jobs fail on purpose."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from ojs_aws.domain.timestamps import (
    datetime_of,
    duration_ms,
    instant_of,
    parse_timestamp,
)
from ojs_aws.testing.faults import Error, checked_error
from ojs_aws.testing.jobs import JobKind, type_of
from ojs_aws.testing.kit import Kit


class Control(Kit):
    """Moves the clock of a test, and lets its jobs fail on purpose."""

    @property
    def now(self) -> datetime:
        """Return the time on the clock of the test, in UTC."""
        return datetime_of(self._backend.clock.now())

    def freeze_time(self, timestamp: datetime | str) -> None:
        """Set the clock to a moment, at which it stands until :meth:`advance_time`.

        :param timestamp: an aware datetime, or ``"2026-02-13T10:00:00Z"``.
        :raises ValueError: it lies before the time of the clock, and there are jobs already.
        """
        if isinstance(timestamp, datetime):
            moment = instant_of(timestamp)
        else:
            moment = parse_timestamp(timestamp, "timestamp")
        self._backend.set_time(moment)

    def advance_time(self, duration: str | timedelta) -> None:
        """Move the clock forward: jobs become due, reservations end, cron jobs fire.

        It is the clock of the backend. Code that asks this machine for the time does not notice:
        let it enqueue with a ``delay``, or move that clock as well.

        :param duration: ``"1h"``, ``"PT24H"`` or a timedelta.
        """
        self._backend.advance(duration_ms(duration, "duration"))

    def fail_next(self, kind: JobKind[Any], error: Error) -> None:
        """Let the next execution of a type fail, after any that were asked for before.

        Example::

            ojs.fail_next(send_email, TimeoutError("SMTP"))
        """
        self._handlers.faults.fail_next(type_of(kind), checked_error(error))

    def handle(self, kind: JobKind[Any], function: Callable[..., object]) -> None:
        """Run a function in place of the handler of a type, such as of a remote job.

        It gets the context and the arguments as they are on the wire.

        Example::

            ojs.handle(encode, lambda ctx, path, options: {"frames": 3})
        """
        self._handlers.faults.handle(type_of(kind), function)

    def fail_all(self, kind: JobKind[Any], error: Error) -> None:
        """Let all executions of a type fail."""
        self._handlers.faults.fail_all(type_of(kind), checked_error(error))
