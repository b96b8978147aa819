"""Draws tables for terminals, and writes the numbers, times and durations in their cells."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.table import Table

COLOURS: Final = {
    "active": "cyan",
    "available": "green",
    "cancelled": "dim",
    "completed": "green",
    "discarded": "red",
    "failed": "red",
    "paused": "yellow",
    "retryable": "yellow",
    "running": "cyan",
    "scheduled": "blue",
    "stale": "red",
}
"""Of states, in tables."""

GAP: Final = 2
"""Spaces between two columns."""

NARROW: Final = 12
"""A text that is cut keeps so many characters, if it had them."""

_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""All but the tab and the end of a line."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Holds a table for the terminal.

    :ivar left_out: the names of columns for which there was no room.
    """

    table: Table
    left_out: tuple[str, ...] = ()


def drawn(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    title: str = "",
    is_whole: bool = False,
    width: int = 0,
    least: Sequence[str] = (),
    last: int = NARROW,
) -> Drawn:
    """Return rows as a table.

    :param is_whole: show every value whole, on several lines if need be.
    :param width: characters of a line; 0 for any number.
    :param least: columns to leave out where there is no room, the first one first.
    :param last: characters that the last column needs at least, if it has so many.
    """
    from rich.table import Table
    from rich.text import Text

    values = [list(row) for row in rows]
    cells = [[Text.from_markup(_cell(each)) for each in row] for row in values]
    widths = [max([len(n), *(row[at].cell_len for row in cells)]) for at, n in enumerate(columns)]
    kept = range(len(columns)) if is_whole else _kept(columns, widths, width, least, last)
    if width and not is_whole:
        widths = _cut(widths, kept, width)
    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for at in kept:
        table.add_column(
            Text(columns[at], no_wrap=True, overflow="ellipsis"),
            no_wrap=at == 0,
            overflow="fold",
            justify="right" if not is_whole and _are_numbers(values, at) else "left",
            max_width=widths[at] if width and at and not is_whole else None,
        )
    for row in cells:
        for cell in () if is_whole else row[1:]:
            cell.no_wrap, cell.overflow = True, "ellipsis"
        table.add_row(*(row[at] for at in kept))
    left_out = tuple(name for at, name in enumerate(columns) if at not in kept)
    return Drawn(table, left_out)


def _are_numbers(rows: Sequence[Sequence[object]], at: int) -> bool:
    return bool(rows) and all(type(row[at]) in {int, float} for row in rows)


def _kept(
    columns: Sequence[str], widths: Sequence[int], width: int, least: Sequence[str], last: int
) -> list[int]:
    """Return the columns for which there is room, if the last one is cut short."""
    kept = list(range(len(columns)))
    for name in least if width else ():
        needed = sum(widths[at] for at in kept[:-1]) + min(widths[kept[-1]], last)
        if needed + GAP * (len(kept) - 1) <= width:
            break
        kept.remove(columns.index(name))
    return kept


def _cut(widths: Sequence[int], kept: Sequence[int], width: int) -> list[int]:
    """Return widths that fit: the last column is cut first, then the widest one each time."""
    found = list(widths)
    over = sum(found[at] for at in kept) + GAP * (len(kept) - 1) - width
    last = kept[-1]
    if last:
        less = max(0, min(over, found[last] - NARROW))
        found[last], over = found[last] - less, over - less
    while over > 0:
        widest = max(kept[1:], key=lambda at: found[at], default=0)
        if not widest or found[widest] <= 1:
            break
        found[widest], over = found[widest] - 1, over - 1
    return found


def printable(text: str) -> str:
    """Return a text without the control characters that would steer a terminal."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def _cell(value: object) -> str:
    from rich.markup import escape

    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict | list):
        return escape(printable(json.dumps(value, ensure_ascii=False)))
    text = escape(printable(str(value)))
    colour = COLOURS.get(text)
    return f"[{colour}]{text}[/]" if colour else text


_SHARES: Final = ("p50", "p95", "p99")
_SECOND_MS: Final = 1000


def duration_text(ms: object) -> str:
    """Return a length of time in milliseconds for people, such as ``430 ms`` or ``2.4 s``."""
    from ojs_aws.domain.timestamps import span_text

    if not isinstance(ms, int | float):
        return ""
    if ms < _SECOND_MS:
        return f"{round(ms)} ms"
    return f"{ms / _SECOND_MS:.1f} s" if ms < 60 * _SECOND_MS else span_text(round(ms))


def spread_text(percentiles: object) -> str:
    """Return percentiles of times as ``40 ms, 1.2 s, 3.0 s``; empty if nothing was measured."""
    found = percentiles if isinstance(percentiles, dict) else {}
    return ", ".join(filter(None, (duration_text(found.get(each)) for each in _SHARES)))


def counted(number: int, thing: str) -> str:
    """Return a number of things, such as ``1 job`` and ``2 jobs``."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def when_text(text: object) -> str:
    """Return when an instant of an answer is, such as ``5 min ago`` or ``in 3 h``."""
    if not isinstance(text, str):
        return ""
    is_past = datetime.fromisoformat(text) <= datetime.now(UTC)
    return f"{age_text(text)} ago" if is_past else f"in {age_text(text)}"


def with_ages(members: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the members of an answer; instants also say how far they are from now."""
    for name, value in members.items():
        shown = value
        if name.endswith(("_at", "_until")):
            with suppress(ValueError, TypeError):  # what clients add to a job may be anything
                shown = f"{value} ({when})" if (when := when_text(value)) else value
        yield name, shown


def age_text(text: object, now: datetime | None = None) -> str:
    """Return how far an instant of an answer is from now, such as ``5 min``; empty for none."""
    from ojs_aws.domain.timestamps import span_text

    if not isinstance(text, str):
        return ""
    apart = (now or datetime.now(UTC)) - datetime.fromisoformat(text)
    return span_text(abs(round(apart.total_seconds() * 1000)))


def rates_of(throughput: object) -> tuple[float, float]:
    """Return how many jobs completed, and how many attempts failed, in a minute.

    In the answer, ``processed`` includes jobs that failed for good; ``retried`` counts the other
    failures.
    """
    found = throughput if isinstance(throughput, dict) else {}
    ended, failed, retried = (
        value if isinstance(value := found.get(f"{name}_per_minute"), int | float) else 0.0
        for name in ("processed", "failed", "retried")
    )
    return round(ended - failed, 2), round(failed + retried, 2)
