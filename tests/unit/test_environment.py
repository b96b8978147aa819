"""The least level that a Lambda function logs."""

from __future__ import annotations

import logging

import pytest

from ojs_aws.environment import raise_level


@pytest.mark.parametrize(
    ("named", "before", "after"),
    [
        ("WARNING", logging.INFO, logging.WARNING),
        ("warning", logging.NOTSET, logging.WARNING),
        ("DEBUG", logging.INFO, logging.INFO),
        ("LOUD", logging.INFO, logging.INFO),
        ("", logging.INFO, logging.INFO),
    ],
)
def test_a_level_is_raised_and_never_lowered(named: str, before: int, after: int) -> None:
    """What Lambda keeps back cannot be logged; a name that is no level changes nothing."""
    logger = logging.getLogger(f"test.{named}.{before}")
    logger.setLevel(before)
    raise_level(logger, {"POWERTOOLS_LOG_LEVEL": named})
    assert logger.level == after
