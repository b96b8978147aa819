"""Which regular expressions are matched, and with how long texts."""

from __future__ import annotations

import pytest

from ojs_aws.middleware.builtin.validation.pattern_cost import max_length, steps


@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$",
        "(a|aa)+$",
        "(x+x+)+y",
        "(?:a?){40}a{40}",
        "^([a-z]+,)*$",
        "((a{1,50}){1,50}){1,50}$",
        "a*a*a*a*a*a*a*b",
        "(?P<n>(?=a*)b|c)*",
        "([(]a*)+",
        "(a*?)*?",
    ],
)
def test_a_pattern_that_could_run_away_is_refused(pattern: str) -> None:
    """Its cost grows exponentially, or with too high a power."""
    assert max_length(pattern) == 0


@pytest.mark.parametrize(
    ("pattern", "length"),
    [
        ("^[A-Z]{3}$", 4096),
        (r"^\+?[0-9 ()-]{5,20}$", 4096),
        (r"^https?://[^\s]+$", 4096),
        ("^(foo|bar)$", 4096),
        (r"^[^@]+@[^@]+\.[^@]+$", 255),
        (r"^(\d{1,3}\.){3}\d{1,3}$", 64),
        (r"a\+\*b[+*]+", 4096),
        ("[)]*a(b)", 4096),
    ],
)
def test_an_ordinary_pattern_is_matched(pattern: str, length: int) -> None:
    """The more repetitions, the shorter the text may be."""
    assert max_length(pattern) == length


def test_the_cost_grows_with_the_text() -> None:
    """By the power of its repetitions."""
    assert steps("^a*b*$", 100) == 10_000
    assert steps("a", 100) == 100
