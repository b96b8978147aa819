"""Checks the error lists of a retry policy, and shows when it retries a job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final, TypeAlias

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.retry import RetryPolicy

MOST: Final = 1000
"""Delays that a schedule holds at most; a policy may allow a million attempts."""
SHOWN: Final = 20
_UNITS: Final = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))
ErrorClasses: TypeAlias = tuple[type[Exception], ...]
"""Classes of errors."""
OneOrMoreErrors: TypeAlias = type[Exception] | Iterable[type[Exception]]
"""A class of errors, or several ones."""


class RetrySchedule(tuple[timedelta, ...]):
    """Holds the delays before the retries, without jitter; its text is for people."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the delays as text: ``1s, 2s, 4s, 8s``."""
        texts = [short(delay // timedelta(milliseconds=1)) for delay in self[:SHOWN]]
        more = len(self) - SHOWN
        return ", ".join(texts) + (f" and {more} more" if more > 0 else "") or "no retries"


def schedule_of(policy: RetryPolicy) -> RetrySchedule:
    """Return the delays of a policy, the first 1000 at most."""
    even = replace(policy, jitter=False)
    retries = min(max(policy.max_attempts, 1) - 1, MOST)
    return RetrySchedule(
        timedelta(milliseconds=even.delay_ms(number, "")) for number in range(1, retries + 1)
    )


def short(milliseconds: int) -> str:
    """Return a duration in the short form that policies take, in up to two units: ``1h30m``."""
    parts: list[str] = []
    for name, size in _UNITS:
        count, milliseconds = divmod(milliseconds, size)
        if count:
            parts.append(f"{count}{name}")
    return "".join(parts[:2]) or "0s"


def error_names(names: Sequence[str] | None) -> JsonValue:
    """Return names of errors as a list; a text stays what it is, for the check to refuse.

    :raises TypeError: an error is given by its class.
    """
    given: object = names  # whatever the annotation says
    for each in given if isinstance(given, (list, tuple, set, frozenset)) else (given,):
        if isinstance(each, type):
            name = each.__name__
            raise TypeError(f'non_retryable_errors names the errors: "{name}", not the class.')
    return names if isinstance(names, str) or names is None else list(names)


def error_classes(classes: OneOrMoreErrors | None) -> ErrorClasses | None:
    """Return classes of errors as a tuple; None if they are not limited.

    :raises TypeError: an error is not given by its class.
    :raises ValueError: there is none.
    """
    if classes is None:
        return None
    given: tuple[object, ...] = (classes,) if isinstance(classes, (type, str)) else tuple(classes)
    for each in given:
        if not (isinstance(each, type) and issubclass(each, Exception)):
            raise TypeError(
                f"retry_on takes classes of exceptions, such as TimeoutError, not {each!r}."
            )
    if not given:
        raise ValueError("retry_on is empty. If nothing is to be retried, write max_attempts=1.")
    return tuple(each for each in given if isinstance(each, type))
