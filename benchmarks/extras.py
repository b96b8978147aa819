"""Prints what each extra of the package installs: `python -m benchmarks.extras`.

Reads the environment of the checkout, where all extras are installed, and follows the
requirements of each package. Sizes are those of the files as pip unpacks them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

PACKAGE: Final = "ojs-aws"
EXTRAS: Final = (
    "cli",
    "local",
    "testing",
    "cdk",
    "encryption",
    "telemetry",
    "validation",
    "tracing",
)


def closure(name: str, extras: frozenset[str] = frozenset()) -> set[str]:
    """Return the names of all packages that one needs, itself left out."""
    found: set[str] = set()
    left = [(name, extras)]
    seen: set[tuple[str, frozenset[str]]] = set()
    while left:
        at = left.pop()
        if at in seen:
            continue
        seen.add(at)
        for needed in _needed(*at):
            found.add(_normal(needed.name))
            left.append((_normal(needed.name), frozenset(needed.extras)))
    return found


def _needed(name: str, extras: frozenset[str]) -> Iterator[Requirement]:
    try:
        lines = distribution(name).requires or []
    except PackageNotFoundError:
        return
    for requirement in map(Requirement, lines):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in {*extras, ""}):
            yield requirement


def megabytes(names: set[str]) -> float:
    """Return the size of some packages' files, compiled ones left out."""
    return sum(map(_bytes, names)) / 1e6


def _bytes(name: str) -> int:
    try:
        found: Distribution = distribution(name)
    except PackageNotFoundError:
        return 0
    paths = [each.locate() for each in found.files or () if each.suffix != ".pyc"]
    return sum(path.stat().st_size for path in map(_path, paths) if path.exists())


def _path(path: object) -> Path:
    return Path(str(path))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def table() -> str:
    """Return the table of docs/getting-started.md."""
    plain = closure(PACKAGE)
    lines = ["| install | packages | MB |", "|---|---|---|"]
    lines.append(f"| `ojs-aws` | {len(plain)} | {megabytes(plain):.0f} |")
    for extra in EXTRAS:
        more = closure(PACKAGE, frozenset({extra})) - plain
        lines.append(f"| `ojs-aws[{extra}]` adds | {len(more)} | {megabytes(more):.0f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
