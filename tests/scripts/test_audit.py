"""What is made of the answers about known vulnerabilities."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.audit import main, read

UNKNOWN = {"name": "boto3", "skip_reason": "Dependency not found"}
CLEAN = {"name": "isodate", "version": "0.7", "vulns": []}
BAD = {
    "name": "moto",
    "version": "1.0",
    "vulns": [{"id": "CVE-1", "fix_versions": ["1.1"]}, {"id": "CVE-2", "fix_versions": []}],
}


def tool(tmp_path: Path, *packages: object, text: str = "") -> Path:
    """A pip-audit that says this."""
    (tmp_path / "report").write_text(text or json.dumps({"dependencies": packages}))
    path = tmp_path / "pip-audit"
    path.write_text(f"#!/bin/sh\ncat {tmp_path}/report\n")
    path.chmod(0o755)
    return path


def test_what_could_not_be_asked_is_no_all_clear() -> None:
    """It is counted apart."""
    answer = read(json.dumps({"dependencies": [UNKNOWN, CLEAN]}))
    assert (answer.packages, answer.unasked, answer.vulnerable) == (2, 1, ())


def test_an_advisory_fails_the_audit_and_says_what_mends_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the version to go to."""
    assert main(["--tool", str(tool(tmp_path, CLEAN, BAD)), "some.lock"]) == 1
    printed = capsys.readouterr().out
    assert "moto 1.0: CVE-1, fixed in 1.1" in printed
    assert "moto 1.0: CVE-2, fixed in no version yet" in printed


def test_a_registry_without_advisories_is_said_and_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mirror often has none."""
    assert main(["--tool", str(tool(tmp_path, UNKNOWN)), "some.lock"]) == 0
    assert "skipped 1" in capsys.readouterr().out


def test_a_tool_that_breaks_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No report, no verdict."""
    assert main(["--tool", str(tool(tmp_path, text="oh")), "some.lock"]) == 0
    assert "skipped: pip-audit gave no report" in capsys.readouterr().out
