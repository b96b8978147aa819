"""What an import of the client loads: seconds differ by machine, modules do not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("aws_lambda_powertools", "boto3", "botocore", "httpx", "pydantic")
PARTS = ("adapters", "bootstrap", "cli", "memory_aws", "ports", "services", "transport", "worker")


RARELY_USED = ("difflib", "ojs_aws.client.areas.queues", "ojs_aws.domain.job")
"""What comes with the first call that needs it; a fifth of what the client's import took."""


@pytest.mark.parametrize("name", ["Client", "SyncClient", "Job", "Jobs", "RetryPolicy"])
def test_an_import_of_the_client_loads_no_backend_and_no_heavy_package(name: str) -> None:
    """`python -m benchmarks.startup --client` measures it; httpx comes with the first request."""
    unwanted = [*HEAVY, *(f"ojs_aws.{part}" for part in PARTS)]
    unwanted += RARELY_USED if name == "Client" else ()
    program = f"import sys; from ojs_aws import {name}; print({{*{unwanted}}} & {{*sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert done.stdout.strip() == "set()"
