"""What a whole run found, as the table of docs/mutation.md."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.mutation.mutants import CHECKOUT, Kind, Mutant

EXPLAINED: Final = Path(__file__).with_name("explained.toml")
PAGE: Final = CHECKOUT / "docs" / "mutation.md"
BEGIN: Final = "<!-- removals -->\n"
END: Final = "<!-- /removals -->\n"

WHAT: Final = {
    Kind.CLAUSE: "clauses of conditions",
    Kind.ELEMENT: "elements of transactions",
    Kind.BRANCH: "branches of writes",
    Kind.TRANSITION: "parts of transitions",
    Kind.EXCEPT: "handlers of exceptions",
}


def explained() -> dict[str, str]:
    """Return why no test notices some removals, by their names."""
    listed = tomllib.loads(EXPLAINED.read_text("utf-8")).get("explained", [])
    return {each["removal"]: " ".join(each["reason"].split()) for each in listed}


def table(mutants: Sequence[Mutant], reasons: Mapping[str, str]) -> str:
    """Return the table of the docs: how many there are of each kind, and how many are explained."""
    found: Counter[tuple[str, Kind]] = Counter()
    told: Counter[Kind] = Counter()
    for mutant in mutants:
        found[_where(mutant), mutant.removal.kind] += 1
        told[mutant.removal.kind] += mutant.id in reasons
    lines = [
        "| where | what | removed | noticed by a test | explained |",
        "|---|---|---:|---:|---:|",
    ]
    for (where, kind), number in sorted(found.items()):
        lines.append(
            f"| `{where}` | {WHAT[kind]} | {number} | {number - told[kind]} | {told[kind]} |"
        )
    number, left = sum(found.values()), sum(told.values())
    lines.append(f"| all | | {number} | {number - left} | {left} |")
    return "\n".join(lines) + "\n"


def _where(mutant: Mutant) -> str:
    _, layer, *_ = mutant.module.split(".")
    return "ojs_aws/domain/lifecycle.py" if layer == "domain" else f"ojs_aws/{layer}/"


def listed(reasons: Mapping[str, str]) -> str:
    """Return the explained removals as a list."""
    return "".join(f"- `{name.removeprefix('ojs_aws.')}`: {why}\n" for name, why in reasons.items())


def write_page(mutants: Sequence[Mutant], reasons: Mapping[str, str]) -> None:
    """Put the table and the list into the docs."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    made = f"{BEGIN}{table(mutants, reasons)}\n{listed(reasons)}{END}"
    PAGE.write_text(before + made + after, "utf-8")
