"""Requests over HTTP: headers, resends, Retry-After, and errors of the catalogue."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import threading
import warnings
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from ojs_aws.client import Client, Resends, SyncClient
from ojs_aws.client.transports.connection import base_url
from ojs_aws.client.transports.requests import RouteRequest
from ojs_aws.domain.errors import (
    BackendError,
    BackendUnavailableError,
    ConflictError,
    DuplicateError,
    InvalidPolicyError,
    InvalidRequestError,
    NotFoundError,
    OjsError,
    PayloadTooLargeError,
    RateLimitedError,
    SchemaValidationError,
)
from tests.unit.client.doubles import JOB_ID, FakeServer, FakeTimer, answer, error


async def test_headers_name_versions_and_content_type() -> None:
    """Binding, sections 3 and 4; own headers are added."""
    server = FakeServer()
    client = server.client(headers={"Authorization": "Bearer t"})
    await client.enqueue("a.b", [])
    headers = server.requests[0].headers
    assert headers["Content-Type"] == "application/openjobspec+json"
    assert headers["Accept"] == "application/openjobspec+json"
    assert headers["OJS-Version"] == "1.0"
    assert headers["User-Agent"].startswith("ojs-aws")
    assert headers["Authorization"] == "Bearer t"


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://h:1", "http://h:1/ojs/v1"),
        ("https://h/", "https://h/ojs/v1"),
        ("https://h/stage/ojs/v1/", "https://h/stage/ojs/v1"),
        ("https://h/stage", "https://h/stage/ojs/v1"),
    ],
)
def test_the_base_path_is_added_once(url: str, base: str) -> None:
    """A URL is accepted with or without it."""
    assert base_url(url) == base


@pytest.mark.parametrize(
    "url", ["h", "ftp://h", "https://", "https://:1", "https://h:99999", "https://h:x", "https://["]
)
def test_a_url_that_leads_nowhere_is_refused_when_it_is_given(url: str) -> None:
    """Not when the first request finds no way to send it."""
    with pytest.raises(ValueError, match="is no URL of an OJS server: expected https://host"):
        Client(url, api_key="k")


async def test_a_password_in_the_url_is_not_shown() -> None:
    """It stands in logs otherwise."""
    async with Client("http://me:secret@127.0.0.1:1", resends=Resends(limit=0)) as client:
        with pytest.raises(BackendUnavailableError) as unheard:
            await client.get(JOB_ID)
    assert "No answer from http://127.0.0.1:1/ojs/v1" in str(unheard.value)
    assert "secret" not in str(unheard.value)
    with pytest.raises(ValueError, match="no URL of an OJS server") as caught:
        base_url("ftp://me:secret@h")
    assert "secret" not in str(caught.value)


async def test_a_lost_answer_is_asked_for_again_and_the_job_exists_once() -> None:
    """The first send is stored, its answer lost; the second finds the same job."""
    server = FakeServer()
    lost = httpx.ReadTimeout("lost")

    def store_and_lose() -> httpx.Response:
        server.push(server.bodies()[0])
        raise lost

    server.script = [store_and_lose]
    result = await server.client().enqueue("a.b", [1])
    assert len(server.requests) == 2
    assert server.requests[0].content == server.requests[1].content
    assert len(server.jobs) == 1
    assert result.is_enqueued
    assert not result.is_new


async def test_a_duplicate_after_a_resend_is_the_job_itself() -> None:
    """A middleware of the backend that changes the job each time cannot make a stored job fail."""
    server = FakeServer()
    taken = error(409, "duplicate")

    def stored() -> httpx.Response:
        server.push(server.bodies()[0])
        return answer(500, {"error": {"code": "backend_error", "message": "?", "retryable": True}})

    server.script = [stored, taken]
    result = await server.client().enqueue("a.b", [1])
    assert result.is_enqueued
    assert server.requests[-1].method == "GET"


async def test_a_duplicate_at_the_first_send_is_an_error() -> None:
    """Then the id is somebody else's."""
    server = FakeServer()
    server.script = [error(409, "duplicate", details={"existing_job_id": JOB_ID})]
    with pytest.raises(DuplicateError):
        await server.client().enqueue("a.b", [1], id=JOB_ID)


@pytest.mark.parametrize("status", [429, 503, 500, 502, 504])
async def test_a_server_that_is_busy_is_asked_again(status: int) -> None:
    """With growing waits."""
    server, timer = FakeServer(), FakeTimer()
    server.script = [error(status, "x"), error(status, "x"), error(status, "x")]
    assert await server.client(timer=timer).enqueue("a.b", [])
    assert timer.slept == [0.2, 0.4, 0.8]


async def test_retry_after_is_honoured() -> None:
    """The server's word outweighs the backoff."""
    server, timer = FakeServer(), FakeTimer()
    server.script = [error(429, "rate_limited", headers={"Retry-After": "7"})]
    await server.client(timer=timer).enqueue("a.b", [])
    assert timer.slept == [7.0]


async def test_a_retry_after_that_is_too_long_is_an_error() -> None:
    """Rather than a caller who hangs."""
    server, timer = FakeServer(), FakeTimer()
    server.script = [error(429, "rate_limited", headers={"Retry-After": "3600"})]
    with pytest.raises(RateLimitedError):
        await server.client(timer=timer).enqueue("a.b", [])
    assert timer.slept == []


