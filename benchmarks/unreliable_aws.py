"""Makes AWS as unreliable as it may be: for threads that call DynamoDB Local at the same time.

Answers are lost, requests take effect twice or late, the index lags behind the table in both
directions, and messages come several times. Nothing of it is beyond what AWS documents.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError

from ojs_aws.adapters.sqs import MessageQueue
from ojs_aws.bootstrap.clients import MAX_TRIES
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.queues import Backlog, Message, ReceivedMessage

LATE_S: Final = 0.4
"""How late a request may take effect whose caller has given it up."""

LAG_S: Final = 0.5
"""How far the index may be behind the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Says how often what goes wrong: shares of all calls of DynamoDB, or of SQS."""

    unsent: float = 0.01
    lost: float = 0.02
    twice: float = 0.02
    gone: float = 0.3
    """Of those that are lost: their repetitions are lost as well, and the caller knows nothing."""
    late: float = 0.01
    """Takes effect after it was given up, and maybe after its repetition."""
    lagging: float = 0.3
    """Queries of the index that get old rows, or lack new ones."""
    duplicated: float = 0.1
    """Messages that are sent twice, or stay visible when they are received."""


@dataclass
class Trouble:
    """Decides by chance what goes wrong, for all threads; counts it by its kind.

    :ivar is_over: nothing goes wrong any more.
    """

    faults: Faults
    chance: random.Random
    is_over: bool = False
    met: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def strikes(self, kind: str) -> bool:
        """Return whether this kind of fault happens now."""
        with self._lock:
            happens = not self.is_over and self.chance.random() < getattr(self.faults, kind)
            self.met[kind] += happens
            return happens

    def seconds(self, most: float) -> float:
        """Return a time of chance."""
        with self._lock:
            return self.chance.uniform(0, most)


class UnreliableHttp:
    """Stands for botocore's HTTP session, below its retries."""

    def __init__(self, session: Any, trouble: Trouble) -> None:
        """Send by this session."""
        self._session, self._trouble = session, trouble
        self._late: list[threading.Timer] = []
        self._gone = threading.local()

    def __getattr__(self, name: str) -> Any:
        """Return the session's attribute of this name."""
        return getattr(self._session, name)

    def send(self, request: Any) -> Any:
        """Send a request, or lose it or its answer."""
        left = getattr(self._gone, "left", 0)
        self._gone.left = max(0, left - 1)
        if left or self._trouble.strikes("unsent"):
            raise ConnectTimeoutError(endpoint_url=request.url)
        if self._trouble.strikes("late"):
            later = threading.Timer(
                self._trouble.seconds(LATE_S), self._session.send, args=[request]
            )
            later.start()
            self._late.append(later)
            raise ReadTimeoutError(endpoint_url=request.url)
        answer = self._session.send(request)
        if self._trouble.strikes("twice"):
            answer = self._session.send(request)
        if self._trouble.strikes("lost"):
            if self._trouble.strikes("gone"):
                self._gone.left = MAX_TRIES - 1
            raise ReadTimeoutError(endpoint_url=request.url)
        return answer

    def settle(self) -> None:
        """Wait until everything that was sent has taken effect."""
        for each in self._late:
            each.join()


