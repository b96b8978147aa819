"""Runs queries over the table and its index, a page at a time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ojs_aws.memory_aws.calls import Answer, Request
from ojs_aws.memory_aws.expressions import (
    InvalidExpressionError,
    Parser,
    Placeholders,
    projection,
    tokens_of,
)
from ojs_aws.memory_aws.items import Item, stored_value
from ojs_aws.memory_aws.table import MemoryTable, Position, Rows, read_units
from ojs_aws.topology import TABLE

PAGE_BYTES: Final = 1024 * 1024
"""A query stops behind the item with which it has read so much."""

_END: Final = "\U0010ffff"
_TABLE_KEYS: Final = (TABLE.partition_key, TABLE.sort_key)
_INDEX_KEYS: Final = (TABLE.index.partition_key, TABLE.index.sort_key)
_KNOWN: Final = frozenset(
    {
        "TableName",
        "IndexName",
        "KeyConditionExpression",
        "ExpressionAttributeNames",
        "ExpressionAttributeValues",
        "ProjectionExpression",
        "ScanIndexForward",
        "ConsistentRead",
        "Select",
        "Limit",
        "ExclusiveStartKey",
        "ReturnConsumedCapacity",
    }
)


@dataclass(frozen=True, slots=True)
class QueryPage:
    """Holds the answer of a query, and what it costs."""

    answer: Answer
    units: float


@dataclass(frozen=True, slots=True)
class _Range:
    """Holds what a key condition asks for: a partition, and a range of its sort keys."""

    partition: str
    low: str = ""
    high: str = _END
    takes_low: bool = True
    takes_high: bool = True

    def cut(self, positions: Sequence[Position]) -> tuple[int, int]:
        """Return where the range begins and ends among positions."""
        low = bisect_left if self.takes_low else bisect_right
        high = bisect_right if self.takes_high else bisect_left
        return low(positions, self.low, key=_sort_key), high(positions, self.high, key=_sort_key)

    def check_begins(self, sort: str) -> None:
        """Refuse to begin behind a sort key that is not in the range.

        :raises InvalidExpressionError: it is not.
        """
        if not self.low <= sort <= self.high:
            raise InvalidExpressionError(
                "The provided starting key is outside query boundaries based on provided conditions"
            )


def _sort_key(position: Position) -> str:
    return position[0]


def run_query(table: MemoryTable, request: Request) -> QueryPage:
    """Run a query.

    :raises InvalidExpressionError: DynamoDB refuses it, or nobody here has needed it so far.
    """
    if unknown := request.keys() - _KNOWN:
        raise InvalidExpressionError(f"A query has no {', '.join(sorted(unknown))} here")
    given = Placeholders(
        request.get("ExpressionAttributeNames", {}),
        {k: stored_value(v) for k, v in request.get("ExpressionAttributeValues", {}).items()},
    )
    texts = [request[k] for k in ("KeyConditionExpression", "ProjectionExpression") if k in request]
    given.check_used(texts)
    is_index = "IndexName" in request
    is_consistent = bool(request.get("ConsistentRead"))
    if is_index and (request["IndexName"] != TABLE.index.name or is_consistent):
        raise InvalidExpressionError("The index has another name, or reads of it are consistent")
    keys = _INDEX_KEYS if is_index else _TABLE_KEYS
    table.index.catch_up()
    rows = table.index.rows if is_index else table.items
    wanted = _range(request["KeyConditionExpression"], keys, given)
    found, last, size = _page(rows, wanted, keys, request)
    answer: Answer = {"Count": len(found), "ScannedCount": len(found)}
    if request.get("Select") != "COUNT":
        answer["Items"] = _projected(found, request.get("ProjectionExpression"), given)
    if last is not None:
        names = dict.fromkeys((*_TABLE_KEYS, *keys))
        answer["LastEvaluatedKey"] = {name: last[name] for name in names}
    return QueryPage(answer, read_units(size, is_consistent=is_consistent))


def _page(
    rows: Rows, wanted: _Range, keys: tuple[str, str], request: Request
) -> tuple[list[Item], Item | None, int]:
    """Return the items of a page, the last one if there may be more, and their size."""
    positions = rows.positions(wanted.partition)
    low, high = wanted.cut(positions)
    forward = request.get("ScanIndexForward", True)
    start = request.get("ExclusiveStartKey")
    if start is not None:
        wanted.check_begins(start[keys[1]]["S"])
        behind = (start[keys[1]]["S"], *(start[name]["S"] for name in _TABLE_KEYS))
        if forward:
            low = max(low, bisect_right(positions, behind))
        else:
            high = min(high, bisect_left(positions, behind))
    limit = request.get("Limit")
    if limit is not None and limit < 1:
        raise InvalidExpressionError("Limit is at least 1")
    found: list[Item] = []
    size = 0
    for at in range(low, high) if forward else range(high - 1, low - 1, -1):
        key = positions[at][1:]
        item = rows.rows[key]
        found.append(item)
        size += rows.size(key)
        if len(found) == limit or size >= PAGE_BYTES:
            return found, item, size
    return found, None, size


def _projected(items: Sequence[Item], text: str | None, given: Placeholders) -> list[Any]:
    if text is None:
        return [dict(item) for item in items]
    names = projection(text, given)
    return [{name: item[name] for name in names if name in item} for item in items]


def _range(text: str, keys: tuple[str, str], given: Placeholders) -> _Range:
    parser = Parser(tokens_of(text))
    partition, sort = keys
    _expect_name(parser, partition, given)
    parser.expect("=")
    found = _Range(_text(parser, given))
    if parser.takes("AND"):
        found = _sorted(parser, sort, found.partition, given)
    parser.end()
    return found


def _sorted(parser: Parser, sort: str, partition: str, given: Placeholders) -> _Range:
    if parser.takes("begins_with"):
        parser.expect("(")
        _expect_name(parser, sort, given)
        parser.expect(",")
        prefix = _text(parser, given)
        parser.expect(")")
        return _Range(partition, prefix, prefix + _END)
    _expect_name(parser, sort, given)
    operator = parser.take()
    value = _text(parser, given)
    if operator.upper() == "BETWEEN":
        parser.expect("AND")
        high = _text(parser, given)
        if high < value:
            raise InvalidExpressionError(
                "The BETWEEN operator requires upper bound to be greater than or equal to lower"
            )
        return _Range(partition, value, high)
    ranges = {
        "=": _Range(partition, value, value),
        "<": _Range(partition, high=value, takes_high=False),
        "<=": _Range(partition, high=value),
        ">": _Range(partition, value, takes_low=False),
        ">=": _Range(partition, value),
    }
    if operator not in ranges:
        raise InvalidExpressionError(f"Invalid operator used in KeyConditionExpression: {operator}")
    return ranges[operator]


def _expect_name(parser: Parser, attribute: str, given: Placeholders) -> None:
    if given.name(parser.placeholder("#")) != attribute:
        raise InvalidExpressionError(f"Query condition missed key schema element: {attribute}")


def _text(parser: Parser, given: Placeholders) -> str:
    value = given.value(parser.placeholder(":"))
    text = value.get("S")
    if not isinstance(text, str) or not text:
        raise InvalidExpressionError("The value of a key is a string that is not empty")
    return text
