"""The records of API keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ojs_aws.domain.api_keys import ApiKey


class StaleKeyError(Exception):
    """Somebody else changed the key in between, or there is one of this id already."""


class ApiKeys(Protocol):
    """The records of API keys, without their secrets."""

    def load(self, key_id: str) -> ApiKey | None:
        """One key, strongly consistent: a key that was revoked is not accepted again."""

    def save(self, key: ApiKey) -> None:
        """Write a key, if its record has the version before this one, or is new at version 0.

        :raises StaleKeyError: it has another.
        """

    def page(self, after: str, limit: int) -> Sequence[ApiKey]:
        """Up to ``limit`` keys by id, those after the named one."""
