"""The wheel as people install it: built from the source distribution, installed apart."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tarfile
import venv
from pathlib import Path
from typing import Final

from ojs_aws import __version__

CHECKOUT: Final = Path(__file__).resolve().parents[1]


def run(*command: str | Path, cwd: Path) -> None:
    """Run a command of this machine's Python; what it says is shown only when it fails."""
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def build_wheel(folder: Path) -> Path:
    """Build the wheel from the source distribution, as a package index would get both."""
    run("hatchling", "build", "-t", "sdist", "-d", folder, cwd=CHECKOUT)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    run("hatchling", "build", "-t", "wheel", "-d", folder, cwd=folder / f"ojs_aws-{__version__}")
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, environment: Path) -> None:
    """Install the wheel into an empty environment, which finds its dependencies in this one.

    A path in a `.pth` file is searched last, and the `.pth` files there are not read: so this
    checkout is not found.
    """
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    offline = ("--no-deps", "--no-index", "--quiet", "--disable-pip-version-check")
    run("pip", "--python", python, "install", *offline, "--no-compile", wheel, cwd=environment)
    (site_packages,) = environment.glob("lib/python*/site-packages")
    (site_packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"])
