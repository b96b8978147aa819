"""The pytest plugin: its fixtures in somebody's tests, with what else is installed there."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest

from tests.inner_tests import PLUGIN, run_inner_process, run_inner_tests

pytestmark = pytest.mark.thorough

pytest_plugins = ["pytester"]

ROOT: Final = Path(__file__).parents[3]

SHOP: Final = """
from ojs_aws import Jobs, LambdaWorker, Worker

jobs = Jobs()

@jobs.job("shop.mail", queue="email")
async def mail(to: str) -> str:
    if "@" not in to:
        raise ValueError("no address")
    return "sent to " + to

@jobs.job("shop.count")
def count(pages: int) -> int:
    return pages * 300

worker = Worker(jobs, middleware=[])
lambda_worker = LambdaWorker(jobs, queues=["email"])

async def signup(email: str) -> None:
    await mail.enqueue(email)

def signup_sync(email: str) -> None:
    mail.enqueue_sync(email)
"""


SETTINGS: Final = (
    "[pytest]",
    "pythonpath = .",
    "asyncio_mode = auto",
    "asyncio_default_fixture_loop_scope = function",
)


@pytest.fixture
def shop(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """The folder of an application, and its settings of pytest."""
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    monkeypatch.delenv("OJS_URL", raising=False)
    pytester.makepyfile(shop=SHOP)
    set_ini(pytester)
    return pytester


def set_ini(shop: pytest.Pytester, **more: str) -> None:
    """Write the application's settings of pytest."""
    lines = [f"{name} = {value}" for name, value in more.items()]
    shop.makeini("\n".join([*SETTINGS, *lines]))


def run(shop: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run the tests of the application in this process."""
    return run_inner_tests(shop, *options)


def test_the_fake_serves_tests_with_and_without_async(shop: pytest.Pytester) -> None:
    """Each starts with nothing."""
    shop.makepyfile(
        """
        from unittest.mock import ANY
        from ojs_aws.testing import Ojs
        from shop import mail, signup, signup_sync

        async def test_async(ojs: Ojs) -> None:
            await signup("a@b.c")
            ojs.assert_enqueued(mail.call(ANY), queue="email", count=1)
            await ojs.drain()
            [job] = ojs.all_enqueued(mail)
            assert job.returned == "sent to a@b.c"

        def test_sync(ojs: Ojs) -> None:
            assert ojs.all_enqueued() == []
            signup_sync("d@e.f")
            ojs.drain_sync()
            ojs.assert_enqueued(mail.call("d@e.f"), state="completed", count=1)

        class TestInAClass:
            def test_more(self, ojs: Ojs) -> None:
                ojs.refute_enqueued(mail)
        """
    )
    run(shop).assert_outcomes(passed=3)


def test_inline_runs_a_job_when_it_is_enqueued(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        import pytest
        from shop import mail, signup, signup_sync

        async def test_async(ojs_inline):
            await signup("a@b.c")
            ojs_inline.assert_enqueued(mail, state="completed")

        def test_sync(ojs_inline):
            with pytest.raises(ValueError, match="no address"):
                signup_sync("nobody")
        """
    )
    run(shop).assert_outcomes(passed=2)


def test_a_failed_test_shows_its_jobs(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        from shop import count

        def test_it(ojs):
            count.enqueue_sync(2)
            assert False
        """
    )
    result = run(shop)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*Jobs of the fixture ojs*", "shop.count * on 'default' (available)*args=[[]2[]]"]
    )


def test_anyio_runs_the_tests_as_well(shop: pytest.Pytester) -> None:
    """Where pytest-asyncio is not used."""
    shop.makeini("[pytest]\npythonpath = .\n")
    shop.makepyfile(
        """
        import pytest
        from shop import mail, signup

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        @pytest.mark.anyio
        async def test_signup(ojs):
            await signup("a@b.c")
            await ojs.drain()
            ojs.assert_enqueued(mail, state="completed")
        """
    )
    run_inner_process(shop, "-p", "no:asyncio").assert_outcomes(passed=1)


def test_the_processes_of_xdist_do_not_see_each_other(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        import pytest
        from shop import mail, signup_sync

        @pytest.mark.parametrize("n", range(20))
        def test_signup(ojs, n):
            signup_sync(f"{n}@b.c")
            ojs.assert_enqueued(mail.call(f"{n}@b.c"), count=1)
            assert len(ojs.all_enqueued()) == 1
        """
    )
    run_inner_process(shop, "-n", "2").assert_outcomes(passed=20)


@pytest.mark.parametrize("worker", ["shop:worker", "shop:jobs"])
def test_the_settings_name_what_runs_the_jobs(shop: pytest.Pytester, worker: str) -> None:
    """A worker with its middleware, or the typed jobs."""
    set_ini(shop, ojs_worker=worker)
    shop.makepyfile(
        """
        def test_a_type_alone_has_its_handler(ojs):
            ojs.sync_client.enqueue("shop.count", [2])
            ojs.drain_sync()
            [job] = ojs.assert_enqueued("shop.count", state="completed")
            assert job["result"] == 600
        """
    )
    run(shop).assert_outcomes(passed=1)


