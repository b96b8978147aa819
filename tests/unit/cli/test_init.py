"""`ojs-aws init` writes projects whose tests pass, and overwrites nothing."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from ojs_aws.cli.init import Kind, files_of
from ojs_aws.cli.terminal.session import ExitCode
from tests.commands import run_command
from tests.load import HUNG_S

CHECKOUT = Path(__file__).parents[3]


@pytest.mark.parametrize("template", list(Kind))
def test_each_file_of_a_template_is_valid(template: Kind) -> None:
    """Python, TOML and YAML are read; a project has all that it is to have."""
    files = {path.as_posix(): text for path, text in files_of(template, "my-shop")}
    for path, text in files.items():
        if path.endswith(".py"):
            ast.parse(text, path)
    project = tomllib.loads(files["pyproject.toml"])["project"]
    assert project["name"] == "my-shop"
    assert re.match(r"ojs-aws\[cli[],]", project["dependencies"][0])
    workflow = yaml.safe_load(files[".github/workflows/ci.yml"])
    assert {"run": "make test"} in workflow["jobs"]["test"]["steps"]
    assert {"README.md", "Makefile", ".gitignore"} <= {*files}
    for line in files["README.md"].splitlines():
        if line.startswith("| `"):
            named = line.split("`")[1]
            assert any(path.startswith(named) for path in files), named


def test_a_project_in_node_installs_the_cdk_when_it_is_deployed() -> None:
    """Most of the time and space of the tools would go to it."""
    files = {path.as_posix(): text for path, text in files_of(Kind.NODE_LAMBDA, "shop")}
    project = tomllib.loads(files["pyproject.toml"])["project"]
    assert "cdk" not in project["dependencies"][0]
    assert project["optional-dependencies"] == {"dev": [], "deploy": ["ojs-aws[cdk]"]}
    deploy = files["Makefile"].partition("\ndeploy:")[2]
    assert "$(BIN)/pip install -q -e '.[deploy]' && npx --yes aws-cdk@2 deploy" in deploy


@pytest.mark.parametrize("template", list(Kind))
def test_each_task_finds_the_worker_that_it_names(template: Kind) -> None:
    """In the project's folder, or in the one that it adds to Python's path."""
    files = {path.as_posix(): text for path, text in files_of(template, "shop")}
    for line in files["Makefile"].splitlines():
        found = re.search(r"(?:PYTHONPATH=(\S+) )?\S*ojs-aws .*?(\w+):worker", line)
        if found:
            folder = (found[1] or ".").removeprefix(".")
            assert f"{folder}/{found[2]}.py".lstrip("/") in files, line


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (None, ""),
        ('{"url": "https://example.com/ojs_aws-0.2.0-py3-none-any.whl"}', ""),
        ('{"url": "file:///work/checkout", "dir_info": {}}', ""),
        (
            '{"url": "file:///my%20wheels/ojs_aws-0.2.0-py3-none-any.whl"}',
            "PIP_FIND_LINKS='/my wheels' ",
        ),
    ],
)
def test_what_follows_finds_the_wheel_that_was_installed(
    source: str | None, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package may be on no index."""

    class Installed:
        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return source

    monkeypatch.setattr("ojs_aws.cli.init.distribution", lambda _: Installed())
    monkeypatch.chdir(tmp_path)
    ran = run_command("init", "shop")
    assert ran.stdout.splitlines()[-1] == f"Next: cd shop && {expected}make setup test"


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """One file that exists is enough, and then none is written."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "jobs.py").write_text("mine")
    ran = run_command("init", str(tmp_path / "shop"))
    assert (ran.exit_code, "jobs.py" in ran.stderr) == (ExitCode.CONFLICT, True)
    assert [path.name for path in (tmp_path / "shop").iterdir()] == ["jobs.py"]
    assert (tmp_path / "shop" / "jobs.py").read_text() == "mine"


@pytest.mark.parametrize("name", ["1shop", "my_shop", "x" * 31])
def test_a_name_that_no_queue_can_have_is_refused(name: str, tmp_path: Path) -> None:
    ran = run_command("init", str(tmp_path / name))
    assert (ran.exit_code, (tmp_path / name).exists()) == (ExitCode.USAGE, False)


@pytest.mark.slow
@pytest.mark.parametrize("template", list(Kind))
def test_the_tests_of_a_new_project_pass(template: Kind, tmp_path: Path) -> None:
    """In memory, and on the local server, where a worker runs its job."""
    command, passed = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], "2 passed"
    if template is Kind.NODE_LAMBDA:
        if shutil.which("node") is None:
            pytest.skip("there is no Node here")
        command, passed = ["make", "BIN=bin", "test"], "pass 3"
    ran = run_command("init", str(tmp_path / "shop"), "--template", template.value)
    assert ran.exit_code == 0, ran.output
    (tmp_path / "shop" / "bin").symlink_to(Path(sys.executable).parent)
    tested = subprocess.run(
        command,
        cwd=tmp_path / "shop",
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        timeout=2 * HUNG_S,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert passed in tested.stdout
