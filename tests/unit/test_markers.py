"""A test file stays unread only where no test of it can be selected."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.markers import can_be_selected, unsaid

PLAIN = "def test_it() -> None: ..."
ALL_THOROUGH = f"pytestmark = pytest.mark.thorough\n{PLAIN}"
ALL_OF_BOTH = f"pytestmark = [pytest.mark.e2e, pytest.mark.slow]\n{PLAIN}"
SOME_SLOW = f"@pytest.mark.slow\n{PLAIN}"
SLOWLY = "(slow or thorough) and not e2e"
QUICKLY = "not e2e and not slow and not thorough"


@pytest.mark.parametrize(
    ("expression", "text", "is_read"),
    [
        ("", ALL_THOROUGH, True),
        (QUICKLY, PLAIN, True),
        (QUICKLY, ALL_THOROUGH, False),
        (QUICKLY, ALL_OF_BOTH, False),
        (QUICKLY, SOME_SLOW, True),
        (SLOWLY, PLAIN, False),
        (SLOWLY, ALL_THOROUGH, True),
        (SLOWLY, ALL_OF_BOTH, False),
        (SLOWLY, SOME_SLOW, True),
        (SLOWLY, PLAIN + " # borrows SLOWLY", True),
        ("e2e", SOME_SLOW, False),
        ("e2e", ALL_OF_BOTH, True),
        ("moto", PLAIN, True),  # a marker of other places
        ("not moto", PLAIN, True),
        ("moto and slow", PLAIN, False),
        ("slow(since=1)", PLAIN, True),
    ],
)
def test_a_file_is_read_where_a_test_of_it_may_be_selected(
    expression: str, text: str, *, is_read: bool
) -> None:
    assert can_be_selected(expression, text) is is_read


def test_a_marker_that_the_file_does_not_say_is_found(tmp_path: Path) -> None:
    said, not_said = tmp_path / "test_said.py", tmp_path / "test_not_said.py"
    said.write_text(SOME_SLOW)
    not_said.write_text(PLAIN)
    marks = [pytest.mark.slow.mark, pytest.mark.moto.mark]
    items = [SimpleNamespace(path=each, iter_markers=lambda: marks) for each in (said, not_said)]
    assert unsaid(cast("list[pytest.Item]", items)) == ["test_not_said.py: slow"]
