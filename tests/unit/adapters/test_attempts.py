"""Which failed calls are known to have had no effect, by each of their attempts."""

from __future__ import annotations

from typing import Any, cast

import botocore.session
import pytest
from botocore.config import Config

from ojs_aws.adapters.dynamodb.retrying_client import TRIES, Pauses, RetryingClient
from ojs_aws.adapters.dynamodb.table import InTable
from ojs_aws.adapters.errors import translated, watch_attempts
from ojs_aws.domain.errors import BackendError, BackendUnavailableError
from ojs_aws.domain.runtime import RequestScope, current_request
from tests.attempts import BROKEN, LOST, OK, TIMES_OUT, UNREACHABLE, Attempts, answered

THROTTLED = "ThrottlingException"
CONFLICT = "TransactionConflictException"
CANCELLED = "TransactionCanceledException:"
ITEM = {"pk": {"S": "job#1"}, "sk": {"S": "job"}}
PUT: Any = {"TableName": "t", "Item": ITEM}
TRANSACTION: Any = {"TransactItems": [{"Put": PUT}]}


class Line:
    """A client whose attempts follow a script; what is sent has no effect and no answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, chance: float = 1.0) -> None:
        monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)
        session = botocore.session.Session()
        session.set_credentials("a", "b")
        self.client = cast(
            "Any",
            session.create_client(
                "dynamodb",
                region_name="us-east-1",
                endpoint_url="http://127.0.0.1:1",
                config=Config(retries={"mode": "standard", "total_max_attempts": 3}),
            ),
        )
        watch_attempts(self.client)
        self.client._endpoint._do_get_response = self._answer
        self.attempts = Attempts()
        self.attempts.steer(self.client)
        self.answers: list[dict[str, Any]] = []
        self.pauses: list[float] = []
        self.retrying: Any = RetryingClient(self.client, Pauses(self.pauses.append, lambda: chance))

    def _answer(self, request: Any, *_: object) -> Any:
        given = self.answers.pop(0) if self.answers else {}
        return answered(request.url, {**given, "ResponseMetadata": {"HTTPStatusCode": 200}}), None


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Line:
    return Line(monkeypatch)


@pytest.mark.parametrize(
    ("script", "is_certain"),
    [
        ([THROTTLED] * 3, True),
        ([UNREACHABLE] * 3, True),
        ([THROTTLED, UNREACHABLE, THROTTLED], True),
        ([TIMES_OUT, THROTTLED, THROTTLED], False),
        ([THROTTLED, TIMES_OUT, THROTTLED], False),
        ([BROKEN, THROTTLED, THROTTLED], False),
        ([TIMES_OUT, UNREACHABLE, UNREACHABLE], False),
        ([THROTTLED, THROTTLED, TIMES_OUT], False),
        ([BROKEN] * 3, False),
        (["ValidationException"], False),
        (["ProvisionedThroughputExceededException"] * 3, True),
        (["RequestLimitExceeded"] * 3, True),
        ([CONFLICT], True),
        (["TransactionInProgressException"] * 3, False),
    ],
)
def test_a_call_is_refused_where_every_attempt_of_it_was(
    line: Line, script: list[str], is_certain: bool
) -> None:
    """One attempt of unknown end leaves the whole call unknown, whichever it was."""
    line.attempts.script = [*script]
    with pytest.raises(BackendError) as raised, translated("PutItem"):
        line.client.put_item(**PUT)
    assert isinstance(raised.value, BackendUnavailableError) is is_certain
    assert line.attempts.script == []


def test_each_call_is_judged_by_its_own_attempts(line: Line) -> None:
    """What became of an earlier call does not matter."""
    for script, kind in (([TIMES_OUT] * 3, BackendError), ([THROTTLED] * 3, None)):
        line.attempts.script = [*script]
        with pytest.raises(kind or BackendUnavailableError), translated("PutItem"):
            line.client.put_item(**PUT)


# ---------------------------------------------------------------------- patience
@pytest.mark.parametrize(
    ("call", "given", "code"),
    [
        ("put_item", PUT, CONFLICT),
        ("update_item", {"TableName": "t", "Key": ITEM}, CONFLICT),
        ("delete_item", {"TableName": "t", "Key": ITEM}, CONFLICT),
        ("transact_write_items", TRANSACTION, CANCELLED + "TransactionConflict"),
        ("transact_write_items", TRANSACTION, CANCELLED + "None,ThrottlingError"),
        ("transact_write_items", TRANSACTION, CANCELLED + "ProvisionedThroughputExceeded,None"),
    ],
)
def test_what_others_were_in_the_way_of_is_tried_again(
    line: Line, call: str, given: dict[str, Any], code: str
) -> None:
    """After pauses that double; the last one is the longest that there is."""
    line.attempts.script = [code] * 6
    getattr(line.retrying, call)(**given)
    assert line.pauses == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0]
    assert len(line.attempts.made) == 7


def test_pauses_differ_from_caller_to_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """By chance: who met would meet again."""
    line = Line(monkeypatch, chance=0.25)
    line.attempts.script = [CONFLICT] * 2
    line.retrying.put_item(**PUT)
    assert line.pauses == [0.0125, 0.025]


def test_patience_ends_and_the_call_is_refused(line: Line) -> None:
    """Not one try more than there may be."""
    line.attempts.script = [CONFLICT] * 20
    with pytest.raises(BackendUnavailableError), translated("PutItem"):
        line.retrying.put_item(**PUT)
    assert len(line.attempts.made) == TRIES


@pytest.mark.parametrize(
    ("left_s", "tries"), [(6.04, 1), (6.05, 2), (6.1, 3), (6.2, 4), (60.0, TRIES)]
)
def test_patience_ends_with_the_request_s_time(line: Line, left_s: float, tries: int) -> None:
    """A pause must leave enough for the call behind it, and the answer."""
    line.attempts.script = [CONFLICT] * 20
    token = current_request.set(RequestScope(left_s=lambda: left_s))
    try:
        with pytest.raises(BackendUnavailableError), translated("PutItem"):
            line.retrying.put_item(**PUT)
    finally:
        current_request.reset(token)
    assert len(line.attempts.made) == tries


@pytest.mark.parametrize(
    "code",
    [
        CANCELLED + "ConditionalCheckFailed,TransactionConflict",
        CANCELLED + "ValidationError",
        CANCELLED + "ConditionalCheckFailed",
        "ConditionalCheckFailedException",
        "ValidationException",
    ],
)
def test_what_no_repetition_changes_is_not_tried_again(line: Line, code: str) -> None:
    """A condition that does not hold is the caller's to answer."""
    line.attempts.script = [code]
    with pytest.raises(BackendError), translated("TransactWriteItems"):
        line.retrying.transact_write_items(**TRANSACTION)
    assert line.pauses == []


