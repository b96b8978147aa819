"""Shows limits within the bounds of callers, and sets them (ojs-rate-limiting, 7.2, 10).

A limit that covers a queue or a type by itself says so in its key (``queue:email``). All other keys
are shared by whoever names them: what they count is also of others.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.access import UNBOUND, View
from ojs_aws.domain.attributes import check_type, not_found
from ojs_aws.domain.errors import InvalidPolicyError, JsonValue, NotFoundError, OjsError
from ojs_aws.domain.job_policies import Limit
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.jobs.ready_keys import limit_of, tenant_in
from ojs_aws.domain.json_text import decode
from ojs_aws.domain.limits import Bucket, LimitScope, queue_key, scope_of, type_key
from ojs_aws.domain.limits.policies import (
    Override,
    check_key,
    effective,
    override_of,
    read_limit,
    read_override,
)
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.queues.service import Queues

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.adapters.dynamodb.limits import Limits

MAX_TYPES: Final = 1_000
"""Job types and tenants that may have limits at the same time."""

MAX_QUEUES: Final = 10
MAX_ROWS: Final = 1_000
"""Where it is looked how many jobs wait: queues, and jobs at the head of each."""
MAX_WOKEN: Final = 100
SKIPPED_AT_ONCE: Final = 1_000
"""Limits that one query passes over."""

_logger = logging.getLogger(__name__)


def is_seen(key: str, view: View) -> bool:
    """Return whether a view includes all jobs that a limit counts."""
    scope = scope_of(key)
    return view == UNBOUND or (scope is not None and view.shows(scope.queue, scope.type))


def seen_page(limits: Limits, view: View, after: str, limit: int) -> Sequence[Bucket]:
    """Return up to ``limit`` buckets that a caller with bounds may see, by key, after a key.

    Makes a read or a query, or both, for each of the bounds: the queues if there are any.
    """
    found = dict[str, Bucket]()
    for bound in view.queues or view.types:
        key = queue_key(bound) if view.queues else type_key(bound)
        is_name = not bound.endswith("*")
        prefix = f"{key}:type:" if is_name else key[:-1]
        if is_name and key > after and is_seen(key, view) and (named := limits.load(key)):
            found[key] = named
        found |= {each.key: each for each in _beginning(limits, view, prefix, after, limit)}
    return [found[key] for key in sorted(found)[:limit]]


def _beginning(limits: Limits, view: View, prefix: str, after: str, limit: int) -> Iterator[Bucket]:
    """Yield the buckets whose keys begin so: all of them are of the caller's queues."""
    count = 0
    # A text before all that begin so, and behind all smaller ones that matter:
    behind = max(after, prefix[:-1] + chr(ord(prefix[-1]) - 1) + "\U0010ffff")
    while count < limit:
        page = limits.page(behind, limit)
        for bucket in page:
            if not bucket.key.startswith(prefix):
                return
            if is_seen(bucket.key, view):
                count += 1
                yield bucket
        if len(page) < limit:
            return
        behind = page[-1].key


@dataclass(frozen=True, slots=True)
class Counted:
    """Holds a limit, and what its bucket counts.

    :ivar limit: the policy that applies: the operator's, else the one that a job named last;
        jobs may bring others.
    :ivar override: the operator's policy.
    :ivar waiting: jobs that are ready and have to pass this limit; at least so many where
        ``is_exact`` is false.
    """

    bucket: Bucket
    limit: Limit
    now: Instant
    override: Override | None
    waiting: int
    is_exact: bool


