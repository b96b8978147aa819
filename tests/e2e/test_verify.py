"""`ojs-aws verify-aws` against the emulator: it passes what that can show, and leaves nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3
import pytest

from infra.emulator import Emulator, start_emulator
from tests.load import HUNG_S

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SHOWN: set[str] = {"deployment", "wiring", "conformance", "edges", "load", "update"}
"""The sections of which an assertion passes on the emulator."""


def what_is_there(emulator: Emulator) -> dict[str, Any]:
    """Stacks, tables, buckets, queues and functions of the emulator's account."""
    settings = emulator.client_settings()
    stacks = boto3.client("cloudformation", **settings).describe_stacks()["Stacks"]
    return {
        "stacks": [each for each in stacks if each["StackStatus"] != "DELETE_COMPLETE"],
        "tables": boto3.client("dynamodb", **settings).list_tables()["TableNames"],
        "buckets": boto3.client("s3", **settings).list_buckets()["Buckets"],
        "queues": boto3.client("sqs", **settings).list_queues().get("QueueUrls", []),
        "functions": boto3.client("lambda", **settings).list_functions()["Functions"],
    }


def test_a_run_passes_and_leaves_nothing(tmp_path: Path) -> None:
    """What the emulator lacks is skipped by name; each other assertion passes."""
    emulator = start_emulator(os.environ)
    target = emulator.target()
    checkout = Path(__file__).parents[2]
    environ = emulator.environment(dict(os.environ)) | {"PYTHONPATH": str(checkout)}
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "ojs_aws.cli", "verify-aws", "--scale", "small", "--yes"]
    target_options = ["--architecture", target.machine, "--python", target.python]
    try:
        ran = subprocess.run(
            [*command, *target_options, "--report", str(report)],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            timeout=4 * HUNG_S,
            check=False,
        )
        there = what_is_there(emulator)
    finally:
        emulator.stop()
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found = json.loads(report.read_text())
    assert (found["ok"], found["left"]) == (True, [])
    passed = {each["section"] for each in found["results"] if each["outcome"] == "passed"}
    assert passed == SHOWN
    assert not any(there.values()), there
    assert "ojs_" not in report.read_text().replace("ojs_aws", "")
