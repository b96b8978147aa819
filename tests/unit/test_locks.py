"""The lock files: complete, hashed, in agreement, and free of any machine's addresses."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Final

import pytest

CHECKOUT: Final = Path(__file__).resolve().parent.parent.parent
EVERYTHING: Final = "requirements.lock"
SUBSETS: Final = (
    "requirements-run.lock",
    "requirements-lambda.lock",
    "requirements-lambda-tracing.lock",
)
PYTHON_LOCKS: Final = (
    EVERYTHING,
    *SUBSETS,
    "requirements-emulator.lock",
    "requirements-audit.lock",
    "requirements-browser.lock",
    "requirements-dist.lock",
)
NODE_LOCKS: Final = ("package-lock.json", "ojs_aws/dashboard/web/package-lock.json")
PIN: Final = re.compile(r"^(?P<name>[a-z0-9][a-z0-9.-]*)==(?P<version>[^ ;\\]+)", re.MULTILINE)


def pins(lock: str) -> dict[str, str]:
    """Return the packages of a lock with their versions."""
    return dict(PIN.findall((CHECKOUT / lock).read_text(encoding="utf-8")))


@pytest.mark.parametrize("lock", PYTHON_LOCKS)
def test_every_package_is_pinned_with_hashes(lock: str) -> None:
    """pip and uv refuse a file that differs from the one that was locked."""
    entries = re.split(
        r"^(?=\S)", (CHECKOUT / lock).read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert [entry for entry in entries if entry and "--hash=sha256:" not in entry] == []
    assert pins(lock)


@pytest.mark.parametrize("lock", [*PYTHON_LOCKS, *NODE_LOCKS])
def test_a_lock_names_no_addresses(lock: str) -> None:
    """Where packages come from is each machine's affair."""
    text = (CHECKOUT / lock).read_text(encoding="utf-8")
    assert "://" not in re.sub(r'"funding": \{[^}]*\}', "", text)  # npm says who takes donations
    assert '"resolved"' not in text
    assert "--index" not in text
    assert "--find-links" not in text


@pytest.mark.parametrize("lock", NODE_LOCKS)
def test_every_package_of_node_is_pinned_with_a_hash(lock: str) -> None:
    """npm refuses a file that differs from the one that was locked."""
    packages = json.loads((CHECKOUT / lock).read_text(encoding="utf-8"))["packages"]
    own = packages.pop("")
    assert packages
    assert [name for name, package in packages.items() if "integrity" not in package] == []
    named = {**own.get("dependencies", {}), **own.get("devDependencies", {})}
    assert [name for name, version in named.items() if not version[0].isdigit()] == []


@pytest.mark.parametrize("lock", SUBSETS)
def test_a_smaller_lock_agrees_with_the_large_one(lock: str) -> None:
    """What is tested is what runs locally and what is deployed, version for version."""
    assert pins(lock).items() <= pins(EVERYTHING).items()


def test_the_lambda_lock_carries_no_tools() -> None:
    """The bundle holds the runtime dependencies and nothing that only developers use."""
    assert (
        pins("requirements-lambda.lock")
        .keys()
        .isdisjoint({"moto", "pytest", "aws-cdk-lib", "typer", "httpx", "uv", "hatchling"})
    )


def names_in(requirements: list[str]) -> dict[str, str]:
    """Return requirements by the names of their packages."""
    return {re.split(r"[<>=\[]", each)[0]: each for each in requirements}


def test_a_function_carries_the_dependencies_without_the_http_client() -> None:
    """Its group is the package's dependencies and what the built-in validation needs, no more."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    people = names_in([*project["project"]["dependencies"], *extras["validation"]])
    assert people.pop("httpx")
    groups = project["dependency-groups"]
    assert names_in(groups["lambda"]) == people
    assert groups["lambda-tracing"] == [{"include-group": "lambda"}, *extras["tracing"]]


def test_the_extras_of_earlier_releases_still_install_the_same() -> None:
    """`infra` is now called `cdk`, and `client` needs nothing more; `cli` brings no emulator."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    assert (extras["infra"], extras["client"]) == (extras["cdk"], [])
    assert set(extras["cli"]) <= set(extras["local"])
    assert names_in(extras["cli"]).keys() == {"pathspec", "rich", "typer"}
    assert set(extras["validation"]) <= set(extras["local"])


def test_the_cdk_command_line_s_major_version_reads_our_assemblies() -> None:
    """Major 3 of the command line cannot read what aws-cdk-lib 2 writes."""
    lock = json.loads((CHECKOUT / "package-lock.json").read_text(encoding="utf-8"))
    assert lock["packages"]["node_modules/aws-cdk"]["version"].startswith("2.")
    assert pins(EVERYTHING)["aws-cdk-lib"].startswith("2.")
