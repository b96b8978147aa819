"""Install a lock file into a virtual environment, with hashes checked; the standard library only.

`make` calls it when a lock file is newer than the stamp that the last installation left. uv does
the work where it is to be had (on the path, or pinned in the lock itself: about 10 seconds
instead of a minute), and pip where uv fails, for instance behind a mirror that only pip knows.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent


class SetupError(Exception):
    """Reports that the environment cannot be made; the message says what to do."""


def main() -> int:
    """Make the environment, install the lock, and leave the stamp."""
    parser = argparse.ArgumentParser(description="Install a lock file into a virtual environment.")
    parser.add_argument("lock", type=Path, help="the lock file")
    parser.add_argument("--venv", type=Path, required=True, help="the folder of the environment")
    parser.add_argument(
        "--stamp", action="append", default=[], help="file to touch in it when done"
    )
    parser.add_argument("--editable", action="store_true", help="install this checkout as well")
    options = parser.parse_args()
    try:
        python = ensure_environment(options.venv)
        install_lock(python, options.lock)
        if options.editable:
            install_checkout(python)
    except SetupError as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    for stamp in options.stamp:
        (options.venv / stamp).touch()
    return 0


def ensure_environment(folder: Path) -> Path:
    """Return the environment's interpreter, making the environment where it does not work."""
    python = folder / "bin" / "python"
    if works(python):
        return python
    say(f"making {folder} with Python {sys.version.split()[0]}")
    try:
        venv.create(folder, with_pip=True, symlinks=True)
    except (OSError, subprocess.CalledProcessError) as error:
        message = (
            f"{sys.executable} cannot make a virtual environment ({error}). "
            "On Debian and Ubuntu: apt-get install python3-venv"
        )
        raise SetupError(message) from error
    return python


def works(python: Path) -> bool:
    """Return whether the interpreter starts and is new enough."""
    probe = [str(python), "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    return python.exists() and subprocess.run(probe, check=False).returncode == 0


def install_lock(python: Path, lock: Path) -> None:
    """Install exactly what the lock names."""
    say(f"installing {lock.name}")
    uv = find_uv(python, lock)
    if uv and run(uv_command(uv, python, "--require-hashes", "-r", str(lock)), quiet=True):
        return
    command = pip_command(python, "--no-compile", "--require-hashes", "-r", str(lock))
    if not run(command):
        message = f"could not install {lock.name}; the lines above say why. Run the command again."
        raise SetupError(message)


def install_checkout(python: Path) -> None:
    """Install this checkout as an editable package, offline: the lock has the build backend."""
    command = pip_command(python, "--no-deps", "--no-build-isolation", "-e", str(CHECKOUT))
    if not run(command):
        message = "could not install the checkout itself; the lines above say why."
        raise SetupError(message)


def find_uv(python: Path, lock: Path) -> str | None:
    """Find uv on the path or in the environment, installing the lock's own where it names one."""
    inside = python.with_name("uv")
    if inside.exists():
        return str(inside)
    if on_path := shutil.which("uv"):
        return on_path
    pinned = pinned_lines(lock, "uv")
    if not pinned:
        return None
    only_uv = python.parent.parent / "uv-pin.txt"
    only_uv.write_text(pinned, encoding="utf-8")
    installed = run(pip_command(python, "--require-hashes", "-r", str(only_uv)), quiet=True)
    return str(inside) if installed else None


def pinned_lines(lock: Path, package: str) -> str:
    """Return the lines of a lock that pin one package: its version and its hashes."""
    taken: list[str] = []
    for line in lock.read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{package}==") or (taken and line.startswith(" ")):
            taken.append(line)
        elif taken:
            break
    return "\n".join(taken)


def uv_command(uv: str, python: Path, *what: str) -> list[str]:
    """Return the command that installs with uv."""
    return [uv, "pip", "install", "--quiet", "--python", str(python), *what]


def pip_command(python: Path, *what: str) -> list[str]:
    """Return the command that installs with pip."""
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return [*pip, "--no-input", *what]


def run(command: list[str], *, quiet: bool = False) -> bool:
    """Run a command and return whether it succeeded; `quiet` if another way will be tried."""
    # uv trusts its own list of authorities unless asked to trust the machine's, as pip does.
    settings = {"PIP_ROOT_USER_ACTION": "ignore", "UV_SYSTEM_CERTS": "1"}
    environment = {**os.environ, **settings}
    stderr = subprocess.DEVNULL if quiet else None
    done = subprocess.run(command, check=False, env=environment, stderr=stderr)
    return done.returncode == 0


def say(what: str) -> None:
    """Report progress at once, also into a pipe."""
    print(f"setup: {what} ...", flush=True)


if __name__ == "__main__":
    sys.exit(main())
