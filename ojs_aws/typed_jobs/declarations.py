"""Hold what is declared: a job with its type, function and options, and what jobs share.

A resource, such as a database pool, is open for as long as a worker of the jobs runs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast

from ojs_aws.client.retry_rules import ErrorClasses
from ojs_aws.domain.attributes import check_type
from ojs_aws.domain.envelope import DEFAULT_QUEUE, Job
from ojs_aws.domain.errors import JsonValue, OjsError
from ojs_aws.domain.jobs.versions import ANY
from ojs_aws.domain.json_text import Member, encode
from ojs_aws.middleware.results import RegistrationError
from ojs_aws.typed_jobs.arguments import ArgumentDecoder, ArgumentEncoder, ArgumentTypes, codec_of
from ojs_aws.typed_jobs.clients import Clients
from ojs_aws.typed_jobs.options import JobOptions, check_values, with_places
from ojs_aws.typed_jobs.signature import JobSignature
from ojs_aws.typed_jobs.values import Codec, WrongValueError

T = TypeVar("T")

Opened: TypeAlias = "Mapping[Resource[Any], object]"
"""The values of open resources."""

_OPEN: Final[ContextVar[Opened]] = ContextVar("ojs_aws_resources")


class Resource(Generic[T]):
    """Gives jobs a value that the worker opens before its first job, and closes after its last.

    ``@jobs.resource`` makes these.
    """

    def __init__(self, make: Callable[[], AsyncIterator[T]]) -> None:
        """Open by an asynchronous generator function, which yields the value once."""
        self._open = asynccontextmanager(make)
        self._name = getattr(make, "__name__", repr(make))

    def get(self) -> T:
        """Return the value; within a job, at any depth.

        :raises RuntimeError: no worker runs here that has opened it.
        """
        opened = _OPEN.get({})
        if self not in opened:
            name = self._name
            raise RuntimeError(
                f"The resource {name!r} is open only while a worker with its Jobs runs. In a test: "
                f"with {name}.use(value): ..."
            )
        return cast("T", opened[self])

    @contextmanager
    def use(self, value: T) -> Iterator[T]:
        """Give a value of your own, until the block ends: ``with pool.use(fake): ...``."""
        with in_use({**_OPEN.get({}), self: value}):
            yield value

    def opened(self) -> AbstractAsyncContextManager[T]:
        """Return what opens and closes the value; workers call this."""
        return self._open()

    def __repr__(self) -> str:
        """Show the name of the function."""
        return f"<Resource {self._name}>"


@contextmanager
def in_use(opened: Opened) -> Iterator[None]:
    """Give these values to what the block starts."""
    token = _OPEN.set(opened)
    try:
        yield
    finally:
        _OPEN.reset(token)


async def open_all(resources: Iterable[Resource[Any]], stack: AsyncExitStack) -> Opened:
    """Open resources one after the other; each may use those before it.

    :param stack: closes them, the last one first.
    :raises Exception: whatever one raised; those before it are closed.
    """
    opened: dict[Resource[Any], object] = {**_OPEN.get({})}
    async with AsyncExitStack() as opening:
        with in_use(opened):
            for resource in resources:
                opened[resource] = await opening.enter_async_context(resource.opened())
        stack.push_async_exit(opening.pop_all())
    return opened


def not_in_use(resources: Iterable[Resource[Any]]) -> list[Resource[Any]]:
    """Return those of some resources that have no value here yet."""
    return [resource for resource in resources if resource not in _OPEN.get({})]


@asynccontextmanager
async def all_open(resources: Iterable[Resource[Any]]) -> AsyncIterator[None]:
    """Open resources for what the block starts, and close them when it ends."""
    async with AsyncExitStack() as stack:
        opened = await open_all(resources, stack)
        stack.enter_context(in_use(opened))
        yield


RESULT: Final = "result"


@dataclass(frozen=True)
class JobDeclaration:
    """Describes one job, for those who send it and for the worker that runs it.

    :ivar options: of every job of the type, unless the sender says otherwise.
    :ivar versions: of jobs that the function takes.
    :ivar is_remote: a worker elsewhere runs it; the function is only its signature.
    :ivar clients: who sends it where no client is in use; asked at each call.
    """

    type: str
    signature: JobSignature
    options: JobOptions
    clients: Callable[[], Clients]
    versions: str = ANY
    is_remote: bool = False

    @property
    def function(self) -> Callable[..., Any]:
        """Return the function that was decorated."""
        return self.signature.function

    @property
    def queue(self) -> str:
        """Return the queue of the job's options."""
        return self.options.get("queue") or DEFAULT_QUEUE

    @property
    def retry_on(self) -> ErrorClasses | None:
        """Return the classes of the only errors that are retried; None for all."""
        classes: ErrorClasses | None = getattr(self.options.get("retry"), "retry_on", None)
        return classes

    def template(self, options: Mapping[str, Any]) -> Job:
        """Return a job of this type without arguments.

        :raises TypeError: a job has no such attribute, or it is of another type.
        :raises ValueError: a policy has a member that there is not.
        :raises InvalidRequestError: a value that a job cannot have.
        """
        if self.retry_on is not None and options.get("retry") is self.options.get("retry"):
            options = {**options, "retry": dict(options["retry"])}
        job = Job(self.type, (), **options)
        check_values(job, options)
        return job

    def check(self) -> None:
        """Resolve all types; a worker does so when it starts.

        :raises RegistrationError: a type is not defined, or JSON cannot carry it, or the context
            is not where it belongs.
        """
        _ = self.encoder, self.decoder, self.result

    @cached_property
    def _types(self) -> ArgumentTypes:
        self.signature.check_context()
        return ArgumentTypes(self.signature)

    @cached_property
    def encoder(self) -> ArgumentEncoder:
        """Return what writes the arguments for the wire."""
        return ArgumentEncoder(self.signature, self._types)

    @cached_property
    def decoder(self) -> ArgumentDecoder:
        """Return what reads the arguments from the wire."""
        return ArgumentDecoder(self._types)

    @cached_property
    def result(self) -> Codec:
        """Return the codec of what the function returns."""
        kind = self.signature.annotations.get("return", Any)
        return codec_of(kind, f"The result of {self.signature.name}")

    def decode_result(self, value: JsonValue) -> Any:
        """Return the result of a job as the function returned it.

        :raises WrongValueError: it does not have the declared type.
        """
        try:
            return self.result.decode(Member(encode(value), value), RESULT)
        except WrongValueError as wrong:
            raise WrongValueError(wrong.field, wrong.expected, self.type) from None


def declared(
    job_type: str,
    signature: JobSignature,
    options: JobOptions,
    clients: Callable[[], Clients],
    *,
    versions: str = ANY,
    is_remote: bool = False,
) -> JobDeclaration:
    """Return a declaration, checked as far as it can be before all types are known.

    :raises RegistrationError: no valid type, an option that only one job can have, or a value
        that a job cannot have, or a unique policy that names an argument that there is not.
    :raises TypeError: a job has no such attribute, or it is of another type.
    :raises ValueError: a policy has a member that there is not.
    """
    if "id" in options:
        raise RegistrationError(f"All jobs of {job_type!r} cannot have the same id.")
    options = with_places(options, signature, job_type)
    made = JobDeclaration(job_type, signature, options, clients, versions, is_remote)
    try:
        check_type(job_type)
        made.template(options)
        if is_remote and made.retry_on is not None:
            raise RegistrationError(f"The worker of {job_type!r} is elsewhere: so is retry_on.")
    except OjsError as problem:
        raise RegistrationError(f"The job {job_type!r}: {problem}") from problem
    return made
