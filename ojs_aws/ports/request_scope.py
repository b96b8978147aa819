"""Holds what one request's AWS calls share: its time, and whether anything was written.

A context variable, so that calls in threads belong to the request that they are made for. Outside
of a request (the stream, the tick, workers) there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final


@dataclass(slots=True)
class RequestScope:
    """Describes one request.

    :ivar left_s: returns how many seconds the request has left.
    :ivar may_have_written: whether a call of it changed what others see, or may have. Such a
        request must not be answered as one that can be sent again.
    """

    left_s: Callable[[], float]
    may_have_written: bool = False


current_request: Final[ContextVar[RequestScope | None]] = ContextVar("request", default=None)
