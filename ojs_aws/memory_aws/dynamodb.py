"""Answers the calls of DynamoDB that the adapters make, as botocore's client does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NoReturn

from ojs_aws.memory_aws.calls import (
    ACCOUNT,
    META,
    REGION,
    Answer,
    Calls,
    Client,
    Meta,
    Request,
    refuse,
)
from ojs_aws.memory_aws.expressions import InvalidExpressionError
from ojs_aws.memory_aws.items import InvalidItemError, Item
from ojs_aws.memory_aws.queries import run_query
from ojs_aws.memory_aws.table import MemoryTable, read_units
from ojs_aws.memory_aws.writes import (
    ConditionRefusedError,
    Tokens,
    Write,
    checked_key,
    prepared,
    write_transaction,
)

BATCH_READS: Final = 100
BATCH_WRITES: Final = 25
BATCH_BYTES: Final = 16 * 1024 * 1024
INVALID: Final = "ValidationException"


@dataclass(eq=False)
class MemoryDynamoDB(Client):
    """Keeps tables in memory behind the methods of botocore's client.

    :ivar tables: the tables by name.
    """

    service: ClassVar = "dynamodb"
    operations: ClassVar = {
        "BatchGetItem": "_batch_get_item",
        "BatchWriteItem": "_batch_write_item",
        "CreateTable": "_create_table",
        "DeleteItem": "_write",
        "DescribeTable": "_describe_table",
        "GetItem": "_get_item",
        "PutItem": "_write",
        "Query": "_query",
        "Scan": "_scan",
        "TransactWriteItems": "_transact_write_items",
        "UpdateItem": "_write",
    }
    calls: Calls
    tables: dict[str, MemoryTable] = field(default_factory=dict)
    tokens: Tokens = field(default_factory=Tokens)
    meta: Meta = META

    def _carry_out(self, operation: str, request: Request) -> Answer:
        try:
            return super()._carry_out(operation, request)
        except (InvalidExpressionError, InvalidItemError) as problem:
            refuse(operation, INVALID, str(problem))

    def _table(self, operation: str, name: str) -> MemoryTable:
        table = self.tables.get(name)
        if table is None:
            refuse(operation, "ResourceNotFoundException", f"There is no table {name}.")
        return table

    # ------------------------------------------------------------------------------- reads
    def _get_item(self, operation: str, request: Request) -> Answer:
        table = self._table(operation, request["TableName"])
        key = checked_key(request["Key"])
        item = table.get(key)
        units = read_units(table.items.size(key), is_consistent=bool(request.get("ConsistentRead")))
        answer: Answer = {} if item is None else {"Item": dict(item)}
        return _with_capacity(answer, request, units)

    def _batch_get_item(self, operation: str, request: Request) -> Answer:
        found: dict[str, list[Item]] = {}
        units = 0.0
        for name, wanted in request["RequestItems"].items():
            table = self._table(operation, name)
            keys = [checked_key(each) for each in wanted["Keys"]]
            if len(keys) > BATCH_READS or len(set(keys)) < len(keys):
                refuse(operation, INVALID, "At most 100 keys, each of them once.")
            items = {key: item for key in keys if (item := table.get(key)) is not None}
            found[name] = [dict(item) for item in items.values()]
            is_consistent = bool(wanted.get("ConsistentRead"))
            sizes = [table.items.size(key) for key in keys]
            if sum(sizes) > BATCH_BYTES:
                refuse(operation, INVALID, "An answer of more than 16 MB is not supported.")
            units += sum(read_units(size, is_consistent=is_consistent) for size in sizes)
        return _with_capacity({"Responses": found, "UnprocessedKeys": {}}, request, units)

    def _query(self, operation: str, request: Request) -> Answer:
        page = run_query(self._table(operation, request["TableName"]), request)
        return _with_capacity(page.answer, request, page.units)

    def _scan(self, operation: str, request: Request) -> Answer:
        rows = self._table(operation, request["TableName"]).items.rows
        return {"Items": [dict(rows[key]) for key in sorted(rows)], "Count": len(rows)}

    # ------------------------------------------------------------------------------ writes
    def _write(self, operation: str, request: Request) -> Answer:
        table = self._table(operation, request["TableName"])
        write = prepared(operation.removesuffix("Item"), request)
        before = table.get(write.key)
        try:
            after = write.after(before)
        except ConditionRefusedError as refused:
            _refuse_condition(operation, refused.item, request)
        answer = write.answer(before, after)
        if _wants_capacity(request):
            _with_capacity(answer, request, write.units(before, after))
        table.write(write.key, after)
        return answer

    def _batch_write_item(self, operation: str, request: Request) -> Answer:
        writes: list[tuple[MemoryTable, Write]] = []
        for name, wanted in request["RequestItems"].items():
            table = self._table(operation, name)
            for each in wanted:
                ((kind, arguments),) = each.items()
                writes.append((table, prepared(kind.removesuffix("Request"), arguments)))
        keys = {(id(table), write.key) for table, write in writes}
        if len(writes) > BATCH_WRITES or len(keys) < len(writes):
            refuse(operation, INVALID, "At most 25 items, each of them once.")
        units = 0.0
        for table, write in writes:
            before = table.get(write.key)
            after = write.after(before)
            units += write.units(before, after)
            table.write(write.key, after)
        return _with_capacity({"UnprocessedItems": {}}, request, units)

    def _transact_write_items(self, operation: str, request: Request) -> Answer:
        def table(name: str) -> MemoryTable:
            return self._table(operation, name)

        units = write_transaction(request, table, self.tokens, self.calls.now_ms())
        return _with_capacity({}, request, units)

    # ------------------------------------------------------------------------------ tables
    def _describe_table(self, operation: str, request: Request) -> Answer:
        name = request["TableName"]
        self._table(operation, name)
        arn = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}"
        return {"Table": {"TableName": name, "TableStatus": "ACTIVE", "TableArn": arn}}

    def _create_table(self, operation: str, request: Request) -> Answer:
        name = request["TableName"]
        if name in self.tables:
            refuse(operation, "ResourceInUseException", f"The table {name} exists.")
        self.tables[name] = MemoryTable(self.calls.now_ms)
        return {"TableDescription": {"TableName": name, "TableStatus": "ACTIVE"}}


def _refuse_condition(operation: str, item: Item | None, request: Request) -> NoReturn:
    more: dict[str, Any] = {}
    if item is not None and request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD":
        more["Item"] = dict(item)
    code = "ConditionalCheckFailedException"
    refuse(operation, code, "The conditional request failed", **more)


def _with_capacity(answer: Answer, request: Mapping[str, Any], units: float) -> Answer:
    if _wants_capacity(request):
        answer["ConsumedCapacity"] = {"CapacityUnits": units}
    return answer


def _wants_capacity(request: Mapping[str, Any]) -> bool:
    """Return whether a request asks for its units; to compute them takes a third of a write."""
    return bool(request.get("ReturnConsumedCapacity", "NONE") != "NONE")
