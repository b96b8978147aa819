"""The colours of the page: text can be read on what is behind it, in light and in dark."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from ojs_aws.dashboard import files

STYLE: Final = (Path(files.__file__).parent / "web" / "src" / "style.css").read_text()
COLOURS: Final = {
    name: values
    for name, *values in re.findall(
        r"--([a-z-]+): light-dark\(#([0-9a-f]{3,6}), #([0-9a-f]{3,6})\)", STYLE
    )
}
LEGIBLE: Final = 4.5
"""The contrast that WCAG 2.2 AA asks of text of any size."""


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


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("text", ["text", "quiet", "accent", "good", "bad", "warn"])
@pytest.mark.parametrize("back", ["back", "raised"])
def test_text_is_legible(text: str, back: str, scheme: int) -> None:
    """On the page, and on what is raised from it."""
    assert contrast(COLOURS[text][scheme], COLOURS[back][scheme]) >= LEGIBLE


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_the_main_button_is_legible(scheme: int) -> None:
    """Its name, on its own colour."""
    assert contrast(COLOURS["on-accent"][scheme], COLOURS["accent"][scheme]) >= LEGIBLE
