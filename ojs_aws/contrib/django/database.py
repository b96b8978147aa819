"""Close the database connections of jobs: Django itself does so for requests only."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections, connections


def with_own_connections(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that closes the connections of its thread when it ends."""

    @functools.wraps(function)
    def run(*args: Any, **keywords: Any) -> object:
        try:
            return function(*args, **keywords)
        finally:
            connections.close_all()

    return run


def with_fresh_connections(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a coroutine function that closes broken and old connections before and after."""

    @functools.wraps(function)
    async def run(*args: Any, **keywords: Any) -> object:
        await sync_to_async(close_old_connections)()
        try:
            return await function(*args, **keywords)
        finally:
            await sync_to_async(close_old_connections)()

    return run
