"""Reads what AWS lists over several pages, also where botocore has no paginator for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def listed(
    ask: Callable[..., Any], member: str, begins: str, goes_on: str = "", **request: Any
) -> Iterator[Any]:
    """Yield what a call lists, of all pages.

    :param begins: the member of a request that says where a page begins.
    :param goes_on: that of an answer for the next page; empty: the same.
    """
    while True:
        answer = ask(**request)
        yield from answer.get(member, ())
        if not (following := answer.get(goes_on or begins)):
            return
        request[begins] = following
