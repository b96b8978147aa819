"""docs/priority.md says what is so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ojs_aws import Priority
from ojs_aws.services.jobs.fetch.candidates import PAGE

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "priority.md").read_text("utf-8")


def test_env_033_the_named_levels_are_ten_zero_and_minus_ten() -> None:
    """Core, section 5.2."""
    assert (Priority.HIGH, Priority.NORMAL, Priority.LOW) == (10, 0, -10)


def test_the_example_runs() -> None:
    """With a client that notes what it is asked for."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(block, names)  # noqa: S102 - our own page
    asked: list[Any] = []

    class Notes:
        def enqueue(self, *_: Any, priority: Any) -> Any:
            asked.append(priority)
            return type("Result", (), {"id": "1"})

    for is_urgent in (True, False):
        assert names["report"](Notes(), is_urgent=is_urgent) == "1"
    assert asked == [10, 0]


def test_the_numbers_are_those_of_the_code() -> None:
    """How far is looked."""
    assert f"More than {PAGE} jobs" in TEXT
