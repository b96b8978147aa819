"""Declares the store of API keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ojs_aws.domain.api_keys import ApiKey


class StaleKeyError(Exception):
    """Reports that somebody else changed the key in between, or that the id exists."""


class ApiKeys(Protocol):
    """Stores API keys, without their secrets."""

    def load(self, key_id: str) -> ApiKey | None:
        """Read one key, strongly consistent: a revoked key is never accepted again."""

    def save(self, key: ApiKey) -> None:
        """Write a key, if its record has the version before this one, or is new at version 0.

        :raises StaleKeyError: it has another.
        """

    def page(self, after: str, limit: int) -> Sequence[ApiKey]:
        """Return up to ``limit`` keys by id, after the named one."""
