"""Keeps API keys in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ojs_aws.domain.api_keys import ApiKey
from ojs_aws.ports import StaleKeyError


@dataclass
class MemoryApiKeys:
    """Keeps API keys by id."""

    kept: dict[str, ApiKey] = field(default_factory=dict)

    def load(self, key_id: str) -> ApiKey | None:
        """Return one key."""
        return self.kept.get(key_id)

    def save(self, key: ApiKey) -> None:
        """Keep a key of the next version.

        :raises StaleKeyError: another one is kept.
        """
        before = self.kept.get(key.id)
        if (before.version + 1 if before else 0) != key.version:
            raise StaleKeyError
        self.kept[key.id] = key

    def page(self, after: str, limit: int) -> Sequence[ApiKey]:
        """Return keys by id, after the named one."""
        return [self.kept[key_id] for key_id in sorted(self.kept) if key_id > after][:limit]
