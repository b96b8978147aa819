"""Shows callers with bounds the limits of their queues and job types.

A limit that covers a queue or a type by itself says so in its key (``queue:email``). The keys are
sorted, so that only those within the bounds are asked for. All other keys are shared by whoever
names them: what they count is also of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ojs_aws.domain.access import UNBOUND, View
from ojs_aws.domain.limits.rules import Bucket, queue_key, scope_of, type_key

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.limits import Limits


def is_seen(key: str, view: View) -> bool:
    """Return whether a view includes all jobs that a limit counts."""
    scope = scope_of(key)
    return view == UNBOUND or (scope is not None and view.shows(scope.queue, scope.type))


@dataclass(frozen=True, slots=True)
class SeenLimits:
    """Reads the limits that a caller with bounds may see, by key."""

    limits: Limits
    view: View

    def page(self, after: str, limit: int) -> Sequence[Bucket]:
        """Return up to ``limit`` buckets by key, after the named one.

        Makes a read or a query, or both, for each of the bounds: the queues if there are any.
        """
        found: dict[str, Bucket] = {}
        for bound in self.view.queues or self.view.types:
            key = queue_key(bound) if self.view.queues else type_key(bound)
            if bound.endswith("*"):
                buckets = [*self._beginning(key[:-1], after, limit)]
            else:
                buckets = [*self._named(key, after), *self._beginning(f"{key}:type:", after, limit)]
            found |= {bucket.key: bucket for bucket in buckets}
        return [found[key] for key in sorted(found)[:limit]]

    def _named(self, key: str, after: str) -> Iterator[Bucket]:
        bucket = self.limits.load(key) if key > after and is_seen(key, self.view) else None
        if bucket is not None:
            yield bucket

    def _beginning(self, prefix: str, after: str, limit: int) -> Iterator[Bucket]:
        """Yield the buckets whose keys begin so: all of them are of the caller's queues."""
        count = 0
        behind = max(after, _before(prefix))
        while count < limit:
            page = self.limits.page(behind, limit)
            for bucket in page:
                if not bucket.key.startswith(prefix):
                    return
                if is_seen(bucket.key, self.view):
                    count += 1
                    yield bucket
            if len(page) < limit:
                return
            behind = page[-1].key


def _before(prefix: str) -> str:
    """Return a text before all that begin so, and behind all smaller ones that matter."""
    return prefix[:-1] + chr(ord(prefix[-1]) - 1) + "\U0010ffff"
