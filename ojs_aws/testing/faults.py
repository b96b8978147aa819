"""Lets executions fail on purpose, and runs functions in place of handlers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from ojs_aws.domain.errors import JsonValue
from ojs_aws.middleware.context import JobContext
from ojs_aws.worker.registry import Handler, HandlerRegistry, NoHandlerError

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
