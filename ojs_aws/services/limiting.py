"""What limits say in one round of a FETCH (ojs-rate-limiting, section 8).

A job that may not begin is passed by, and so are those behind it with the same bucket: they are
known by their place in line, and cost nothing. A limit of the whole queue ends the round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import decode, encode
from ojs_aws.domain.limits import (
    BUSY_FOR_MS,
    Bucket,
    Limit,
    OnLimit,
    Refusal,
    read_limit,
    take,
)
from ojs_aws.domain.timestamps import Instant


@dataclass(slots=True)
class Limiting:
    """The limits of one queue's round.

    :ivar refused: when it is worth asking again, by bucket.
    :ivar has_passed_by: whether a job was kept waiting.
    :ivar dropping: buckets of which jobs are given up, so that each is looked at.
    """

    queue_limit: Limit | None = None
    refused: dict[str, Instant] = field(default_factory=dict)
    has_passed_by: bool = False
    dropping: set[str] = field(default_factory=set)

    def of_queue(self, policy: str, queue: str) -> None:
        """The policy of the whole queue, as the head of its ready list shows it."""
        if policy:
            self.queue_limit = read_limit(decode(policy), queue)

    @property
    def refuses_all(self) -> bool:
        """Whether the queue itself is at its limit."""
        return self.queue_limit is not None and self.queue_limit.key in self.refused

    def applies_to(self, key: str) -> bool:
        """Whether a job with this bucket (empty: with none) is limited at all."""
        return bool(key) or self.queue_limit is not None

    def refuses(self, key: str) -> bool:
        """Whether it is known already that such a job must wait."""
        is_known = key in self.refused and key not in self.dropping
        is_refused = self.refuses_all or (bool(key) and is_known)
        self.has_passed_by = self.has_passed_by or is_refused
        return is_refused

    def keys_of(self, key: str) -> list[str]:
        """The buckets that a claim needs."""
        of_queue = [self.queue_limit.key] if self.queue_limit else []
        return sorted({*of_queue, *([key] if key else [])})

    def take(
        self, job: JobRecord, buckets: Mapping[str, Bucket], now: Instant
    ) -> list[tuple[Bucket, Bucket]] | None:
        """The buckets before and after the job's start; None when it must wait."""
        takes = []
        for limit in self._limits_of(job):
            before = buckets.get(limit.key, Bucket(key=limit.key))
            after = take(before, limit, now)
            if isinstance(after, Refusal):
                self.refused[limit.key] = after.until
                self.has_passed_by = True
                return None
            takes.append((before, replace(after, policy=encode(limit.render()))))
        return takes

    def _limits_of(self, job: JobRecord) -> list[Limit]:
        """The policies that must all be satisfied, one for each bucket."""
        if job.limit is None or self.queue_limit is None:
            return [limit for limit in (self.queue_limit, job.limit) if limit is not None]
        if job.limit.key == self.queue_limit.key:
            return [stricter(self.queue_limit, job.limit)]
        return [self.queue_limit, job.limit]

    def drops(self, job: JobRecord) -> bool:
        """Whether the job's own policy gives it up rather than let it wait for its bucket."""
        limit = job.limit
        if limit is None or limit.on_limit is not OnLimit.DROP or limit.key not in self.refused:
            return False
        self.dropping.add(limit.key)
        return True

    def pass_by(self, key: str, now: Instant) -> None:
        """Too many take places at once: this round leaves such jobs alone."""
        for each in self.keys_of(key):
            self.refused.setdefault(each, now)
        self.has_passed_by = True

    def wait_ms(self, now: Instant) -> int:
        """How long messages that found nothing to run may stay away; 0 where nothing waited."""
        if not self.has_passed_by or not self.refused:
            return 0
        return min(max(1, min(self.refused.values()) - now), BUSY_FOR_MS)


def stricter(queue: Limit, job: Limit) -> Limit:
    """A job without a key of its own in a queue with a limit: the queue's, but no more than both.

    Of two windows the queue's own counts.
    """
    bounds = [each.concurrency for each in (queue, job) if each.concurrency is not None]
    return replace(
        queue,
        concurrency=min(bounds, default=None),
        rate=queue.rate or job.rate,
        throttle=queue.throttle or job.throttle,
    )
