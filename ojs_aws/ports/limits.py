"""The buckets of limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ojs_aws.domain.limits.rules import Bucket, Scope
from ojs_aws.domain.timestamps import Instant


class Limits(Protocol):
    """The buckets of limits. Places are taken and given back by the writes of jobs."""

    def note(self, key: str, policy: str, queue: str, now: Instant) -> None:
        """Remember the policy that a job brought; no call for one that this process has seen."""

    def override(
        self, key: str, scope: Scope | None, text: str, until: Instant | None, now: Instant
    ) -> None:
        """Lay down what counts for a key. Whoever is taking a place meanwhile takes notice.

        FETCH learns of a queue's from the head of the ready list, of a type's by :meth:`scopes`.

        :param scope: the jobs that the key concerns without naming it.
        :param text: the override as it is stored.
        :param until: when it ends by itself.
        """

    def lift(self, key: str, scope: Scope | None, now: Instant) -> None:
        """Undo :meth:`override`."""

    def scopes(self, now: Instant) -> Sequence[Scope]:
        """The types that something is laid down for, in one call."""

    def block(self, key: str, until: Instant, exhausted: str) -> None:
        """Let no job of a key begin before an instant; an earlier one changes nothing.

        :param exhausted: what the bucket says of it.
        """

    def tell(self, key: str, exhausted: str, now: Instant) -> None:
        """Note that jobs have to wait for a bucket, unless it says so already."""

    def policy_of_queue(self, key: str) -> str:
        """What was last laid down for a queue's key, as text; empty for no limit."""

    def load(self, key: str) -> Bucket | None:
        """One bucket, strongly consistent."""

    def page(self, after: str, limit: int) -> Sequence[Bucket]:
        """Up to ``limit`` buckets by key, those after the named one."""
