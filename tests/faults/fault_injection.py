"""Injects a fault into one AWS call: below the adapters, where botocore would have tried again."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from botocore.exceptions import ReadTimeoutError

from ojs_aws.adapters.aws_errors import AwsError, answer_of
from ojs_aws.memory_aws import Call
from ojs_aws.memory_aws.calls import Answer, Effect
from tests.simulation.faults import ProcessDiedError


class Kind(Enum):
    """What happens to a call."""

    FAILS = "fails before it takes effect"
    THROTTLED = "is throttled"
    LOST = "takes effect, and its answer is lost"
    LATE = "times out, and takes effect later"
    DIES_BEFORE = "never happens: the process dies"
    DIES_AFTER = "takes effect, and the process dies"
    CONFLICT = "meets a transaction of somebody else"
    SLOWED = "is a transaction that is throttled in one of its parts"
    PARTIAL = "is done in part"
    NOTHING = "succeeds, and nothing of it is done"
    SHORT = "answers a short page, and that there is more"
    EMPTY = "answers an empty page, and that there is more"
    STALE = "is answered by an index that has seen nothing lately"


READS: Final = frozenset(
    {
        "GetItem",
        "BatchGetItem",
        "Query",
        "GetObject",
        "HeadObject",
        "ListObjectsV2",
        "GetQueueAttributes",
        "GetQueueUrl",
        "ListEventSourceMappings",
        "DescribeTable",
        "DescribeTimeToLive",
        "DescribeContinuousBackups",
    }
)

LISTS: Final = {
    "SendMessageBatch": "Entries",
    "DeleteMessageBatch": "Entries",
    "ChangeMessageVisibilityBatch": "Entries",
    "PutEvents": "Entries",
}
"""Calls whose answers say what became of each of their entries."""

SINGLE_WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem"})

THROTTLING: Final = {
    "dynamodb": "ThrottlingException",
    "sqs": "RequestThrottled",
    "s3": "SlowDown",
    "events": "ThrottlingException",
    "lambda": "TooManyRequestsException",
}

BROKEN: Final = {
    "dynamodb": "InternalServerError",
    "sqs": "InternalError",
    "s3": "InternalError",
    "events": "InternalException",
    "lambda": "ServiceException",
}


def kinds_of(operation: str, params: dict[str, Any]) -> list[Kind]:
    """What can happen to a call. To a read less than to what has an effect."""
    kinds = [Kind.FAILS, Kind.THROTTLED, Kind.DIES_BEFORE]
    if operation not in READS:
        kinds += [Kind.LOST, Kind.LATE, Kind.DIES_AFTER]
    if operation in SINGLE_WRITES or operation == "TransactWriteItems":
        kinds.append(Kind.CONFLICT)
    if operation == "TransactWriteItems":
        kinds.append(Kind.SLOWED)
    if operation == "BatchGetItem" or operation in LISTS:
        kinds.append(Kind.NOTHING)
        if len(_things(operation, params)) > 1:
            kinds.append(Kind.PARTIAL)
    if operation == "Query":
        kinds += [Kind.SHORT, Kind.EMPTY]
        if "IndexName" in params:
            kinds.append(Kind.STALE)
    return kinds


@dataclass(frozen=True, slots=True)
class Made:
    """A call that was made."""

    service: str
    operation: str
    params: dict[str, Any]

    def __str__(self) -> str:
        """The service and the operation."""
        return f"{self.service}.{self.operation}"


@dataclass
class FaultInjector:
    """Counts the calls of its clients and injects a fault into the chosen one.

    :ivar at: number of the call that gets the fault; None for none.
    :ivar is_on: whether calls are counted; those of tests themselves are not.
    :ivar made: the calls that were counted.
    :ivar late: calls that will take effect later.
    :ivar announced: entries that the bus has taken.
    :ivar stale: lets the index answer as it was, until what it returns is called.
    :ivar seen: called after each call that took effect.
    :ivar postponed: called when a call will take effect later.
    :ivar deadly: the operation after whose next call the process dies, counted or not.
    """

    at: int | None = None
    kind: Kind = Kind.FAILS
    is_on: bool = False
    made: list[Made] = field(default_factory=list)
    late: list[Callable[[], Any]] = field(default_factory=list)
    announced: list[dict[str, Any]] = field(default_factory=list)
    stale: Callable[[], Callable[[], None]] = lambda: lambda: None
    deadly: str = ""
    seen: Callable[[], None] = lambda: None
    postponed: Callable[[], None] = lambda: None

    def inject(self, call: Call, effect: Effect) -> Answer:
        """Carry out a call, or do something else instead."""
        made = Made(call.service, call.operation, dict(call.request))
        return _FaultyCall(self, made, effect).run()

    def happen_late(self) -> None:
        """Let what timed out take effect."""
        calls, self.late[:] = [*self.late], []
        for call in calls:
            with suppress(AwsError):
                call()


@dataclass
class _FaultyCall:
    """One call on its way."""

    injector: FaultInjector
    made: Made
    effect: Effect
    kind: Kind | None = None
    undo: Callable[[], None] = lambda: None

    def run(self) -> Answer:
        """Carry it out."""
        params = self.begin()
        self.before()
        if self.kind is Kind.NOTHING and self.made.operation in LISTS:
            answer: Answer = {}
        else:
            try:
                answer = self.effect(params)
            except AwsError as problem:
                self.after(answer_of(problem))
                raise
        self.after(answer)
        return answer

    def begin(self) -> dict[str, Any]:
        """Count the call; what it asks for may be less than was wanted."""
        injector, params = self.injector, self.made.params
        if not injector.is_on:
            return params
        if len(injector.made) == injector.at:
            self.kind = injector.kind
        injector.made.append(self.made)
        operation = self.made.operation
        if self.kind in {Kind.PARTIAL, Kind.NOTHING}:
            return _less(operation, params, is_nothing=self.kind is Kind.NOTHING)
        if self.kind in {Kind.SHORT, Kind.EMPTY} and params.get("Select") != "COUNT":
            return {**params, "Limit": 1}
        return params

    def before(self) -> None:
        """Before the call takes effect."""
        match self.kind:
            case Kind.FAILS:
                raise self._error(BROKEN[self.made.service], 500)
            case Kind.THROTTLED:
                raise self._error(THROTTLING[self.made.service], 400)
            case Kind.CONFLICT if self.made.operation in SINGLE_WRITES:
                raise self._error("TransactionConflictException", 400)
            case Kind.CONFLICT:
                raise self._cancelled("TransactionConflict")
            case Kind.SLOWED:
                raise self._cancelled("ThrottlingError")
            case Kind.LATE:
                self._postpone()
                raise ReadTimeoutError(endpoint_url=self.made.service)
            case Kind.DIES_BEFORE:
                raise ProcessDiedError
            case Kind.STALE:
                self.undo = self.injector.stale()

    def after(self, parsed: dict[str, Any]) -> None:
        """After it took effect."""
        self.undo()
        self.injector.seen()
        if self.injector.deadly == self.made.operation:
            self.injector.deadly = ""
            raise ProcessDiedError
        entries = self.made.params.get("Entries", [])
        wanted = LISTS.get(self.made.operation)
        match self.kind:
            case Kind.LOST:
                self._note(entries)
                raise ReadTimeoutError(endpoint_url=self.made.service)
            case Kind.DIES_AFTER:
                self._note(entries)
                raise ProcessDiedError
            case Kind.PARTIAL | Kind.NOTHING:
                if wanted is not None:
                    self._note(_refuse(self.made, parsed, self.kind is Kind.NOTHING))
                else:
                    _leave(self.made.params, parsed, self.kind is Kind.NOTHING)
            case Kind.EMPTY:
                _empty(self.made.params, parsed)
            case _:
                self._note(entries)

    def _note(self, entries: Sequence[dict[str, Any]]) -> None:
        if self.made.operation == "PutEvents":
            self.injector.announced += entries

    def _postpone(self) -> None:
        params = copy.deepcopy(self.made.params)

        def happen() -> None:
            self.effect(params)
            self.injector.seen()

        self.injector.late.append(happen)
        self.injector.postponed()

    def _error(self, code: str, status: int, **more: Any) -> AwsError:
        response: Any = {
            "Error": {"Code": code, "Message": "injected"},
            "ResponseMetadata": {"HTTPStatusCode": status, "RetryAttempts": 0},
            **more,
        }
        return AwsError(response, self.made.operation)

    def _cancelled(self, reason: str) -> AwsError:
        """The last part of the transaction is at fault: that others fail hides nothing."""
        count = len(self.made.params["TransactItems"])
        reasons: list[dict[str, Any]] = [{"Code": "None"} for _ in range(count)]
        reasons[-1] = {"Code": reason, "Message": "injected"}
        return self._error("TransactionCanceledException", 400, CancellationReasons=reasons)


def _things(operation: str, params: dict[str, Any]) -> list[Any]:
    """What a call of several things is about."""
    if operation in LISTS:
        entries: list[Any] = params["Entries"]
        return entries
    return [key for wanted in params["RequestItems"].values() for key in wanted["Keys"]]


def _kept(things: Sequence[Any], *, is_nothing: bool) -> int:
    """How many of some things are done: half of them, one less than all of two."""
    return 0 if is_nothing else len(things) // 2


def _less(operation: str, params: dict[str, Any], *, is_nothing: bool) -> dict[str, Any]:
    """The parameters of what is done. AWS takes no empty lists: there the answer is changed."""
    if operation in LISTS:
        entries = params["Entries"]
        return {**params, "Entries": entries[: _kept(entries, is_nothing=is_nothing)] or entries}
    request: dict[str, Any] = {}
    for table, wanted in params["RequestItems"].items():
        keys = wanted["Keys"]
        request[table] = {**wanted, "Keys": keys[: max(1, _kept(keys, is_nothing=is_nothing))]}
    return {**params, "RequestItems": request}


def _refuse(made: Made, parsed: dict[str, Any], is_nothing: bool) -> list[dict[str, Any]]:
    """Say that entries were refused; answers those that were not."""
    entries: list[dict[str, Any]] = made.params["Entries"]
    kept = _kept(entries, is_nothing=is_nothing)
    if made.operation == "PutEvents":
        refused = [{"ErrorCode": "ThrottlingException"} for _ in entries[kept:]]
        parsed["Entries"] = [*parsed.get("Entries", [])[:kept], *refused]
        parsed["FailedEntryCount"] = len(refused)
    else:
        parsed["Failed"] = [
            *parsed.get("Failed", []),
            *(
                {"Id": entry["Id"], "Code": "InternalError", "SenderFault": False}
                for entry in entries[kept:]
            ),
        ]
    return entries[:kept]


def _leave(params: dict[str, Any], parsed: dict[str, Any], is_nothing: bool) -> None:
    """Say that keys were not processed."""
    unprocessed: dict[str, Any] = {}
    for table, wanted in params["RequestItems"].items():
        keys = wanted["Keys"]
        kept = _kept(keys, is_nothing=is_nothing)
        if not kept:
            parsed["Responses"][table] = []
        unprocessed[table] = {**wanted, "Keys": keys[kept:]}
    parsed["UnprocessedKeys"] = unprocessed


def _empty(params: dict[str, Any], parsed: dict[str, Any]) -> None:
    """A page of nothing, that ends right before what it would have shown."""
    items = parsed.get("Items") or []
    if not items:
        return
    names = ("gpk", "gsk", "pk", "sk") if "IndexName" in params else ("pk", "sk")
    sort_key = names[1] if len(names) == 4 else "sk"
    step = 1 if params.get("ScanIndexForward") is False else -1
    place = {name: items[0][name] for name in names if name in items[0]}
    if len(place) < len(names):
        return  # a projection without keys
    text = place[sort_key]["S"]
    place[sort_key] = {"S": text[:-1] + chr(ord(text[-1]) + step) + ("~" if step < 0 else "")}
    parsed |= {"Items": [], "Count": 0, "LastEvaluatedKey": place}