@dataclass(frozen=True, slots=True)
class LimitAdmin:
    """Reads and sets limits."""

    limits: Limits
    store: JobStore
    queues: Queues
    clock: Clock

    def get(self, key: str, view: View = UNBOUND) -> Counted:
        """Return one limit, if the caller may see it.

        :raises NotFoundError: no job has named it, and no operator has set a policy for it.
        """
        bucket = self.limits.load(key) if is_seen(key, view) else None
        now = self.clock.now()
        if bucket is None or not _is_known(bucket, now):
            raise _unknown(key)
        return self._counted(bucket, _Waiting(self.store, self.queues), now)

    def page(
        self, after: str, limit: int, *, skip: int = 0, view: View = UNBOUND
    ) -> tuple[Sequence[Counted], str]:
        """Return limits by key, and the key after which the next page begins; empty on the last.

        :param skip: how many limits to pass over first; they are read for that.
        :param view: what the caller may see.
        """
        read = self.limits.page if view == UNBOUND else partial(seen_page, self.limits, view)
        while skip > 0:
            passed = read(after, min(skip, SKIPPED_AT_ONCE))
            if not passed:
                return (), ""
            after, skip = passed[-1].key, skip - len(passed)
        found = read(after, limit + 1)
        shown = found[:limit]
        following = shown[-1].key if len(found) > limit else ""
        now, waiting = self.clock.now(), _Waiting(self.store, self.queues)
        counted = [self._counted(each, waiting, now) for each in shown if _is_known(each, now)]
        return counted, following

    def override(self, key: str, value: JsonValue) -> Counted:
        """Set the policy that applies to a key, whatever jobs name (section 10.2).

        ``queue:<name>``, ``type:<type>`` and ``queue:<name>:type:<type>`` concern all jobs of a
        queue, of a type, or of both, whether they name a limit or not. Claims see it at once;
        that a type has one they see within a few seconds.

        :raises NotFoundError: there is no such queue, and undeclared ones are not allowed.
        :raises InvalidRequestError: key or policy is malformed.
        :raises InvalidPolicyError: the policy cannot be followed, or too many types have one.
        """
        now, scope = self.clock.now(), self._scope(check_key(key))
        override = read_override(value, now)
        if scope is not None and override.over(None, key).limits_nothing:
            raise InvalidPolicyError(
                "The policy limits nothing.",
                details={"field": "rate_limit", "expected": "concurrency, rate or throttle"},
                hint="DELETE removes the limits that were set before.",
            )
        if scope is not None and scope.type:
            self.check_room(scope, now)
        self.limits.override(key, scope, override.text(), override.until, now)
        self._copy_mark(scope)
        counted = self.get(key)
        self.wake(counted.bucket, scope)
        return counted

    def check_room(self, scope: LimitScope, now: Instant) -> None:
        """Refuse one more limit of a type or a tenant beyond the maximum.

        :raises InvalidPolicyError: so many have one.
        """
        there = self.limits.scopes(now)
        if len(there) >= MAX_TYPES and scope not in there:
            raise InvalidPolicyError(
                f"{MAX_TYPES} job types and tenants have limits already, the most that may.",
                details={"field": "key", "max_types": MAX_TYPES},
                hint="DELETE /ojs/v1/rate-limits/{key} or /ojs/v1/admin/tenants/{id} ends one.",
            )

    def lift(self, key: str) -> None:
        """Remove an override: the policies that jobs name apply again.

        :raises NotFoundError: no operator has set a policy for the key.
        """
        scope, bucket = self._scope(check_key(key)), self.limits.load(key)
        if bucket is None or not bucket.override:
            raise _unknown(key)
        self._lift(bucket, scope)

    def _lift(self, bucket: Bucket, scope: LimitScope | None) -> None:
        self.limits.lift(bucket.key, scope, self.clock.now())
        self._copy_mark(scope)
        self.wake(bucket, scope)

    def limit_queue(self, queue: str, value: JsonValue) -> Counted:
        """Limit how the jobs of a queue begin; claims see it from their next read on.

        The queue exists from then on, though no job was pushed to it.

        :raises NotFoundError: there is no such queue, and undeclared ones are not allowed.
        :raises InvalidRequestError: the policy is malformed.
        :raises InvalidPolicyError: it cannot be followed.
        """
        counted = self.override(queue_key(queue), value)
        self.queues.registry.note(queue, self.clock.now())
        return counted

    def unlimit_queue(self, queue: str) -> None:
        """Remove the limit of a queue; a queue without one stays as it is."""
        self.queues.check(queue)
        self._lift(Bucket(key=queue_key(queue)), LimitScope(queue=queue))

    def _scope(self, key: str) -> LimitScope | None:
        """Return the jobs that a key covers by itself, with its names checked."""
        scope = scope_of(key)
        if scope is not None and scope.queue:
            self.queues.check(scope.queue)
        if scope is not None and scope.type:
            check_type(scope.type)
        return scope

    def _copy_mark(self, scope: LimitScope | None) -> None:
        """Let each line of a wide queue say that the queue has a limit, or has none any more."""
        if scope is not None and not scope.type:
            self.queues.copy_marks(scope.queue)

    def wake(self, bucket: Bucket, scope: LimitScope | None) -> None:
        """Wake workers: their messages may be hidden because of the earlier limit."""
        try:
            for queue in _queues_of(bucket, scope, self.queues)[:MAX_WOKEN]:
                self.queues.wake(queue)
        except OjsError:
            _logger.warning("Could not wake those who wait for %s", bucket.key, exc_info=True)

    def _counted(self, bucket: Bucket, waiting: _Waiting, now: Instant) -> Counted:
        own = read_limit(decode(bucket.policy), "") if bucket.policy else None
        scope = scope_of(bucket.key)
        counts = effective(own, bucket, now, is_scope=scope is not None) or Limit(key=bucket.key)
        rows, is_exact = waiting.for_bucket(bucket, scope)
        return Counted(bucket, counts, now, override_of(bucket, now), rows, is_exact)


