"""What the README says is so."""

from __future__ import annotations

import re
from pathlib import Path

from ojs_aws.config import Settings, settings_table
from ojs_aws.domain.jobs.lifecycle import HISTORY_LIMIT

README = (Path(__file__).parents[2] / "README.md").read_text()


def test_the_table_of_settings_is_the_settings() -> None:
    """`ojs-aws settings --markdown` prints it."""
    found = re.search(r"<!-- settings -->\n(.*?)\n<!-- /settings -->", README, re.DOTALL)
    assert found is not None
    assert found[1] == settings_table()


def test_the_limits_are_the_limits() -> None:
    """The ones that are constants of the code."""
    assert Settings().max_envelope_bytes == Settings().max_result_bytes == 1024 * 1024
    assert f"| {Settings().max_depth} levels |" in README
    assert f"| {Settings().max_batch_jobs:,} jobs, all or nothing |" in README
    assert f"| {HISTORY_LIMIT}, the latest with its backtrace" in README
