"""Which files ``ojs-aws run --reload`` watches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ojs_aws.cli.reload import (
    FileSearch,
    changed_between,
    folders_of_ours,
    times_of,
    watched_text,
)


def write(root: Path, *names: str, text: str = "x = 1") -> None:
    """Write files, with the folders that they are in."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def watched(root: Path) -> list[str]:
    """Return the files below a folder that are watched."""
    return sorted(str(Path(path).relative_to(root)) for path in times_of(root))


def test_python_files_are_watched_and_others_are_not(tmp_path: Path) -> None:
    """New, changed and removed ones, at any depth."""
    write(tmp_path, "notes.txt", "shop/readme.md")
    before = times_of(tmp_path)
    assert before == {}
    jobs = tmp_path / "shop" / "jobs.py"
    write(tmp_path, "shop/jobs.py")
    with_jobs = times_of(tmp_path)
    assert changed_between(before, with_jobs) == str(jobs)
    os.utime(jobs, ns=(0, 1))
    assert changed_between(with_jobs, times_of(tmp_path)) == str(jobs)
    jobs.unlink()
    assert changed_between(with_jobs, times_of(tmp_path)) == str(jobs)
    assert changed_between(before, times_of(tmp_path)) == ""


@pytest.mark.parametrize(
    "folder",
    [".git", ".tox", "node_modules", "__pycache__", "venv", "site-packages", "cdk.out", "build",
     "dist", "shop.egg-info"],
)  # fmt: skip
def test_folders_that_tools_make_are_not_watched(tmp_path: Path, folder: str) -> None:
    """At any depth."""
    write(tmp_path, "jobs.py", f"{folder}/a.py", f"shop/{folder}/deep/b.py")
    assert watched(tmp_path) == ["jobs.py"]


@pytest.mark.parametrize("marker", ["pyvenv.cfg", "CACHEDIR.TAG"])
def test_virtual_environments_and_caches_are_known_by_their_mark(
    tmp_path: Path, marker: str
) -> None:
    """Whatever they are called."""
    write(tmp_path, f"py311/{marker}", "py311/lib/a.py", "shop/a.py")
    assert watched(tmp_path) == ["shop/a.py"]


def test_a_package_that_is_called_build_is_watched(tmp_path: Path) -> None:
    """It is code; what setuptools writes to ``build`` is no package."""
    write(tmp_path, "build/__init__.py", "build/steps.py")
    assert watched(tmp_path) == ["build/__init__.py", "build/steps.py"]


@pytest.mark.parametrize(
    ("rule", "ignored"),
    [
        ("generated/", {"generated/a.py", "shop/generated/b.py"}),
        ("/generated", {"generated/a.py"}),
        ("shop/generated", {"shop/generated/b.py"}),
        ("**/generated", {"generated/a.py", "shop/generated/b.py"}),
        ("gen*", {"generated/a.py", "shop/generated/b.py", "general.py"}),
        ("*_pb2.py", {"shop/job_pb2.py"}),
        ("job_pb[0-9].py", {"shop/job_pb2.py"}),
        ("shop/**", {"shop/generated/b.py", "shop/job_pb2.py"}),
        ("general.py/", set()),
        ("# generated", set()),
        ("[z-a]*\n[", set()),
        ("generated/\n!generated/", set()),
        ("*.py\n!general.py", {"generated/a.py", "shop/generated/b.py", "shop/job_pb2.py"}),
    ],
)
def test_what_a_gitignore_names_is_not_watched(
    tmp_path: Path, rule: str, ignored: set[str]
) -> None:
    """With the patterns of git; the last that matches decides."""
    files = {"generated/a.py", "shop/generated/b.py", "shop/job_pb2.py", "general.py"}
    write(tmp_path, *files)
    (tmp_path / ".gitignore").write_text(f"\n{rule}\n")
    assert set(watched(tmp_path)) == files - ignored


def test_a_gitignore_holds_below_its_folder_in_the_repository(tmp_path: Path) -> None:
    """One deeper adds to it, and one above the repository is another's."""
    (tmp_path / ".gitignore").write_text("shop\n")
    repository = tmp_path / "repository"
    write(repository, "shop/a.py", "shop/old/b.py", "shop/new/c.py", ".git/HEAD")
    (repository / ".gitignore").write_text("old\n")
    (repository / "shop" / ".gitignore").write_text("new\n")
    assert watched(repository) == ["shop/a.py"]
    assert watched(repository / "shop") == ["a.py"]


def test_a_named_folder_is_watched_whatever_it_is_called(tmp_path: Path) -> None:
    """``--reload-dir`` is how to watch what is left out."""
    write(tmp_path, "build/a.py", ".hidden/b.py", "c.py")
    found = times_of(tmp_path / "build", tmp_path / ".hidden")
    assert sorted(Path(each).name for each in found) == ["a.py", "b.py"]


def test_the_first_line_says_what_is_watched_and_what_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that nobody waits for a change that is not seen."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "a.py", "__pycache__/a.py", *(f".x{number}/b.py" for number in range(7)))
    search = FileSearch()
    files = search.times([tmp_path])
    assert watched_text([tmp_path], len(files), search.left_out) == (
        "Watching 1 Python file below ., but not .x0, .x1, .x2, .x3, .x4 and 2 more. "
        "Choose folders with --reload-dir."
    )
    assert watched_text([tmp_path / "b", Path("/c")], 2, []) == (
        "Watching 2 Python files below b, /c. Choose folders with --reload-dir."
    )


def test_a_checkout_of_this_project_is_not_the_application() -> None:
    """Of an application that is tried in a checkout, only its own files are watched."""
    root = Path(__file__).parents[3]
    found = times_of(root, foreign=folders_of_ours("shop"))
    assert not [path for path in found if Path(path).is_relative_to(root / "ojs_aws")]
    assert not [path for path in found if Path(path).is_relative_to(root / "tests")]
    examples = times_of(root, foreign=folders_of_ours("examples.worker"))
    assert str(root / "examples" / "worker.py") in examples
