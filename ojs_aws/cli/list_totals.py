"""Says how much of a list a command shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from ojs_aws.cli.options import counted

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue


class ListPage(Protocol):
    """Is a page of a list, as the client returns it."""

    @property
    def cursor(self) -> str:
        """Return where the next page starts; empty on the last one."""

    @property
    def total(self) -> int:
        """Return how many match."""

    @property
    def total_is(self) -> str:
        """Return how sure that is."""


def total_members(shown: int, read: Sequence[ListPage]) -> dict[str, JsonValue]:
    """Return the total of a list for JSON, and how sure it is.

    :param shown: entries that were read, over all pages.
    :param read: the pages.
    """
    total, kind = _total(shown, read)
    return {"total": total, "total_is": kind, "total_is_exact": kind == "exact"}


def more_text(thing: str, shown: int, read: Sequence[ListPage]) -> str:
    """Return what to say of the rest of a list; empty if there is none.

    :param thing: what is listed, in the singular.
    """
    if not read[-1].cursor:
        return ""
    total, kind = _total(shown, read)
    least = {"exact": "of", "estimate": "of about"}.get(kind, "of at least")
    about = f" {least} {total}" if total > shown else ", and there may be more"
    return f"{counted(shown, thing)}{about}; show more with --limit."


def _total(shown: int, read: Sequence[ListPage]) -> tuple[int, str]:
    if not read[-1].cursor:
        return shown, "exact"
    first = read[0]
    if first.total < shown:
        return shown, "estimate" if first.total_is == "estimate" else "at_least"
    return first.total, first.total_is
