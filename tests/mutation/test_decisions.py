"""The tool changes what a function decides, and leaves words, logs and types alone."""

from __future__ import annotations

import argparse

import pytest

import tests.mutation.campaign as campaign_module
from tests.mutation.__main__ import asked_for, chosen
from tests.mutation.campaign import Campaign, nearest_first
from tests.mutation.decisions import decision_removals
from tests.mutation.enumeration import DECIDING, WIRING, all_mutants
from tests.mutation.mutants import CHECKOUT, DECISIONS, read_source
from tests.mutation.results import Results

pytestmark = pytest.mark.thorough

HERE = CHECKOUT / "ojs_aws" / "services" / "made_up.py"


def found_in(body: str, name: str = "decide") -> list[str]:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    source = read_source(HERE, f"def {name}(a, b, c):\n{lines}")
    return [f"{each.kind}: {each.what}" for each in decision_removals(source)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return a < b", ["comparison: a < b as a <= b"]),
        ("return a >= b", ["comparison: a >= b as a > b"]),
        ("return a == b", ["comparison: a == b as a != b"]),
        (
            "return 0 < a <= b",
            ["comparison: 0 < a <= b as 0 <= a <= b", "comparison: 0 < a <= b as 0 < a < b"],
        ),
        ("return max(a, 0)", ["bound: max(a, 0) exchanged"]),
        (
            "x = a and not b",
            ["condition: a and (not b) without a", "condition: a and (not b) without not b"],
        ),
        ("if a:\n    return b", ["guard: if a: never"]),
        ("if a > b:\n    _log.info('it')\n    c()", ["comparison: a > b as a >= b"]),
        ("for a in b:\n    if c:\n        continue\n    c()", ["guard: if c: never"]),
    ],
)
def test_each_decision_is_changed_once(body: str, expected: list[str]) -> None:
    assert found_in(body) == expected


def test_nothing_is_tried_that_another_change_covers() -> None:
    """Whoever notices that a reason is dropped sees it reversed, and an `or` that never holds."""
    assert found_in("if a == b:\n    return c") == ["guard: if a == b: never"]
    assert found_in("if a == b or c:\n    return c") == [
        "condition: a == b or c without a == b",
        "condition: a == b or c without c",
    ]


@pytest.mark.parametrize(
    "body",
    [
        "return a or {}",
        "return a or b",
        "if a is None:\n    return b",
        "if not isinstance(a, str):\n    return b",
        "raise ValueError('one' if a > b else 'two')",
        "return f'{min(a, b)}'",
        "logger.info('so many', extra={'a': a > b})",
        "if a > b and c:\n    _log.warning('so many')",
        "assert a < b",
        "if not a:\n    return",
        "if not a:\n    return []",
        "if a:\n    b = 1",
    ],
)
def test_defaults_types_words_and_shortcuts_are_left_alone(body: str) -> None:
    assert found_in(body) == []


def test_functions_that_only_put_words_together_are_left_alone() -> None:
    assert found_in("return a if b > c else ''", "__repr__") == []
    assert found_in("return a if b > c else ''", "_message") == []


def test_every_package_that_decides_is_looked_through() -> None:
    mutants = [each for each in all_mutants() if each.removal.kind in DECISIONS]
    modules = {each.module for each in mutants}
    for folder in DECIDING:
        name = ".".join(folder.relative_to(CHECKOUT).parts)
        assert any(each.startswith(f"{name}.") for each in modules)
    wiring = ".".join(WIRING.relative_to(CHECKOUT).parts)
    assert not any(each.startswith(wiring) for each in modules)


def test_a_sample_of_the_others_follows_those_that_were_asked_for() -> None:
    """The same seed draws the same ones, and another seed others."""
    mutants = all_mutants()

    def ids(seed: str) -> list[str]:
        given = argparse.Namespace(base="", names=["transitions:claiming"], sample=0, also=9)
        given.seed = seed
        return [each.id for each in chosen(mutants, given)]

    asked = [each.id for each in mutants if "transitions:claiming" in each.id]
    assert ids("a")[: len(asked)] == asked
    assert len({*ids("a")}) == len(asked) + 9
    assert ids("a") == ids("a") != ids("b")
    given = argparse.Namespace(base="", names=["transitions:claiming"], sample=0, also=9)
    assert asked_for(mutants, given) == {*asked}
    given.sample = 9
    assert asked_for(mutants, given) == frozenset()


@pytest.mark.parametrize(
    ("is_drawn", "is_hinted", "is_certain"),
    [(False, False, True), (True, True, True), (True, False, False)],
)
def test_what_chance_chose_survives_only_the_test_that_noticed_it_before(
    monkeypatch: pytest.MonkeyPatch, is_drawn: bool, is_hinted: bool, is_certain: bool
) -> None:
    """Where the time is over: not every test that reaches it has run."""
    mutant = all_mutants()[0]
    ids = frozenset([mutant.id])
    monkeypatch.setattr(Campaign, "_try_hints", lambda _: ids if is_hinted else frozenset())
    monkeypatch.setattr(Campaign, "_try_files", lambda *_: None)
    monkeypatch.setattr(Results, "note", lambda *_: None)
    campaign = Campaign(
        [mutant], print, near=None, drawn=ids if is_drawn else frozenset(), results=Results()
    )
    assert campaign.run([]) == [mutant]
    assert (mutant.id in campaign.unnoticed) is is_certain


@pytest.mark.parametrize(("is_explained", "tried"), [(True, []), (False, ["far"])])
def test_every_test_tries_only_what_nobody_has_explained(
    monkeypatch: pytest.MonkeyPatch, is_explained: bool, tried: list[str]
) -> None:
    """For an explained removal, the tests near to it are enough."""
    mutant = all_mutants()[0]
    files = list[str]()
    monkeypatch.setattr(Campaign, "_try_hints", lambda _: frozenset())
    monkeypatch.setattr(Campaign, "_try_files", lambda _, names: files.extend(names))
    monkeypatch.setattr(campaign_module, "test_files", lambda folders: [*folders])
    monkeypatch.setattr(Results, "note", lambda *_: None)
    believed = frozenset([mutant.id]) if is_explained else frozenset[str]()
    campaign = Campaign([mutant], print, near=None, believed=believed, results=Results())
    assert campaign.run([["far"]]) == [mutant]
    assert files == tried


def test_tests_named_like_the_module_come_first() -> None:
    """Then those that cost least."""
    rows = [
        (0.1, "tests/contract/test_limits.py::test_a"),
        (0.9, "tests/unit/services/cron/test_scheduler.py::test_b"),
        (0.5, "tests/unit/services/cron/test_scheduler.py::test_c"),
        (0.2, "tests/unit/services/jobs/test_push.py::test_d"),
    ]
    ordered = nearest_first("ojs_aws.services.cron.scheduler", rows)
    assert [each[-1] for each in ordered] == ["c", "b", "d", "a"]
