"""Keeps bundles: folders that are whole or not there, and zip files of always the same bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

_KEPT_BUNDLES: Final = 4
_KEPT_S: Final = 3600.0
"""The newest bundles are kept, and those of the last hour: another process may be reading them."""
_SINCE: Final = (1980, 1, 1, 0, 0, 0)
"""The time of each file: the oldest that a zip file can name."""
_MODE: Final = 0o100644 << 16


def stored_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """Make a folder under a name of its own, then move it into place: it is whole or not there."""
    if folder.is_dir():
        folder.touch()
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder.parent))
    try:
        draft.chmod(0o755)
        make(draft)
        try:
            draft.rename(folder)
        except OSError:
            if not folder.is_dir():  # otherwise another process was faster
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    _forget_old(folder.parent)
    return folder


def _forget_old(parent: Path) -> None:
    kept = [entry for entry in parent.iterdir() if not entry.name.startswith(".")]
    kept.sort(key=lambda entry: entry.stat().st_mtime, reverse=True)
    for entry in kept[_KEPT_BUNDLES:]:
        if time.time() - entry.stat().st_mtime > _KEPT_S:
            shutil.rmtree(entry, ignore_errors=True)


def slim(folder: Path, services: tuple[str, ...] | None) -> None:
    """Remove from a folder of packages what no function reads.

    :param services: whose data of botocore stays; None for all.
    """
    shutil.rmtree(folder / "bin", ignore_errors=True)
    data = folder / "botocore" / "data"
    if services is not None and data.is_dir():
        for entry in data.iterdir():
            if entry.is_dir() and entry.name not in services:
                shutil.rmtree(entry)


def precompile(python: str, folder: Path) -> None:
    """Compile the modules of a folder by the Python that will run them.

    The code folder of a function is read-only: without this, each cold start compiles everything
    again. The hash-based form does not depend on file times, which an upload does not keep.
    """
    command = [python, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "."]
    environ = {**os.environ, "PYTHONHASHSEED": "0"}  # sets in the code always in the same order
    subprocess.run(command, cwd=folder, env=environ, capture_output=True, check=False)


def zip_name(machine: str, python: str) -> str:
    """Return the name that the zip file of the backend's functions has in a folder of bundles."""
    return f"ojs-aws-{machine}-python{python}.zip"


def write_zip(folder: Path, path: Path) -> None:
    """Write the files of a folder to a zip file, in order: the same files make the same bytes."""
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as written:
        for each in files:
            entry = zipfile.ZipInfo(each.relative_to(folder).as_posix(), _SINCE)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, _MODE
            written.writestr(entry, each.read_bytes())
