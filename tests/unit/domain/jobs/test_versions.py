"""Versions of jobs and ranges of them (ojs-job-versioning, sections 5, 8.1 and 15.1)."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.jobs.versions import VersionRange, read_version, split_type


@pytest.mark.parametrize(
    ("value", "version"),
    [
        ("2.0", (2, 0, 0)),
        ("1.10", (1, 10, 0)),
        (2, (2, 0, 0)),
        ("2", (2, 0, 0)),
        ("1.2.3", (1, 2, 3)),
        (None, None),
        ("latest", None),
        (True, None),
        (1.5, None),
        ("-1", None),
    ],
)
def test_ver_001_a_version_is_major_and_minor(value: Any, version: object) -> None:
    """What is none leaves the job unversioned."""
    assert read_version(value) == version


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("invoice.generate@2.0", ("invoice.generate", "2.0")),
        ("invoice.generate", ("invoice.generate", "")),
        ("invoice.generate@latest", ("invoice.generate@latest", "")),
        ("a@1@2", ("a@1@2", "")),
    ],
)
def test_ver_002_the_version_may_stand_behind_the_type(text: str, parts: object) -> None:
    """Anything else behind the mark is no version, and the type is refused for it."""
    assert split_type(text) == parts


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("*", ["0.1", "9.9"], []),
        ("2.0", ["2.0", "2"], ["2.1", "1.9"]),
        (">=1.0 <3.0", ["1.0", "2.9"], ["0.9", "3.0"]),
        (">=1.0, <3.0", ["1.0", "2.9"], ["0.9", "3.0"]),
        (">= 2.0", ["2.0", "10.0"], ["1.9"]),
        (">1.2 <=1.10", ["1.3", "1.10"], ["1.2", "1.11"]),
    ],
)
def test_a_range_accepts_what_it_says(text: str, inside: list[str], outside: list[str]) -> None:
    """Numbers are compared as numbers."""
    accepted = VersionRange.parse(text)
    found = {each: accepted.accepts(read_version(each) or (0, 0, 0)) for each in inside + outside}
    assert found == dict.fromkeys(inside, True) | dict.fromkeys(outside, False)


@pytest.mark.parametrize("text", ["", "^1.0", "~1", ">=", "1.x", ">=1.0 and <2.0"])
def test_what_is_no_range_is_refused(text: str) -> None:
    """Section 15.1: no carets and tildes."""
    with pytest.raises(InvalidRequestError, match="names no versions"):
        VersionRange.parse(text)
