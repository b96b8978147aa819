"""Servers in memory behind httpx.MockTransport, and a clock that sleeping moves."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from ojs_aws.client import Client, HttpConnection, Resends
from ojs_aws.client.transports.connection import HttpTransport
from ojs_aws.domain.json_text import encode, parse_object
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.api import Api
from tests.jobs import any_job
from tests.simulation.world import World

JOB_ID = "01900000-0000-7000-8000-000000000001"
UNKNOWN = "01990000-0000-7000-8000-ffffffffffff"


class FakeTimer:
    """Sleeping takes no time but moves the clock; chance is fixed."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def chance(self) -> float:
        return 1.0


def answer(
    status: int, body: Mapping[str, Any] | str, headers: Mapping[str, str] | None = None
) -> httpx.Response:
    text = body if isinstance(body, str) else json.dumps(body)
    given = {"Content-Type": "application/openjobspec+json", **(headers or {})}
    return httpx.Response(status, text=text, headers=given)


def error(status: int, code: str, **members: Any) -> httpx.Response:
    headers = members.pop("headers", None)
    described = {"code": code, "message": f"{code}!", "retryable": status >= 429, **members}
    return answer(status, {"error": described}, headers)


def answered_job(state: str, **members: Any) -> httpx.Response:
    return answer(200, {"job": {"id": JOB_ID, "type": "a.b", "state": state, **members}})


class FakeServer:
    """Answers from a script, else like a backend that stores jobs by id."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.script: list[httpx.Response | Exception | Callable[[], httpx.Response]] = []
        self.jobs: dict[str, dict[str, Any]] = {}

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if self.script:
            step = self.script.pop(0)
            if isinstance(step, Exception):
                raise step
            return step() if callable(step) else step
        return self.respond(request)

    def respond(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/ojs/v1")
        if request.method == "POST" and path == "/jobs":
            return self.push(json.loads(request.content))
        if request.method == "POST" and path == "/jobs/batch":
            jobs = json.loads(request.content)["jobs"]
            for job in jobs:
                self.push(job)
            stored = [self.jobs[job["id"]] for job in jobs]
            return answer(201, {"jobs": stored, "count": len(stored)})
        job = self.jobs.get(path.rpartition("/")[2])
        return answer(200, {"job": job}) if job else error(404, "not_found")

    def push(self, job: dict[str, Any]) -> httpx.Response:
        known = self.jobs.get(job["id"])
        if known is not None:
            same = {name: known.get(name) for name in job} == job
            details = {"existing_job_id": job["id"]}
            return answer(200, {"job": known}) if same else error(409, "duplicate", details=details)
        self.jobs[job["id"]] = {**job, "state": "available", "attempt": 0}
        return answer(201, {"job": self.jobs[job["id"]]})

    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request.content) for request in self.requests if request.content]

    def connection(
        self, timer: FakeTimer | None = None, url: str = "http://ojs", **given: Any
    ) -> HttpConnection:
        return HttpConnection(
            url,
            timer=timer or FakeTimer(),
            http_transport=httpx.MockTransport(self.handle),
            **given,
        )

    def client(
        self,
        *,
        timer: FakeTimer | None = None,
        middleware: Any = (),
        resends: Resends | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Client:
        timer = timer or FakeTimer()
        connection = self.connection(timer, resends=resends, headers=headers)
        return Client(transport=HttpTransport(connection), middleware=middleware, timer=timer)


class ApiServer(FakeServer):
    """Answers as the functions do."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.api = Api(world.backend)

    def respond(self, request: httpx.Request) -> httpx.Response:
        reply = self.api.send(
            request.method,
            request.url.path,
            request.content or None,
            query=dict(request.url.params),
            headers=dict(request.headers),
        )
        return httpx.Response(reply.status, text=reply.text, headers=dict(reply.headers))


def die(world: World, error_type: str = "Broken", **attributes: object) -> str:
    """Push a job and fail it for good."""
    policy = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
    given: dict[str, Any] = {"type": "a.b", "args": [1], "retry": policy} | attributes
    record = world.backend.jobs.push(any_job(**given)).record
    assert record is not None
    world.backend.jobs.fetch(FetchRequest((record.queue,)))
    world.backend.jobs.fail(
        record.id, None, parse_object(encode({"type": error_type, "message": "m"}))
    )
    world.clock.advance(s=1)
    return record.id
