"""Envelopes of an exact size, for what is measured by size.

Random tokens are what ids, keys and signatures look like: deflating shortens their JSON to 53
percent. Ordinary JSON repeats its names and words, and shrinks to a fifth or less.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, Final, TypeAlias

JOB_TYPE: Final = "demo.echo"
TOKEN: Final = 32
_WORDS: Final = (
    "order",
    "customer",
    "invoice",
    "payment",
    "shipped",
    "total",
    "currency",
    "status",
)
_PADDING: Final = len(json.dumps([""])) - len("[]") + len(",")

Arguments: TypeAlias = list[Any]
MakeArguments: TypeAlias = Callable[[int], Arguments]


def envelope(arguments: Arguments) -> str:
    """Return the JSON of a job with these arguments, as a client sends it."""
    return json.dumps({"type": JOB_TYPE, "args": arguments}, separators=(",", ":"))


def random_tokens(size_bytes: int, seed: int = 1) -> Arguments:
    """Return arguments of random hexadecimal tokens, with which an envelope has exactly this size.

    :raises ValueError: the size is too small for an envelope.
    """
    chosen = random.Random(seed)
    return _filled([], size_bytes, lambda: f"{chosen.getrandbits(4 * TOKEN):0{TOKEN}x}")


def ordinary_json(size_bytes: int, seed: int = 1) -> Arguments:
    """Return arguments of entries that resemble each other; the envelope has exactly this size.

    :raises ValueError: the size is too small for an envelope.
    """
    chosen = random.Random(seed)
    entries: Arguments = []
    length = len(envelope(entries))
    while length < size_bytes - 80:
        name, note = chosen.choice(_WORDS), chosen.choice(_WORDS)
        entry = {name: chosen.randrange(10**6), "note": note}
        length += _added_by(entry, entries)
        entries.append(entry)
    return _filled(entries, size_bytes, lambda: chosen.choice(_WORDS))


def _filled(arguments: Arguments, size_bytes: int, text: Callable[[], str]) -> Arguments:
    """Add texts until the envelope has its size; the last one is cut, or made longer, to fit."""
    arguments, length = [*arguments], len(envelope(arguments))
    while (left := size_bytes - length - _added_by("", arguments)) > 0:
        piece = text()
        is_last = left <= len(piece) + _PADDING
        added = (piece * (1 + left // len(piece)))[:left] if is_last else piece
        length += _added_by(added, arguments)
        arguments.append(added)
    if len(envelope(arguments)) != size_bytes:
        raise ValueError(f"No envelope has {size_bytes} bytes with such arguments.")
    return arguments


def _added_by(entry: object, arguments: Arguments) -> int:
    """Return by how many bytes an envelope grows with another argument."""
    return len(json.dumps(entry, separators=(",", ":"))) + bool(arguments)
