"""docs/limits.md says what is so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from benchmarks.alternatives import OURS
from ojs_aws.domain.job_policies import Window
from ojs_aws.domain.limits.policies import read_limit
from ojs_aws.pricing import Workload
from ojs_aws.pricing.units import life_units, slot_units
from ojs_aws.services.jobs.fetch.queue_line import MAX_PAGES_BEYOND, PAGE_BEYOND

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "limits.md").read_text("utf-8")
INSIDE = (ROOT / "docs" / "limits-inside.md").read_text("utf-8")


def test_the_example_is_a_policy_that_can_be_followed() -> None:
    """As PUSH reads it."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(block, names)  # noqa: S102 - our own page
    limit = read_limit(names["job"]["rate_limit"], "default")
    assert limit is not None
    assert (limit.concurrency, limit.rate) == (5, Window(100, 60_000))


def test_a_limit_adds_to_a_job_what_the_model_of_costs_says() -> None:
    """One source for both pages, and for the comparison with others."""
    job = Workload()
    life = life_units(job.size_bytes, job.compression)
    limited = life + slot_units(job.size_bytes, job.compression)
    for page in (TEXT, (ROOT / "docs" / "costs-per-job.md").read_text("utf-8")):
        assert f"{limited:g} instead of {life:g}" in re.sub(r"\s+", " ", page)
    assert OURS.counted.startswith(f"{life:g} write units,")


def test_the_numbers_are_those_of_the_code() -> None:
    """How far is looked."""
    assert f"up to {PAGE_BEYOND * MAX_PAGES_BEYOND} jobs behind the head" in INSIDE
