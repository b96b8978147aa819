"""Keeps workers in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import ForeignWorkerError, WorkerInfo, WorkerReport


@dataclass
class MemoryWorkers:
    """Keeps workers in a dict."""

    workers: dict[str, WorkerInfo] = field(default_factory=dict)
    directives: dict[str, str] = field(default_factory=dict)
    principals: dict[str, str] = field(default_factory=dict)

    def beat(
        self, worker_id: str, report: WorkerReport, now: Instant, principal: str = ""
    ) -> WorkerInfo:
        """Update when a worker was last seen."""
        known = self.workers.get(worker_id)
        if principal:
            if self.load(worker_id, now) is None:
                self.principals.pop(worker_id, None)
            if self.principals.setdefault(worker_id, principal) != principal:
                raise ForeignWorkerError
        if report.state == "terminate" and not report.active_jobs:
            self.directives.pop(worker_id, None)
        self.workers[worker_id] = WorkerInfo(
            id=worker_id,
            last_seen=now,
            seen_before=known.last_seen if known and known.last_seen != now else None,
            beats=known.beats + 1 if known else 1,
            state=report.state,
            drain_word=report.drain_word,
            active_jobs=report.active_jobs,
            job_ids=report.job_ids[:32],
            interval_ms=report.interval_ms or (known.interval_ms if known else None),
            about=report.about or (known.about if known else ""),
            directive=self.directives.get(worker_id, "running"),
            principal=self.principals.get(worker_id, ""),
        )
        return self.workers[worker_id]

    def load(self, worker_id: str, now: Instant) -> WorkerInfo | None:
        """Return one worker."""
        known = self.workers.get(worker_id)
        has_ended = known and known.state == "terminate" and not known.active_jobs
        is_kept = known and not has_ended and known.last_seen + 3_600_000 > now
        return known if is_kept else None

    def page(self, after: str, limit: int, now: Instant) -> list[WorkerInfo]:
        """Return workers in the order of their ids."""
        names = sorted(name for name in self.workers if name > after)
        found = [self.load(name, now) for name in names]
        return [worker for worker in found if worker][:limit]

    def direct(
        self, worker_id: str, directive: str, now: Instant, by: str = ""
    ) -> WorkerInfo | None:
        """Set the directive of a worker."""
        known = self.load(worker_id, now)
        if known is not None and (known.directive != "terminate" or directive == "terminate"):
            self.directives[worker_id] = directive
            self.workers[worker_id] = replace(known, directive=directive, directed_by=by)
        return known

    def forget(self, worker_id: str, last_seen: Instant) -> bool:
        """Remove a worker."""
        known = self.workers.get(worker_id)
        if known is None or known.last_seen != last_seen:
            return False
        del self.workers[worker_id]
        self.directives.pop(worker_id, None)
        self.principals.pop(worker_id, None)
        return True
