"""Keeps the known queues and their Lambda triggers in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import LastTick, QueueInfo
from tests.model.jobs import MemoryStore


@dataclass
class MemoryRegistry:
    """Keeps queues in a dict."""

    infos: dict[str, QueueInfo] = field(
        default_factory=lambda: {"default": QueueInfo(name="default")}
    )
    tick: LastTick | None = None
    store: MemoryStore | None = None

    def ensure(self, queue: str, now: Instant) -> None:
        """Make a queue known."""
        self.infos.setdefault(queue, QueueInfo(name=queue, created_at=now))

    def note(self, queue: str, now: Instant) -> None:
        """Make a queue known."""
        self.ensure(queue, now)

    def register(self, queue: str, now: Instant) -> None:
        """Write down that it is there."""
        info = self.infos.get(queue, QueueInfo(name=queue))
        self.infos[queue] = replace(info, created_at=info.created_at or now)

    def all(self) -> list[QueueInfo]:
        """Return every known queue."""
        return sorted(self.infos.values(), key=lambda info: info.name)

    def load(self, queue: str) -> QueueInfo | None:
        """Return one queue."""
        return self.infos.get(queue)

    def pause(self, queue: str, triggers: Sequence[str], now: Instant, by: str = "") -> QueueInfo:
        """Pause a queue."""
        info = self.infos.get(queue, QueueInfo(name=queue, created_at=now))
        self.infos[queue] = replace(
            info,
            paused_at=info.paused_at or now,
            paused_by=info.paused_by or by,
            resumed_by="",
            triggers=tuple(sorted({*info.triggers, *triggers})),
        )
        if self.store is not None:
            self.store.paused.add(queue)
        return self.infos[queue]

    def resume(self, queue: str, by: str = "") -> QueueInfo | None:
        """Resume a queue."""
        before = self.infos.get(queue)
        if before is not None:
            self.infos[queue] = replace(before, paused_at=None, paused_by="", resumed_by=by)
        if self.store is not None:
            self.store.paused.discard(queue)
        return before

    def note_triggers(self, queue: str, triggers: Sequence[str]) -> bool:
        """Remember more of them, while it is paused."""
        info = self.infos.get(queue)
        if info is None or info.paused_at is None:
            return False
        known = tuple(sorted({*info.triggers, *triggers}))
        self.infos[queue] = replace(info, triggers=known)
        return True

    def forget_triggers(self, queue: str) -> None:
        """The triggers are on again."""
        info = self.infos.get(queue)
        if info is not None and info.paused_at is None:
            self.infos[queue] = replace(info, triggers=())

    def remember_sweep(self, queue: str, until: Instant, cursor: str = "") -> None:
        """Remember how far the sweep got."""
        info = self.infos[queue]
        if (info.swept_until or 0) <= until:
            self.infos[queue] = replace(info, swept_until=until, sweep_cursor=cursor)

    def remember_tick(self, tick: LastTick) -> None:
        """Remember a tick."""
        self.tick = tick

    def last_tick(self) -> LastTick | None:
        """Return the tick before."""
        return self.tick


@dataclass
class MemoryTriggers:
    """Keeps Lambda triggers: ids by queue, and which of them are off."""

    by_queue: dict[str, list[str]] = field(default_factory=dict)
    off: set[str] = field(default_factory=set)

    def running(self, queue: str) -> list[str]:
        """Return those that are on."""
        return [each for each in self.by_queue.get(queue, []) if each not in self.off]

    def switch(self, ids: Sequence[str], *, is_on: bool) -> None:
        """Switch some."""
        self.off = self.off - set(ids) if is_on else self.off | set(ids)
