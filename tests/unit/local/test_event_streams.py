"""Streams that the local server holds open: one answer after another, heartbeats, a clean end."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from ojs_aws.local import event_streams
from ojs_aws.local.event_streams import HEARTBEAT, EventStreams
from ojs_aws.local.lambdas import HttpAnswer
from ojs_aws.local.patches import RECORDS
from tests.load import HUNG_S
from tests.output import Output
from tests.unit.local.test_local_server import free_port, start

pytestmark = pytest.mark.thorough


def answer(body: str, status: int = 200) -> HttpAnswer:
    """Return an answer of the functions."""
    return HttpAnswer(status, {"Content-Type": "text/event-stream"}, body.encode())


class Functions:
    """Answers in turn what was prepared, then that there is nothing new."""

    def __init__(self, *bodies: str, then: HttpAnswer | None = None) -> None:
        self.bodies = list(bodies)
        self.then = then or answer("retry: 3000\n\n:heartbeat\n\n")
        self.asked: list[str] = []

    def __call__(self, last_id: str) -> HttpAnswer:
        """Answer what follows an event."""
        self.asked.append(last_id)
        RECORDS.notify()  # nobody waits in these tests
        return answer(f"retry: 3000\n\n{self.bodies.pop(0)}") if self.bodies else self.then


def test_each_answer_goes_on_behind_the_one_before() -> None:
    """The client is asked to retry once; an answer with another status ends the stream."""
    functions = Functions("id: 2\nevent: a\ndata: {}\n\n", "id: 3\n\n", then=answer("", 403))
    parts = [*EventStreams().follow(b"retry: 3000\n\nid: 1\n\n", functions)]
    assert parts[1:] == [b"id: 2\nevent: a\ndata: {}\n\n", b"id: 3\n\n"]
    assert functions.asked == ["1", "2", "3"]


def test_a_client_that_comes_back_to_no_news_goes_on_from_its_own_place() -> None:
    """The first answer may have no id."""
    functions = Functions(then=answer("", 404))
    assert [*EventStreams().follow(b"retry: 3000\n\n:heartbeat\n\n", functions, "7")]
    assert functions.asked == ["7"]


def test_the_stream_of_a_job_that_has_ended_is_over() -> None:
    """Nobody is asked any more."""
    functions = Functions()
    first = b"retry: 3000\n\nid: 1.over\nevent: a\ndata: {}\n\n"
    assert [*EventStreams().follow(first, functions)] == [first]
    assert functions.asked == []


def test_a_silent_stream_has_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each interval, by a clock that moves with each look at the log."""
    functions = Functions()
    clock = SimpleNamespace(monotonic=lambda: 4.0 * len(functions.asked))
    monkeypatch.setattr(event_streams, "time", clock)
    monkeypatch.setattr(event_streams, "GATHER_S", 0)
    stream = EventStreams().follow(b"id: 1\n\n", functions)
    next(stream)
    looks = []
    for _ in range(3):
        assert next(stream) == HEARTBEAT
        looks.append(len(functions.asked))
    assert looks == [3, 6, 9]  # 12 s each, the first look after HEARTBEAT_S


def test_a_server_that_stops_says_so_and_waits_for_its_streams() -> None:
    """Section 5.1: `server.shutdown`, and every connection ends."""
    streams = EventStreams()
    stream = streams.follow(b"id: 1\n\n", Functions())
    next(stream)
    parts: list[bytes] = []

    def send() -> None:
        with closing(stream):
            parts.extend(stream)

    thread = threading.Thread(target=send)
    thread.start()
    streams.close()
    thread.join(HUNG_S)
    assert b"event: server.shutdown\n" in parts[-1]
    assert parts[-1].startswith(b"id: 1\n")
    assert streams._open == 0
    assert [*streams.follow(b"id: 2\n\n", Functions())] == [b"id: 2\n\n"]


def test_a_stopping_server_waits_for_the_last_byte_of_a_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The end of the last chunk is sent after the last event: without it the answer is cut off."""
    monkeypatch.setattr(event_streams, "GRACE_S", HUNG_S)
    streams = EventStreams()
    stream = streams.follow(b"id: 1\n\n", Functions())
    stopping = threading.Thread(target=streams.close)
    stopping.start()
    assert b"event: server.shutdown\n" in [*stream][-1]
    assert stopping.is_alive()
    stream.close()
    stream.close()
    stopping.join(HUNG_S)
    assert not stopping.is_alive()
    assert streams._open == 0


def test_of_too_many_streams_the_last_ones_end_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their clients come back by `retry`; who leaves makes place."""
    monkeypatch.setattr(event_streams, "MAX_STREAMS", 1)
    streams = EventStreams()
    held = streams.follow(b"id: 1\n\n", Functions("id: 2\n\n"))
    assert [next(held), next(held)] == [b"id: 1\n\n", b"id: 2\n\n"]
    assert [*streams.follow(b"id: 1\n\n", Functions())] == [b"id: 1\n\n"]
    held.close()
    other = streams.follow(b"id: 1\n\n", Functions("id: 2\n\n"))
    assert [next(other), next(other)] == [b"id: 1\n\n", b"id: 2\n\n"]


# ------------------------------------------------------------------------------ the whole server
def events_of(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """Yield the name and the data of each event of a stream."""
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            yield name, json.loads(line[6:])


def test_a_client_sees_a_job_run_and_the_server_stop() -> None:
    """As it happens, over one connection; browsers of an allowed origin may read it."""
    port = free_port()
    process = start(port)
    output, url = Output(process), f"http://127.0.0.1:{port}/ojs/v1"
    output.wait_for(f"http://127.0.0.1:{port}")
    try:
        with (
            httpx.Client(timeout=HUNG_S) as client,
            client.stream("GET", f"{url}/events/stream?event_types=job.*") as stream,
        ):
            assert stream.headers["content-type"] == "text/event-stream"
            lines = events_of(stream.iter_lines())
            body = {"type": "demo.echo", "args": [1], "options": {"queue": "demo"}}
            job_id = client.post(f"{url}/jobs", json=body).json()["job"]["id"]
            received = [next(lines) for _ in range(3)]
            assert [data["to"] for _, data in received] == ["available", "active", "completed"]
            with client.stream("GET", f"{url}/jobs/{job_id}/events") as ended:
                (last,) = events_of(ended.iter_lines())
            assert last[1]["to"] == "completed"
            process.send_signal(signal.SIGTERM)
            name, data = next(lines)
            assert (name, data["grace_period_ms"]) == ("server.shutdown", 5000)
            assert [*lines] == []
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        output.end()
    assert process.returncode == 0
