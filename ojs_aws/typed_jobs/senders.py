"""Send jobs by the functions that declare them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    Generic,
    ParamSpec,
    Protocol,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from ojs_aws.client.transports.substitute import current_substitute
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.synchronous import SyncJobContext
from ojs_aws.typed_jobs.calls import JobCall, JobTemplate
from ojs_aws.typed_jobs.clients import sending_client, sending_sync_client
from ojs_aws.typed_jobs.handles import Handle, SyncHandle
from ojs_aws.typed_jobs.options import JobOptions, merged, with_places
from ojs_aws.typed_jobs.values import WrongValueError

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue
    from ojs_aws.typed_jobs.declarations import JobDeclaration

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
Returned = TypeVar("Returned")


_ELSEWHERE: Final = frozenset(
    {"apply_async", "defer", "delay", "kiq", "perform_async", "schedule", "send", "submit"}
)
"""What the methods that send a job are called in other libraries."""


class Sender(Generic[P, R]):
    """Sends jobs of one type, with the parameters of their function; immutable.

    :ivar declaration: what is declared of the job.
    """

    def __init__(self, declaration: JobDeclaration, options: JobOptions) -> None:
        """Send jobs with these options; ``send_email.options(...)`` makes these.

        :raises TypeError: a job has no such attribute, or it is of another type.
        :raises ValueError: a policy has a member that there is not.
        :raises InvalidRequestError: a value that a job cannot have.
        :raises RegistrationError: a unique policy names an argument that there is not.
        """
        self.declaration = declaration
        self._options = with_places(options, declaration.signature, declaration.type)
        job = declaration.template(self._options)
        self._template = JobTemplate(job)
        # A default that is left out must not make another job of the same arguments.
        self._is_whole = "unique" in job

    @property
    def type(self) -> str:
        """Return the type of the job."""
        return self.declaration.type

    def options(self, **options: Unpack[JobOptions]) -> Sender[P, R]:
        """Return a sender of the same job with other options; this one stays as it is.

        Example::

            await send_email.options(delay="10m", priority=5).enqueue("a@b.c", order)

        :param options: the attributes of a job, and ``delay``; see :class:`JobOptions`.
        :raises TypeError: a job has no such attribute, or it is of another type.
        :raises ValueError: a policy has a member that there is not.
        """
        return Sender(self.declaration, merged(self._options, options))

    def call(self, *args: P.args, **kwargs: P.kwargs) -> JobCall[R]:
        """Return the job with these arguments, to be sent later or together with others.

        :raises TypeError: the function does not take these arguments, or one has another type
            than it declares; the message names the argument, and never shows its value.
        :raises RegistrationError: the function's types cannot be resolved.
        """
        encoder = self.declaration.encoder
        if (substitute := current_substitute()) is not None:  # a test, which may compare by ANY
            pattern = substitute.pattern_of(self.declaration, args, kwargs)
            if pattern is not None:
                return cast("JobCall[R]", pattern)
        try:
            wire = encoder.encode(args, kwargs, is_whole=self._is_whole)
        except WrongValueError as wrong:
            raise WrongValueError(wrong.field, wrong.expected, self.type) from None
        return JobCall(self.declaration, self._template, wire)

    async def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """Send a job with these arguments.

        It goes by the client of ``with client.use():``, else by one that ``jobs.configure`` made,
        else to the server that ``OJS_URL`` names.

        :raises TypeError: see :meth:`call`.
        :raises ValueError: nothing says where the server is.
        :raises OjsError: the backend refused the job, or could not be reached.
        """
        return await self.call(*args, **kwargs).enqueue()

    def enqueue_sync(self, *args: P.args, **kwargs: P.kwargs) -> SyncHandle[R]:
        """Send a job from code that is not asynchronous; see :meth:`enqueue`."""
        return self.call(*args, **kwargs).enqueue_sync()

    def handle(self, job_id: str) -> Handle[R]:
        """Return the handle of a job that was sent before, such as by another process.

        :raises ValueError: nothing says where the server is.
        """
        client = sending_client(self.declaration.clients())
        return Handle(client, job_id, self.declaration.decode_result)

    def handle_sync(self, job_id: str) -> SyncHandle[R]:
        """Return the handle of a job that was sent before, for code that is not asynchronous."""
        client = sending_sync_client(self.declaration.clients())
        return SyncHandle(client, job_id, self.declaration.decode_result)

    def schema(self) -> dict[str, JsonValue]:
        """Return the JSON Schema of the arguments on the wire, draft 2020-12.

        Example::

            await client.schemas.register(send_email.type, 1, send_email.schema())

        :raises RegistrationError: a type is not defined, or has no schema.
        """
        from ojs_aws.typed_jobs.model_values import arguments_schema  # imports pydantic

        return arguments_schema(self.type, self.declaration.signature)

    def result_schema(self) -> dict[str, JsonValue]:
        """Return the JSON Schema of the result.

        :raises RegistrationError: the type is not defined, or has no schema.
        """
        from ojs_aws.typed_jobs.model_values import result_schema  # imports pydantic

        return result_schema(self.type, self.declaration.signature)

    def __repr__(self) -> str:
        """Show the type of the job."""
        return f"<{type(self).__name__} {self.type}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Explain a method that other libraries have."""
            hint = ""
            if name in _ELSEWHERE:
                hint = ". Send it by enqueue(...), and set options by options(...).enqueue(...)"
            shown = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(shown + hint, name=name, obj=self)


class RemoteJob(Sender[P, R]):
    """Sends jobs that a worker elsewhere runs, such as one in another language."""


class TypedJob(Sender[P, R], Generic[P, R, Q, Returned]):
    """Sends jobs of one type, and is still the function that runs them."""

    __name__: str
    __qualname__: str

    def __init__(self, declaration: JobDeclaration, options: JobOptions) -> None:
        """Send jobs with these options; the decorator ``@jobs.job(...)`` makes these."""
        super().__init__(declaration, options)
        self._function: Callable[..., Any] = declaration.function
        functools.update_wrapper(self, declaration.function)

    def __call__(self, *args: Q.args, **kwargs: Q.kwargs) -> Returned:
        """Call the function itself, here and now; no job is made."""
        returned: Returned = self._function(*args, **kwargs)
        return returned


class Declare(Protocol):
    """Makes a job of a function."""

    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> TypedJob[P, R, P, Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> TypedJob[P, R, P, R]: ...


class DeclareWithContext(Protocol):
    """Makes a job of a function that takes the context first."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[JobContext, P], Coroutine[Any, Any, R]], /
    ) -> TypedJob[P, R, Concatenate[JobContext, P], Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[SyncJobContext, P], R], /
    ) -> TypedJob[P, R, Concatenate[SyncJobContext, P], R]: ...


class DeclareRemote(Protocol):
    """Makes a remote job of a signature."""

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> RemoteJob[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> RemoteJob[P, R]: ...
