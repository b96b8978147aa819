"""The kit works with Django: its test client, and its live server with a thread of its own."""

from __future__ import annotations

from typing import Final

import pytest

from tests.inner_tests import run_inner_process

pytest.importorskip("django", reason="make setup installs it")

pytest_plugins = ["pytester"]

SITE: Final = """
from django.conf import settings
from django.http import HttpResponse
from django.urls import path

from ojs_aws import Jobs

jobs = Jobs()


@jobs.job("mail.welcome", queue="email")
def send_welcome(to: str) -> str:
    return f"sent to {to}"


def sign_up(request):
    send_welcome.enqueue_sync(request.GET["email"])
    return HttpResponse("done")


urlpatterns = [path("users", sign_up)]
settings.configure(ROOT_URLCONF="site_of_django", ALLOWED_HOSTS=["*"])
"""
TESTS: Final = """
import urllib.request

import django
import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.test import Client
from django.test.testcases import LiveServerThread

from ojs_aws.testing import Ojs
from site_of_django import send_welcome

django.setup()


def test_the_test_client(ojs: Ojs) -> None:
    assert Client().get("/users", {"email": "a@b.c"}).content == b"done"
    ojs.drain_sync()
    ojs.assert_completed(send_welcome.call("a@b.c"), count=1)


class Plain(WSGIHandler):
    def __init__(self, application):
        super().__init__()


@pytest.fixture(scope="module")
def live_server():
    thread = LiveServerThread("127.0.0.1", Plain)
    thread.daemon = True
    thread.start()
    thread.is_ready.wait()
    assert thread.error is None
    yield f"http://127.0.0.1:{thread.port}"
    thread.terminate()


@pytest.mark.parametrize("email", ["a@b.c", "d@e.f"])
def test_the_live_server(live_server: str, ojs: Ojs, email: str) -> None:
    assert urllib.request.urlopen(f"{live_server}/users?email={email}").read() == b"done"
    ojs.assert_enqueued(send_welcome.call(email), count=1)
    assert len(ojs.all_enqueued()) == 1
"""


def test_the_servers_of_django_enqueue_into_each_test(pytester: pytest.Pytester) -> None:
    """The live server starts before the first test, and ends after the last one."""
    pytester.makepyfile(site_of_django=SITE, test_site=TESTS)
    pytester.makeini("[pytest]\npythonpath = .\n")
    run_inner_process(pytester).assert_outcomes(passed=3)
