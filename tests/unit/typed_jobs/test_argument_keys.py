"""Unique policies of typed jobs, which name parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel, Field

from ojs_aws import Jobs, UniquePolicy, chain
from ojs_aws.domain.errors import DuplicateError
from ojs_aws.domain.unique.keys import parse_unique_policy, unique_key
from ojs_aws.middleware.results import RegistrationError
from ojs_aws.typed_jobs.senders import TypedJob
from tests.unit.typed_jobs.conftest import Shop


class Order(BaseModel):
    number: int
    total: str = Field(default="", serialization_alias="sum")


@dataclass
class Point:
    x: int


class City(TypedDict):
    name: str


def build(day: str, limit: int = 10, *, kind: str = "full") -> None: ...
def of_object(order: Order, point: Point, city: City, *, kind: str = "full") -> None: ...
def of_any(body: dict[str, int], *, kind: str = "full") -> None: ...
def untyped(body, *, kind="full"): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
def hidden(order: Order, *, number: int = 1) -> None: ...
def rest(day: str, *others: int) -> None: ...


def declared(function: Callable[..., Any], *keys: str) -> TypedJob[..., Any, ..., Any]:
    """Declare a job of which these arguments count."""
    made: TypedJob[..., Any, ..., Any] = Jobs().job("a.b", unique=UniquePolicy(args_keys=[*keys]))(
        function
    )
    return made


def sent_keys(job: Any, *args: Any, **named: Any) -> Any:
    """Return the keys that go over the wire."""
    return job.call(*args, **named).to_job().unique["args_keys"]


def key_of(job: Any, *args: Any, **named: Any) -> str:
    """Return the uniqueness key that the backend finds."""
    made = job.call(*args, **named).to_job()
    return unique_key(made, parse_unique_policy(made.unique))


async def test_jobs_differ_by_the_parameters_that_the_policy_names(shop: Shop) -> None:
    job = declared(build, "day")
    await job.enqueue("2026-01-31")
    await job.enqueue("2026-02-01")
    with pytest.raises(DuplicateError):
        await job.enqueue("2026-01-31", 5)


def test_a_parameter_goes_by_its_place_and_a_keyword_by_its_name() -> None:
    job = declared(build, "limit", "kind", "0")
    assert sent_keys(job, "x") == ["1", "kind", "0"]
    assert key_of(job, "x") == key_of(job, "x", 10, kind="full")
    assert len({key_of(job, "x"), key_of(job, "x", kind="short"), key_of(job, "x", 5)}) == 3


def test_a_sender_with_another_policy_names_parameters_too() -> None:
    job: Any = Jobs().job("a.b")(build)
    assert sent_keys(job.options(unique={"args_keys": ["day", "0"]}), "x") == ["0"]
    assert sent_keys(declared(build, "limit").options(priority=1), "x") == ["1"]
    with pytest.raises(RegistrationError, match="did you mean 'day'"):
        job.options(unique={"args_keys": ["dya"]})


@pytest.mark.parametrize(
    ("function", "key", "said"),
    [
        (build, "dya", r"names 'dya', and build has no such argument: did you mean 'day'\?"),
        (build, "user_id", "no such argument. It has day, limit, kind."),
        (build, "3", "names '3'"),
        (of_object, "numbr", "names 'numbr'"),
        (hidden, "number", "'number' would be looked for in 'order' first.*before the \\*"),
        (of_any, "kind", "would be looked for in 'body' first"),
    ],
)
def test_a_key_that_finds_no_argument_is_refused(
    function: Callable[..., Any], key: str, said: str
) -> None:
    """Where the job is declared: else all jobs would be one."""
    with pytest.raises(RegistrationError, match=said):
        declared(function, key)


@pytest.mark.parametrize(
    ("function", "key"),
    [
        (build, "2"),
        (of_object, "number"),
        (of_object, "sum"),
        (of_object, "x"),
        (of_object, "name"),
        (of_object, "kind"),
        (of_any, "user_id"),
        (untyped, "user_id"),
        (untyped, "kind"),
        (rest, "7"),
    ],
)
def test_a_member_of_an_argument_is_still_a_key(function: Callable[..., Any], key: str) -> None:
    declared(function, key)


def test_a_step_is_not_unique_by_the_arguments_it_names() -> None:
    """The policy that the job declares is known again, whatever names it has."""
    with pytest.warns(UserWarning, match="is not unique in a chain"):
        [step] = chain(declared(build, "day").call("x")).to_parts().jobs()
    assert step.unique is None
