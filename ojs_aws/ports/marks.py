"""Declares the store of how far some upkeep has been done."""

from __future__ import annotations

from typing import Protocol

from ojs_aws.domain.timestamps import Instant


class Marks(Protocol):
    """Stores instants up to which some upkeep has been done, by name."""

    def read(self, name: str) -> Instant | None:
        """Return the mark; None if there is none yet."""

    def move(self, name: str, until: Instant) -> None:
        """Set a mark, never back."""
