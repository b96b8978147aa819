"""Chains of invocations, as Lambda counts them: a link for each message that invokes a function.

Lambda stops a chain after about 16 links, unless the function is allowed to loop
(docs/decisions/0049). Those that are allowed must do something: a chain in which nothing changes
is one that nobody intended, and that nobody would stop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

MAX_LINKS: Final = 16
SHORT_MS: Final = 900_000
"""So many invocations that change nothing may not follow each other within this time."""

LOOPS: Final = frozenset({"tick", "worker"})
"""Functions whose loops are intended; tests/infra/test_loops.py holds the template to them."""

FUNCTIONS: Final = {"lambda": "worker", "dispatch": "worker", "alarm": "tick"}
"""Which function a message invokes, by the kind of the operation."""


@dataclass(frozen=True, slots=True)
class Chain:
    """How an invocation came about.

    :ivar links: invocations by messages, with this one; 0 for one that nobody's message caused.
    :ivar idle: the last of them in which nothing changed.
    :ivar since: when the first of those began.
    """

    links: int = 0
    idle: int = 0
    since: int = 0

    def following(self, now: int) -> Chain:
        """Return the chain with one more link."""
        return Chain(self.links + 1, self.idle + 1, self.since if self.idle else now)

    def changed(self) -> Chain:
        """Return the chain whose last link has changed something."""
        return replace(self, idle=0)

    def problem(self, kind: str, now: int) -> str:
        """Return what is wrong with an invocation at the end of this chain; empty for nothing."""
        function = FUNCTIONS.get(kind, kind)
        if self.links > MAX_LINKS and function not in LOOPS:
            return f"Lambda stops the {function} function after {self.links} invocations"
        if self.idle > MAX_LINKS and now - self.since < SHORT_MS:
            return f"{self.idle} invocations of a chain changed nothing"
        return ""


def longest(chains: Iterable[Chain]) -> Chain:
    """Return the longest of the chains that one invocation continues."""
    return max(chains, key=lambda chain: (chain.links, chain.idle), default=Chain())
