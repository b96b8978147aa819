"""Bundles: made from what they are said to be made of, once, and for their target."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ojs_aws.cdk.bundle import Bundle, BundlingError, Target, build

pytestmark = pytest.mark.thorough


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """A lock without packages: nothing is fetched."""
    path = tmp_path / "requirements.lock"
    path.write_text("")
    return path


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "src" / "mypackage"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("ANSWER = 42\n")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "stale.pyc").write_bytes(b"stale")
    return folder


def test_packages_keep_their_names_and_code_lies_at_the_top(
    lock: Path, package: Path, tmp_path: Path
) -> None:
    """So that ``mypackage.x`` and the user's ``jobs.handler`` are found as they are written."""
    code = tmp_path / "worker"
    code.mkdir()
    (code / "jobs.py").write_text("import mypackage\nhandler = mypackage.ANSWER\n")
    bundle = Bundle(target=Target.host(), lock=lock, packages=(package,), code_dir=code)
    folder = build(bundle, tmp_path / "store")
    shown = subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            f"import sys; sys.path.insert(0, {str(folder)!r}); import jobs; print(jobs.handler)",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.strip() == "42"
    assert not (folder / "mypackage" / "__pycache__" / "stale.pyc").exists()


def test_the_same_sources_are_bundled_once_and_changed_ones_again(
    lock: Path, package: Path, tmp_path: Path
) -> None:
    """The name is a hash of all that goes in, the target included."""
    store = tmp_path / "store"
    bundle = Bundle(target=Target.host(), lock=lock, packages=(package,))
    first = build(bundle, store)
    assert build(bundle, store) == first
    (package / "__init__.py").write_text("ANSWER = 43\n")
    second = build(bundle, store)
    assert second != first
    other = Bundle(target=Target("arm64", "3.9"), lock=lock, packages=(package,))
    assert build(other, store) not in {first, second}


def test_building_twice_makes_the_same_files(lock: Path, package: Path, tmp_path: Path) -> None:
    """Wherever and whenever: so an auditor can build what runs, byte for byte."""
    bundle = Bundle(target=Target.host(), lock=lock, packages=(package,))

    def hashes(store: Path) -> dict[str, str]:
        folder = build(bundle, store)
        return {
            str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

    first = hashes(tmp_path / "here")
    os.utime(package / "__init__.py", (1_000_000_000, 1_000_000_000))
    assert hashes(tmp_path / "a" / "longer" / "way" / "there") == first
    assert any(name.endswith(".pyc") for name in first)


def test_a_missing_source_is_named(lock: Path, tmp_path: Path) -> None:
    """Before anything is installed."""
    with pytest.raises(BundlingError, match="nowhere"):
        build(Bundle(lock=lock, packages=(tmp_path / "nowhere",)), tmp_path / "store")


def test_code_that_would_replace_a_package_of_the_bundle_is_refused(
    lock: Path, package: Path, tmp_path: Path
) -> None:
    """Such as an application's own ``functions``, where the backend's handlers lie."""
    (tmp_path / "app" / package.name).mkdir(parents=True)
    bundle = Bundle(lock=lock, packages=(package,), code_dir=tmp_path / "app")
    with pytest.raises(BundlingError, match=f"has a '{package.name}' of its own"):
        build(bundle, tmp_path / "store")


def test_neither_the_constructs_nor_hidden_files_are_in_a_bundle(
    lock: Path, package: Path, tmp_path: Path
) -> None:
    """So that a change of either neither builds nor deploys the functions' code again."""
    mine = Bundle(target=Target.host(), lock=lock, packages=(package,))
    before = mine.digest()
    (package / ".hidden").write_text("hidden\n")
    assert mine.digest() == before
    assert not (build(mine, tmp_path / "store") / package.name / ".hidden").exists()
    (package / "cdk").mkdir()
    (package / "cdk" / "__init__.py").write_text("MINE = 1\n")
    assert mine.digest() != before
    folder = build(Bundle(target=Target.host(), lock=lock), tmp_path / "store")
    assert (folder / "ojs_aws" / "bootstrap").is_dir()
    left_out = ("cdk", "cli", "pricing")
    assert not [name for name in left_out if (folder / "ojs_aws" / name).exists()]
    names = re.compile(rf"ojs_aws\.(?:{'|'.join(left_out)})\b")
    using = [path for path in folder.rglob("*.py") if names.search(path.read_text("utf-8"))]
    serving = {"django", "fastapi", "local"}  # the dashboard, which no function serves so
    assert {path.parent.name for path in using} == serving


def test_bundles_are_made_without_the_cdk() -> None:
    """On machines without Node, which ``import aws_cdk`` starts."""
    program = "import sys, ojs_aws.cdk.bundle; print({'aws_cdk', 'jsii'} & {*sys.modules})"
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == "set()"


def test_a_failed_bundle_leaves_nothing_that_looks_like_one(package: Path, tmp_path: Path) -> None:
    """The next attempt must not take half a bundle for a whole one."""
    broken = tmp_path / "broken.lock"
    broken.write_text("this is no requirement at all ===\n")
    store = tmp_path / "store"
    bundle = Bundle(target=Target.host(), lock=broken, packages=(package,))
    with pytest.raises(BundlingError, match="pip could not install"):
        build(bundle, store)
    assert not [path for path in store.rglob("*") if path.is_file()]
