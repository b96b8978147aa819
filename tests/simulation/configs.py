"""The configs of bindings, and what they promise of jobs (ojs-serverless, 2.1, 10.1)."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.bindings import NO_CONFIG, BindingConfig
from ojs_aws.domain.job import Failure, JobRecord, JobState

FUNCTIONS: Final = "dispatcher_"
TASKS: Final = "tasks_"
"""What the names begin with by which dispatchers claim jobs."""
MOST_JOBS: Final = (None, 1, 1, 2)
TIMEOUTS_MS: Final = (None, 1_000, 10_000)
FUNCTIONS_ERRORS: Final = ((), ("DeclinedError",), ("handler_error",))
TASKS_ERRORS: Final = ((), ("exit.3",), ("exit.*", "timeout"), ("task_failed",))
TIMEOUT: Final = "timeout"


def draw_config(chance: random.Random, errors: tuple[tuple[str, ...], ...]) -> BindingConfig:
    """Return the config of a binding in a run: none in half of the runs."""
    config = BindingConfig(
        non_retryable_errors=chance.choice(errors) or None,
        timeout_ms=chance.choice(TIMEOUTS_MS),
        max_concurrency=chance.choice(MOST_JOBS),
    )
    return chance.choice((NO_CONFIG, config))


@dataclass(frozen=True, slots=True)
class Configs:
    """The configs of a run's bindings."""

    functions: BindingConfig = NO_CONFIG
    tasks: BindingConfig = NO_CONFIG

    def problems(
        self, before: JobRecord | None, after: JobRecord | None, jobs: Iterable[JobRecord]
    ) -> Iterator[str]:
        """Yield what a commit of one job breaks.

        :param jobs: all jobs, after the commit.
        """
        if before is None or after is None or before.state is after.state:
            return
        if after.state is JobState.ACTIVE:
            yield from self._wrong_start(after, jobs)
        elif before.state is JobState.ACTIVE and len(after.failures) > len(before.failures):
            yield from self._wrong_failure(before, after)

    def _wrong_start(self, job: JobRecord, jobs: Iterable[JobRecord]) -> Iterator[str]:
        """A job too many of a bounded binding, by who has claimed the jobs and not by slots."""
        kind, config = self._of(job)
        if config.max_concurrency is None:
            return
        active = sum(each.queue == job.queue and self._of(each)[0] == kind for each in jobs)
        if active > config.max_concurrency:
            yield f"{active} jobs of {job.queue} are active at a binding of {kind}"

    def _wrong_failure(self, before: JobRecord, after: JobRecord) -> Iterator[str]:
        """A retry after an error of a class that forbids it, or none after another one."""
        kind, config = self._of(before)
        failure = after.failures[-1]
        if not kind or not _is_of_target(failure):
            return
        names = {failure.type, failure.code}
        is_final = any(_is_named(each, names) for each in config.non_retryable_errors or ())
        used = before.attempt - before.uncounted_attempts
        is_last = used >= max(before.retry.max_attempts, 1)
        if (after.state is JobState.DISCARDED) != (is_final or is_last):
            said = f"after {sorted(names)}, of which {config.non_retryable_errors} are final"
            yield f"{after.state} {said}, attempt {used} of {before.retry.max_attempts}"

    def _of(self, job: JobRecord) -> tuple[str, BindingConfig]:
        """Return which kind of binding has claimed a job, and its config; empty for none."""
        worker = job.reservation.worker_id if job.reservation is not None else ""
        if worker.startswith(FUNCTIONS):
            return "functions", self.functions
        return ("tasks", self.tasks) if worker.startswith(TASKS) else ("", NO_CONFIG)


NO_CONFIGS: Final = Configs()


def _is_of_target(failure: Failure) -> bool:
    """Whether a target has failed, and not time has ended an attempt, or somebody gave it back."""
    is_of_task = "task_arn" in str(failure.extra)
    return failure.code == "handler_error" or (is_of_task and failure.code != "SNOOZE")


def _is_named(pattern: str, names: set[str]) -> bool:
    return any(
        name.startswith(pattern[:-1]) if pattern.endswith(".*") else name == pattern
        for name in names
    )
