"""Declares the counters of API clients' requests."""

from __future__ import annotations

from typing import Protocol

from ojs_aws.domain.limits.clients import Standing


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
