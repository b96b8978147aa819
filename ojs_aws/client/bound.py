"""Remember the client that typed jobs are sent by: the one of ``with client.use():``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

C = TypeVar("C")

_BOUND: Final[ContextVar[object]] = ContextVar("ojs_aws_client", default=None)

bound_client = _BOUND.get
"""Return the client of the innermost ``with client.use():`` around the caller, else None."""


@contextmanager
def using(client: C) -> Iterator[C]:
    """Send the typed jobs of this task or thread by a client, until the block ends."""
    token = _BOUND.set(client)
    try:
        yield client
    finally:
        _BOUND.reset(token)
