"""Limits, for operators: what they count, and limits of queues (ojs-rate-limiting, 7.2, 10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ojs_aws.domain.errors import JsonValue, NotFoundError
from ojs_aws.domain.json_text import decode, encode
from ojs_aws.domain.limits import Bucket, Limit, queue_key, read_limit
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import Clock, Limits
from ojs_aws.services.queues import Queues


@dataclass(frozen=True, slots=True)
class Counted:
    """A limit, and what its bucket counts.

    :ivar limit: the policy that was seen last; jobs may bring others.
    """

    bucket: Bucket
    limit: Limit
    now: Instant


@dataclass(frozen=True, slots=True)
class LimitBook:
    """Reads and sets limits."""

    limits: Limits
    queues: Queues
    clock: Clock

    def get(self, key: str) -> Counted:
        """One limit.

        :raises NotFoundError: no job has brought it, and no queue has it.
        """
        bucket = self.limits.load(key)
        if bucket is None or not bucket.policy:
            raise NotFoundError(
                f"There is no rate limit '{key[:256]}'.",
                details={"resource_type": "rate_limit", "resource_id": key[:256]},
            )
        return self._counted(bucket)

    def page(self, after: str, limit: int) -> tuple[Sequence[Counted], str]:
        """Limits by key, and the key that the next page comes after; empty on the last one."""
        found = self.limits.page(after, limit + 1)
        shown = found[:limit]
        following = shown[-1].key if len(found) > limit else ""
        return [self._counted(each) for each in shown if each.policy], following

    def limit_queue(self, queue: str, value: JsonValue) -> Counted:
        """Limit how the jobs of a queue begin; each claim sees it from its next look on.

        :raises NotFoundError: there is no such queue, and undeclared ones are not allowed.
        :raises InvalidRequestError: the policy is malformed, or cannot be followed.
        """
        self.queues.check(queue)
        own = {**value, "key": queue_key(queue)} if isinstance(value, dict) else value
        limit = read_limit(own, queue)
        if limit is None:
            raise NotFoundError("There is no policy.")
        self.limits.set_for_queue(queue, limit.key, encode(limit.render()))
        return self.get(limit.key)

    def unlimit_queue(self, queue: str) -> None:
        """Limit the jobs of a queue no more."""
        self.queues.check(queue)
        self.limits.set_for_queue(queue, queue_key(queue), None)

    def _counted(self, bucket: Bucket) -> Counted:
        limit = read_limit(decode(bucket.policy), "") or Limit(key=bucket.key)
        return Counted(bucket, limit, self.clock.now())
