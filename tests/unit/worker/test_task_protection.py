"""A task on ECS is protected from scale-in while it runs jobs."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from ojs_aws.worker.task_protection import LOOK_S, TaskProtection, task_protection
from tests.unit.worker.doubles import StillTimer, until

ON = {"ProtectionEnabled": True, "ExpiresInMinutes": 60}
OFF = {"ProtectionEnabled": False}


class Bench:
    """A protection of some jobs, and what was sent to the agent."""

    def __init__(self) -> None:
        self.sent: list[Mapping[str, object]] = []
        self.jobs: list[object] = []
        self.answers: list[str | Exception] = []
        self.timer = StillTimer()
        self.protection = TaskProtection(self.jobs, self.timer, self.send)

    async def send(self, body: Mapping[str, object]) -> str:
        self.sent.append(body)
        answer = self.answers.pop(0) if self.answers else ""
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_a_task_is_protected_from_its_first_job_to_its_last() -> None:
    """And the agent is asked only when that changes."""
    bench = Bench()
    await bench.protection.follow()
    assert bench.sent == []
    bench.jobs.append("job")
    for _ in range(3):
        await bench.protection.follow()
    assert bench.sent == [ON]
    bench.jobs.clear()
    for _ in range(3):
        await bench.protection.follow()
    assert bench.sent == [ON, OFF]


async def test_the_protection_of_a_long_job_is_renewed() -> None:
    """Ten minutes after it was given, and it lasts an hour."""
    bench = Bench()
    bench.jobs.append("job")
    await bench.protection.follow()
    bench.timer.now = 599.0
    await bench.protection.follow()
    assert bench.sent == [ON]
    bench.timer.now = 600.0
    await bench.protection.follow()
    assert bench.sent == [ON, ON]


@pytest.mark.parametrize("answer", ["HTTP 500", httpx.ConnectError("refused")])
async def test_what_the_agent_did_not_accept_is_sent_again(answer: str | Exception) -> None:
    bench = Bench()
    bench.jobs.append("job")
    bench.answers = [answer]
    await bench.protection.follow()
    await bench.protection.follow()
    assert bench.sent == [ON, ON]


class _Agent(BaseHTTPRequestHandler):
    received: list[tuple[str, Any]]
    answers: list[bytes]

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.received.append((self.path, json.loads(body)))
        answer = self.answers.pop(0) if self.answers else b""
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def agent(request: pytest.FixtureRequest) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """The URL of an agent, and what it received; its first answers are the parameters."""
    received: list[tuple[str, Any]] = []
    answers = [json.dumps(each).encode() for each in getattr(request, "param", [])]
    handler = type("Agent", (_Agent,), {"received": received, "answers": answers})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/api/1", received
    server.shutdown()
    server.server_close()


async def test_the_agent_is_asked_at_its_own_address(
    agent: tuple[str, list[tuple[str, Any]]],
) -> None:
    url, received = agent
    environ = {"ECS_AGENT_URI": url, "OJS_TASK_PROTECTION": "1"}
    async with task_protection(["job"], StillTimer(), environ):
        await until(lambda: bool(received))
    assert received == [("/api/1/task-protection/v1/state", ON)]


@pytest.mark.parametrize(
    "agent",
    [
        [{"failure": {"Arn": "arn:task", "Reason": "DEPLOYMENT_BLOCKED", "Detail": None}}],
        [{"error": {"Code": "AccessDeniedException", "Message": "no"}}],
    ],
    indirect=True,
    ids=["failure", "error"],
)
async def test_a_refusal_with_status_200_is_no_protection(
    agent: tuple[str, list[tuple[str, Any]]], caplog: pytest.LogCaptureFixture
) -> None:
    """ECS refuses while a deployment is blocked, for example: the request is sent again."""
    url, received = agent
    timer = StillTimer()
    environ = {"ECS_AGENT_URI": url, "OJS_TASK_PROTECTION": "1"}
    async with task_protection(["job"], timer, environ):
        await until(lambda: bool(timer.pauses()))
        await timer.advance(LOOK_S)
        await until(lambda: len(received) == 2)
    assert "DEPLOYMENT_BLOCKED" in caplog.text or "AccessDeniedException no" in caplog.text


@pytest.mark.parametrize("name", ["ECS_AGENT_URI", "OJS_TASK_PROTECTION"])
async def test_nothing_is_asked_where_nobody_wants_protection(name: str) -> None:
    """On ECS without the construct, and anywhere else."""
    environ = {"ECS_AGENT_URI": "http://127.0.0.1:9/", "OJS_TASK_PROTECTION": "1"}
    del environ[name]
    before = asyncio.all_tasks()
    async with task_protection(["job"], StillTimer(), environ):
        assert asyncio.all_tasks() == before
