"""What operators ask for: dead letters, many jobs at once, queues and their settings."""

from __future__ import annotations

from typing import Any, Final

from ojs_aws.domain.errors import BackendError, OjsError
from ojs_aws.domain.job import JobState, is_blocked
from ojs_aws.services.bulk import BulkAction, BulkStatus
from ojs_aws.services.bulk.purge import Purge
from tests.simulation.asking import Asking
from tests.simulation.processes import Process
from tests.simulation.simulation import BOUNDED, QUEUES

S = JobState
PURGED: Final = (S.COMPLETED, S.CANCELLED, S.DISCARDED, S.AVAILABLE, S.SCHEDULED, S.RETRYABLE)


class Operators(Asking):
    """Operators."""

    def do_retry(self) -> None:
        """An operator retries a dead letter, or a job that expired while others came first."""
        letters = [
            job.id
            for job in self.sim.stored.jobs.values()
            if (job.is_dead_letter or (job.state is S.DISCARDED and is_blocked(job)))
            and not (job.unique_key or job.workflow_id)
        ]
        job_id = self.sim.chance.choice(letters) if letters else None
        self._change("retry", job_id, lambda p, each: p.backend.dead_letters.service.retry(each))

    def do_pause(self) -> None:
        """An operator pauses a queue, or resumes it."""
        queue = self.sim.chance.choice(QUEUES)
        info = self.sim.stored.queues.get(queue)
        is_paused = info is not None and info.paused_at is not None
        if is_paused or self.sim.chance.random() < 0.3:
            verb = "resume" if is_paused else "pause"
            self._change(
                "pause", queue, lambda p, name: getattr(p.backend.queues.service, verb)(name)
            )

    def _letter(self) -> str | None:
        """A discarded job; what a retry of one means for its uniqueness key is said elsewhere."""
        found = [
            job.id
            for job in self.sim.stored.jobs.values()
            if job.state is S.DISCARDED and not job.unique_key
        ]
        return self.sim.chance.choice(found) if found else None

    def do_delete(self) -> None:
        """An operator deletes a dead letter."""
        self._change(
            "delete", self._letter(), lambda p, each: p.backend.dead_letters.service.delete(each)
        )

    def do_purge(self) -> None:
        """An operator takes jobs out of a queue."""
        chance = self.sim.chance
        wanted = Purge(queue=chance.choice(QUEUES), states=(chance.choice(PURGED),))
        self._change("purge", wanted.queue, lambda p, _: p.backend.queues.purge(wanted))

    def do_bulk(self) -> None:
        """An operator changes some jobs, each by itself or all together."""
        chance = self.sim.chance
        action = chance.choice((*BulkAction,))
        jobs = [
            job.id
            for job in self.sim.stored.jobs.values()
            if action is not BulkAction.RETRY or not job.unique_key
        ]
        ids = chance.sample(jobs, min(len(jobs), chance.randint(1, 4)))
        is_atomic = action is not BulkAction.DELETE and chance.random() < 0.5

        def work(process: Process) -> None:
            try:
                changed = process.backend.bulk.changes.named(action, ids, is_atomic=is_atomic)
            except BackendError:
                raise
            except OjsError:
                return
            done = [each.job_id for each in changed.outcomes if each.status is BulkStatus.DONE]
            if is_atomic and len(done) not in {0, len(ids)}:
                self.sim.promises.breach(f"{len(done)} of {len(ids)} jobs were changed together")
            self.sim.promises.changed(action, done)

        if ids:
            self._begin("bulk", work)

    def do_reprioritise(self) -> None:
        """An operator gives a job another place in line."""
        priority = self.sim.chance.choice((-5, 0, 5, 10))
        job_id = self._any_job(S.AVAILABLE, S.SCHEDULED, S.PENDING)
        self._change(
            "reprioritise",
            job_id,
            lambda p, each: p.backend.jobs.changes.reprioritise(each, priority),
        )

    def do_settings(self) -> None:
        """An operator changes the settings of a queue: its bound, its limit, its timeouts."""
        chance = self.sim.chance
        queue = chance.choice(QUEUES)
        bounds: tuple[int | None, ...] = (None, 2, 5, 20)
        if queue == BOUNDED and (bound := self.sim.profile.bound):
            bounds = (bound, max(1, bound // 2))
        patch: dict[str, Any] = chance.choice(
            (
                {"max_size": chance.choice(bounds)},
                {"max_size": chance.choice(bounds)},
                {"concurrency": chance.choice((None, 1, 3))},
                {"visibility_timeout": chance.choice((None, 5, 60))},
                {"default_timeout": chance.choice((None, 20))},
            )
        )
        if (lines := self.sim.profile.lines) > 1 and chance.random() < 0.8:
            shards = {"ordering_shards": chance.choice((1, lines // 2, lines, lines))}
            patch = chance.choice((shards, {"concurrency": chance.choice((None, 1, 1, 2))}))
        self._change("settings", queue, lambda p, each: p.backend.queues.config.change(each, patch))

    def do_drain(self) -> None:
        """An operator lets a queue take no more jobs, or take them again."""
        queue = self.sim.chance.choice(QUEUES)
        verb = self.sim.chance.choice(("drain", "undrain", "undrain"))
        self._change("drain", queue, lambda p, each: getattr(p.backend.queues.config, verb)(each))

    def do_delete_queue(self) -> None:
        """An operator deletes a queue, if it has no jobs left to run."""
        if not self.sim.profile.bound:
            self._change("queue", BOUNDED, lambda p, each: p.backend.queues.config.delete(each, {}))
