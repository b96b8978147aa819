"""The colours of the page: text can be read on what is behind it, in light and in dark."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from ojs_aws.dashboard import files

STYLE: Final = (Path(files.__file__).parent / "web" / "src" / "tokens.css").read_text()
PAIR: Final = r"light-dark\(#([0-9a-f]{3,6}),#([0-9a-f]{3,6})\)"
COLOURS: Final = {name: values for name, *values in re.findall(rf"--([a-z0-9-]+): {PAIR}", STYLE)}
STATES: Final = {
    name: {part: (light, dark) for part, light, dark in re.findall(rf"--([ctg]): {PAIR}", rest)}
    for name, rest in re.findall(r"\.st-([a-z]+) \{([^}]*light-dark[^}]*)\}", STYLE)
}
"""Of each state: the colour of its text, its tint, and the colour of its graphics."""
ENVIRONMENTS: Final = [
    [COLOURS["env"], *re.findall(rf"\.env-[a-z]+ \{{ --env: {PAIR}", STYLE)][number]
    for number in range(4)
]
LEGIBLE: Final = 4.5
"""The contrast that WCAG 2.2 AA asks of text of any size."""
VISIBLE: Final = 3.0
"""The contrast that it asks of graphics and of the edges of controls."""
BACKS: Final = ("bg", "card", "sunken", "hover", "select")
SCHEMES: Final = pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour (WCAG 2.2)."""
    whole = colour if len(colour) == 6 else "".join(digit * 2 for digit in colour)
    parts = [int(whole[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@SCHEMES
@pytest.mark.parametrize("text", ["ink", "ink-2", "ink-3", "danger", "focus"])
@pytest.mark.parametrize("back", BACKS)
def test_text_is_legible(text: str, back: str, scheme: int) -> None:
    """On the page, and on everything that is raised from it or lies below it."""
    assert contrast(COLOURS[text][scheme], COLOURS[back][scheme]) >= LEGIBLE


@SCHEMES
@pytest.mark.parametrize("state", STATES)
def test_a_state_is_legible_on_its_tint_and_on_a_row(state: str, scheme: int) -> None:
    """And its graphics can be seen on a card."""
    colours = {part: values[scheme] for part, values in STATES[state].items()}
    assert contrast(colours["c"], colours["t"]) >= LEGIBLE
    assert contrast(colours["c"], COLOURS["hover"][scheme]) >= LEGIBLE
    assert contrast(colours["g"], COLOURS["card"][scheme]) >= VISIBLE


def test_every_state_of_a_job_has_colours_of_its_own() -> None:
    """No two look the same."""
    assert len(STATES) == 8
    assert len({values["c"] for values in STATES.values()}) == 8


@SCHEMES
@pytest.mark.parametrize("back", BACKS)
def test_the_edge_of_a_control_can_be_seen(back: str, scheme: int) -> None:
    """On every background."""
    assert contrast(COLOURS["control"][scheme], COLOURS[back][scheme]) >= VISIBLE


@SCHEMES
@pytest.mark.parametrize("number", range(4))
def test_the_name_of_an_environment_is_legible(number: int, scheme: int) -> None:
    """White on its colour."""
    assert contrast("fff", ENVIRONMENTS[number][scheme]) >= LEGIBLE


@SCHEMES
def test_the_buttons_are_legible(scheme: int) -> None:
    """Their names, on their own colours."""
    assert contrast(COLOURS["on-primary"][scheme], COLOURS["primary"][scheme]) >= LEGIBLE
    assert contrast("fff", COLOURS["danger-fill"][scheme]) >= LEGIBLE
