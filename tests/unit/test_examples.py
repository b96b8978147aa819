"""The examples show how they are tested: each has its tests beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
ELSEWHERE: Final = {"events/stack.py": "tests/infra/test_event_consumer.py"}
"""What needs Node, as the tests of the infrastructure do."""


@pytest.mark.parametrize(
    "example",
    [
        path.relative_to(EXAMPLES).as_posix()
        for path in sorted(EXAMPLES.rglob("*.py"))
        if not path.name.startswith("test_")
    ],
)
def test_an_example_has_its_tests(example: str) -> None:
    path = EXAMPLES / example
    tests = path.with_name(f"test_{path.name}")
    if example in ELSEWHERE:
        tests = EXAMPLES.parent / ELSEWHERE[example]
    module = f"examples.{example.removesuffix('.py').replace('/', '.')}"
    assert f"from {module} import" in tests.read_text("utf-8")
