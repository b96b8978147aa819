"""The simulated way of a job makes the calls of the code, and its page shows its numbers."""

from __future__ import annotations

import random
import statistics
from pathlib import Path
from typing import Final

import pytest

from benchmarks import latency
from benchmarks.costs import KINDS, SIZES, measured
from benchmarks.latency_figures import FIGURES

pytestmark = pytest.mark.thorough

PAGE: Final = (Path(__file__).resolve().parents[2] / "docs" / "latency.md").read_text("utf-8")
NAMES: Final = (*latency.PATHS, *latency.STEPS)


def numbers(cells: tuple[str, ...] | list[str]) -> list[float]:
    """Return the numbers of a line of the table."""
    return [float(cell.replace(",", "")) for cell in cells[1:] if cell.strip()]


@pytest.mark.parametrize("name", FIGURES)
def test_samples_have_the_percentiles_of_their_figure(name: str) -> None:
    """The median and the 99th percentile that the source names."""
    chance, figure = random.Random(7), FIGURES[name]
    cuts = statistics.quantiles([figure.sample(chance) for _ in range(20_000)], n=100)
    assert cuts[49] == pytest.approx(figure.p50_ms, rel=0.05)
    assert cuts[98] == pytest.approx(figure.p99_ms, rel=0.1)
    assert figure.source


def test_the_simulated_operations_make_the_calls_of_the_code() -> None:
    """PUSH writes and sends; FETCH reads both lists beside a receive, and then claims."""
    costs = measured(SIZES["0.5 KB"], KINDS["random tokens"])
    assert costs["PUSH"].calls == {"PutItem": 1, "SendMessage": 1}
    assert costs["FETCH"].calls == {"Query": 2, "ReceiveMessage": 1, "UpdateItem": 1}


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_the_times_of_the_simulation(name: str) -> None:
    """``python -m benchmarks.latency`` prints them; a smaller run comes near."""
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| {name} |")]
    shown = numbers([cell.strip() for cell in line.strip("|").split("|")])
    found = numbers(latency.row(name, jobs=1500))
    assert len(shown) == len(found)
    for expected, simulated in zip(shown, found, strict=True):
        assert simulated == pytest.approx(expected, rel=0.25)


def median(name: str) -> float:
    """Return the median from push to start."""
    return numbers(latency.row(name, jobs=800))[-2]


def test_each_lever_makes_the_start_sooner() -> None:
    """A lever that helped nobody would be a mistake of the page."""
    warm, idle = median("Lambda worker"), median("HTTP worker, idle")
    assert median("Lambda worker, pushed directly") < warm
    assert median("Lambda worker, functions of 1,769 MB") < warm
    assert median("the same, cold, with SnapStart") < median("the same, all functions cold")
    assert median("two idle HTTP workers") < idle
    assert median("HTTP worker, polls twice a second") < idle
    assert median("HTTP worker, FETCH waits 2 s") < idle
    step, plain = (median(name) for name in latency.STEPS)
    assert step - plain == pytest.approx(500, abs=60)


def test_the_gateway_adds_the_cold_start_of_its_authorizer() -> None:
    """The job endpoint finds keys itself; warm, the page assumes no difference."""
    cold, behind = (
        numbers(latency.row(name, jobs=800))
        for name in ("all functions cold, at the job endpoint", "the same, all functions cold")
    )
    assert behind[0] - cold[0] == pytest.approx(FIGURES["cold start"].p50_ms, rel=0.15)
    assert median("Lambda worker") == pytest.approx(
        median("Lambda worker, at the job endpoint"), rel=0.1
    )


def test_figures_name_their_source_on_the_page() -> None:
    """Each with its median and its 99th percentile."""
    for name, each in FIGURES.items():
        assert f"| {name} | {each.p50_ms:g} | {each.p99_ms:g} | {each.source} |" in PAGE
