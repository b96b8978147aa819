"""Handlers by job type: what is refused at registration, and what is said about missing ones."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from ojs_aws.worker import RegistrationError
from ojs_aws.worker.registry import (
    ArgumentsError,
    HandlerRegistry,
    NoHandlerError,
)
from tests.unit.worker.doubles import job


def test_the_decorated_function_stays_as_it_is() -> None:
    """So that tests can call it."""
    registry = HandlerRegistry()

    @registry.handler("email.send")
    def send(ctx: Any, to: str) -> str:
        return to

    assert send(None, "x") == "x"
    assert registry.find("email.send").function is send
    assert list(registry) == ["email.send"]


def test_asynchronous_functions_are_recognised() -> None:
    """Plain ones, partial ones, and objects with an asynchronous call."""

    async def plain(ctx: Any, n: int = 0) -> None: ...

    class Called:
        async def __call__(self, ctx: Any) -> None: ...

    def sync(ctx: Any) -> None: ...

    registry = HandlerRegistry()
    functions: dict[str, Any] = {
        "a.plain": plain,
        "a.partial": functools.partial(plain, n=1),
        "a.object": Called(),
        "a.sync": sync,
    }
    for name, function in functions.items():
        registry.add(name, function)
    assert [registry.find(name).is_async for name in registry] == [True, True, True, False]


def test_a_second_handler_for_a_type_is_refused() -> None:
    """Naming the first."""
    registry = HandlerRegistry()

    @registry.handler("a.b")
    def first(ctx: Any) -> None: ...

    with pytest.raises(RegistrationError, match="first"):
        registry.add("a.b", lambda ctx: None)


@pytest.mark.parametrize("name", ["Email.Send", "", "a..b", "a b"])
def test_a_type_that_no_job_can_have_is_refused(name: str) -> None:
    """At import, not when the first job does not come."""
    with pytest.raises(RegistrationError):
        HandlerRegistry().handler(name)(lambda ctx: None)


def test_the_decorator_without_a_type_is_explained() -> None:
    """A common slip: ``@worker.handler`` without parentheses."""
    with pytest.raises(RegistrationError, match="name the job type"):
        HandlerRegistry().handler(lambda ctx: None)  # type: ignore[arg-type]


def test_a_function_that_cannot_take_the_context_is_refused() -> None:
    """It would fail with its first job."""
    with pytest.raises(RegistrationError, match="JobContext first"):
        HandlerRegistry().add("a.b", lambda: None)


def test_nothing_is_registered_after_the_start() -> None:
    """A worker that runs knows all its handlers."""
    registry = HandlerRegistry()
    registry.freeze()
    with pytest.raises(RegistrationError, match="after the worker had started"):
        registry.add("a.b", lambda ctx: None)


def test_an_unknown_type_names_the_nearest() -> None:
    """A slip is found from the message alone."""
    registry = HandlerRegistry()
    registry.add("email.send", lambda ctx: None)
    with pytest.raises(NoHandlerError, match=r"Did you mean 'email\.send'\?"):
        registry.find("email.sent")


def test_arguments_that_do_not_fit_are_explained() -> None:
    """Before the call, with the handler's signature."""
    registry = HandlerRegistry()

    @registry.handler("email.send")
    def send(ctx: Any, to: str) -> None: ...

    with pytest.raises(ArgumentsError, match=r"send\(ctx: 'Any', to: 'str'\)"):
        registry.find("email.send").check(job(1, "email.send"))
    registry.find("email.send").check(job(1, "email.send", "x"))


def test_a_type_may_have_a_handler_for_each_range_of_versions() -> None:
    """Job versioning, section 8: the range picks it, one for any version comes last."""
    registry = HandlerRegistry()

    def current(ctx: Any) -> None: ...

    def old(ctx: Any) -> None: ...

    def other(ctx: Any) -> None: ...

    registry.add("invoice.generate", other)
    registry.handler("invoice.generate", versions=">=1.0 <2.0")(old)
    registry.handler("invoice.generate", versions=">=2.0")(current)
    found = {
        version: registry.find("invoice.generate", version).function
        for version in (None, "1.5", 2, "2.1", "0.9")
    }
    assert found == {None: other, "1.5": old, 2: current, "2.1": current, "0.9": other}
    with pytest.raises(RegistrationError, match="current"):
        registry.add("invoice.generate", lambda ctx: None, versions=">=2.0")
    with pytest.raises(RegistrationError, match="versions"):
        registry.add("invoice.generate", lambda ctx: None, versions="^3")


def test_an_error_of_a_version_names_those_with_handlers() -> None:
    """VER-006: a job without a version is everybody's."""
    registry = HandlerRegistry()
    registry.add("invoice.generate", lambda ctx: None, versions=">=1.0 <2.0")
    assert registry.find("invoice.generate").versions.text == ">=1.0 <2.0"
    with pytest.raises(NoHandlerError, match=r"version 2\.0.*>=1\.0 <2\.0"):
        registry.find("invoice.generate", "2.0")
