"""The README's blocks as a reader runs them: in what `make run` installs, and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.output import Output
from tests.unit.local.test_local_server import free_port

ROOT: Final = Path(__file__).parents[3]
README: Final = (ROOT / "README.md").read_text("utf-8")
ACTIVATE: Final = ". .venv/bin/activate\n"
FILES: Final = {"declare": "shop.py", "send": "send.py", "test": "test_shop.py"}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `.venv` as `make run` makes it, the settings of pytest, and the files."""
    folder = tmp_path_factory.mktemp("reader")
    command = [sys.executable, str(ROOT / "scripts" / "setup_venv.py")]
    lock = str(ROOT / "requirements-run.lock")
    subprocess.run([*command, lock, "--venv", ".venv", "--editable"], cwd=folder, check=True)
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name, file in FILES.items():
        (folder / file).write_text(block(name, "python"))
    return folder


def block(name: str, language: str) -> str:
    """A block of the page."""
    found = re.search(rf"<!-- example: {name} -->\n```{language}\n(.*?)```", README, re.DOTALL)
    assert found is not None, name
    return f"{ACTIVATE}{found[1]}" if language == "sh" else found[1]


def environment() -> dict[str, str]:
    """What a new shell has: nothing of ours."""
    ours = ("OJS_", "PYTEST_", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


@contextmanager
def running(command: str, folder: Path, until: str) -> Iterator[None]:
    """Run a command of the page until it is not needed any more."""
    process = subprocess.Popen(
        ["sh", "-c", command.strip().replace("\nojs-aws", "\nexec ojs-aws")],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    output = Output(process)
    try:
        output.wait_for(until)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        output.end()


def test_the_job_is_sent_and_run(folder: Path) -> None:
    """The worker and `send.py`, in the page's own lines; only the port is another one."""
    port = free_port()

    def here(name: str) -> str:
        return block(name, "sh").replace("127.0.0.1:8080", f"127.0.0.1:{port}")

    with (
        running(f"{ACTIVATE}ojs-aws local --port {port}", folder, str(port)),
        running(here("work"), folder, "email.send"),
    ):
        sent = subprocess.run(
            ["sh", "-c", here("run")], cwd=folder, env=environment(), check=True, text=True,
            capture_output=True, timeout=60,
        )  # fmt: skip
    assert sent.stdout == "{'sent_to': 'ada@example.com', 'template': 'welcome'}\n"


def test_the_test_passes(folder: Path) -> None:
    """With the settings of pytest that the checkout has."""
    command = ["sh", "-c", block("check", "sh")]
    tested = subprocess.run(
        command, cwd=folder, env=environment(), check=False, text=True, capture_output=True
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "1 passed" in tested.stdout
