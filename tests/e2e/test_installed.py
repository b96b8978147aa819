"""The wheel alone, without a checkout or Node: from `ojs-aws init` to `ojs-aws destroy`.

The stack that it upgrades has the functions of version 0.1.0, and live jobs of theirs. (That
version deployed by the CDK only. The emulator takes each text that became a parameter for a change,
so it would replace the queues of its stack; CloudFormation compares the values.)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from infra.emulator import Emulator, start_emulator
from ojs_aws.cdk.bundle_store import write_zip, zip_name
from tests.e2e.steps import eventually
from tests.load import HUNG_S
from tests.upgrade.test_versions import CHECKOUT, VERSIONS
from tests.wheel import build_wheel, install

pytestmark = [pytest.mark.e2e, pytest.mark.installed]

OLD: Final = "0.1.0"
JOBS: Final = int(os.environ.get("OJS_UPGRADE_JOBS", "100"))
"""How many jobs are live during the upgrade; a multiple of ten."""
LOOK_S: Final = 3.0
BUSY_S: Final = 30.0
"""How long a look may wait behind the jobs."""
JOB_S: Final = 1.0
"""What the emulator may take for a job, in seconds."""
BUNDLE: Final = """
import sys
from ojs_aws.cdk.bundle import Target, backend_bundle, build

print(build(backend_bundle(Target(*sys.argv[1:]))))
"""
PAGES: Final = """
from ojs_aws import Jobs, Worker

jobs = Jobs()


@jobs.job("page.draw", queue="default")
def draw(page: int) -> str:
    return f"drawn {page}"


worker = Worker(jobs)
"""
"""Jobs that a process runs; those of the project run in Lambda."""


@dataclass(frozen=True)
class Shop:
    """A folder beside an environment with nothing but the wheel, and an emulator to deploy to."""

    folder: Path
    environment: Path
    emulator: Emulator

    def started(self, program: str, *arguments: str, url: str = "") -> subprocess.Popen[str]:
        """Start a program of the environment; nothing else is on its PATH."""
        binaries = self.environment / "bin"
        kept = {name: each for name, each in os.environ.items() if name[:3] not in {"OJS", "PYT"}}
        environ = self.emulator.environment(kept) | {"PATH": str(binaries), "OJS_URL": url}
        return subprocess.Popen(
            [binaries / program, *arguments],
            cwd=self.folder,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, program: str, *arguments: str, url: str = "") -> str:
        """Run a program of the environment, and return what it wrote."""
        process = self.started(program, *arguments, url=url)
        written, errors = process.communicate(timeout=2 * HUNG_S)
        assert process.returncode == 0, written + errors
        return written

    def command(self, *arguments: str) -> Any:
        """Return what ``ojs-aws ... --yes --json`` printed."""
        return json.loads(self.run("ojs-aws", *arguments, "--yes", "--json"))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A project that `ojs-aws init` wrote."""
    folder = tmp_path_factory.mktemp("installed")
    (folder / "dist").mkdir()
    install(build_wheel(folder / "dist"), folder / "environment")
    emulator = start_emulator(os.environ)
    try:
        made = Shop(folder, folder / "environment", emulator)
        made.run("ojs-aws", "init", "shop", "--template", "lambda")
        (folder / "shop" / "pages.py").write_text(PAGES)
        yield Shop(folder / "shop", folder / "environment", emulator)
    finally:
        emulator.stop()


@pytest.fixture(scope="module")
def old(shop: Shop) -> str:
    """The URL of a stack whose functions are those of version 0.1.0."""
    checkout = shop.folder.parent / OLD
    checkout.mkdir()
    archive = subprocess.run(
        ["git", "archive", VERSIONS[OLD]], cwd=CHECKOUT, capture_output=True, check=False
    )
    if archive.returncode:
        pytest.skip(f"no checkout with the commit of {OLD}")
    subprocess.run(["tar", "-x"], input=archive.stdout, cwd=checkout, check=True)
    (shop.folder / "build").mkdir(exist_ok=True)
    (checkout / "build").symlink_to(shop.folder / "build")  # their packages are installed once
    target = shop.emulator.target()
    built = subprocess.run(
        [sys.executable, "-c", BUNDLE, target.machine, target.python],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    write_zip(Path(built.stdout.strip()), checkout / zip_name(target.machine, target.python))
    outputs = shop.command(
        *("deploy", "--auth", "none", "--queues", "default,email", "--bundles", str(checkout)),
        *options(shop),
    )["outputs"]
    return shop.emulator.api_url(outputs["ApiUrl"])


def options(shop: Shop) -> tuple[str, ...]:
    """What the emulator runs functions on."""
    target = shop.emulator.target()
    return ("--architecture", target.machine, "--python", target.python)


def all_completed(http: httpx.Client) -> bool:
    """Whether all jobs of the queue `email` have completed; asked seldom, since each look costs."""
    time.sleep(LOOK_S)
    try:
        answer = http.get("queues/email/stats", timeout=BUSY_S)
    except httpx.TimeoutException:  # the emulator is busy with the jobs
        return False
    if answer.is_server_error:  # likewise
        return False
    return bool(answer.raise_for_status().json()["stats"]["completed"] == JOBS)


def test_a_project_s_own_tests_pass(shop: Shop) -> None:
    assert "2 passed" in shop.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider")


def test_an_upgrade_loses_no_job_and_both_kinds_of_worker_run_them(shop: Shop, old: str) -> None:
    """Jobs of the old version: one is delayed, one runs while the stack is upgraded."""
    headers = {"Content-Type": "application/openjobspec+json"}
    with httpx.Client(
        base_url=f"{old}/ojs/v1/", headers=headers, timeout=HUNG_S, trust_env=False
    ) as http:

        def send(path: str, body: object) -> Any:
            return http.post(path, content=json.dumps(body)).raise_for_status().json()

        job = {"type": "email.send", "args": ["a@example.com"], "options": {"queue": "email"}}
        late = {**job, "options": {"queue": "email", "scheduled_at": "+PT20S"}}
        for part in range(10):
            first = late if part == 0 else job
            send("jobs/batch", {"jobs": [first, *[job] * (JOBS // 10 - 1)]})
        held = send("workers/fetch", {"queues": ["email"], "worker_id": "old"})["jobs"][0]["id"]

        plan = shop.run("ojs-aws", "upgrade", "--check", *options(shop))
        assert "AWS::Lambda::Function" in plan
        upgraded = shop.command("upgrade", *options(shop))
        assert shop.emulator.api_url(upgraded["outputs"]["ApiUrl"]) == old
        send("workers/ack", {"job_id": held, "worker_id": "old", "result": {}})

        process = shop.started("ojs-aws", "run", "pages:worker", url=old)
        try:
            sent = ("enqueue", "page.draw", "[1]", "-q", "default", "--wait")
            assert "drawn" in shop.run("ojs-aws", *sent, url=old)
        finally:
            process.terminate()
            process.communicate(timeout=HUNG_S)

        few = (
            "--worker-concurrency",
            "2",
        )  # each is a copy of the function that the emulator starts
        shop.command("deploy", "--worker", "worker", *few, *options(shop))
        within = HUNG_S + JOBS * JOB_S
        eventually(lambda: all_completed(http), "all jobs completed", within)

    table, bucket = upgraded["outputs"]["TableName"], upgraded["outputs"]["BucketName"]
    assert {*shop.command("destroy")["kept"]} == {table, bucket}
