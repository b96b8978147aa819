"""What holds for every test: a busy machine turns none of them red."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parents[1]
_WAITS = re.compile(
    r"(?:communicate\(timeout=|Barrier\(\d+, timeout=|\.join\(|\.wait\()(?P<limit>\d+(?:\.\d+)?)\)"
)


def test_no_property_depends_on_how_fast_its_examples_run() -> None:
    """Hypothesis would give each of them 200 ms."""
    assert settings.default is not None
    assert settings.default.deadline is None
    assert HealthCheck.too_slow in settings.default.suppress_health_check


def test_waits_for_threads_and_processes_end_only_when_they_hang() -> None:
    """A limit in figures is a claim about the machine; a poll's short wait may be one."""
    short = [
        f"{path.relative_to(TESTS)}: {found[0]}"
        for path in TESTS.rglob("*.py")
        for found in _WAITS.finditer(path.read_text())
        if float(found["limit"]) >= 1 and path != Path(__file__)
    ]
    assert short == []
