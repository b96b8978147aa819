"""Run ``enqueue_many``: middleware around a whole insertion, a single job being a batch of one."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.chain.run import FRESH, Layers, Run, Step
from ojs_aws.middleware.errors import (
    BatchRejectedError,
    IdChangedError,
    NextNotCalledError,
    note_stored,
)
from ojs_aws.middleware.job_identity import check_ids
from ojs_aws.middleware.members import Layer
from ojs_aws.middleware.results import EnqueueResult, dropped, failed

StoreMany: TypeAlias = Callable[[list[Job]], Awaitable[list[EnqueueResult]]]


class InsertionRun(Run):
    """Runs one insertion through the middleware with ``enqueue_many``.

    :ivar given: the jobs that each layer was given, and last those that are stored.
    """

    def __init__(self, layers: Layers, store: StoreMany, *, is_atomic: bool) -> None:
        """Prepare a run; an atomic one refuses the batch when a middleware leaves a job out."""
        self.layers = layers
        self.given: list[list[Job]] = []
        self._store = store
        self._is_atomic = is_atomic
        self._stored_ids: list[str] = []
        self._results: list[EnqueueResult] = []
        self._ids: list[tuple[Job, str]] = []

    def accept(self, step: Step, given: tuple[Any, ...]) -> tuple[list[Job]]:
        """Refuse jobs that the middleware was not given, and other ids."""
        if len(given) != 1:
            raise TypeError(f"Middleware {step.caller!r} must pass on one list: call_next(jobs).")
        jobs: list[Job] = [*given[0]]
        if step.position:
            self._check_passed(jobs, self.given[step.position - 1], step.caller)
        self.given.append(jobs)
        self._ids += [(job, job.id) for job in jobs]
        return ([*jobs],)

    async def innermost(self, jobs: list[Job]) -> list[EnqueueResult]:
        """Store the jobs."""
        results = await self._store(jobs) if jobs else []
        self._stored_ids += [
            result.id for result in results if result.is_enqueued and not result.is_duplicate
        ]
        return self._noted(results)

    def settle(self, layer: Layer, following: Step, result: Any) -> list[EnqueueResult]:
        """Return one outcome for each job that the layer was given."""
        self._check_ids(layer.name)
        if following.state == FRESH:
            raise NextNotCalledError(
                f"Middleware {layer.name!r} returned from enqueue_many without having called "
                "call_next: nothing was enqueued. To drop jobs, pass a shorter list on."
            )
        if following.error is not None:
            self._results = [failed(job, following.error) for job in self.given[following.position]]
        jobs = self.given[following.position - 1]
        return self._noted(_aligned(jobs, self._results, result, layer.name))

    def note_error(self, layer: Layer, following: Step, problem: BaseException) -> None:  # noqa: ARG002
        """Name the stored jobs in an error that comes after the storing."""
        if isinstance(problem, Exception):
            note_stored(problem, self._stored_ids)

    def _check_passed(self, jobs: list[Job], given: list[Job], name: str) -> None:
        self._check_ids(name)
        passed = {job.id for job in jobs}
        if len(passed) < len(jobs) or not passed <= {job.id for job in given}:
            raise IdChangedError(
                f"Middleware {name!r} passed on a job that it was not given, or one twice; "
                "enqueue_many may change jobs and leave some out, and ids must stay."
            )
        if self._is_atomic and len(jobs) < len(given):
            problem = BatchRejectedError("The middleware did not let every job of the batch pass.")
            problem.results = [
                failed(job, problem, is_new=False) if job.id in passed else dropped(job, name)
                for job in given
            ]
            raise problem

    def _check_ids(self, name: str) -> None:
        """Refuse an id that a job got in place, even one of the other jobs'."""
        check_ids(self._ids, f"Middleware {name!r}")

    def _noted(self, results: list[EnqueueResult]) -> list[EnqueueResult]:
        """Remember the outcomes of a layer; return a list that the next one may change."""
        self._results = results
        self._ids += [(result.job, result.id) for result in results]
        return [*results]


def _aligned(
    jobs: Sequence[Job], passed: Sequence[EnqueueResult], returned: object, name: str
) -> list[EnqueueResult]:
    """Return one outcome for each job: as returned, else as passed, else dropped."""
    if not isinstance(returned, list):
        warnings.warn(
            f"Middleware {name!r} did not return the list of outcomes from enqueue_many; they stay "
            "as call_next gave them.",
            RuntimeWarning,
            stacklevel=2,
        )
        returned = []
    outcomes = {result.asked_id or result.id: result for result in passed}
    for result in returned:
        if isinstance(result, EnqueueResult) and (result.asked_id or result.id) in outcomes:
            outcomes[result.asked_id or result.id] = result
    return [outcomes[job.id] if job.id in outcomes else dropped(job, name) for job in jobs]
