"""What is stored, as whoever runs the simulation sees it: decoded once, at each write."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ojs_aws.adapters.dynamodb.cron import PARTITION as CRON
from ojs_aws.domain.cron.entry import CronEntry
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.limits.rules import Bucket
from ojs_aws.domain.queues.state import QueueInfo
from ojs_aws.domain.workflows.workflow import Workflow


@dataclass
class Stored:
    """Jobs and what belongs to them, each by its id, name or key.

    :ivar paused_at: how many requests there were when a queue was paused last, and the time. A wide
        queue is paused with the last of its lines.
    :ivar paused_lines: the further lines of each wide queue that say that it is paused.
    """

    jobs: dict[str, JobRecord] = field(default_factory=dict)
    workflows: dict[str, Workflow] = field(default_factory=dict)
    crons: dict[str, CronEntry] = field(default_factory=dict)
    buckets: dict[str, Bucket] = field(default_factory=dict)
    queues: dict[str, QueueInfo] = field(default_factory=dict)
    paused_at: dict[str, tuple[int, int]] = field(default_factory=dict)
    paused_lines: dict[str, set[str]] = field(default_factory=dict)

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
            case QueueInfo():
                _put(self.queues, thing.name, after)
                was_paused = before is not None and before.paused_at is not None
                if after is not None and after.paused_at is not None and not was_paused:
                    self.paused_at[thing.name] = when
            case _ if partition == CRON:
                _put(self.crons, sort, after)

    def mark(self, queue: str, line: str, when: tuple[int, int], *, is_shown: bool) -> None:
        """Note that a line of a wide queue says that it is paused, or does not say it any more."""
        lines = self.paused_lines.setdefault(queue, set())
        if is_shown and line not in lines:
            lines.add(line)
            self.paused_at[queue] = when
        elif not is_shown:
            lines.discard(line)


def _put(kept: dict[str, Any], key: str, value: Any) -> None:
    if value is None:
        kept.pop(key, None)
    else:
        kept[key] = value
