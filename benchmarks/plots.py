"""How the plots look: numbers rather than powers, and curves that lie upon another still seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

_MARKERS: Final = "osD^v"
_BASE_SIZE: Final = 9.0


def look(index: int) -> dict[str, Any]:
    """The marker and line of a curve, by its number in its panel: later ones are smaller."""
    return {
        "marker": _MARKERS[index % len(_MARKERS)],
        "markersize": max(3.0, _BASE_SIZE - 2 * index),
        "linewidth": max(1.2, 4.0 - 1.2 * index),
    }


def logarithmic(axes: Axes, sizes: Sequence[float]) -> None:
    """Both axes by factors, with plain numbers; ticks of the first where something was measured."""
    from matplotlib.ticker import FuncFormatter, NullLocator  # noqa: PLC0415 - takes a second

    plain = FuncFormatter(lambda value, _: _short(value))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(sorted(set(sizes)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(plain)
    axes.yaxis.set_major_formatter(plain)
    axes.yaxis.set_minor_formatter(FuncFormatter(lambda _, __: ""))
    axes.grid(visible=True, alpha=0.3)


def _short(value: float) -> str:
    """``1,000`` as ``1k``, ``1,000,000`` as ``1M``."""
    for factor, unit in ((1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:g}{unit}"
    return f"{value:g}"


def reproducible() -> None:
    """Make plots that stay the same file while their numbers do, with text as text."""
    import matplotlib as mpl  # noqa: PLC0415 - takes a second

    mpl.rcParams["svg.fonttype"] = "none"
    mpl.rcParams["svg.hashsalt"] = "ojs-aws"
