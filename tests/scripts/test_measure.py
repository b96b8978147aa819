"""What the measurements of the code count."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest

from scripts.measure import (
    PRODUCT,
    by_package,
    circles,
    code_lines,
    has_verb,
    import_edges,
    is_participle,
    parsed,
    repeated_classes,
)
from tests.hops import OPERATIONS, hops_of_operations

pytestmark = pytest.mark.thorough


def test_code_lines_leave_out_comments_docstrings_and_blanks(tmp_path: Path) -> None:
    """A text that is used counts, with each of its lines."""
    text = '"""D\nd."""\n# c\n\nx = """a\nb"""\n"""Of x."""\n\n'
    text += 'def f():\n    """D."""\n    return x\n'
    file = tmp_path / "m.py"
    file.write_text(text)
    assert code_lines(file, ast.parse(text)) == 4


@pytest.mark.parametrize(
    ("line", "is_sentence"),
    [
        ("Return the job.", True),
        ("Returns the job.", True),
        ("A job that is over.", True),
        ("The end of one queue's round.", False),
        ("", False),
    ],
)
def test_a_sentence_has_a_verb(line: str, *, is_sentence: bool) -> None:
    """In the imperative, in the third person, or anywhere in the line."""
    assert has_verb(line) is is_sentence


@pytest.mark.parametrize(
    ("stem", "is_hidden"), [("changing", True), ("logging", False), ("queues", False)]
)
def test_participles_of_the_field_are_no_hidden_nouns(stem: str, *, is_hidden: bool) -> None:
    """Other modules are named by nouns."""
    assert is_participle(stem) is is_hidden


def test_circles_are_the_groups_that_reach_each_other() -> None:
    """A chain is none."""
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set[str]()}
    assert circles(edges) == [["a", "b", "c"]]
    assert by_package({"p": set(), "p.a": {"q.b"}, "q": set(), "q.b": {"p.a"}}) == {
        "p": {"q"},
        "q": {"p"},
    }


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Lazy imports and those for types count: whoever reads one module must end somewhere."""
    assert circles(import_edges()) == []


def test_the_adapters_are_thin() -> None:
    """What frameworks need of us is small, or it belongs into the library."""
    sizes = {file: code_lines(file, tree) for file, tree in parsed(["ojs_aws/contrib"]).items()}
    assert sizes
    assert [str(file) for file, size in sizes.items() if size > 300] == []
    assert sum(sizes.values()) < 3000


def test_lazy_imports_count() -> None:
    """The command line imports its parts inside of functions, so that it starts quickly."""
    edges = import_edges()
    assert "ojs_aws.cli.app" in edges["ojs_aws.cli"]


def test_no_class_name_stands_twice_in_a_layer() -> None:
    """Whoever searches for a class finds one; two layers may share a name."""
    assert repeated_classes(parsed(PRODUCT)) == {}


def test_class_names_are_counted_within_a_layer() -> None:
    """The same name in two layers is none that is repeated."""
    root = Path(__file__).resolve().parents[2]
    tree = ast.parse("class A: ...")
    one, two, other = (
        root / "ojs_aws" / name for name in ("domain/x.py", "domain/y.py", "ports/z.py")
    )
    assert repeated_classes({one: tree, other: tree}) == {}
    assert repeated_classes({one: tree, two: tree}) == {"domain": ["A x2"]}


@pytest.fixture(scope="module")
def hops() -> Mapping[str, int]:
    """How many functions each operation passes through."""
    return hops_of_operations()


@pytest.mark.moto
def test_hops_are_counted_for_each_operation(hops: Mapping[str, int]) -> None:
    """From the handler down to the client of AWS."""
    assert set(hops) == set(OPERATIONS)
    assert all(count > 0 for count in hops.values())
    assert hops["info"] < hops["ack"] < hops["push"]


@pytest.mark.moto
@pytest.mark.parametrize(
    ("operation", "most"), [("push", 12), ("fetch", 8), ("ack", 6), ("fail", 6)]
)
def test_an_operation_reaches_its_write_by_few_functions(
    hops: Mapping[str, int], operation: str, most: int
) -> None:
    """Whoever follows a request from its handler must not get lost; default middleware counts."""
    assert hops[operation] <= most
