"""Reads which page of a list is wanted, and describes it (HTTP binding, 17).

The admin API counts pages and calls their length ``per_page``; the others skip by ``offset``.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ojs_aws.domain.error_details import field_error
from ojs_aws.domain.list_total import ListTotal, shown_total
from ojs_aws.transport.http.queries import MAX_OFFSET, number_of, text_of

if TYPE_CHECKING:
    from ojs_aws.transport.http.answers import Further, Pagination


@dataclass(frozen=True, slots=True)
class RequestedPage:
    """Names a requested page by its cursor, its offset or its number."""

    limit: int
    offset: int
    cursor: str

    def total(self, shown: int, cursor: str, *, is_followed: bool = False) -> ListTotal:
        """Return what a page shows of the total.

        :param shown: entries of the page.
        :param cursor: of the next page; empty on the last one.
        :param is_followed: whether one entry more is known.
        """
        return shown_total(
            shown,
            offset=self.offset,
            is_first=not self.cursor,
            has_more=bool(cursor),
            is_followed=is_followed,
        )

    def pagination(self, total: ListTotal, cursor: str) -> Pagination:
        """Return how the answer describes the page.

        :param cursor: of the next page; empty on the last one.
        """
        return {
            "total": total.number,
            "total_is": total.kind.value,
            "total_is_exact": total.is_exact,
            "limit": self.limit,
            "offset": self.offset,
            "page": self.offset // self.limit + 1,
            "per_page": self.limit,
            **further(cursor),
        }


def further(cursor: str) -> Further:
    """Return how an answer says where to go on.

    :param cursor: of what follows; empty if nothing does.
    """
    return {"has_more": True, "next_cursor": cursor} if cursor else {"has_more": False}


def requested_page(query: Mapping[str, str]) -> RequestedPage:
    """Return the page that a query asks for.

    :raises InvalidRequestError: a number that is none, out of range, or a page that is too far in.
    """
    limit = number_of(query, "per_page" if query.get("per_page", "").strip() else "limit")
    offset = number_of(query, "offset")
    page = number_of(query, "page")
    if page > 1:
        offset = (page - 1) * limit
    if offset > MAX_OFFSET:
        message = f"The 'page' parameter leads beyond the {MAX_OFFSET} items that can be skipped."
        raise field_error("page", message, "Go on with 'cursor' instead.", received=page)
    return RequestedPage(limit, offset, text_of(query, "cursor"))


def write_mark(kind: str, text: str) -> str:
    """Return a cursor that names the last item shown; empty for no text.

    :param kind: makes the cursors of different lists differ.
    """
    if not text:
        return ""
    return base64.urlsafe_b64encode(f"{kind}{text}".encode()).decode().rstrip("=")


def read_mark(kind: str, cursor: str) -> str:
    """Read what :func:`write_mark` wrote.

    :raises InvalidRequestError: no cursor of this list.
    """
    if not cursor:
        return ""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except (binascii.Error, ValueError):
        text = ""
    if not text.startswith(kind):
        message = "The 'cursor' parameter is not one that this server gave out."
        hint = "Pass next_cursor of the page before as it is, or start without a cursor."
        raise field_error("cursor", message, hint)
    return text.removeprefix(kind)
