"""The front door of the package: its names, its version, and what importing it costs."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest

import ojs_aws

CHECKOUT: Final = Path(__file__).resolve().parent.parent.parent
COSTLY: Final = ("aws_lambda_powertools", "boto3", "botocore", "httpx", "pydantic", "typer")


@pytest.mark.parametrize("name", importlib.import_module("ojs_aws").__all__)
def test_every_exported_name_is_there(name: str) -> None:
    """Each name in __all__ can be imported from the package."""
    assert getattr(ojs_aws, name) is not None
    assert name in dir(ojs_aws)


@pytest.mark.parametrize("package", ["ojs_aws.client", "ojs_aws.middleware", "ojs_aws.worker"])
def test_an_import_of_everything_gets_the_exported_names(package: str) -> None:
    """What type checkers read is what `from ... import *` and dir() give."""
    module = importlib.import_module(package)
    names: dict[str, object] = {}
    exec(f"from {package} import *", names)  # noqa: S102 - the only way inside of a function
    assert {*module.__all__} == names.keys() - {"__builtins__"}
    assert {*module.__all__} <= {*dir(module)}


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A misspelt import fails as it does for any module, naming what was asked for."""
    with pytest.raises(AttributeError, match="Jbo"):
        _ = ojs_aws.Jbo  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["EnqueueTrace", "ExecutionTrace"])
def test_a_former_name_works_and_warns(name: str) -> None:
    """Programs that use it go on, and learn the name that took its place."""
    testing = importlib.import_module("ojs_aws.testing")
    with pytest.warns(DeprecationWarning, match=f"is called {name} now"):
        former = getattr(testing, name.replace("Trace", "Onion"))
    assert former is getattr(testing, name)


@pytest.mark.parametrize("used", ["", "Client", "SyncClient", "Jobs", "Worker"])
def test_importing_the_package_loads_nothing_costly(used: str) -> None:
    """Who imports one name does not pay for the libraries of the others."""
    asked = f"import sys, ojs_aws; ojs_aws.{used or '__version__'}"
    program = f"{asked}; print([m for m in {COSTLY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=CHECKOUT
    )
    assert done.stdout.strip() == "[]"


def test_the_build_reads_the_version_of_the_package() -> None:
    """pyproject.toml states no version of its own, and takes it from the package's file."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    source = CHECKOUT / project["tool"]["hatch"]["version"]["path"]
    assert "version" in project["project"]["dynamic"]
    assert f'__version__ = "{ojs_aws.__version__}"' in source.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("missing", "program", "extra"),
    [
        ("aws_cdk", "from ojs_aws.cdk import JobBackend", "cdk"),
        ("typer", "sys.argv = ['ojs-aws', 'local']; from ojs_aws.cli import app", "local"),
        ("typer", "sys.argv = ['ojs-aws', 'doctor']; from ojs_aws.cli import app", "cli"),
    ],
)
def test_what_is_not_installed_is_named_with_its_extra(
    missing: str, program: str, extra: str
) -> None:
    """Once, so that nobody installs one extra after the other."""
    program = f"import sys; sys.modules[{missing!r}] = None; {program}"
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, cwd=CHECKOUT
    )
    assert done.returncode == 1
    assert done.stderr.strip().endswith(f"pip install 'ojs-aws[{extra}]'")
