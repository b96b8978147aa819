"""The list of public names is what the package exports, and changes of it are in the changelog."""

from __future__ import annotations

import re
from typing import Final

import pytest

from ojs_aws import __version__
from scripts.public_api import CHECKOUT, PAGE, RELEASED, changes, names, page, parameters
from tests.upgrade.test_versions import VERSIONS

CHANGELOG: Final = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_page_lists_the_public_names() -> None:
    """`python scripts/public_api.py` writes it again; review what changed."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_each_changed_name_is_in_the_changelog() -> None:
    """Since the API that `public_api.py --release` recorded last, when a version was named."""
    sections = ["Unreleased"] if __version__ in VERSIONS else ["Unreleased", __version__]
    texts = [CHANGELOG.partition(f"## [{each}]")[2].partition("\n## [")[0] for each in sections]
    known = set(re.findall(r"\w+", " ".join(texts)))
    released = RELEASED.read_text(encoding="utf-8").splitlines()
    assert changes(released, names()) - known == set()


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (["m: class A(x)"], ["m: class A(x)"], set()),
        (["m: class A(x)"], ["m: class A(x, y=)"], {"A"}),
        (["m: A run()"], [], {"run"}),
        ([], ["m: A name: attribute"], {"name"}),
        ([], ["m: chain(*steps)"], {"chain"}),
        ([], ["m: enum State: ON, OFF"], {"State"}),
    ],
)
def test_a_change_is_known_by_its_name(
    before: list[str], after: list[str], found: set[str]
) -> None:
    assert changes(before, after) == found


def test_parameters_are_shown_by_name_and_kind() -> None:
    """Without types and defaults, which differ by the version of Python."""

    def function(a: int, b: str = "x", *, c: int, d: int = 1, **e: int) -> None: ...

    assert parameters(function) == "(a, b=, *, c, d=, **e)"
    assert parameters(5) == ""
