"""Finds the handlers of a test's jobs, and lets some of them fail on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from ojs_aws.domain.errors import JsonValue
from ojs_aws.middleware.chain.execution import ExecutionChain
from ojs_aws.middleware.context import JobContext
from ojs_aws.typed_jobs.jobs import Jobs, all_jobs
from ojs_aws.worker.executor import Executor
from ojs_aws.worker.registry import Handler, HandlerRegistry, NoHandlerError
from ojs_aws.worker.typed_handlers import typed_handler

if TYPE_CHECKING:
    from ojs_aws.typed_jobs.declarations import JobDeclaration, Resource
    from ojs_aws.worker.base import BaseWorker

Error: TypeAlias = "BaseException | type[BaseException]"


class FaultyHandlers(HandlerRegistry):
    """Finds handlers as a test wants them: its own first, and some of them fail on purpose."""

    def __init__(
        self, handlers: HandlerRegistry, advice: Callable[[str], str] = lambda _type: ""
    ) -> None:
        """Find the others here.

        :param advice: returns what to add where a type has no handler.
        """
        super().__init__()
        self.others = handlers
        self._advice = advice
        self._own = HandlerRegistry()
        self._next: dict[str, list[Error]] = {}
        self._all: dict[str, Error] = {}
        self.raised: list[BaseException] = []

    def handle(self, job_type: str, function: Any) -> None:
        """Run a function for a job type, in place of its handler."""
        registry = HandlerRegistry()
        for known in self._own:
            if known != job_type:
                registry.add_handler(self._own.find(known))
        registry.add(job_type, function)
        self._own = registry

    def fail_next(self, job_type: str, error: Error) -> None:
        """Let the next execution of a type fail, after those that were asked for before."""
        self._next.setdefault(job_type, []).append(error)

    def unused(self) -> list[str]:
        """Return the types that were to fail next, and were not executed since."""
        return [job_type for job_type, errors in self._next.items() if errors]

    def fail_all(self, job_type: str, error: Error) -> None:
        """Let all executions of a type fail."""
        self._all[job_type] = error

    def find(self, job_type: str, version: JsonValue = None) -> Handler:
        """Return the handler of a type, or what fails in its place.

        :raises NoHandlerError: there is none.
        """
        if queued := self._next.get(job_type):
            return self._failing(job_type, queued.pop(0))
        if job_type in self._all:
            return self._failing(job_type, self._all[job_type])
        if job_type in self._own:
            return self._own.find(job_type, version)
        try:
            return self.others.find(job_type, version)
        except NoHandlerError as missing:
            if advice := self._advice(job_type):
                raise NoHandlerError(f"{missing}{advice}") from None
            raise

    def is_injected(self, problem: BaseException | None) -> bool:
        """Return True if an error was raised on purpose, or because of one that was."""
        while problem is not None:
            if any(problem is each for each in self.raised):
                return True
            problem = problem.__cause__ or problem.__context__
        return False

    def _failing(self, job_type: str, error: Error) -> Handler:
        def fail(_ctx: JobContext, *_: object) -> None:
            problem = error() if isinstance(error, type) else error
            self.raised.append(problem)
            raise problem

        async def run(ctx: JobContext, *args: object) -> None:
            fail(ctx, *args)

        return Handler(job_type, run, is_async=True, signature=None)

    def __iter__(self) -> Iterator[str]:
        """Yield the types that have a handler."""
        return iter(dict.fromkeys([*self._own, *self.others]))


def checked_error(error: object) -> Error:
    """Return an error that a test gave.

    :raises TypeError: it is no exception, and no class of one.
    """
    if isinstance(error, BaseException):
        return error
    if isinstance(error, type) and issubclass(error, BaseException):
        return error
    raise TypeError(f"Give an exception, such as TimeoutError('SMTP'), not {error!r}.")


class DeclaredHandlers(HandlerRegistry):
    """Finds the handlers of typed jobs in all :class:`~ojs_aws.Jobs` of the process.

    Two of them may declare the same type. Then the one counts that the test sent a job by.
    """

    def __init__(self, jobs: Jobs | None = None) -> None:
        """Look in all collections, or in one."""
        super().__init__()
        self._only = jobs
        self._sent: dict[str, JobDeclaration] = {}
        self._registries: dict[int, tuple[int, Jobs, HandlerRegistry]] = {}

    def _collections(self) -> list[Jobs]:
        return all_jobs() if self._only is None else [self._only]

    def note(self, declaration: JobDeclaration) -> None:
        """Remember a declaration that the test made a job from."""
        self._sent[declaration.type] = declaration

    def declaration(self, job_type: str) -> JobDeclaration | None:
        """Return the declaration of a type, if it is known which one counts."""
        sent = self._sent.get(job_type)
        if sent is not None and (self._only is None or any(each is sent for each in self._only)):
            return sent
        found = [
            next(each for each in jobs if each.type == job_type)
            for jobs in self._declaring(job_type)
        ]
        return found[0] if len(found) == 1 else None

    def _declaring(self, job_type: str) -> list[Jobs]:
        return [jobs for jobs in self._collections() if any(e.type == job_type for e in jobs)]

    def jobs_of(self, job_type: str) -> Jobs | None:
        """Return the collection that declares a type; None if there is none.

        :raises NoHandlerError: there are several, and no job was sent by any of them.
        """
        sent = self._sent.get(job_type)
        declaring = self._declaring(job_type)
        if sent is not None and self._only is None:
            return next((jobs for jobs in declaring if any(each is sent for each in jobs)), None)
        if len(declaring) > 1:
            modules = sorted(
                {e.function.__module__ for jobs in declaring for e in jobs if e.type == job_type}
            )
            raise NoHandlerError(
                f"{job_type!r} is declared by several Jobs, in {', '.join(modules)}: say which "
                "one to run, by Ojs.fake(jobs=...) or Ojs.fake(worker=...)."
            )
        return declaring[0] if declaring else None

    def find(self, job_type: str, version: JsonValue = None) -> Handler:
        """Return the handler of a type.

        :raises NoHandlerError: no typed job has this type, or it is remote.
        """
        jobs = self.jobs_of(job_type)
        if jobs is not None and any(e.type == job_type and not e.is_remote for e in jobs):
            return self._registry(jobs).find(job_type, version)
        if jobs is not None:
            raise NoHandlerError(
                f"{job_type!r} is remote: a worker elsewhere runs it. In a test, run it by "
                f"ojs.handle({job_type!r}, function)."
            )
        known = HandlerRegistry()
        for each in {each.type for jobs in self._collections() for each in jobs}:
            known.add(each, _nothing)
        try:
            return known.find(job_type, version)
        except NoHandlerError as missing:
            if self._only is None:
                missing.args = (f"{missing} Handlers of a worker: Ojs.fake(worker=...).",)
            raise

    def _registry(self, jobs: Jobs) -> HandlerRegistry:
        """Return the handlers of a collection, also of jobs that were declared just now."""
        count, _, registry = self._registries.get(id(jobs), (-1, jobs, HandlerRegistry()))
        if count != len(jobs):
            registry = registry_of(jobs)
            self._registries[id(jobs)] = (len(jobs), jobs, registry)
        return registry

    def __iter__(self) -> Iterator[str]:
        """Yield the types of all typed jobs."""
        return iter(dict.fromkeys(each.type for jobs in self._collections() for each in jobs))


def registry_of(jobs: Jobs) -> HandlerRegistry:
    """Return the handlers of the typed jobs of one collection."""
    registry = HandlerRegistry()
    for declaration in jobs:
        if not declaration.is_remote:
            handler = typed_handler(declaration)
            handler.prepare()
            registry.add_handler(handler)
    return registry


class JobHandlers:
    """Finds what runs the jobs of a test: handlers, the chain around them, and resources.

    :ivar faults: the handlers as the test wants them.
    """

    def __init__(self, worker: BaseWorker | None = None, jobs: Jobs | None = None) -> None:
        """Run the jobs by a worker, or the typed jobs of a collection, or all typed jobs.

        :raises ValueError: both a worker and jobs.
        """
        if worker is not None and jobs is not None:
            raise ValueError("The handlers are those of a worker or of jobs, and not both.")
        self._worker = worker
        self._jobs = worker.jobs if worker is not None else jobs
        self._declared = DeclaredHandlers(self._jobs)
        known = worker.registry if worker is not None else self._declared
        self.faults = FaultyHandlers(known, self._declared_elsewhere)
        self.note = self._declared.note
        self.declaration = self._declared.declaration

    @cached_property
    def _chain(self) -> ExecutionChain:
        return ExecutionChain.default()

    def executor(self) -> Executor:
        """Return what executes jobs; the advice for production would not help in a test."""
        if self._worker is None:
            return Executor(self.faults, self._chain, advice="")
        executor = self._worker.freeze()
        return Executor(self.faults, executor.chain, executor.hooks, advice="")

    def _declared_elsewhere(self, job_type: str) -> str:
        """Return what to say about a job of other ``Jobs`` than those that run; empty if none."""
        if self._jobs is None and self._worker is None:
            return ""
        if not any(each.type == job_type for jobs in all_jobs() for each in jobs):
            return ""
        return (
            " Other Jobs declare it than those that this test runs: see the pytest setting or "
            "fixture ojs_worker, or Ojs.fake(worker=..., jobs=...)."
        )

    def queues(self) -> set[str]:
        """Return the queues that jobs are declared for, or that the worker serves."""
        collections = all_jobs() if self._jobs is None else [self._jobs]
        declared = {each.queue for jobs in collections for each in jobs}
        return declared if self._worker is None else declared | {*self._worker.queues}

    def resources_of(self, job_type: str) -> tuple[Resource[Any], ...]:
        """Return what a worker opens before it runs jobs of this type."""
        jobs = self._jobs
        if jobs is None:
            with suppress(NoHandlerError):
                jobs = self._declared.jobs_of(job_type)
        return () if jobs is None else jobs.resources


def _nothing(_ctx: JobContext, *_: object) -> None:
    """Do nothing."""