def test_a_try_of_unknown_end_makes_the_later_refusal_unknown(line: Line) -> None:
    """The first one may have been what the second one met."""
    line.attempts.script = [TIMES_OUT, CONFLICT, *[CONFLICT] * 20]
    with pytest.raises(BackendError) as raised, translated("PutItem"):
        line.retrying.put_item(**PUT)
    assert not isinstance(raised.value, BackendUnavailableError)


def test_keys_that_were_not_processed_are_asked_for_again(line: Line) -> None:
    """At once while some come, else after a pause; in one answer."""
    keys = [{"pk": {"S": f"job#{n}"}, "sk": {"S": "job"}} for n in range(4)]

    def answer(found: list[Any], left: list[Any]) -> dict[str, Any]:
        unprocessed = {"t": {"Keys": left, "ConsistentRead": True}} if left else {}
        return {"Responses": {"t": found} if found else {}, "UnprocessedKeys": unprocessed}

    line.answers = [
        answer(keys[:2], keys[2:]),
        answer([], keys[2:]),
        answer([], keys[2:]),
        answer(keys[2:3], keys[3:]),
        answer([], keys[3:]),
        answer(keys[3:], []),
    ]
    found = line.retrying.batch_get_item(RequestItems={"t": {"Keys": keys}})
    assert found["Responses"] == {"t": keys}
    assert line.pauses == [0.05, 0.1, 0.05]


def test_keys_that_are_never_processed_are_refused(line: Line) -> None:
    """And not asked for until the function's time is over."""
    left = {"t": {"Keys": [ITEM]}}
    line.answers = [{"Responses": {}, "UnprocessedKeys": left}] * 20
    with pytest.raises(BackendUnavailableError):
        line.retrying.batch_get_item(RequestItems=left)
    assert len(line.attempts.made) == TRIES


def test_keys_that_nobody_asks_for_again_are_noticed(line: Line) -> None:
    """Whoever takes an item that was left out for absent may delete what belongs to it."""
    line.answers = [{"Responses": {}, "UnprocessedKeys": {"t": {"Keys": [ITEM]}}}]
    with pytest.raises(BackendUnavailableError):
        list(InTable(cast("Any", line.client), "t").get_items([ITEM]))


# ---------------------------------------------------------------------- what was written
@pytest.mark.parametrize(
    ("script", "may_have_written"),
    [
        ([OK], True),
        ([CONFLICT, OK], True),
        ([LOST, THROTTLED, THROTTLED], True),
        ([TIMES_OUT] * 3, True),
        ([THROTTLED] * 3, False),
        (["ConditionalCheckFailedException"], False),
        (["ValidationException"], False),
    ],
)
def test_a_request_knows_whether_it_may_have_written(
    line: Line, script: list[str], may_have_written: bool
) -> None:
    """Whatever the call's end."""
    scope = RequestScope(left_s=lambda: 60.0)
    line.attempts.script = [*script]
    token = current_request.set(scope)
    try:
        with translated("PutItem"):
            line.retrying.put_item(**PUT)
    except BackendError:
        pass
    finally:
        current_request.reset(token)
    assert scope.may_have_written is may_have_written


@pytest.mark.parametrize(
    ("pk", "sk", "counts"),
    [
        ("job#1", "job", True),
        ("workflow#1", "workflow", True),
        ("uniq#k", "lock", True),
        ("job#1", "blob#d", False),
        ("client#k", "bucket", False),
        ("depths", "default", False),
        ("pressure", "default", False),
        ("queues", "default", False),
    ],
)
def test_bookkeeping_is_no_write_of_a_request(line: Line, pk: str, sk: str, counts: bool) -> None:
    """What every request writes, and what goes ahead of a job, harms nobody twice."""
    scope = RequestScope(left_s=lambda: 60.0)
    token = current_request.set(scope)
    try:
        line.retrying.put_item(TableName="t", Item={"pk": {"S": pk}, "sk": {"S": sk}})
    finally:
        current_request.reset(token)
    assert scope.may_have_written is counts
