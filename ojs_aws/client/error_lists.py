"""Checks the lists of errors of a retry policy: names to send, and classes for the worker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from ojs_aws.domain.errors import JsonValue

ErrorClasses: TypeAlias = tuple[type[Exception], ...]
"""Classes of errors."""

OneOrMoreErrors: TypeAlias = type[Exception] | Iterable[type[Exception]]
"""A class of errors, or several ones."""


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
