"""What tests of this folder share that run tests themselves."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.inner_tests import IMPORTED


@pytest.fixture
def _imports_stay() -> Iterator[None]:
    """Keep what inner tests import; pytester forgets it at its end.

    Otherwise the next test would import it again: its classes would not be those in use, and a
    library would be there twice.
    """
    yield
    for name, module in IMPORTED.items():
        sys.modules.setdefault(name, module)


@pytest.fixture
def pytester(_imports_stay: None, pytester: pytest.Pytester) -> pytest.Pytester:
    """Return pytest's own, which ends before the imports are put back."""
    return pytester
