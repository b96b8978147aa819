"""What became of the calls of a client on one server."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

SERVERS: Final[Mapping[str, str]] = {
    "local": "local, open",
    "local-keys": "local, API keys",
    "deployed": "deployed, open",
    "deployed-keys": "deployed, API keys",
}
"""The servers by name, and how the table calls them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One call of a driver.

    :ivar detail: what was wrong; empty when it passed.
    """

    call: str
    is_ok: bool
    detail: str = ""


class BrokenDriverError(Exception):
    """A driver ended before its last call, or printed what nobody understands."""


def read_outcomes(lines: Iterable[str]) -> list[Outcome]:
    """Return the outcomes that a driver printed, a line of JSON for each; other lines are not its.

    :raises BrokenDriverError: it printed none, or one call twice.
    """
    outcomes: list[Outcome] = []
    for line in lines:
        if not line.startswith('{"') or '"call"' not in line:
            continue
        reported = json.loads(line)
        outcomes.append(
            Outcome(reported["call"], reported["ok"] is True, reported.get("detail", ""))
        )
    names = [outcome.call for outcome in outcomes]
    if not names or len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise BrokenDriverError(f"The driver reported {len(names)} calls; twice: {twice}.")
    return outcomes
