"""The built files are those of the sources, byte for byte."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ojs_aws.dashboard import files

WEB = Path(files.__file__).parent / "web"
NODE = shutil.which("node")


def run(*command: str) -> None:
    """Run a program in the folder of the sources."""
    if NODE is None or not (WEB / "node_modules" / "esbuild").is_dir():
        pytest.skip("building the page needs Node 18 and `make dashboard`'s packages")
    done = subprocess.run(
        [NODE, *command], cwd=WEB, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_the_sources_build_to_what_is_committed(tmp_path: Path) -> None:
    """Compressed files are kept while they unpack to the same: zlib's bytes differ by version."""
    target = tmp_path / "static"
    shutil.copytree(files.STATIC, target)
    run("build.mjs", str(target))
    assert contents(target) == contents(files.STATIC)


def test_an_empty_folder_gets_the_same_files(tmp_path: Path) -> None:
    """Nothing of an earlier build is needed."""
    run("build.mjs", str(tmp_path))
    built, committed = contents(tmp_path), contents(files.STATIC)
    assert built.keys() == committed.keys()
    plain = {name for name in built if not name.endswith(".gz")}
    assert {name: built[name] for name in plain} == {name: committed[name] for name in plain}


def test_the_sources_have_the_types_that_they_state() -> None:
    """TypeScript in its strict mode finds nothing."""
    run("node_modules/typescript/bin/tsc", "--noEmit")