class LaggingIndex:
    """Wraps a DynamoDB client: queries of the index see older rows, other calls do not."""

    def __init__(self, client: Any, trouble: Trouble, now: Callable[[], float]) -> None:
        """Wrap this client.

        :param now: the time in seconds.
        """
        self._client, self._trouble, self._now = client, trouble, now
        self._lock = threading.Lock()
        self._seen: dict[str, dict[str, tuple[Any, float]]] = {}
        self._first: dict[str, float] = {}

    def __getattr__(self, name: str) -> Any:
        """Return the client's attribute of this name."""
        return getattr(self._client, name)

    def query(self, **asked: Any) -> Any:
        """Run a query; the rows of the index may lag."""
        answer = self._client.query(**asked)
        if "IndexName" not in asked or "Items" not in answer or asked.get("Select") == "COUNT":
            return answer
        lags = self._trouble.strikes("lagging")
        rows = self._rows(asked, answer["Items"], lags=lags)
        return {**answer, "Items": rows, "Count": len(rows)} if lags else answer

    def _rows(self, asked: Any, rows: Sequence[Any], *, lags: bool) -> list[Any]:
        """Note what a query found; return it as a lagging index has it.

        New rows are not in it yet, and those that have just gone still are.
        """
        now, values = self._now(), asked["ExpressionAttributeValues"]
        low, high = (values[each]["S"] if each in values else "" for each in (":low", ":high"))
        with self._lock:
            kept = self._seen.setdefault(values[":gpk"]["S"], {})
            found = {f"{row['pk']['S']} {row['gsk']['S']}": row for row in rows}
            old = {name: row for name, (row, at) in kept.items() if now - at < LAG_S}
            for name, row in found.items():
                self._first.setdefault(name, now)
                kept[name] = row, now
            for name in kept.keys() - found.keys() - old.keys():
                del kept[name]
            shown = {name: row for name, row in found.items() if now - self._first[name] >= LAG_S}
        if not lags:
            return [*rows]
        if "ExclusiveStartKey" not in asked:
            gone = {name: row for name, row in old.items() if name not in found}
            shown |= {
                name: row for name, row in gone.items() if low <= row["gsk"]["S"] <= (high or "~")
            }
        newest_first = not asked.get("ScanIndexForward", True)
        ordered = sorted(shown.values(), key=lambda row: str(row["gsk"]["S"]), reverse=newest_first)
        return ordered[: asked.get("Limit")]


class UnreliableQueue:
    """Implements the port MessageQueue for several threads, by queues in memory."""

    def __init__(self, queue: MessageQueue, trouble: Trouble) -> None:
        """Wrap these queues."""
        self._queue, self._trouble = queue, trouble
        self._lock = threading.Lock()

    def _call(self, method: Callable[..., Any], *given: Any) -> Any:
        """Call the queues, alone; the call or its answer may be lost."""
        if self._trouble.strikes("unsent"):
            raise BackendError("SQS did not get the request.")
        with self._lock:
            answer = method(*given)
        if self._trouble.strikes("lost"):
            raise BackendError("The answer of SQS was lost.")
        return answer

    def send(self, queue: str, message: Message, delay_s: int = 0) -> None:
        """Send a message, now and then twice."""
        self.send_all(queue, [(message, delay_s)])

    def send_all(self, queue: str, messages: Sequence[tuple[Message, int]]) -> None:
        """Send messages, some of them twice."""
        again = [each for each in messages if self._trouble.strikes("duplicated")]
        self._call(self._queue.send_all, queue, [*messages, *again])

    def receive(
        self, queue: str, limit: int, visibility_s: int, wait_s: int = 0
    ) -> list[ReceivedMessage]:
        """Receive messages, of which others may get some as well."""
        found: list[ReceivedMessage] = self._call(
            self._queue.receive, queue, limit, visibility_s, wait_s
        )
        again = [(each.handle, 0) for each in found if self._trouble.strikes("duplicated")]
        if again:
            with self._lock:
                self._queue.hide(queue, again)
        return found

    def reject(self, queue: str, body: str) -> None:
        """Keep the body."""
        self._call(self._queue.reject, queue, body)

    def delete(self, queue: str, handles: Sequence[str]) -> None:
        """Delete messages."""
        self._call(self._queue.delete, queue, handles)

    def hide(self, queue: str, handles: Sequence[tuple[str, int]]) -> None:
        """Make messages visible later."""
        self._call(self._queue.hide, queue, handles)

    def backlog(self, queue: str) -> Backlog:
        """Count messages."""
        found: Backlog = self._call(self._queue.backlog, queue)
        return found


def now_ms() -> int:
    """Return the machine's time in milliseconds."""
    return time.time_ns() // 1_000_000
