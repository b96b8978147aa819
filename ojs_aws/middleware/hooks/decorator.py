"""Mark a function as a hook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar, cast, overload

from ojs_aws.middleware.errors import InvalidMiddlewareError
from ojs_aws.middleware.interfaces import HOOKS

F = TypeVar("F", bound=Callable[..., object])

_INTERFACES: Final = {interface.name: interface for interface in HOOKS}


@overload
def hook(name_or_function: F, /) -> F: ...
@overload
def hook(
    name_or_function: str = "", /, *, job_type: str | Sequence[str] = ()
) -> Callable[[F], F]: ...


def hook(name_or_function: object = "", /, *, job_type: str | Sequence[str] = ()) -> object:
    """Make a function a hook, or bind a method of a hook to some job types.

    The function stays as it is. Without a name it is the hook whose name it has::

        @hook
        def work_begin(job, ctx): ...

        @hook("insert_begin", job_type="email.send")
        def stamp(job): job.meta["sent_from"] = "shop"

        client = Client(url, hooks=[stamp])

    :param job_type: one job type, or several; all by default.
    :raises InvalidMiddlewareError: there is no such hook, or the function cannot be called as it.
    """
    job_types = (job_type,) if isinstance(job_type, str) else tuple(job_type)

    def mark(function: F) -> F:
        name = name_or_function if isinstance(name_or_function, str) else ""
        name = name or str(getattr(function, "__name__", ""))
        if name not in _INTERFACES:
            raise InvalidMiddlewareError(
                f"There is no hook {name!r}; there are {', '.join(_INTERFACES)}."
            )
        try:
            function.hook_name = name  # type: ignore[attr-defined]
            function.hook_job_types = job_types  # type: ignore[attr-defined]
        except AttributeError:
            raise InvalidMiddlewareError(
                f"{function!r} cannot be marked as a hook: mark the function itself, where it is "
                "defined."
            ) from None
        return function

    if callable(name_or_function):
        return mark(cast("Callable[..., object]", name_or_function))
    return mark
