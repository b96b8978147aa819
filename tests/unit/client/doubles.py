"""A server in memory behind httpx.MockTransport, and a clock that sleeping moves."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from ojs_aws.client import Client, HttpConnection, Resends
from ojs_aws.client.http import HttpTransport

JOB_ID = "01900000-0000-7000-8000-000000000001"


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
