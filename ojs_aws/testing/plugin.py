"""Gives pytest the fixtures ``ojs``, ``ojs_inline`` and ``ojs_server``; pytest loads it by itself.

Nothing else is imported before a test asks for one of them.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from ojs_aws.testing.ojs import Ojs
    from ojs_aws.testing.server import OjsServer
    from ojs_aws.testing.server.processes import Handlers

WORKER_INI: Final = "ojs_worker"
GUARD_INI: Final = "ojs_guard"
UNGUARDED: Final = "ojs_unguarded"
LAMBDA_WORKER_INI: Final = "ojs_lambda_worker"
PLACES: Final = ("ojs", "ojs_inline", "ojs_server")
"""The fixtures that take the place of the backend: a test uses one of them."""
MAX_JOBS: Final = 20
"""Jobs that the report of a failed test lists."""
MAX_LOG: Final = 20_000
"""Characters of the server's output that the report of a failed test shows: the last ones."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the settings of ``[tool.pytest.ini_options]``."""
    parser.addini(
        WORKER_INI,
        "What runs the jobs of tests: the application's worker or Jobs, as module:attribute. "
        "By default the typed jobs of all Jobs that the test has imported.",
        default="",
    )
    parser.addini(
        LAMBDA_WORKER_INI,
        "A LambdaWorker that the server of the fixture ojs_server runs, as module:attribute.",
        default="",
    )
    parser.addini(
        GUARD_INI,
        "Fail a test that sends jobs, or asks for any, and uses none of the fixtures.",
        type="bool",
        default=False,
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers", f"{UNGUARDED}: let the test reach its own server in spite of {GUARD_INI}."
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Guard a test, if the settings ask for it."""
    if not item.config.getini(GUARD_INI) or item.get_closest_marker(UNGUARDED):
        return (yield)
    from ojs_aws.testing.mistakes import guarded

    with guarded(item.nodeid):
        return (yield)


@pytest.fixture(scope="session")
def ojs_worker(pytestconfig: pytest.Config) -> Handlers | None:
    """Return what runs the jobs of tests: a worker, or Jobs; None for all typed jobs.

    Override it, or set ``ojs_worker = shop.jobs:worker`` in pytest's settings.
    """
    path = str(pytestconfig.getini(WORKER_INI))
    if not path:
        return None
    from ojs_aws.testing.mistakes import load_handlers

    return load_handlers(path)


@pytest.fixture
def ojs(request: pytest.FixtureRequest, ojs_worker: Handlers | None) -> Iterator[Ojs]:
    """Take the place of the backend: jobs are kept in memory, and run when the test drains."""
    _refuse_others(request)
    from ojs_aws.testing.mistakes import handlers_of
    from ojs_aws.testing.ojs import Ojs

    with Ojs.fake(**handlers_of(ojs_worker)) as made:
        yield made


@pytest.fixture
def ojs_inline(request: pytest.FixtureRequest, ojs_worker: Handlers | None) -> Iterator[Ojs]:
    """Take the place of the backend: each job runs when it is enqueued, and its error is raised."""
    _refuse_others(request)
    from ojs_aws.testing.mistakes import handlers_of
    from ojs_aws.testing.ojs import Ojs

    with Ojs.inline(**handlers_of(ojs_worker)) as made:
        yield made


@pytest.fixture(scope="session")
def ojs_lambda_worker(pytestconfig: pytest.Config) -> str | None:
    """Return the path of the Lambda worker that the server runs, as ``module:attribute``; or None.

    Override it, or set ``ojs_lambda_worker = shop.jobs:lambda_worker`` in pytest's settings.
    """
    return str(pytestconfig.getini(LAMBDA_WORKER_INI)) or None


@pytest.fixture(scope="session")
def ojs_server_settings() -> Mapping[str, str]:
    """Return settings of the server's backend, such as ``OJS_MAX_ENVELOPE_BYTES``; override it."""
    return {}


@pytest.fixture(scope="session")
def ojs_server_process(
    ojs_lambda_worker: str | None, ojs_server_settings: Mapping[str, str]
) -> Iterator[OjsServer]:
    """Start the server, once for the session: each process of pytest-xdist has its own."""
    from ojs_aws.testing.server import OjsServer

    workers = [ojs_lambda_worker] if ojs_lambda_worker else []
    with OjsServer(lambda_workers=workers, settings=ojs_server_settings) as server:
        yield server


@pytest.fixture
def ojs_server(request: pytest.FixtureRequest, ojs_worker: Handlers | None) -> Iterator[OjsServer]:
    """Send this test's jobs to a real server, which knows nothing of the tests before."""
    _refuse_others(request)
    ojs_server_process: OjsServer = request.getfixturevalue("ojs_server_process")
    ojs_server_process.reset()
    ojs_server_process.handlers = ojs_worker
    with ojs_server_process.use():
        yield ojs_server_process


def _refuse_others(request: pytest.FixtureRequest) -> None:
    """Fail a test that asks for two fixtures which take the place of the backend."""
    asked = [name for name in PLACES if name in request.fixturenames]
    if len(asked) > 1:
        pytest.fail(
            f"A test uses one of the fixtures {', '.join(PLACES)}, and this one uses "
            f"{' and '.join(asked)}: jobs can go to one place only.",
            pytrace=False,
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Fail a test that calls ``Ojs.fake()`` without ``with``, and leaves it active."""
    known = frozenset(map(id, _left_over()))
    try:
        result = yield
    except BaseException:
        _end_left_over(known)
        raise
    if problem := _end_left_over(known):
        pytest.fail(problem, pytrace=False)
    return result


def _left_over() -> list[Any]:
    """Return what is active without ``with``; nothing is imported for it."""
    if "ojs_aws.testing.mistakes" not in sys.modules:
        return []
    from ojs_aws.testing.mistakes import left_over

    return [*left_over()]


def _end_left_over(known: frozenset[int]) -> str:
    """End what a test left active, and return what to say about it."""
    if "ojs_aws.testing.mistakes" not in sys.modules:
        return ""
    from ojs_aws.testing.mistakes import end_left_over

    return end_left_over(known)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the server's output, and the jobs in memory, with a test that failed."""
    report = yield
    if report.when == "call" and report.failed:
        fixtures: dict[str, Any] = getattr(item, "funcargs", {})
        if log := getattr(fixtures.get("ojs_server"), "log", ""):
            report.sections.append(("Output of the OJS server", log[-MAX_LOG:]))
        for name in ("ojs", "ojs_inline"):
            if jobs := _listed(fixtures.get(name)):
                report.sections.append((f"Jobs of the fixture {name}", jobs))
    return report


def _listed(made: object) -> str:
    """Return the jobs of a fake, one in each line; empty for anything else."""
    if made is None:
        return ""
    from ojs_aws.testing.ojs import Ojs
    from ojs_aws.testing.reports import headline

    jobs = made.all_enqueued() if isinstance(made, Ojs) else []
    shown = [f"{headline(job)}  args={job.args!r}" for job in jobs[:MAX_JOBS]]
    more = [f"... and {len(jobs) - MAX_JOBS} more"] if len(jobs) > MAX_JOBS else []
    return "\n".join(shown + more)
