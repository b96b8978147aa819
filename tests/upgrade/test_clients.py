"""Clients and workers of a released version work with the backend of today, and the other way.

Each runs in processes of its own, from the commit that ``versions.json`` names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from ojs_aws import __version__
from tests.load import HUNG_S
from tests.upgrade.test_versions import CHECKOUT, VERSIONS

pytestmark = pytest.mark.slow

PROGRAM: Final = Path(__file__).parent / "program.py"
COMMAND: Final = "import sys; from ojs_aws.cli import main; sys.exit(main())"
FOUND: Final = {
    "duplicate": "refused",
    "push": 3,
    "state": "completed",
    "batch": [0, 2, 4],
    "retried": 2,
    "typed": 42,
    "failed": "JobFailedError",
    "dead letter": True,
    "workflow": "completed",
    "scheduled": "scheduled",
    "cancelled": "cancelled",
    "cron": {"names": ["nightly"], "ran": 7},
    "stats": "sums",
    "why": "completed",
    "listed": True,
    "errors": True,
    "findings": True,
    "overview": True,
    "history": True,
    "workers": True,
    "events": True,
}
"""What the program finds, whatever the version of either side."""


@pytest.fixture(scope="module", params=[each for each in VERSIONS if each != __version__])
def released(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of a released version, beside nothing else."""
    folder = tmp_path_factory.mktemp("released") / str(request.param)
    folder.mkdir()
    archive = subprocess.run(
        ["git", "archive", VERSIONS[request.param], "ojs_aws", "functions"],
        cwd=CHECKOUT,
        capture_output=True,
        check=False,
    )
    if archive.returncode:
        pytest.skip(f"no checkout with the commit of {request.param}")
    subprocess.run(["tar", "-x"], input=archive.stdout, cwd=folder, check=True)
    return folder


def environment(version: Path, **more: str) -> dict[str, str]:
    """The variables of a process that has the package of a version."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("OJS_")}
    return {**kept, "PYTHONPATH": str(version), "OJS_PATIENCE_S": f"{HUNG_S:g}", **more}


@contextmanager
def server(version: Path) -> Iterator[str]:
    """A local server of a version; its URL. It ends with its input."""
    with subprocess.Popen(
        [sys.executable, "-m", "ojs_aws.testing.server.process", '{"workers": []}'],
        cwd=version,
        env=environment(version),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.stdin.close()


def output_of(version: Path, url: str, *arguments: str | Path) -> Any:
    """The JSON that Python prints with the package of a version."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=version,
        env=environment(version, OJS_URL=url),
        capture_output=True,
        text=True,
        check=False,
        timeout=4 * HUNG_S,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(client: Path, backend: Path) -> None:
    """Check that a client, a worker and the command line get the same from another version."""
    with server(backend) as url:
        found = output_of(client, url, PROGRAM)
        version = __version__ if client == CHECKOUT else client.name
        assert found == FOUND | {"version": version}
        for command in (["jobs", "list"], ["errors"]):
            output_of(client, url, "-c", COMMAND, *command, "--json")


def test_a_released_client_works_with_the_backend_of_today(released: Path) -> None:
    check(released, CHECKOUT)


def test_the_client_of_today_works_with_a_released_backend(released: Path) -> None:
    check(CHECKOUT, released)
