"""Declares the store of API keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ojs_aws.domain.api_keys import ApiKey
from ojs_aws.domain.limits.rules import Standing


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


class ClientBuckets(Protocol):
    """Stores one token bucket for each client, shared by all processes."""

    def charge(
        self, client: str, cost_us: int, latest_us: int, now_us: int, seen_us: int
    ) -> Standing:
        """Take tokens, all or none, atomically; while one is left, more may be owed.

        :param cost_us: by how much the instant at which the bucket is full moves on.
        :param latest_us: the latest instant that leaves a token to take.
        :param seen_us: what it was when it was last seen; a wrong guess costs a call, no more.
        """
