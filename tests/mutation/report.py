"""What a whole run found, as the table of docs/mutation.md."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
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
    Kind.ROW: "rows of tables of attributes",
    Kind.COMPARISON: "comparisons",
    Kind.BOUND: "bounds (min and max)",
    Kind.CONDITION: "joined conditions",
    Kind.GUARD: "guards",
}


def explained() -> dict[str, str]:
    """Return why no test notices some removals, by their names."""
    listed = tomllib.loads(EXPLAINED.read_text("utf-8")).get("explained", [])
    return {each["removal"]: " ".join(each["reason"].split()) for each in listed}


def table(mutants: Sequence[Mutant], noticed: Collection[str], reasons: Collection[str]) -> str:
    """Return the table of the docs: what became of the removals of each kind."""
    found: dict[tuple[str, Kind], list[str]] = {}
    for mutant in mutants:
        found.setdefault((_where(mutant), mutant.removal.kind), []).append(mutant.id)
    lines = [
        "| where | what | removed | noticed by a test | explained | not tried yet |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for (where, kind), names in sorted(found.items()):
        lines.append(f"| `{where}` | {WHAT[kind]} | {_numbers(names, noticed, reasons)} |")
    every = [mutant.id for mutant in mutants]
    lines.append(f"| all | | {_numbers(every, noticed, reasons)} |")
    return "\n".join(lines) + "\n"


def _numbers(names: Sequence[str], noticed: Collection[str], reasons: Collection[str]) -> str:
    explained = sum(name in reasons for name in names)
    seen = sum(name in noticed and name not in reasons for name in names)
    return f"{len(names)} | {seen} | {explained} | {len(names) - seen - explained}"


def _where(mutant: Mutant) -> str:
    _, layer, part, *_ = mutant.module.split(".")
    if layer == "domain" and part == "jobs":
        return "ojs_aws/domain/jobs/lifecycle.py"
    return f"ojs_aws/{layer}/{part}/" if layer in {"domain", "worker"} else f"ojs_aws/{layer}/"


def listed(reasons: Mapping[str, str]) -> str:
    """Return the explained removals as a list."""
    return "".join(f"- `{name.removeprefix('ojs_aws.')}`: {why}\n" for name, why in reasons.items())


def write_page(
    mutants: Sequence[Mutant], noticed: Collection[str], reasons: Mapping[str, str]
) -> None:
    """Put the table and the list into the docs."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    made = f"{BEGIN}{table(mutants, noticed, reasons)}\n{listed(reasons)}{END}"
    PAGE.write_text(before + made + after, "utf-8")
