"""Holds what the parts of one request share: its time, and whether anything was written.

A context variable, so that calls in threads belong to the request that they are made for. Outside
of a request (the stream, the tick, workers) there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

SCHEMA_S: Final = 1.0
"""Processor time that the checks of arguments by schemas may take in one request."""


@dataclass(slots=True)
class SchemaChecks:
    """Describes the checks of arguments in one request.

    :ivar left_s: processor time that they may still take, in seconds.
    :ivar passed: what was checked of each job, by its id: the same is not checked twice.
    """

    left_s: float = SCHEMA_S
    passed: dict[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class RequestScope:
    """Describes one request.

    :ivar left_s: returns how many seconds the request has left.
    :ivar may_have_written: whether a call of it changed what others see, or may have. Such a
        request must not be answered as one that can be sent again.
    :ivar schema_checks: the checks of arguments by schemas.
    """

    left_s: Callable[[], float]
    may_have_written: bool = False
    schema_checks: SchemaChecks = field(default_factory=SchemaChecks)


current_request: Final[ContextVar[RequestScope | None]] = ContextVar("request", default=None)
