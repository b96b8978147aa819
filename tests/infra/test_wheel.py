"""The wheel as people install it, beside packages `infra` and `functions` of their own."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import textwrap
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from ojs_aws import __version__
from ojs_aws.cdk.bundle import FUNCTIONS
from ojs_aws.dashboard.files import STATIC
from tests.load import HUNG_S
from tests.wheel import build_wheel, install

pytestmark = pytest.mark.slow

CHECKOUT: Final = Path(__file__).resolve().parents[2]
SILENT: Final = {
    "JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION": "1",
    "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "18,19,20,21,22,23",
    "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
}

SHOP: Final = {
    "infra/__init__.py": "STACK = 'Shop'\n",
    "infra/constructs.py": "raise RuntimeError('of the shop')\n",
    "functions/__init__.py": "",
    "functions/producer/__init__.py": "",
    "functions/producer/handler.py": "raise RuntimeError('of the shop')\n",
    "functions/orders.py": """
        from ojs_aws import JobContext, LambdaWorker

        worker = LambdaWorker(queues=["orders"])

        @worker.handler("order.ship")
        async def ship(ctx: JobContext, order: str) -> str:
            return f"shipped {order}"

        handler = worker.lambda_handler
        """,
    "app.py": """
        from pathlib import Path

        import infra
        import ojs_aws.cdk
        from aws_cdk import App, Stack
        from ojs_aws.cdk import (
            JobBackend,
            JobBackendProps,
            LambdaWorkerFunction,
            LambdaWorkerFunctionProps,
        )

        app = App(outdir="cdk.out", context={"aws:cdk:bundling-stacks": []})
        stack = Stack(app, infra.STACK)
        backend = JobBackend(stack, "Jobs", JobBackendProps(queues=["orders"]))
        orders = LambdaWorkerFunctionProps(
            backend=backend,
            code_dir=Path("functions"),
            handler="orders.handler",
            queues=["orders"],
        )
        LambdaWorkerFunction(stack, "Orders", orders)
        app.synth()
        print(*(name for name in ojs_aws.cdk.__all__ if getattr(ojs_aws.cdk, name) is not None))
        """,
    "bundle.py": """
        from dataclasses import replace
        from pathlib import Path

        from ojs_aws.cdk.bundle import Target, backend_bundle, build, lock_of

        for tracing in (False, True):
            assert "boto" in lock_of(tracing=tracing).read_text()
        nothing = Path("nothing.lock")
        nothing.touch()
        print(build(replace(backend_bundle(Target.host()), lock=nothing)))
        """,
    "push.py": """
        import sys

        from ojs_aws import SyncClient

        with SyncClient(sys.argv[1]) as client:
            enqueued = client.enqueue("order.ship", ["A-1"], queue="orders")
            print(client.wait(enqueued.id))
        """,
}
"""An application: files with their text. Its `functions` has a module named like one of ours."""


@dataclass(frozen=True)
class Shop:
    """The application's folder, and an environment into which only the wheel was installed.

    :ivar names: the files of the wheel.
    """

    folder: Path
    environment: Path
    names: frozenset[str]

    def start(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        """Start a program of the environment in the application's folder."""
        kept = {name: value for name, value in os.environ.items() if name[:3] not in {"OJS", "PYT"}}
        return subprocess.Popen(
            [self.environment / "bin" / program, *arguments],
            cwd=self.folder,
            env={**kept, **SILENT},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> str:
        """Run Python in the application's folder, and return what it wrote."""
        process = self.start("python", *arguments)
        written, errors = process.communicate(timeout=HUNG_S)
        assert process.returncode == 0, errors
        return written


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """The application beside the installed wheel."""
    folder, dist = tmp_path_factory.mktemp("shop"), tmp_path_factory.mktemp("dist")
    wheel, environment = build_wheel(dist), dist / "environment"
    install(wheel, environment)
    for name, text in SHOP.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    with zipfile.ZipFile(wheel) as archive:
        return Shop(folder, environment, frozenset(archive.namelist()))


@pytest.fixture
def server(shop: Shop) -> Iterator[str]:
    """The URL of the installed local server, which runs the application's worker."""
    process = shop.start("ojs-aws", "local", "--port", "0", "--worker", "functions.orders")
    assert process.stdout is not None
    lines = iter(process.stdout.readline, "")
    found = next((word for line in lines for word in line.split() if "http://" in word), None)
    assert found is not None, process.communicate(timeout=HUNG_S)
    yield found
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=HUNG_S)


def test_the_wheel_has_one_top_level_package(shop: Shop) -> None:
    """So that installing it overwrites nothing of an application."""
    tops = {name.partition("/")[0] for name in shop.names}
    assert tops == {"ojs_aws", f"ojs_aws-{__version__}.dist-info"}
    assert not [name for name in shop.names if "__pycache__" in name]


def test_the_wheel_carries_the_dashboard_without_its_sources(shop: Shop) -> None:
    """Every built file, so that Python alone serves the page."""
    carried = {name for name in shop.names if name.startswith("ojs_aws/dashboard/")}
    built = {path.relative_to(CHECKOUT).as_posix() for path in STATIC.rglob("*") if path.is_file()}
    names = ("__init__", "files", "page_function")
    modules = {f"ojs_aws/dashboard/{name}.py" for name in names}
    assert carried == built | modules


def test_the_wheel_is_what_the_application_imports(shop: Shop) -> None:
    """And not the checkout that the dependencies are borrowed from."""
    written = shop.run(
        "-c", "import ojs_aws, functions, infra; print(ojs_aws.__file__, infra.STACK)"
    )
    assert written.startswith(str(shop.environment))
    assert written.endswith(" Shop\n")


def test_an_application_synthesises_the_installed_constructs(shop: Shop) -> None:
    """With its own `infra` and `functions` beside them; every exported name can be imported.

    Parts that are opted into have no function here, such as the export and the job endpoint.
    """
    assert shop.run("app.py").split() == importlib.import_module("ojs_aws.cdk").__all__
    template = json.loads((shop.folder / "cdk.out" / "Shop.template.json").read_text())
    kind = "AWS::Lambda::Function"
    functions = [each for each in template["Resources"].values() if each["Type"] == kind]
    handlers = {each["Properties"]["Handler"] for each in functions}
    own = {path.name for path in FUNCTIONS.iterdir() if (path / "handler.py").is_file()}
    bound = {"dispatcher", "settler", "task_dispatcher", "task_settler"}
    default = own - bound - {"event_jobs", "export", "job_endpoint", "removal"}
    expected = {f"functions.{name}.handler.handler" for name in default}
    assert handlers == {*expected, "orders.handler"}


def test_bundles_from_the_wheel_are_those_from_a_checkout(shop: Shop) -> None:
    """The same entry points, byte for byte, and no constructs."""
    bundle = Path(shop.run("bundle.py").strip())
    sources = {path.relative_to(FUNCTIONS.parent) for path in FUNCTIONS.rglob("*.py")}
    carried = {path.relative_to(bundle) for path in bundle.glob("functions/**/*.py")}
    assert carried == sources
    for path in sources:
        assert (bundle / path).read_bytes() == (FUNCTIONS.parent / path).read_bytes()
    assert (bundle / "ojs_aws" / "bootstrap").is_dir()
    assert not (bundle / "ojs_aws" / "cdk").exists()
    assert not (bundle / "ojs_aws" / "dashboard").exists()


def test_the_installed_local_server_runs_a_pushed_job(shop: Shop, server: str) -> None:
    """By the entry points in the wheel, with a worker in the application's `functions`."""
    assert "shipped A-1" in shop.run("push.py", server)
