"""The adapter works with Django 6, which has tasks of its own and needs Python 3.12."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

CHECKOUT: Final = Path(__file__).parents[2]
WANTED: Final = ("3.14", "3.13", "3.12")
PACKAGES: Final = ("pytest", "pytest-asyncio", "sqlalchemy[asyncio]", "psycopg[binary]")
TESTS: Final = ("test_tasks.py", "test_outbox.py", "test_request_context.py")


def newer_python() -> str | None:
    """Return an interpreter that Django 6 runs on: on the path, or of pyenv."""
    for version in WANTED:
        of_pyenv = Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
        for found in (shutil.which(f"python{version}"), *map(str, of_pyenv)):
            if found and is_usable(found):
                return found
    return None


def is_usable(python: str) -> bool:
    """Return whether there is a Python behind a name: a shim of pyenv may have none."""
    return subprocess.run([python, "-V"], check=False, capture_output=True).returncode == 0


@pytest.mark.slow
def test_the_adapter_works_with_django_6(tmp_path: Path) -> None:
    """Its tests pass in an environment that has Django 6, and not the package django-tasks."""
    python, uv = newer_python(), Path(sys.executable).with_name("uv")
    if python is None or not uv.exists():
        pytest.skip("Django 6 needs Python 3.12 or newer, and uv; this machine has not both")
    newest = tmp_path / "newest.txt"
    newest.write_text("django>=6,<7\n")
    own = tmp_path / "venv"
    subprocess.run([uv, "venv", "-q", "--python", python, own], check=True)
    install: list[str | Path] = [uv, "pip", "install", "-q", "--python", own / "bin" / "python"]
    locked: list[str | Path] = ["-c", CHECKOUT / "requirements.lock", "--overrides", newest]
    wanted: list[str | Path] = [*PACKAGES, "-e", f"{CHECKOUT}[django]"]
    done = subprocess.run(
        [*install, *locked, *wanted], check=False, capture_output=True, text=True, cwd=CHECKOUT
    )
    if done.returncode:
        pytest.skip(f"Django 6 cannot be installed here: {done.stderr[-300:]}")
    run = subprocess.run(
        [
            own / "bin" / "python",
            *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow and not e2e"),
            "--confcutdir",
            CHECKOUT / "tests" / "contrib",
            *(CHECKOUT / "tests" / "contrib" / "django" / name for name in TESTS),
        ],
        check=False,
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )
    assert run.returncode == 0, run.stdout[-5000:]
    print(run.stdout.splitlines()[-1])
