"""Checks names of queues that people type: which exist, and which one is meant."""

from __future__ import annotations

from contextlib import suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ojs_aws.cli.terminal.session import Session


async def all_queues(session: Session) -> list[str]:
    """Return the names of all queues."""
    return [entry.name for entry in await session.client.queues.list()]


async def known_queue(session: Session, name: str) -> str:
    """Return the name of a queue that exists; the server would create another one.

    :raises NotFoundError: there is no such queue; the hint has the nearest one.
    """
    from ojs_aws.domain.errors import NotFoundError

    names = await all_queues(session)
    if name in names:
        return name
    hint = _guess(name, names) or f"`ojs-aws queues create {name}` creates it."
    raise NotFoundError(f"There is no queue {name!r}.", hint=hint)


async def say_if_unknown(session: Session, *names: str) -> None:
    """Say which of these queues do not exist, where nothing was found in them.

    Say nothing to scripts, nor to who may not list the queues.
    """
    from ojs_aws.domain.errors import OjsError

    if session.out.as_json or not any(names):
        return
    with suppress(OjsError):
        known = await all_queues(session)
        for name in filter(None, names):
            if name not in known:
                session.out.hint(f"There is no queue {name!r}. {_guess(name, known)}".rstrip())


def _guess(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, [*known], n=1)
    return f"Did you mean {near[0]!r}?" if near else ""
