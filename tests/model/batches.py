"""Keeps the logs of large batches and bulk operations in memory."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import BulkDone, BulkRequest, Decision, OpenBatch, OperationDone, StagedJob
from ojs_aws.ports.batches import LogLostError


@dataclass
class MemoryBatches:
    """Keeps logs, decisions and open batches; parts of two jobs, so that tests have several."""

    part_jobs: int = 2
    logs: dict[tuple[str, str, int], list[StagedJob]] = field(default_factory=dict)
    decisions: dict[str, Decision] = field(default_factory=dict)
    rows: dict[str, OpenBatch] = field(default_factory=dict)
    progress: dict[str, int] = field(default_factory=dict)
    lost: dict[str, OpenBatch] = field(default_factory=dict)
    _tokens: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def token(self) -> str:
        """Return the name of the next log."""
        return f"log-{next(self._tokens)}"

    def stage(self, batch_id: str, token: str, jobs: Sequence[StagedJob]) -> tuple[int, ...]:
        """Write a log."""
        parts = [jobs[at : at + self.part_jobs] for at in range(0, len(jobs), self.part_jobs)]
        for number, part in enumerate(parts):
            self.logs[batch_id, token, number] = list(part)
        return tuple(map(len, parts))

    def decide(self, batch_id: str, commit: OpenBatch | None, now: Instant) -> Decision:
        """Decide once: the first decision stands."""
        if batch_id not in self.decisions:
            self.decisions[batch_id] = Decision(commit.token if commit else "")
            if commit is not None:
                self.rows[batch_id] = commit
        return self.decisions[batch_id]

    def decided(self, batch_id: str) -> Decision | None:
        """Return what was decided."""
        return self.decisions.get(batch_id)

    def open(self) -> list[OpenBatch]:
        """Return open batches, the oldest first."""
        return sorted(self.rows.values(), key=lambda batch: batch.committed_at)

    def part(self, batch: OpenBatch, number: int) -> list[StagedJob]:
        """Return a part of a log."""
        try:
            return self.logs[batch.id, batch.token, number]
        except KeyError:
            raise LogLostError(f"Part {number} of batch '{batch.id}' is missing.") from None

    def done(self, batch: OpenBatch) -> int:
        """Parts that are in their places."""
        if batch.id not in self.decisions:
            raise LogLostError(f"The outcome of batch '{batch.id}' is no longer known.")
        return self.progress.get(batch.id, 0)

    def advance(self, batch: OpenBatch, done: int) -> None:
        """Note them."""
        self.progress[batch.id] = done

    def close(self, batch: OpenBatch) -> None:
        """Forget the row."""
        self.rows.pop(batch.id, None)

    def abandon(self, batch: OpenBatch, now: Instant) -> None:
        """Move the row to the lost batches."""
        self.lost[batch.id] = batch
        self.rows.pop(batch.id, None)


@dataclass
class MemoryBulkRequests:
    """Keeps bulk operations by their keys."""

    requests: dict[str, BulkRequest] = field(default_factory=dict)
    ended: list[BulkDone] = field(default_factory=list)
    operations: list[OperationDone] = field(default_factory=list)

    def begin(self, request: BulkRequest, forgotten_before: Instant) -> BulkRequest:
        """Store a request whose key is free."""
        found = self.requests.get(request.key)
        if found is None or found.begun_at < forgotten_before:
            self.requests[request.key] = request
        return self.requests[request.key]

    def answer(self, request: BulkRequest) -> None:
        """Keep an answer."""
        self.requests[request.key] = request

    def record_bulk(self, done: BulkDone) -> None:
        """Keep what events must report."""
        self.ended.append(done)

    def record_operation(self, done: OperationDone) -> None:
        """Keep who did an operation."""
        self.operations.append(done)
