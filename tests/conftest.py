"""What this machine can run: tests that need Node or the AWS emulator are skipped with the reason.

`make` says where the emulator is, in the variable MINISTACK; without it the one that
`make emulator` installs into the checkout is used. Tests that need an AWS have the one in memory
(`ojs_aws.memory_aws`), but for those marked `moto`. With `--moto` all of them have moto, and with
`--dynamodb-local` moto with Amazon's DynamoDB Local for DynamoDB.
"""

from __future__ import annotations

import gc
import logging
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import botocore.session
import hypothesis
import pytest

from tests import dynamodb_local, markers

if TYPE_CHECKING:
    from ojs_aws.services.backend import Backend
    from ojs_aws.testing.deployment import FakeClock
    from tests.api import Api
    from tests.aws import EmbeddedAws
    from tests.simulation.world import World

# How long an example takes says how busy the machine is.
hypothesis.settings.register_profile(
    "any load", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any load")

CHECKOUT: Final = Path(__file__).resolve().parent.parent
INFRA_TESTS: Final = CHECKOUT / "tests" / "infra"
NO_NODE: Final = "the AWS CDK needs Node 18 or newer, and this machine has none"
ONLY_MOTO: Final = "it needs what only moto has: its own tables, or backups"
NO_DYNAMODB_LOCAL: Final = (
    "--dynamodb-local needs Java 17 or newer and what `make dynamodb-local` installs"
)
NO_EMULATOR: Final = "the AWS emulator is not installed; `make emulator` does that"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the choice of the AWS that the tests run over."""
    parser.addoption(
        "--dynamodb-local",
        action="store_true",
        help="run over Amazon's DynamoDB Local in place of moto's tables",
    )
    parser.addoption(
        "--moto",
        action="store_true",
        help="run over moto in place of ojs_aws.memory_aws",
    )


@pytest.fixture(scope="session", autouse=True)
def _dynamodb(request: pytest.FixtureRequest) -> Iterator[dynamodb_local.Server | None]:
    """Start DynamoDB Local, if it is asked for, and send all clients there."""
    if not request.config.getoption("--dynamodb-local"):
        yield None
        return
    with dynamodb_local.running() as url, dynamodb_local.used(url) as server:
        yield server


@contextmanager
def _engine_of(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let fresh AWS be moto where it is asked for, or the tests are marked so."""
    config = request.config
    is_moto = config.getoption("--moto") or config.getoption("--dynamodb-local")
    is_marked = request.node.get_closest_marker("moto") is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.aws.IN_MEMORY", not (is_moto or is_marked))
        yield


@pytest.fixture(scope="module", autouse=True)
def _engine_of_module(request: pytest.FixtureRequest) -> Iterator[None]:
    """Choose the AWS of fixtures that all tests of a module share."""
    with _engine_of(request):
        yield


@pytest.fixture(autouse=True)
def _engine(request: pytest.FixtureRequest) -> Iterator[None]:
    """Choose the AWS of a test."""
    with _engine_of(request):
        yield


@pytest.fixture(autouse=True)
def _dynamodb_understands_every_request(
    _dynamodb: dynamodb_local.Server | None,
) -> Iterator[None]:
    """Fail a test in which DynamoDB Local refused a request for another reason than a condition."""
    yield
    if _dynamodb is not None:
        refused = list(_dynamodb.refused)
        _dynamodb.refused.clear()
        assert not refused, "DynamoDB Local refused:\n" + "\n".join(refused)


@pytest.fixture(scope="session", autouse=True)
def _models_of_aws_are_read_once() -> Iterator[None]:
    """Let all sessions share what botocore reads from its files, which takes most of a client."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.session.create_loader", cache(botocore.session.create_loader))
        yield


# A module that needs one of these in another state has a fixture of its name. Each imports what
# it makes: tests of the infrastructure need none of it.
@pytest.fixture
def world() -> World:
    """Make a fresh backend over an AWS in memory, whose clock a test moves."""
    from tests.simulation.world import World

    return World()


@pytest.fixture
def api(world: World) -> Api:
    """Make the functions over that backend, as an HTTP client sees them."""
    from tests.api import Api

    return Api(world.backend)


@pytest.fixture
def aws() -> Iterator[EmbeddedAws]:
    """Deploy to a fresh AWS in this process."""
    from tests.aws import embedded

    with embedded() as made:
        yield made


@pytest.fixture
def clock() -> FakeClock:
    """Make a clock that tests move."""
    from ojs_aws.testing.deployment import FakeClock

    return FakeClock()


@pytest.fixture
def backend(aws: EmbeddedAws, clock: FakeClock) -> Backend:
    """Make a backend over the AWS in this process, with the clock that tests move."""
    from ojs_aws.bootstrap import build_backend
    from ojs_aws.domain.runtime import IN_ORDER

    return build_backend(aws.settings, aws.clients, clock=clock, parallel=IN_ORDER)


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let calls that stay contended be tried again at once."""
    monkeypatch.setattr("ojs_aws.adapters.dynamodb.retrying_client.LONGEST_PAUSE_S", 0.0)


def has_node() -> bool:
    """Return whether the CDK's libraries, which run on Node, can be imported."""
    return shutil.which("node") is not None


def emulator_executable() -> Path | None:
    """Find the AWS emulator's command, if it is installed."""
    default = CHECKOUT / ".venv-emulator" / "bin" / "ministack"
    found = shutil.which(os.environ.get("MINISTACK") or str(default))
    return Path(found) if found else None


@pytest.fixture(scope="module", autouse=True)
def _environment_is_left_as_it_was() -> Iterator[None]:
    """What one module sets in the process must not decide what a later one sees."""
    before = dict(os.environ)
    yield
    left = {name for name in {*before, *os.environ} if before.get(name) != os.environ.get(name)}
    assert left <= {"PYTEST_CURRENT_TEST"}, f"the environment was changed: {sorted(left)}"


@pytest.fixture(scope="module", autouse=True)
def _logging_is_left_as_it_was() -> Iterator[None]:
    """Put back what functions, commands and frameworks set in the loggers that all tests share.

    Powertools notes in the logger that it has its handler, so all attributes go back. Handlers of
    pytest come and go with the phases of a test.
    """
    loggers = [logging.getLogger(name) for name in (None, "ojs_aws")]
    before = [(dict(vars(each)), each.handlers[:], each.filters[:]) for each in loggers]
    disabled = logging.root.manager.disable
    yield
    for logger, (attributes, handlers, filters) in zip(loggers, before, strict=True):
        kept = [each for each in handlers if not _is_pytests(each)]
        logger.handlers[:] = [*kept, *filter(_is_pytests, logger.handlers)]
        logger.filters[:] = filters
        now = logger.handlers
        vars(logger).clear()
        vars(logger).update(attributes, handlers=now)
    logging.disable(disabled)  # it forgets which levels were enabled, too


def _is_pytests(handler: logging.Handler) -> bool:
    return type(handler).__module__.startswith("_pytest.")


class _NeedsNode(pytest.Module):
    """A test module that is not even imported: `import aws_cdk` starts Node."""

    def collect(self) -> NoReturn:
        pytest.skip(NO_NODE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import a test file that has no test which ``-m`` selects."""
    expression = config.getoption("-m")
    if not expression or not collection_path.match("test_*.py"):
        return None
    text = markers.text_of(collection_path)
    return None if markers.can_be_selected(expression, text) else True


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Skip the modules under tests/infra as a whole where there is no Node."""
    if has_node() or not module_path.is_relative_to(INFRA_TESTS):
        return None
    module: pytest.Module = _NeedsNode.from_parent(parent, path=module_path)
    return module


def pytest_sessionstart() -> None:
    """Collect no garbage while tests are collected: it takes a fifth of the time in vain."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Let the collector of garbage pass over the tests and their modules, which stay to the end.

    What tests make goes with them, mostly without the collector: by default it takes a fourteenth
    of the time. To look through what the collection of tests left behind would take a second.
    """
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 20)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip the tests whose markers ask for what is not installed or not in use.

    :raises pytest.UsageError: two tests have one name: pytest-xdist would run one of them only;
        tests have a marker that their file does not say; or DynamoDB Local is asked for and
        missing.
    """
    is_over_dynamodb_local = bool(config.getoption("--dynamodb-local"))
    if is_over_dynamodb_local and not dynamodb_local.is_installed():
        raise pytest.UsageError(NO_DYNAMODB_LOCAL)
    names = Counter(item.nodeid for item in items)
    if shared := [f"{name} ({times} times)" for name, times in names.items() if times > 1]:
        raise pytest.UsageError(f"tests share a name, so that some would not run: {shared}")
    if unsaid := markers.unsaid(items):
        raise pytest.UsageError(f"-m would not find tests whose file does not say this: {unsaid}")
    without_emulator = emulator_executable() is None
    without_node = not has_node()
    for item in items:
        is_e2e = item.get_closest_marker("e2e") is not None
        if is_e2e and without_node:
            item.add_marker(pytest.mark.skip(reason=NO_NODE))
        if without_emulator and (is_e2e or item.get_closest_marker("emulator")):
            item.add_marker(pytest.mark.skip(reason=NO_EMULATOR))
        if is_over_dynamodb_local and item.get_closest_marker("moto"):
            item.add_marker(pytest.mark.skip(reason=ONLY_MOTO))
        if item.get_closest_marker("dynamodb_local") and not is_over_dynamodb_local:
            item.add_marker(pytest.mark.skip(reason="it measures DynamoDB Local: --dynamodb-local"))
