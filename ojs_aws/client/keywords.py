"""Says what is wrong where a class is called with a keyword that it lacks, or text for a number."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any, Final, TypeVar

from ojs_aws.domain.jobs.arguments import meant

T = TypeVar("T")

_OTHER_NAMES: Final[Mapping[str, str]] = {
    "auth": "credentials",
    "base_url": "url",
    "chain": "middleware",
    "endpoint": "url",
    "grace": "grace_s",
    "grace_period": "grace_s",
    "heartbeat_interval": "heartbeat_s",
    "key": "api_key",
    "max_concurrency": "concurrency",
    "name": "worker_id",
    "poll_interval": "polls",
    "queue": "queues",
    "retries": "resends",
    "server": "url",
    "shutdown_timeout": "grace_s",
    "threads": "concurrency",
    "timeout": "timeout_s",
    "token": "api_key",
    "visibility_timeout": "visibility_timeout_s",
    "workers": "concurrency",
}
"""What other libraries call what a keyword of ours means."""


_NUMBERS: Final = frozenset({"int", "float", "None"})


def checks_keywords(cls: type[T]) -> type[T]:
    """Let the constructor of a class name the nearest keyword, for one that it does not have.

    It also names a number that was given as text, as environment variables hold it.

    Its signature stays what it is, for type checkers, editors and :mod:`inspect`.
    """
    constructor: FunctionType = vars(cls)["__init__"]
    code = constructor.__code__
    known = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]

    kinds = {name: str(kind).split(" | ") for name, kind in constructor.__annotations__.items()}
    numbers = {name: kind[0] for name, kind in kinds.items() if _NUMBERS.issuperset(kind)}

    @functools.wraps(constructor)
    def checked(self: T, /, *args: Any, **given: Any) -> None:
        for name, value in given.items():
            if name not in known:
                raise _unknown(type(self).__name__, name, known)
            if isinstance(value, str) and numbers.get(name):
                message = f"{name} must be a number, not the text {value!r}: convert it by "
                raise TypeError(f"{message}{numbers[name]}(...).")
        constructor(self, *args, **given)

    type.__setattr__(cls, "__init__", checked)
    return cls


def _unknown(owner: str, name: str, known: Sequence[str]) -> TypeError:
    """Return the error for a keyword that a class does not take."""
    others = {other: ours for other, ours in _OTHER_NAMES.items() if ours in known}
    text = f"{owner}() has no parameter {name!r}{meant(name, known, others)}"
    return TypeError(f"{text} It takes {', '.join(known)}.")
