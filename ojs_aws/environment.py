"""Reads settings from the texts of environment variables, and applies the log level that they name.

Each reader of a value raises a ValueError that says what it expects.

The log level is applied here, not by Lambda's own filter. Lambda treats a line without a level as
INFO, and metrics in the embedded metric format are such lines: a function whose filter at Lambda is
WARN publishes no metrics. So that filter is never above INFO, and this module drops what is below
the level that POWERTOOLS_LOG_LEVEL names. Powertools does not do that: it follows Lambda's filter.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
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
    """Return a function that reads a whole number within bounds."""

    def parse(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise ValueError(f"expected an integer from {least} to {most}")
        return value

    return parse


def names(text: str) -> tuple[str, ...]:
    """Read names separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def numbers_by_name(
    least: int, most: int, what: str = "seconds"
) -> Callable[[str], tuple[tuple[str, int], ...]]:
    """Return a function that reads ``name=seconds`` pairs, or others, separated by commas."""
    number = integer(least, most)

    def parse(text: str) -> tuple[tuple[str, int], ...]:
        pairs = [entry.partition("=") for entry in names(text)]
        if not all(name.strip() and mark for name, mark, _ in pairs):
            raise ValueError(f"expected name={what}, separated by commas")
        return tuple((name.strip(), number(value)) for name, _, value in pairs)

    return parse


def scopes_by_arn(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Read scopes by ARN; the longest ARN comes first, so that the first match is the closest."""
    import json  # for this setting only

    given = json.loads(text) if text.strip() else {}
    if not isinstance(given, dict) or not all(
        isinstance(scopes, list) and {*scopes} <= _SCOPES for scopes in given.values()
    ):
        raise ValueError(f"expected a JSON object of arrays of {', '.join(sorted(_SCOPES))}")
    pairs = [(arn, tuple(scopes)) for arn, scopes in given.items()]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


def json_object(text: str) -> str:
    """Return a JSON object as it is written, or an empty text; who needs it checks its members."""
    if not text.strip():
        return ""
    import json  # few settings are objects

    if not isinstance(json.loads(text), dict):
        raise ValueError("expected a JSON object")
    return text


def text_of(value: object) -> str:
    """Return a value as the environment would contain it."""
    if isinstance(value, bool):
        return str(int(value))
    return ",".join(value) if isinstance(value, tuple) else str(value)


def settings_table(described: Iterable[tuple[str, str, str]]) -> str:
    """Return settings as a Markdown table.

    :param described: variable, default and meaning of each.
    """
    rows = [
        f"| `{variable}` | {f'`{default}`' if default else 'empty'} | {meaning} |"
        for variable, default, meaning in described
    ]
    return "\n".join(["| variable | default | meaning |", "|---|---|---|", *rows])


VARIABLE: Final = "POWERTOOLS_LOG_LEVEL"


def raise_level(logger: logging.Logger, environ: Mapping[str, str]) -> None:
    """Let a logger, and its children, drop lines below the level that the environment names."""
    level = logging.getLevelNamesMapping().get(environ.get(VARIABLE, "").upper(), 0)
    if level > logger.level:
        logger.setLevel(level)
