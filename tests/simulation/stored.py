"""What is stored, as whoever runs the simulation sees it: decoded once, at each write."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ojs_aws.adapters.dynamodb.cron import PARTITION as CRON
from ojs_aws.domain.cron.entry import CronEntry
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.limits import Bucket, queue_key
from ojs_aws.domain.queues import QueueInfo
from ojs_aws.domain.workflows.workflow import Workflow


@dataclass
class Stored:
    """Jobs and what belongs to them, each by its id, name or key.

    :ivar paused_at: how many requests there were when a queue was paused last, and the time. A wide
        queue is paused with the last of its lines.
    :ivar paused_lines: the further lines of each wide queue that say that it is paused.
    :ivar limited_at: the same as ``paused_at`` for a limit of the whole queue.
    :ivar limited_lines: the further lines of each wide queue that say that it has one.
    """

    jobs: dict[str, JobRecord] = field(default_factory=dict)
    workflows: dict[str, Workflow] = field(default_factory=dict)
    crons: dict[str, CronEntry] = field(default_factory=dict)
    buckets: dict[str, Bucket] = field(default_factory=dict)
    queues: dict[str, QueueInfo] = field(default_factory=dict)
    paused_at: dict[str, tuple[int, int]] = field(default_factory=dict)
    paused_lines: dict[str, set[str]] = field(default_factory=dict)
    limited_at: dict[str, tuple[int, int]] = field(default_factory=dict)
    limited_lines: dict[str, set[str]] = field(default_factory=dict)

    def write(
        self, partition: str, sort: str, before: Any, after: Any, when: tuple[int, int]
    ) -> None:
        """Note a write.

        :param when: how many requests there were so far, and the time.
        """
        thing = after or before
        match thing:
            case JobRecord():
                _put(self.jobs, thing.id, after)
            case Workflow():
                _put(self.workflows, thing.id, after)
            case Bucket():
                _put(self.buckets, thing.key, after)
                if after is not None and after.override and not (before and before.override):
                    self.limited_at[thing.key] = when
            case QueueInfo():
                _put(self.queues, thing.name, after)
                was_paused = before is not None and before.paused_at is not None
                if after is not None and after.paused_at is not None and not was_paused:
                    self.paused_at[thing.name] = when
            case _ if partition == CRON:
                _put(self.crons, sort, after)

    def mark_paused(self, queue: str, line: str, when: tuple[int, int], *, is_shown: bool) -> None:
        """Note that a line of a wide queue says that it is paused, or does not say it any more."""
        lines = self.paused_lines.setdefault(queue, set())
        if _mark(lines, line, is_shown=is_shown):
            self.paused_at[queue] = when

    def mark_limited(self, queue: str, line: str, when: tuple[int, int], *, is_shown: bool) -> None:
        """Note that a line of a wide queue says that it has a limit, or says so no more."""
        lines = self.limited_lines.setdefault(queue, set())
        if _mark(lines, line, is_shown=is_shown):
            self.limited_at[queue_key(queue)] = when


def _mark(lines: set[str], line: str, *, is_shown: bool) -> bool:
    """Note what a line says; return whether it says something new."""
    if not is_shown:
        lines.discard(line)
        return False
    is_new = line not in lines
    lines.add(line)
    return is_new


def _put(kept: dict[str, Any], key: str, value: Any) -> None:
    if value is None:
        kept.pop(key, None)
    else:
        kept[key] = value
