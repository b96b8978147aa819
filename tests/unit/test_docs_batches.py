"""The page about batches: its example runs, its numbers are the code's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ojs_aws.config import MAX_BATCH_JOBS, Settings
from ojs_aws.domain.jobs.batches import MAX_FAULTS
from ojs_aws.services.jobs.new_jobs import MAX_TRANSACTION
from tests.aws import embedded

pytestmark = pytest.mark.moto

PAGE = Path(__file__).parents[2] / "docs" / "batches.md"
FENCE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_example_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """On an AWS in memory, with fewer jobs."""
    block, _ = FENCE.findall(PAGE.read_text())  # the other one is a test
    with embedded() as aws:
        monkeypatch.delenv("OJS_URL", raising=False)
        monkeypatch.setenv("OJS_TABLE", aws.settings.table)
        monkeypatch.setenv("OJS_QUEUE_URL_PREFIX", aws.settings.queue_url_prefix)
        small = block.replace("range(1000)", "range(101)")
        exec(compile(small, str(PAGE), "exec"), {"__name__": "__main__"})  # noqa: S102


def test_the_limits_are_the_limits() -> None:
    """Those that are the code's."""
    text = PAGE.read_text()
    assert (
        f"| jobs | `OJS_MAX_BATCH_JOBS`, {Settings().max_batch_jobs:,}; {MAX_BATCH_JOBS:,}" in text
    )
    assert f"Up to {MAX_TRANSACTION} jobs ({MAX_TRANSACTION // 2} unique ones)" in text
    assert f"{MAX_FAULTS} errors with" in " ".join(text.split())
