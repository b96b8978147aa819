"""Declares the store of limits' buckets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ojs_aws.domain.limits.rules import Bucket, LimitScope
from ojs_aws.domain.timestamps import Instant


class Limits(Protocol):
    """Stores the buckets of limits. Writes of jobs take places and give them back."""

    def note(self, key: str, policy: str, queue: str, now: Instant) -> None:
        """Remember the policy that a job named; no call if this process has seen it."""

    def override(
        self, key: str, scope: LimitScope | None, text: str, until: Instant | None, now: Instant
    ) -> None:
        """Set the policy that applies to a key. Jobs that begin meanwhile notice it.

        FETCH learns of a queue's from the head of the ready list, of a type's by :meth:`scopes`.

        :param scope: the jobs that the key concerns without naming it.
        :param text: the override as it is stored.
        :param until: when it ends by itself.
        """

    def lift(self, key: str, scope: LimitScope | None, now: Instant) -> None:
        """Remove what :meth:`override` set."""

    def scopes(self, now: Instant) -> Sequence[LimitScope]:
        """Return the types that have an override, in one call."""

    def block(self, key: str, until: Instant, exhausted: str) -> None:
        """Let no job of a key begin before an instant; an earlier one changes nothing.

        :param exhausted: what the bucket says of it.
        """

    def note_exhausted(self, key: str, exhausted: str, now: Instant) -> None:
        """Note that jobs have to wait for a bucket, unless that is noted already."""

    def policy_of_queue(self, key: str) -> str:
        """Return the last policy set for a queue's key, as text; empty for no limit."""

    def load(self, key: str) -> Bucket | None:
        """Return one bucket, strongly consistent."""

    def page(self, after: str, limit: int) -> Sequence[Bucket]:
        """Return up to ``limit`` buckets by key, after the named one."""
