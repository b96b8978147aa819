"""Estimate from its text how long a regular expression can take to match.

Python's matcher tries alternatives one after the other, and nothing can interrupt it. A pattern
costs at most about ``length ** exponent`` steps here; one whose cost grows faster is refused.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Final

MAX_STEPS: Final = 2**24
"""Of one match: a tenth of a second, or two."""

MAX_LENGTH: Final = 4096
MIN_LENGTH: Final = 16
"""A pattern that could not safely be matched with so many characters is of no use."""

MAX_UNROLLED: Final = 10
"""Repetitions of a group that are counted as so many copies of it."""

_OPTIONAL: Final = 0.125
"""Eight choices between two ways count as one repetition."""

_TOKEN: Final = re.compile(
    r"""\\.|\[\^?\]?(?:\\.|[^\]\\])*\]     # an escape, a class
      | \((?:\?(?:P?<[^>]*>|[:=!>]|<[=!]|[a-zA-Z-]*:?))?   # a group opens
      | \) | \|
      | (?:[*+?]|\{\d*,?\d*\})[?+]?        # a quantifier
      | .""",
    re.DOTALL | re.VERBOSE,
)
_COUNTED: Final = re.compile(r"\{(\d*)(,?)(\d*)\}[?+]?\Z")


@dataclass(slots=True)
class _Part:
    """Holds what is known of a group, and of the last thing in it.

    :ivar exponent: the repetitions and choices in it.
    """

    exponent: float = 0.0
    last: float = 0.0


@functools.lru_cache(maxsize=1024)
def _exponent(pattern: str) -> float | None:
    """Return the exponent of a search, which tries each place of the text unless it is anchored."""
    exponent = exponent_of(pattern)
    if exponent is None:
        return None
    is_anchored = pattern.startswith("^") and "|" not in pattern
    return max(exponent + (0 if is_anchored else 1), 1)


def max_length(pattern: str) -> int:
    """Return how many characters can be matched in a bounded time; 0 if that cannot be bounded."""
    exponent = _exponent(pattern)
    if exponent is None:
        return 0
    length = min(MAX_LENGTH, int(MAX_STEPS ** (1 / exponent)))
    return length if length >= MIN_LENGTH else 0


def steps(pattern: str, length: int) -> int:
    """Return how many steps a match may take with a text of this length, within the limit."""
    return int(length ** (_exponent(pattern) or 1))


def exponent_of(pattern: str) -> float | None:
    """Return how many times repetitions and choices multiply; None where they are nested."""
    stack = [_Part()]
    for piece in _TOKEN.findall(pattern):
        part = stack[-1]
        if piece.startswith("("):
            stack.append(_Part())
        elif piece == ")" and len(stack) > 1:
            inner = stack.pop()
            stack[-1].last = inner.exponent
            stack[-1].exponent += inner.exponent
        elif piece == "|":
            part.exponent += _OPTIONAL
            part.last = 0.0
        elif piece[0] in "*+?" or (piece[0] == "{" and len(piece) > 1):
            times = _times(piece)
            if part.last and times > MAX_UNROLLED:
                return None
            part.exponent += part.last * (min(times, MAX_UNROLLED) - 1) + _weight(piece, times)
            part.last = 0.0
        else:
            part.last = 0.0
    return stack[0].exponent


def _times(token: str) -> int:
    """Return how often a quantifier repeats at most."""
    counted = _COUNTED.match(token)
    if counted is None:
        return 1 if token[0] == "?" else MAX_LENGTH
    least, comma, most = counted.groups()
    return int(most or (MAX_LENGTH if comma else least or 1))


def _weight(token: str, times: int) -> float:
    counted = _COUNTED.match(token)
    if counted is not None and (not counted[2] or counted[1] == counted[3]):
        return 0.0  # exactly so often: no choice
    return _OPTIONAL if times == 1 else 1.0
