"""Keeps the limits of jobs and of clients in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ojs_aws.domain.limits.rules import Bucket, LimitScope, Standing, scope_of
from ojs_aws.domain.timestamps import Instant
from tests.model.jobs import MemoryStore


@dataclass
class MemoryLimits:
    """Keeps the limits in the buckets of a store."""

    store: MemoryStore
    types: dict[str, Instant] = field(default_factory=dict)

    def note(self, key: str, policy: str, queue: str, now: Instant) -> None:
        """Remember a policy."""
        bucket = self._of(key)
        queues = tuple(sorted({*bucket.queues, queue}))
        self.store.buckets[key] = replace(bucket, policy=policy, queues=queues)

    def override(
        self, key: str, scope: LimitScope | None, text: str, until: Instant | None, now: Instant
    ) -> None:
        """Set a policy."""
        assert until is None or until > now
        bucket = self._of(key)
        self.store.buckets[key] = replace(bucket, override=text, version=bucket.version + 1)
        if scope is not None and scope.type:
            self.types[key] = until or Instant(0)
        elif scope is not None:
            self.store.queue_limits[scope.queue] = text

    def lift(self, key: str, scope: LimitScope | None, now: Instant) -> None:
        """Remove an operator's policy."""
        bucket = self._of(key)
        self.store.buckets[key] = replace(bucket, override="", version=bucket.version + 1)
        self.types.pop(key, None)
        if scope is not None and not scope.type:
            self.store.queue_limits.pop(scope.queue, None)

    def scopes(self, now: Instant) -> list[LimitScope]:
        """Return the types with a limit."""
        keys = sorted(key for key, until in self.types.items() if not 0 < until <= now)
        return [scope for key in keys if (scope := scope_of(key))]

    def block(self, key: str, until: Instant, exhausted: str) -> None:
        """Hold a bucket back."""
        bucket = self._of(key)
        if bucket.blocked_until is None or bucket.blocked_until < until:
            self.store.buckets[key] = replace(bucket, blocked_until=until, exhausted=exhausted)

    def note_exhausted(self, key: str, exhausted: str, now: Instant) -> None:
        """Note that a bucket is exhausted."""
        bucket = self._of(key)
        if bucket.is_silent(now):
            self.store.buckets[key] = replace(bucket, exhausted=exhausted, exhausted_at=now)

    def _of(self, key: str) -> Bucket:
        return self.store.buckets.get(key, Bucket(key=key))

    def policy_of_queue(self, key: str) -> str:
        """Return the limit of a queue."""
        return self.store.queue_limits.get(key.removeprefix("queue:"), "")

    def load(self, key: str) -> Bucket | None:
        """Return one bucket."""
        return self.store.buckets.get(key)

    def page(self, after: str, limit: int) -> list[Bucket]:
        """Return buckets in the order of their keys."""
        keys = sorted(key for key in self.store.buckets if key > after)
        return [self.store.buckets[key] for key in keys[:limit]]


@dataclass
class MemoryClientBuckets:
    """Keeps token buckets in a dict."""

    full_at: dict[str, int] = field(default_factory=dict)

    def charge(
        self, client: str, cost_us: int, latest_us: int, now_us: int, seen_us: int
    ) -> Standing:
        """Take tokens, all or none."""
        assert seen_us >= 0
        found = self.full_at.get(client, 0)
        after = max(found, now_us) + cost_us
        if found > max(now_us, latest_us):
            return Standing(found, is_refused=True)
        self.full_at[client] = after
        return Standing(after)