@dataclass(slots=True)
class _Waiting:
    """Counts ready jobs, each queue's once."""

    store: JobStore
    queues: Queues
    known: dict[str, tuple[Counter[tuple[str, str]], bool]] = field(default_factory=dict)

    def for_bucket(self, bucket: Bucket, scope: LimitScope | None) -> tuple[int, bool]:
        """Return how many jobs wait for a bucket, and whether that is all."""
        if scope is not None and scope.queue and not scope.type:
            count = self.store.count(scope.queue, JobList.READY)
            return count.rows, count.is_exact
        name = ("key", bucket.key)
        if scope is not None:
            name = ("tenant", scope.tenant) if scope.tenant else ("type", scope.type)
        queues = _queues_of(bucket, scope, self.queues)
        counts = [self._of(queue) for queue in queues[:MAX_QUEUES]]
        is_exact = len(queues) <= MAX_QUEUES and all(exact for _, exact in counts)
        return sum(counter[name] for counter, _ in counts), is_exact

    def _of(self, queue: str) -> tuple[Counter[tuple[str, str]], bool]:
        """Count the jobs at a queue's head by bucket and by type; say whether these are all."""
        if queue not in self.known:
            page = self.store.listed(queue, JobList.READY, MAX_ROWS, newest_first=False)
            counter = Counter(("type", row.type) for row in page.jobs)
            counter.update(("key", limit_of(row.sort_key)) for row in page.jobs)
            counter.update(("tenant", tenant_in(row.sort_key)) for row in page.jobs)
            self.known[queue] = counter, not page.cursor
        return self.known[queue]


def _queues_of(bucket: Bucket, scope: LimitScope | None, queues: Queues) -> Sequence[str]:
    """Return the queues with jobs under a bucket."""
    if scope is None:
        return bucket.queues
    return [scope.queue] if scope.queue else [each.name for each in queues.list()]


def _is_known(bucket: Bucket, now: Instant) -> bool:
    return bool(bucket.policy) or override_of(bucket, now) is not None


def _unknown(key: str) -> NotFoundError:
    return not_found("rate_limit", key[:256], f"There is no rate limit '{key[:256]}'.")
