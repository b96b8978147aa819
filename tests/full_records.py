"""Whether the record of a test has something in each of its members."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any


def left_out(record: object) -> set[str]:
    """Return the members of a record, and of the records in it, that are as by default."""
    return set(_left_out(record))


def _left_out(record: Any) -> Iterator[str]:
    for each in fields(record):
        value = getattr(record, each.name)
        usual = each.default if each.default_factory is MISSING else each.default_factory()
        if value == usual:
            yield f"{type(record).__name__}.{each.name}"
        for part in value if isinstance(value, tuple) else (value,):
            if is_dataclass(part):
                yield from _left_out(part)