def test_a_fixture_of_the_application_names_what_runs(shop: pytest.Pytester) -> None:
    shop.makeconftest(
        """
        import pytest
        from ojs_aws import Jobs

        other = Jobs()

        @other.job("shop.count")
        def count(pages: int) -> int:
            return -1

        @pytest.fixture
        def ojs_worker():
            return other
        """
    )
    shop.makepyfile(
        """
        import shop

        def test_it(ojs):
            ojs.sync_client.enqueue("shop.count", [2])
            ojs.drain_sync()
            [job] = ojs.assert_enqueued("shop.count")
            assert job["result"] == -1
        """
    )
    run(shop).assert_outcomes(passed=1)


def test_a_worker_that_is_none_is_refused(shop: pytest.Pytester) -> None:
    set_ini(shop, ojs_worker="shop:mail")
    shop.makepyfile("def test_it(ojs): pass")
    result = run(shop)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*'shop:mail' is a TypedJob, and no worker or Jobs*"])


def test_a_test_that_leaves_its_fake_active_fails(shop: pytest.Pytester) -> None:
    """The next one does not see it."""
    shop.makepyfile(
        """
        import unittest
        from ojs_aws.testing import Ojs
        from shop import signup_sync

        def test_first():
            ojs = Ojs.fake()

        class TestShop(unittest.TestCase):
            def setUp(self):
                self.ojs = Ojs.fake()

            def test_it(self):
                signup_sync("a@b.c")

        class TestCareful(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                cls.ojs = Ojs.fake()
                cls.addClassCleanup(cls.ojs.restore)

            def test_it(self):
                signup_sync("a@b.c")

            def test_more(self):
                self.ojs.all_enqueued()
        """
    )
    result = run(shop)
    result.assert_outcomes(failed=2, passed=2)
    result.stdout.fnmatch_lines(["The Ojs of *test_a_test_that_leaves_*.py:6 was begun without*"])


def test_a_guard_refuses_tests_that_use_no_fixture(shop: pytest.Pytester) -> None:
    """By typed jobs and by clients; not if a test has the marker, or a fixture."""
    set_ini(shop, ojs_guard="true")
    shop.makepyfile(
        """
        import pytest
        from ojs_aws import Client
        from ojs_aws.testing import Ojs
        from shop import signup, signup_sync

        async def test_typed():
            await signup("a@b.c")

        def test_sync():
            signup_sync("a@b.c")

        async def test_client():
            await Client("https://nowhere.invalid").enqueue("shop.mail", ["a@b.c"])

        async def test_fixture(ojs):
            await signup("a@b.c")
            await Client("https://nowhere.invalid").enqueue("shop.mail", ["a@b.c"])

        async def test_block():
            with Ojs.fake():
                await signup("a@b.c")

        @pytest.mark.ojs_unguarded
        async def test_own_server():
            with pytest.raises(ValueError, match="OJS_URL"):
                await signup("a@b.c")
        """
    )
    result = run(shop)
    result.assert_outcomes(failed=3, passed=3)
    result.stdout.fnmatch_lines(["*test_typed would reach a real server: let it use the fixture*"])


def test_a_test_with_two_places_for_jobs_is_refused(shop: pytest.Pytester) -> None:
    """And no server is started for it."""
    shop.makepyfile("def test_it(ojs, ojs_server): pass")
    result = run(shop)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*this one uses ojs and ojs_server: jobs can go to one place*"])


def test_one_server_serves_all_tests_and_forgets_between_them(shop: pytest.Pytester) -> None:
    """With a worker in the test's process, and a Lambda worker in the server."""
    set_ini(shop, ojs_worker="shop:worker", ojs_lambda_worker="shop:lambda_worker")
    shop.makepyfile(
        """
        from ojs_aws.testing import OjsServer
        from shop import count, mail, signup, signup_sync

        urls = set()

        async def test_async(ojs_server: OjsServer) -> None:
            urls.add(ojs_server.url)
            await signup("a@b.c")                     # the Lambda worker has the queue email
            [job] = ojs_server.assert_enqueued(mail)
            assert (await ojs_server.wait(job))["result"] == "sent to a@b.c"

        def test_sync(ojs_server: OjsServer) -> None:
            urls.add(ojs_server.url)
            assert ojs_server.all_enqueued() == []
            handle = count.enqueue_sync(2)
            with ojs_server.work(queues=["default"]):
                ojs_server.drain_sync()
            assert handle.result(timeout="5s") == 600
            assert len(urls) == 1

        def test_that_fails(ojs_server: OjsServer) -> None:
            signup_sync("nobody")
            [job] = ojs_server.assert_enqueued(mail)
            ojs_server.wait_sync(job, "retryable")
            ojs_server.assert_job_state(job, "completed")
        """
    )
    result = run_inner_process(shop)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*Output of the OJS server*", "*shop.mail*"])


def test_the_plugin_costs_nothing_before_a_fixture_is_used() -> None:
    """Pytest imports it in every project that has this package installed."""
    code = (
        f"import sys, pytest; before = set(sys.modules); import {PLUGIN}\n"
        "print(*sorted({name for name in set(sys.modules) - before if '.' not in name "
        "or name.startswith('ojs_aws')}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    allowed = {"ojs_aws", "ojs_aws.exports", "ojs_aws.testing", PLUGIN}
    assert set(done.stdout.split()) <= allowed


def test_the_package_declares_the_plugin() -> None:
    """By its module's name, so that pytest does not load it twice."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {PLUGIN: PLUGIN}
