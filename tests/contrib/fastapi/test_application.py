"""The lifespan, the client, jobs after the response, and the request's metadata."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fastapi import FastAPI, Request, Response
from starlette.types import Receive, Scope, Send

from ojs_aws import Client, Jobs
from ojs_aws.contrib.fastapi import EnqueueLater, JobClient, lifespan
from ojs_aws.contrib.sqlalchemy import Outbox
from ojs_aws.testing import Ojs
from tests.contrib.backends import Backend
from tests.contrib.fastapi import TestClient
from tests.contrib.fastapi.shop import Shop
from tests.contrib.sqlalchemy.shop import confirm

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def http(tmp_path: Path, ojs: Ojs) -> Iterator[TestClient]:
    with TestClient(Shop(tmp_path).app) as http:
        yield http


class Counted(Client):
    """A client that counts how often it is closed."""

    made: list[Counted]

    def __init__(self) -> None:
        super().__init__(transport=Backend().client()._transport)
        self.closed = 0
        self.made.append(self)

    async def close(self) -> None:
        self.closed += 1


def test_the_client_is_open_as_long_as_the_application_and_closed_once() -> None:
    Counted.made = []
    jobs = Jobs()
    jobs.configure(Counted)
    steps: list[str] = []

    @asynccontextmanager
    async def inner(_: FastAPI) -> AsyncIterator[dict[str, str]]:
        steps.append(f"started with {len(Counted.made)}")
        yield {"greeting": "hello"}
        steps.append(f"ends after {Counted.made[0].closed} closes")

    app = FastAPI(lifespan=lifespan(jobs, inner=inner))

    @app.get("/")
    async def greeting(request: Request, client: JobClient) -> str:
        assert client is Counted.made[0]
        return str(request.state.greeting)

    for _ in range(2):
        with TestClient(app) as http:
            assert http.get("/").json() == "hello"
        assert [each.closed for each in Counted.made] == [1]
        assert steps == ["started with 1", "ends after 0 closes"]
        Counted.made.clear()
        steps.clear()


def test_an_inner_lifespan_that_fails_closes_the_client() -> None:
    Counted.made = []
    jobs = Jobs()
    jobs.configure(Counted)
    steps = ["connect"]

    @asynccontextmanager
    async def inner(_: FastAPI) -> AsyncIterator[None]:
        if steps:
            raise OSError("no database")
        yield

    app = FastAPI(lifespan=lifespan(jobs, inner=inner))
    with pytest.raises(OSError, match="no database"), TestClient(app):
        pass
    assert [each.closed for each in Counted.made] == [1]


def test_an_application_without_a_server_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OJS_URL", "OJS_TABLE"):
        monkeypatch.delenv(name, raising=False)
    app = FastAPI(lifespan=lifespan(Jobs()))
    with pytest.raises(ValueError, match="OJS_URL"), TestClient(app):
        pass


def test_a_dependency_without_the_lifespan_says_what_to_write(tmp_path: Path, ojs: Ojs) -> None:
    with pytest.raises(RuntimeError, match=r"FastAPI\(lifespan=lifespan\(jobs\)\)"):
        TestClient(Shop(tmp_path).app).post("/now", params={"number": 1})


def test_jobs_are_sent_after_the_response(ojs: Ojs) -> None:
    seen: list[int] = []
    jobs = Jobs()

    @jobs.job("mail.send")
    def send_mail(to: str) -> None: ...

    class Answer(Response):
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            await super().__call__(scope, receive, send)
            seen.append(len(ojs.all_enqueued()))

    app = FastAPI(lifespan=lifespan(jobs))

    @app.post("/")
    async def sign_up(later: EnqueueLater) -> Response:
        later.add_task(send_mail, "ada@example.com")
        later.add(send_mail.call("bob@example.com"))
        return Answer()

    with TestClient(app) as http:
        http.post("/")
    assert seen == [0]
    ojs.assert_enqueued(send_mail, count=2)


def test_a_job_for_later_has_its_id_and_options_at_once(http: TestClient, ojs: Ojs) -> None:
    job_id = http.post("/later", params={"number": 1}).json()
    [job] = ojs.assert_enqueued(confirm.call(1), count=1)
    assert (job.id, job.get("priority")) == (job_id, 5)


def test_jobs_for_later_of_an_endpoint_that_raises_are_not_sent(http: TestClient, ojs: Ojs) -> None:
    assert http.post("/later", params={"number": 1, "fails": True}).status_code == 409
    assert ojs.all_enqueued() == []


@pytest.mark.parametrize("path", ["/now", "/now-in-a-thread", "/later", "/orders", "/async-orders"])
def test_jobs_have_the_id_and_the_trace_of_their_request(
    http: TestClient, ojs: Ojs, path: str
) -> None:
    headers = {"X-Request-ID": "r-1", "traceparent": TRACE, "tracestate": "a=1"}
    answer = http.post(path, params={"number": 1}, headers=headers)
    assert answer.headers["X-Request-ID"] == "r-1"
    [job] = ojs.all_enqueued()
    kept = {key: value for key, value in job.meta.items() if key in {*headers, "tracestate"}}
    assert kept == {"traceparent": TRACE, "tracestate": "a=1"}
    assert job.meta["ojs.context.request_id"] == "r-1"
    assert job.meta.get("ojs.context.user_id") == ("ada" if path == "/now" else None)


def test_an_unusable_request_id_or_trace_is_replaced_or_left_out(
    http: TestClient, ojs: Ojs
) -> None:
    headers = {"X-Request-ID": "two words", "traceparent": TRACE.replace("0af7", "zzzz")}
    answer = http.post("/now", params={"number": 1}, headers=headers)
    [job] = ojs.all_enqueued()
    made = answer.headers["X-Request-ID"]
    assert (job.meta["ojs.context.request_id"], len(made)) == (made, 36)
    assert "traceparent" not in job.meta


def test_a_trace_that_a_job_has_stays_whole(http: TestClient, ojs: Ojs) -> None:
    own = {"traceparent": TRACE.replace("-01", "-00")}

    @http.app.post("/traced")  # type: ignore[attr-defined, untyped-decorator]
    async def traced() -> None:
        await confirm.options(meta=own).enqueue(1)

    http.post("/traced", headers={"traceparent": TRACE, "tracestate": "a=1"})
    [job] = ojs.all_enqueued()
    assert {**own, "ojs.context.request_id": job.meta["ojs.context.request_id"]} == job.meta


def test_the_relay_of_an_outbox_ends_before_the_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    Counted.made = []
    jobs, outbox = Jobs(), Outbox(relay="separate")
    jobs.configure(Counted)
    closes: list[int] = []
    monkeypatch.setattr(outbox, "close", lambda: closes.append(Counted.made[0].closed))
    with TestClient(FastAPI(lifespan=lifespan(jobs, outbox=outbox))):
        assert closes == []
    assert (closes, Counted.made[0].closed) == ([0], 1)
