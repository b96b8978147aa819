"""Enqueue jobs through middleware and hooks, in the client and in the backend.

From the outside in: the ``enqueue_many`` of the chain's middleware, around the whole insertion (a
single job is a batch of one); the chain of each job; the hooks ``insert_begin`` and
``insert_end``; and the storing itself.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.chain import Layers, Step
from ojs_aws.middleware.chain.enqueue import EnqueueChain, InsertionRun, Store, StoreMany
from ojs_aws.middleware.hooks import Hooks
from ojs_aws.middleware.members import STARTED
from ojs_aws.middleware.protocols import ENQUEUE_MANY
from ojs_aws.middleware.results import EnqueueResult, note_stored, result_of


class Enqueuer:
    """Runs a chain and hooks around whatever stores jobs."""

    def __init__(self, chain: EnqueueChain, hooks: Hooks | None = None) -> None:
        """Put these around; both freeze with the first job."""
        self.chain = chain
        self.hooks = hooks or Hooks()
        self._layers: Layers = ()

    async def one(self, job: Job, store: Store) -> tuple[Job | None, str]:
        """Run the chain of one job around ``store``, which the hooks enclose.

        :returns: the stored job, or None and the name of the middleware that dropped it.
        :raises Exception: whatever a middleware or a hook raised; nothing was stored then, unless
            the error has the attribute ``stored_job_ids``.
        """
        return await self.chain.run_tracked(job, self._with_hooks(store))

    async def single(self, job: Job, store: Store) -> EnqueueResult:
        """Run the batch middleware, if there is any, and the chain around storing a single job.

        :returns: the outcome; the error in it is one that a batch middleware caught.
        :raises Exception: as :meth:`one` and :meth:`many`.
        """
        layers = self._layers or self._start()
        if len(layers) == 1:
            return result_of(job, *await self.chain.run_tracked(job, self._with_hooks(store)))

        async def insert(jobs: Sequence[Job]) -> list[EnqueueResult]:
            return [result_of(each, *await self.one(each, store)) for each in jobs]

        [result] = await self.many([job], insert)
        return result

    def _with_hooks(self, store: Store) -> Store:
        """Return a store with the insertion hooks around it, if there are any."""
        if not self.hooks.has_insertion():
            return store
        return functools.partial(self._store_with_hooks, store)

    async def _store_with_hooks(self, store: Store, job: Job) -> Job | None:
        job_id = job.id
        job = await self.hooks.insert_begin(job)
        try:
            stored = store(job)
            if inspect.isawaitable(stored):
                stored = await stored
        except Exception as problem:
            await self.hooks.insert_end(job, problem)
            raise
        if stored is None:
            return None
        try:
            await self.hooks.insert_end(stored, None)
        except Exception as problem:
            note_stored(problem, [job_id])
            raise
        return stored

    async def many(
        self, jobs: Sequence[Job], store: StoreMany, *, is_atomic: bool = False
    ) -> list[EnqueueResult]:
        """Run the batch middleware around ``store``.

        :param store: takes the jobs that the batch middleware let pass, and gives the outcome of
            each.
        :param is_atomic: refuse the whole batch when a batch middleware leaves a job out.
        :returns: one outcome for each job, in the order of ``jobs``.
        :raises BatchRejectedError: atomic, and a batch middleware left a job out.
        :raises NextNotCalledError: a middleware returned without having called ``call_next``.
        :raises Exception: whatever a middleware raised. If jobs had been stored before, the error
            names them in the attribute ``stored_job_ids``.
        """
        layers = self._layers or self._start()
        results: list[EnqueueResult]
        results = await Step(InsertionRun(layers, store, is_atomic=is_atomic))(jobs)
        return results

    def _start(self) -> Layers:
        self.chain.freeze(STARTED)
        self.hooks.freeze(STARTED)
        self.hooks.listen_to(self.chain)
        self._layers = (*self.chain.layers(ENQUEUE_MANY), None)
        return self._layers

    @property
    def never_waits(self) -> bool:
        """Return True if no middleware and no hook waits; see :func:`run_coroutine`."""
        return self.chain.never_waits and self.hooks.never_waits
