"""Holds streams of server-sent events open (ojs-realtime, sections 2.4 and 5).

The handlers answer with what there is. Here one such answer after another makes one stream, and
each is asked for with the id of the last event before it. So nothing is kept for a client: one that
reads slowly reads later, and nothing is dropped.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from ojs_aws.local.patches import RECORDS

if TYPE_CHECKING:
    from ojs_aws.local.lambdas import HttpAnswer

EVENT_STREAM: Final = "text/event-stream"
HEARTBEAT: Final = b":heartbeat\n\n"
OVER: Final = ".over"
"""Ends the id of the last event of a job."""

HEARTBEAT_S: Final = 10.0
"""Seconds between heartbeats; the specification allows 15."""

REMOTE_POLL_S: Final = 1.0
"""Seconds between two looks at a table that is not in this process."""

GATHER_S: Final = 0.1
"""Changes within this time make one look at the log."""

GRACE_S: Final = 5.0
"""How long a stopping server waits for its streams to end."""

MAX_STREAMS: Final = 100
"""Streams that are held; the answers to more end at once, and their clients come back."""

_RETRY: Final = re.compile(rb"\Aretry: \d+\n\n")
_ID: Final = re.compile(rb"^id: (.*)$", re.MULTILINE)

Ask = Callable[[str], "HttpAnswer"]
"""Asks for what follows the event of an id."""


def is_stream(answer: HttpAnswer) -> bool:
    """Return whether an answer is the begin of a stream."""
    kinds = [value for name, value in answer.headers.items() if name.lower() == "content-type"]
    return answer.status == HTTPStatus.OK and kinds == [EVENT_STREAM]


class Stream:
    """Holds the parts of a stream; it counts as open until its last byte was sent (WSGI)."""

    def __init__(self, parts: Iterator[bytes], ended: Callable[[], None]) -> None:
        """Take the parts, and what to call once when the stream is closed."""
        self._parts = parts
        self._ended = ended
        self._is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        """Return the parts that were not sent yet."""
        return self

    def __next__(self) -> bytes:
        """Return the next part."""
        return next(self._parts)

    def close(self) -> None:
        """End the stream: the server calls this when all is sent, or the client is gone."""
        if not self._is_closed:
            self._is_closed = True
            self._ended()


@dataclass
class EventStreams:
    """Holds the streams of a server.

    :ivar poll_s: seconds until the log is read again where nothing woke the stream.
    """

    poll_s: float = HEARTBEAT_S
    _open: int = 0
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _stopping: threading.Event = field(default_factory=threading.Event)

    def follow(self, first: bytes, ask: Ask, last_id: str = "") -> Stream:
        """Return a stream that lasts until it is over, the client is gone, or the server stops.

        :param first: the answer that the stream begins with.
        :param last_id: of the last event that the client had before.
        """
        with self._changed:
            is_held = self._open < MAX_STREAMS and not self._stopping.is_set()
            self._open += is_held
        if not is_held:
            return Stream(iter([first]), lambda: None)
        later = self._held(_last_id(first) or last_id, ask)
        return Stream(itertools.chain([first], later), self._ended)

    def _ended(self) -> None:
        with self._changed:
            self._open -= 1
            self._changed.notify_all()

    def _held(self, last_id: str, ask: Ask) -> Iterator[bytes]:
        said = time.monotonic()
        while not last_id.endswith(OVER):
            if self._stopping.is_set():
                yield _shutdown(last_id)
                return
            seen = RECORDS.count
            answer = ask(last_id)
            if not is_stream(answer):
                return
            part = _RETRY.sub(b"", answer.body)
            if part != HEARTBEAT or time.monotonic() - said >= HEARTBEAT_S:
                yield part
                last_id, said = _last_id(part) or last_id, time.monotonic()
            left_s = HEARTBEAT_S - (time.monotonic() - said)
            RECORDS.wait(seen, max(0.0, min(self.poll_s, left_s)))
            self._stopping.wait(GATHER_S)

    def close(self) -> None:
        """Notify all clients that the server stops, and end their streams."""
        self._stopping.set()
        RECORDS.notify()
        with self._changed:
            self._changed.wait_for(lambda: not self._open, GRACE_S)


def _last_id(part: bytes) -> str:
    """Return the id of the last event of a part; empty if there is none."""
    found = _ID.findall(part)
    return found[-1].decode() if found else ""


def _shutdown(last_id: str) -> bytes:
    """Return the notice that the server stops (section 4.6)."""
    data = json.dumps({"reason": "The server stops.", "grace_period_ms": round(GRACE_S * 1000)})
    return f"id: {last_id}\nevent: server.shutdown\ndata: {data}\n\n".encode()
