"""The buckets of limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ojs_aws.domain.limits import Bucket
from ojs_aws.domain.timestamps import Instant


class Limits(Protocol):
    """The buckets of limits. Places are taken and given back by the writes of jobs."""

    def note(self, key: str, policy: str, now: Instant) -> None:
        """Remember the policy that a job brought; no call for one that this process has seen."""

    def set_for_queue(self, queue: str, key: str, policy: str | None) -> None:
        """Limit a whole queue, or no more. FETCH learns of it from the head of the ready list."""

    def policy_of_queue(self, key: str) -> str:
        """What :meth:`set_for_queue` was last told under this key; empty for no limit."""

    def load(self, key: str) -> Bucket | None:
        """One bucket, strongly consistent."""

    def page(self, after: str, limit: int) -> Sequence[Bucket]:
        """Up to ``limit`` buckets by key, those after the named one."""
