"""The tables of the reference are those of the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from ojs_aws.config import Settings, describe_settings
from ojs_aws.domain.jobs.attributes import JobAttributes
from ojs_aws.domain.jobs.failures import (
    HISTORY_LIMIT,
    MAX_BACKTRACE_CHARACTERS,
    MAX_FRAMES,
)
from ojs_aws.environment import settings_table

REFERENCE: Final = Path(__file__).parents[2] / "docs" / "reference"


def test_the_table_of_settings_is_the_settings() -> None:
    """`ojs-aws settings --markdown` prints it."""
    page = (REFERENCE / "settings.md").read_text()
    found = re.search(r"<!-- settings -->\n(.*?)\n<!-- /settings -->", page, re.DOTALL)
    assert found is not None
    assert found[1] == settings_table(describe_settings())


def test_the_limits_are_the_limits() -> None:
    """The ones that are constants of the code."""
    page = (REFERENCE / "bounds.md").read_text()
    assert Settings().max_envelope_bytes == Settings().max_result_bytes == 1024 * 1024
    assert f"| {Settings().max_depth} levels |" in page
    assert f"| {Settings().max_batch_jobs:,} jobs, all or nothing |" in page
    assert f"| {HISTORY_LIMIT}, the latest with its backtrace" in page
    assert f"({MAX_FRAMES} frames, {MAX_BACKTRACE_CHARACTERS:,} characters)" in page


def test_the_table_of_options_has_every_attribute_of_a_job() -> None:
    """By the names that a declaration and a call take."""
    page = (REFERENCE / "job-options.md").read_text()
    table = page.partition("<!-- options -->")[2].partition("<!-- /options -->")[0]
    cells = [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| `")]
    shown = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert shown == set(JobAttributes.__annotations__)
