"""Values that JSON does not have: encoded by the sender, read strictly by the worker."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NewType
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel, Field, SecretStr, field_validator
from typing_extensions import TypedDict

from ojs_aws import Job, Jobs
from ojs_aws.domain.json_text import RawJson
from ojs_aws.typed_jobs.model_values import ModelCodec
from ojs_aws.typed_jobs.values import WrongValueError
from ojs_aws.worker import RegistrationError
from ojs_aws.worker.executor import Succeeded
from tests.unit.typed_jobs.conftest import Shop, error_of, execute

jobs = Jobs()
seen: list[Any] = []


class Colour(Enum):
    RED = "red"


class Line(BaseModel):
    name: str
    price: Decimal


class BigLine(Line):
    weight: int = 0


class Order(BaseModel):
    number: int
    lines: list[Line] = Field(default_factory=list, alias="orderLines")
    at: datetime | None = None
    prices: dict[str, float] = Field(default_factory=dict)

    @field_validator("number")
    @classmethod
    def small(cls, number: int) -> int:
        if number > 1000:
            raise ValueError(f"secret {number}")
        return number


@dataclass
class Point:
    x: float
    y: float
    name: str = ""


@dataclass(eq=False)
class Opaque:
    x: int


class Options(TypedDict, total=False):
    colour: Colour


Name = NewType("Name", str)


@jobs.job("all.kinds")
async def kinds(
    order: Order,
    point: Point,
    colour: Colour,
    ident: UUID,
    *,
    price: Decimal = Decimal("0.10"),
    day: date | None = None,
    pairs: tuple[tuple[str, Colour], ...] = (),
    names: set[Name] = frozenset(),  # type: ignore[assignment]
    wait: timedelta = timedelta(0),
    options: Options | None = None,
    few: Annotated[int, Field(lt=5)] = 0,
) -> dict[str, Order]:
    seen.append((order, point, colour, ident, price, day, pairs, names, wait, options, few))
    return {"order": order}


@jobs.job("an.order")
async def take(order: Order) -> Point:
    return Point(order.number, 2)


@jobs.job("opaque")
async def opaque(value: Opaque) -> int:
    return value.x


ORDER = Order.model_validate(
    {"number": 1, "orderLines": [{"name": "pen", "price": "1.10"}], "at": "2026-01-02T03:04:05Z"}
)
IDENT = UUID("01900000-0000-7000-8000-000000000001")


async def test_values_of_all_kinds_come_back_as_they_were(shop: Shop) -> None:
    """Arguments and the result, through the backend."""
    given: dict[str, Any] = {
        "price": Decimal("12345678901234567890.10"),
        "day": date(2026, 1, 2),
        "pairs": (("a", Colour.RED),),
        "names": {Name("x"), Name("y")},
        "wait": timedelta(days=1, milliseconds=5),
        "options": {"colour": Colour.RED},
        "few": 4,
    }
    handle = await kinds.enqueue(ORDER, Point(1, 2.5), Colour.RED, IDENT, **given)
    seen.clear()
    await shop.work(jobs)
    assert seen == [(ORDER, Point(1, 2.5), Colour.RED, IDENT, *given.values())]
    assert await handle.result() == {"order": ORDER}


def test_the_wire_has_the_names_of_the_aliases() -> None:
    [wire] = take.call(ORDER).to_job().args
    assert wire == {
        "number": 1,
        "orderLines": [{"name": "pen", "price": "1.10"}],
        "at": "2026-01-02T03:04:05Z",
        "prices": {},
    }


# ---------------------------------------------------------------------------- wrong at the sender
def _changed(**fields: Any) -> Order:
    order = ORDER.model_copy(deep=True)
    vars(order).update(fields)
    return order


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: {"number": 1}, "order"),
        (lambda: _changed(number="secret"), "order.number"),
        (lambda: _changed(prices={"secret": float("nan")}), "order.prices[...]"),
        (lambda: _changed(lines=[BigLine(name="a", price=Decimal(1), weight=3)]), "order.lines[0]"),
        (lambda: _changed(number=5000), "order.number"),
        (lambda: "secret", "order"),
    ],
)
def test_what_would_be_lost_or_changed_is_not_sent(make: Callable[[], Any], field: str) -> None:
    """pydantic alone drops the fields of a subclass, and makes null of NaN, without an error."""
    with pytest.raises(WrongValueError) as caught:
        take.call(make())
    assert caught.value.field == field
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("fold", [0, 1])
def test_a_time_in_the_repeated_hour_of_a_zone_is_sent(fold: int) -> None:
    """Python finds no such time equal to one of another zone; its instant comes back."""
    at = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=fold)
    (sent,) = take.call(_changed(at=at)).to_job().args
    assert isinstance(sent, dict)
    assert sent["at"] == f"2026-10-25T02:30:00+0{2 - fold}:00"


def test_a_time_whose_offset_json_would_round_is_not_sent() -> None:
    at = datetime(2026, 10, 25, 2, 30, tzinfo=timezone(timedelta(seconds=3661)))
    with pytest.raises(WrongValueError, match="without loss"):
        take.call(_changed(at=at))


def test_a_nan_that_json_would_make_null_is_not_sent() -> None:
    """Also where null is a value of the type."""
    with pytest.raises(WrongValueError):
        ModelCodec(list[float | None]).encode([float("nan")], "values")


def test_a_subclass_is_refused_by_its_name() -> None:
    order = _changed(lines=[BigLine(name="a", price=Decimal(1), weight=3)])
    with pytest.raises(WrongValueError, match="a Line, not BigLine: what BigLine adds"):
        take.call(order)


def test_a_value_of_another_class_is_refused_by_both_names() -> None:
    """Also where it has all the fields."""
    fields: Any = {"number": 1, "orderLines": []}
    with pytest.raises(
        WrongValueError, match=r"'order' of 'an.order' must be an Order, not dict\.$"
    ):
        take.call(fields)


def test_an_object_of_named_fields_is_checked_by_them() -> None:
    own = Jobs()

    @own.job("a.b")
    async def run(options: Options) -> None: ...

    assert run.call({"colour": Colour.RED}).to_job().args == [{"colour": "red"}]
    with pytest.raises(WrongValueError, match=r"'options\.colour' of 'a.b' must be"):
        run.call({"colour": "blue"})  # type: ignore[typeddict-item]


def test_a_secret_is_not_sent_as_stars() -> None:
    own = Jobs()

    @own.job("a.b")
    async def run(key: SecretStr) -> None: ...

    with pytest.raises(WrongValueError, match="without loss"):
        run.call(SecretStr("secret"))


def test_objects_without_a_comparison_are_compared_by_their_fields() -> None:
    assert opaque.call(Opaque(3)).to_job().args == [{"x": 3}]


def test_a_type_that_json_cannot_carry_is_refused() -> None:
    own = Jobs()

    class Connection:
        pass

    run: Any = own.job("a.b")(_with(Connection))
    with pytest.raises(RegistrationError, match=r"'connection'.*JSON cannot carry"):
        run.call(Connection())


def _with(kind: type) -> Callable[[Any], None]:
    def run(connection: Any) -> None: ...

    run.__annotations__ = {"connection": kind, "return": None}
    return run


# ---------------------------------------------------------------------------- wrong at the worker
@pytest.mark.parametrize(
    ("order", "field"),
    [
        ({"number": "1"}, "order.number"),
        ({"number": 1, "orderLines": [{"name": "secret"}]}, "order.orderLines[0].price"),
        ({"number": 1, "orderLines": "secret"}, "order.orderLines"),
        ({"number": 1, "prices": {"secret": "x"}}, "order.prices[...]"),
        ({"number": 5000}, "order.number"),
        ("secret", "order"),
    ],
)
async def test_a_wrong_value_is_a_dead_letter_that_names_the_field(order: Any, field: str) -> None:
    """Strictly: a number in quotes is none. The error never shows what came, nor keys of data."""
    error = error_of(await execute(jobs, Job("an.order", [order])))
    assert (error["code"], error["details"]) == ("DEAD_LETTER", {"field": field})
    assert "secret" not in json.dumps(error)


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


@jobs.job("pet.feed")
async def feed(
    pet: Annotated[Cat | Dog, Field(discriminator="kind")], ident: UUID | None = None
) -> None: ...


@pytest.mark.parametrize(
    ("args", "field"),
    [([{"kind": "secret"}], "pet"), ([{"kind": "cat"}, "secret"], "ident")],
)
async def test_messages_that_show_the_value_are_left_out(args: list[Any], field: str) -> None:
    """pydantic names the tag that came, and the character at which an id is wrong."""
    error = error_of(await execute(jobs, Job("pet.feed", args)))
    assert error["details"] == {"field": field}
    shown = json.dumps(error).replace("secret_", "")
    assert "secret" not in shown
    assert "found" not in shown


async def test_a_result_is_checked_and_written_as_json() -> None:
    outcome = await execute(jobs, take.call(ORDER).to_job())
    assert outcome == Succeeded(RawJson('{"x":1.0,"y":2.0,"name":""}'))
