"""Open what all jobs of a worker share, such as a database pool, for as long as it runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from contextvars import ContextVar
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast

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
