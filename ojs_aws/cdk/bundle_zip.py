"""Writes a bundle as a zip file, of which the same files always make the same bytes."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Final

from ojs_aws.cdk.bundle import Target

_SINCE: Final = (1980, 1, 1, 0, 0, 0)
"""The time of each file: the oldest that a zip file can name."""
_MODE: Final = 0o100644 << 16


def zip_name(target: Target) -> str:
    """Return the name that the zip file of the backend's functions has in a folder of bundles."""
    return f"ojs-aws-{target.machine}-python{target.python}.zip"


def write_zip(folder: Path, path: Path) -> None:
    """Write the files of a folder to a zip file, in the order of their names."""
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as written:
        for each in files:
            entry = zipfile.ZipInfo(each.relative_to(folder).as_posix(), _SINCE)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, _MODE
            written.writestr(entry, each.read_bytes())
