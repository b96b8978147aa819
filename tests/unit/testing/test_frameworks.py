"""The kit works with unittest, with web frameworks' test clients, and with servers in threads."""

from __future__ import annotations

import threading
import unittest
import urllib.request
import warnings
from collections.abc import Callable, Iterable
from typing import Any
from unittest.mock import ANY
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest

from ojs_aws import Client
from ojs_aws.testing import Ojs
from tests.unit.testing.orders import send_mail

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # starlette wants another httpx
    TestClient: Any = pytest.importorskip("fastapi.testclient").TestClient
    FastAPI: Any = pytest.importorskip("fastapi").FastAPI

client = Client("https://nowhere.invalid")


async def signup(to: str) -> dict[str, str]:
    """Enqueue in the event loop of the application."""
    return {"id": (await send_mail.enqueue(to)).id}


def signup_in_thread(to: str) -> dict[str, str]:
    """Enqueue in a thread of the application."""
    return {"id": send_mail.enqueue_sync(to).id}


async def signup_by_client(to: str) -> dict[str, str]:
    """Enqueue by a client that was made at import."""
    return {"id": (await client.enqueue("orders.mail", [to])).id}


@pytest.mark.parametrize("endpoint", [signup, signup_in_thread, signup_by_client])
def test_an_application_of_fastapi_enqueues_into_the_test(endpoint: Callable[..., Any]) -> None:
    app = FastAPI()
    app.add_api_route("/signup/{to}", endpoint, methods=["POST"])
    with Ojs.fake() as ojs, TestClient(app) as web:
        job_id = web.post("/signup/a@b.c").json()["id"]
        [job] = ojs.assert_enqueued(send_mail.call("a@b.c"), count=1)
        assert job.id == job_id
        ojs.drain_sync()
        ojs.assert_completed(send_mail)


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def _wsgi(_environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    send_mail.enqueue_sync("a@b.c")
    start("200 OK", [])
    return [b"done"]


def test_a_server_in_a_thread_that_runs_before_the_test_enqueues_into_it() -> None:
    """As Django's live server does."""
    with make_server("127.0.0.1", 0, _wsgi, handler_class=_Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            for _ in range(2):
                with Ojs.fake() as ojs:
                    urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/").read()
                    ojs.assert_enqueued(send_mail, count=1)
        finally:
            server.shutdown()
            thread.join()


class TestPlainUnittest(unittest.TestCase):
    """Sets it up and restores it without a context manager."""

    def setUp(self) -> None:
        self.ojs = Ojs.fake()
        self.addCleanup(self.ojs.restore)

    def test_a_job_is_enqueued_and_drained(self) -> None:
        send_mail.enqueue_sync("a@b.c")
        self.ojs.assert_enqueued(send_mail.call(ANY))
        self.ojs.drain_sync()
        self.ojs.assert_completed(send_mail)

    def test_nothing_is_left_of_the_other_test(self) -> None:
        assert self.ojs.all_enqueued() == []


class TestAsyncUnittest(unittest.IsolatedAsyncioTestCase):
    """Sets it up in another context than that of the test."""

    def setUp(self) -> None:
        self.ojs = Ojs.fake()

    async def asyncTearDown(self) -> None:
        self.ojs.restore()

    async def test_a_job_is_enqueued_and_drained(self) -> None:
        await send_mail.enqueue("a@b.c")
        await self.ojs.drain()
        self.ojs.assert_completed(send_mail, count=1)

    async def test_nothing_is_left_of_the_other_test(self) -> None:
        assert self.ojs.all_enqueued() == []
