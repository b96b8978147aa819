"""Wraps a DynamoDB client that retries calls which met concurrent ones.

botocore repeats calls that were throttled as a whole. It leaves to its caller: a plain write that
met a transaction, a transaction that met another one or was throttled in one of its parts, and the
keys of a batch read that were not processed. All of these certainly had no effect, and all of them
are tried again here, after pauses that grow and differ from caller to caller, while the request has
time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from ojs_aws.adapters.aws_errors import failures
from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item
from ojs_aws.adapters.errors import had_no_effect, is_contended, note_effect
from ojs_aws.domain.errors import BackendUnavailableError
from ojs_aws.domain.runtime import current_request
from ojs_aws.topology import PRESSURE_PARTITION, QUEUE_PARTITION

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TRIES: Final = 8
FIRST_PAUSE_S: Final = 0.05
LONGEST_PAUSE_S: Final = 1.0
RESERVE_S: Final = 6.0
"""What a request needs after a pause: a call with its longest timeout, and its answer."""

_BOOKKEEPING: Final = (n.CLIENT, n.DEPTHS, PRESSURE_PARTITION, QUEUE_PARTITION)
"""Partitions of which a request may write, and still be sent again: the buckets of API
clients, how full queues are, and which queues there are."""


@dataclass(frozen=True, slots=True)
class Pauses:
    """Decides how long to pause between tries.

    :ivar chance: a number from 0 to 1, so that those who met do not meet again.
    """

    sleep: Callable[[float], None]
    chance: Callable[[], float]

    def pause(self, tries: int) -> bool:
        """Wait before another try; return False after enough tries or time.

        :param tries: how many there were before the one that failed.
        """
        if tries >= TRIES - 1:
            return False
        seconds = self.chance() * min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**tries)
        request = current_request.get()
        if request is not None and request.left_s() - seconds < RESERVE_S:
            return False
        self.sleep(seconds)
        return True


def retrying(client: DynamoDBClient, pauses: Pauses) -> DynamoDBClient:
    """Return a client that retries, and notes in the request what was written."""
    return cast("DynamoDBClient", RetryingClient(client, pauses))


class RetryingClient:
    """Wraps a client; methods that it lacks are the client's."""

    def __init__(self, client: DynamoDBClient, pauses: Pauses) -> None:
        """Wrap this client."""
        self._client = client
        self._pauses = pauses

    def __getattr__(self, name: str) -> Any:
        """Return the client's attribute of this name."""
        return getattr(self._client, name)

    def put_item(self, **request: Any) -> Any:
        """Put an item."""
        return self._write(self._client.put_item, request, [request["Item"]])

    def update_item(self, **request: Any) -> Any:
        """Update an item."""
        return self._write(self._client.update_item, request, [request["Key"]])

    def delete_item(self, **request: Any) -> Any:
        """Delete an item."""
        return self._write(self._client.delete_item, request, [request["Key"]])

    def transact_write_items(self, **request: Any) -> Any:
        """Write items in one transaction."""
        parts = [part for action in request["TransactItems"] for part in action.values()]
        keys = [part.get("Item") or part["Key"] for part in parts]
        return self._write(self._client.transact_write_items, request, keys)

    def batch_get_item(self, **request: Any) -> Any:
        """Read items together; unprocessed ones are read again.

        :raises BackendUnavailableError: some are never processed.
        """
        wanted, found, tries = request["RequestItems"], dict[str, list[Item]](), 0
        while True:
            answer: Any = self._client.batch_get_item(**{**request, "RequestItems": wanted})
            for table, items in answer["Responses"].items():
                found.setdefault(table, []).extend(items)
            left = answer.get("UnprocessedKeys") or {}
            if not left:
                return {**answer, "Responses": found, "UnprocessedKeys": {}}
            if _count(left) < _count(wanted):  # a page of an answer that is large
                tries = 0
            elif self._pauses.pause(tries):
                tries += 1
            else:
                raise BackendUnavailableError(
                    "BatchGetItem was throttled.", hint="Repeat the request."
                )
            wanted = left

    def _write(self, call: Callable[..., Any], request: dict[str, Any], keys: list[Item]) -> Any:
        tries, is_clean = 0, True
        while True:
            try:
                answer = call(**request)
            except failures() as problem:
                is_clean = is_clean and had_no_effect(problem)
                if is_contended(problem) and self._pauses.pause(tries):
                    tries += 1
                    continue
                if not is_clean:
                    note_effect(problem)
                    _note_write(keys)
                raise
            _note_write(keys)
            return answer


def _count(requested: Any) -> int:
    return sum(len(each["Keys"]) for each in requested.values())


def _note_write(keys: list[Item]) -> None:
    """Note in the request that it may have written something that a retry would repeat."""
    request = current_request.get()
    if request is not None and not all(map(_is_bookkeeping, keys)):
        request.may_have_written = True


def _is_bookkeeping(key: Item) -> bool:
    """Return whether an item belongs to no job, or is a document stored ahead of its job."""
    partition, sort = str(key[n.PK]["S"]), str(key[n.SK]["S"])
    return partition.startswith(_BOOKKEEPING) or sort.startswith(n.BLOB)
