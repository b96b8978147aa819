"""Reads the values of settings from the texts of the environment, and the lowest level to log.

What reads a value raises a ValueError that says what it expects.

Lambda takes a line without a level for INFO, and metrics (EMF) are such lines: a function whose
level at Lambda is WARN publishes no metrics. So the level at Lambda is INFO at most, and what is
above it is filtered here. Powertools does not do that: it prefers Lambda's level to its own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})
_SCOPES = frozenset({"producer", "worker", "operator", "read-only", "admin"})


def boolean(text: str) -> bool:
    """Read a switch; an empty text switches it off."""
    lowered = text.strip().lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    raise ValueError("expected 1/0, true/false, yes/no or on/off")


def integer(least: int, most: int) -> Callable[[str], int]:
    """Return what reads a whole number within bounds."""

    def parse(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise ValueError(f"expected an integer from {least} to {most}")
        return value

    return parse


def names(text: str) -> tuple[str, ...]:
    """Read names separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def seconds_by_name(least: int, most: int) -> Callable[[str], tuple[tuple[str, int], ...]]:
    """Return what reads ``name=seconds`` pairs, separated by commas."""
    number = integer(least, most)

    def parse(text: str) -> tuple[tuple[str, int], ...]:
        pairs = [entry.partition("=") for entry in names(text)]
        if not all(name.strip() and mark for name, mark, _ in pairs):
            raise ValueError("expected name=seconds, separated by commas")
        return tuple((name.strip(), number(value)) for name, _, value in pairs)

    return parse


def scopes_by_arn(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return scopes by ARN, the longest ARN first, so that the first match is the closest."""
    import json  # for this setting only

    given = json.loads(text) if text.strip() else {}
    if not isinstance(given, dict) or not all(
        isinstance(scopes, list) and {*scopes} <= _SCOPES for scopes in given.values()
    ):
        raise ValueError(f"expected a JSON object of arrays of {', '.join(sorted(_SCOPES))}")
    pairs = [(arn, tuple(scopes)) for arn, scopes in given.items()]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


VARIABLE: Final = "POWERTOOLS_LOG_LEVEL"


def raise_level(logger: logging.Logger, environ: Mapping[str, str]) -> None:
    """Let a logger, and those below it, log nothing below the environment's level."""
    level = logging.getLevelNamesMapping().get(environ.get(VARIABLE, "").upper(), 0)
    if level > logger.level:
        logger.setLevel(level)
