"""JSON Schemas of typed jobs, and the registry that jobs are checked by."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from ojs_aws import Jobs
from ojs_aws.domain.errors import IncompatibleSchemaError, SchemaValidationError
from tests.unit.typed_jobs.conftest import Shop

jobs = Jobs()


class Order(BaseModel):
    number: int
    lines: list[str] = Field(default_factory=list, alias="orderLines")


@jobs.job("order.take")
async def take(
    to: str, order: Order, day: date = date(2026, 1, 1), *, urgent: bool = False
) -> Order | None: ...


@jobs.job("needs.keyword")
async def needs(to: str, *, urgent: bool) -> None: ...


@jobs.job("rest")
async def rest(to: str, *orders: Order) -> None: ...


@jobs.job("no.types")
async def untyped(one, two=2):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    ...


CALLS: list[Any] = [
    take.call("a", Order(number=1)),
    take.call("a", Order(number=1, orderLines=["x"]), date(2026, 2, 1), urgent=True),
    needs.call("a", urgent=True),
    rest.call("a"),
    rest.call("a", Order(number=1), Order(number=2)),
    untyped.call({"x": 1}),
]
WRONG: list[tuple[Any, list[Any]]] = [
    (take, ["a"]),
    (take, ["a", {"number": "1"}]),
    (take, ["a", {"number": 1}, "2026-01-01", {"urgnt": True}]),
    (take, ["a", {"number": 1}, "2026-01-01", {}, 5]),
    (needs, ["a"]),
    (needs, ["a", {}]),
    (rest, ["a", {"number": 1}, 5]),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_schema_accepts_what_is_sent(call: Any) -> None:
    sender = next(each for each in (take, needs, rest, untyped) if each.type == call.type)
    schema: Any = sender.schema()
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(call.to_job().args)


@pytest.mark.parametrize(("sender", "args"), WRONG)
def test_a_schema_refuses_what_no_worker_takes(sender: Any, args: list[Any]) -> None:
    assert not Draft202012Validator(sender.schema()).is_valid(args)


def test_a_schema_names_the_arguments_for_readers() -> None:
    schema: Any = take.schema()
    assert schema["title"] == "order.take"
    assert [item.get("title") for item in schema["prefixItems"][:3]] == ["to", "order", "day"]
    assert schema["prefixItems"][2]["format"] == "date"
    result: Any = take.result_schema()
    assert {"$ref": "#/$defs/Order"} in result["anyOf"]


async def test_the_registry_checks_jobs_by_it(shop: Shop) -> None:
    registered = await shop.client.schemas.register("order.take", 1, take.schema())
    checked = take.options(schema=registered.uri)
    await checked.enqueue("a", Order(number=1), urgent=True)
    with pytest.raises(SchemaValidationError):
        await shop.client.enqueue("order.take", ["a", {"number": "x"}], schema=registered.uri)


async def test_the_registry_knows_which_changes_break(shop: Shop) -> None:
    """A parameter with a default breaks nothing; one without does."""
    newer = Jobs()

    @newer.job("order.take")
    async def more(
        to: str, order: Order, day: date = date.min, *, urgent: bool = False, tag: str = ""
    ) -> None: ...

    @newer.job("order.take", versions=">=2")
    async def less(to: str, order: Order, *, urgent: bool) -> None: ...

    await shop.client.schemas.register("order.take", "1.0", take.schema())
    await shop.client.schemas.register("order.take", "1.1", more.schema())
    with pytest.raises(IncompatibleSchemaError):
        await shop.client.schemas.register("order.take", "1.2", less.schema())