async def test_resends_end() -> None:
    """After the limit the error is raised."""
    server = FakeServer()
    server.script = [httpx.ConnectError("refused") for _ in range(9)]
    with pytest.raises(BackendUnavailableError, match="refused") as raised:
        await server.client(resends=Resends(limit=2)).enqueue("a.b", [])
    assert len(server.requests) == 3
    assert isinstance(raised.value.__cause__, httpx.ConnectError)


async def test_what_must_not_happen_twice_is_not_sent_twice() -> None:
    """A request that may have been received is not repeated; one that was refused is."""
    server, request = FakeServer(), RouteRequest(operation="fetch", repeatable=False)
    server.script = [httpx.ReadTimeout("lost")]
    lost = await server.connection().exchange(request)
    assert isinstance(lost.error, BackendError)
    assert len(server.requests) == 1
    server.script = [httpx.ConnectError("no"), error(429, "rate_limited"), answer(200, {"a": 1})]
    got = await server.connection().exchange(request)
    assert got.sends == 3


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "invalid_request", InvalidRequestError),
        (422, "invalid_request", InvalidPolicyError),
        (422, "schema_validation", SchemaValidationError),
        (400, "schema_validation", SchemaValidationError),
        (404, "not_found", NotFoundError),
        (409, "conflict", ConflictError),
        (409, "duplicate", DuplicateError),
        (413, "payload_too_large", PayloadTooLargeError),
        (429, "rate_limited", RateLimitedError),
        (500, "backend_error", BackendError),
        (404, "x_unheard_of", NotFoundError),
        (418, "x_unheard_of", InvalidRequestError),
        (599, "x_unheard_of", BackendError),
    ],
)
async def test_errors_become_those_of_the_catalogue(
    status: int, code: str, kind: type[OjsError]
) -> None:
    """By code and status, else by status."""
    server = FakeServer()
    server.script = [error(status, code)]
    with pytest.raises(OjsError) as raised:
        await server.client(resends=Resends(limit=0)).get(JOB_ID)
    assert type(raised.value) is kind


async def test_an_answer_that_is_none_of_ojs_is_described() -> None:
    """A gateway's own error, or a page of HTML from the wrong host."""
    server = FakeServer()
    server.script = [answer(503, {"message": "Service Unavailable"})]
    with pytest.raises(BackendUnavailableError, match="Service Unavailable"):
        await server.client(resends=Resends(limit=0)).get(JOB_ID)
    server.script = [answer(200, "<html>")]
    with pytest.raises(BackendError, match="no JSON object"):
        await server.client().get(JOB_ID)


@pytest.mark.parametrize("said", [{"x": 1}, {"job": {"id": 5}}, {"job": "id"}])
async def test_an_answer_without_a_job_is_no_success(said: dict[str, object]) -> None:
    """Another service behind the URL may well answer 201 to a POST."""
    server = FakeServer()
    server.script = [answer(201, said), answer(200, said)]
    with pytest.raises(BackendError, match="holds no job"):
        await server.client().enqueue("a.b")
    with pytest.raises(BackendError, match="holds no job"):
        await server.client().get(JOB_ID)


async def test_a_redirect_is_an_error_of_the_servers_address() -> None:
    """The request was right, and a worker that polls comes again."""
    server = FakeServer()
    server.script = [answer(301, "")]
    with pytest.raises(BackendError, match=r"redirect, which is not followed \(301\)"):
        await server.client().get(JOB_ID)


async def test_an_answer_that_cannot_be_read_is_an_error_of_the_backend() -> None:
    server = FakeServer()
    server.script = [httpx.DecodingError("no gzip"), httpx.DecodingError("no gzip")]
    with pytest.raises(BackendError, match="no gzip"):
        await server.client(resends=Resends(limit=1)).get(JOB_ID)
    assert len(server.requests) == 2


class _KeepAlive(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        text = json.dumps({"job": {"id": JOB_ID, "type": "a.b"}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@pytest.fixture
def url() -> Iterator[str]:
    """A server that keeps its connections open."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _KeepAlive) as server:
        server.daemon_threads = True
        server.block_on_close = False
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_another_event_loop_has_connections_of_its_own(url: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # its loop has ended without a close
        client = Client(url)
        for _ in range(3):
            assert asyncio.run(client.get(JOB_ID)).id == JOB_ID
        asyncio.run(client.close())
        del client
        gc.collect()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process cannot fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_connections_of_its_own(url: str) -> None:
    """Those of its parent stay open, also when the child closes its client."""
    with SyncClient(url) as client:
        client.get(JOB_ID)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 0 if client.get(JOB_ID).id == JOB_ID else 2
                client.close()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert client.get(JOB_ID).id == JOB_ID


async def test_an_error_notes_the_request_id() -> None:
    """So that a trace in the server's logs is found."""
    server = FakeServer()
    server.script = [error(404, "not_found", request_id="req_1")]
    with pytest.raises(NotFoundError) as raised:
        await server.client().get(JOB_ID)
    assert "req_1" in raised.value.__notes__[0]
