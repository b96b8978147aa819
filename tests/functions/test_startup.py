"""What a function loads when it starts: no library that only rare requests need."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.thorough

ROOT: Final = Path(__file__).resolve().parent.parent.parent
RARE: Final = (
    "aws_xray_sdk",
    "boto3",
    "cronsim",
    "cryptography",
    "isodate",
    "jsonschema",
    "opentelemetry",
    "pydantic",
    "wrapt",
)
ENVIRONMENT: Final = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
    "OJS_BINDINGS": '[{"name":"a","queues":["q"],"target":"t","types":["*"],"reservation_s":9}]',
    "OJS_TABLE": "ojs",
    "OJS_QUEUE_URL_PREFIX": "https://sqs.us-east-1.amazonaws.com/123456789012/",
}
TASKS: Final = {
    "OJS_BINDINGS": "[]",
    "OJS_REPORT_URL": "https://api.example.com",
    "OJS_SIGNING_SECRET": "whsec_test",
}
"""What the functions of tasks have beside it, or in its place."""


def test_entry_points_stop_the_garbage_collector_before_they_import() -> None:
    """Whatever sorts their imports: a collection during the start is a tenth of it."""
    handlers = sorted((ROOT / "functions").glob("*/handler.py"))
    assert handlers
    for path in handlers:
        imports = [
            each for each in ast.parse(path.read_text()).body if isinstance(each, ast.ImportFrom)
        ]
        ours = [
            each.module for each in imports if each.level or str(each.module).startswith("ojs_aws")
        ]
        assert ours[0] == "startup", path


def test_a_start_loads_nothing_that_only_rare_requests_need() -> None:
    """Seconds differ by machine (benchmarks/startup.py compares them); what is loaded does not.

    One process loads all functions: what none of them loads, all of them do not load together.
    """
    names = (
        *("producer", "worker_api", "job_endpoint", "operator", "system", "stream", "tick"),
        *("authorizer", "api_keys", "dispatcher", "settler", "task_dispatcher", "task_settler"),
    )
    program = f"""
import importlib, os, sys
for name in {names!r}:
    if name.startswith("task_"):
        os.environ |= {TASKS!r}
    importlib.import_module(f"functions.{{name}}.handler")
    if found := [each for each in {RARE!r} if each in sys.modules]:
        sys.exit(f"{{name}} loads {{found}}")
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT},
    )
    assert (done.returncode, done.stderr) == (0, "")
