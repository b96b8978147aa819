"""Finds everything that is to be removed once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from tests.mutation.conditions import condition_removals
from tests.mutation.decisions import decision_removals
from tests.mutation.flow import except_removals, transition_removals
from tests.mutation.mutants import CHECKOUT, Mutant, Removal, Source, named, read_source
from tests.mutation.rows import named_parts, row_removals
from tests.mutation.writes import action_makers, element_removals, update_branches

ADAPTERS: Final = CHECKOUT / "ojs_aws" / "adapters"
SERVICES: Final = CHECKOUT / "ojs_aws" / "services"
LIFECYCLE: Final = CHECKOUT / "ojs_aws" / "domain" / "jobs" / "lifecycle.py"
TRANSITIONS: Final = tuple(
    LIFECYCLE.with_name(f"{name}.py") for name in ("lifecycle", "deadlines", "held_job")
)
"""Where the states of jobs are decided."""
DELIVERY: Final = CHECKOUT / "ojs_aws" / "worker" / "delivery"
DECIDING: Final = (
    *(CHECKOUT / "ojs_aws" / name for name in ("services", "testing", "pricing", "typed_jobs")),
    DELIVERY,
    CHECKOUT / "ojs_aws" / "domain" / "bindings",
)
WIRING: Final = SERVICES / "backend"
"""Creates the services; it decides nothing."""
KIT: Final = CHECKOUT / "ojs_aws" / "testing"
LEFT_OUT: Final = (WIRING, KIT / "server", KIT / "plugin.py", KIT / "reports.py")
"""Modules whose decisions stay as they are: one only creates services, one waits for another
process, one is imported again by its tests, and one only puts words together."""
BUILDER: Final = ADAPTERS / "dynamodb" / "update.py"
"""Makes expressions of what the other modules say; what it does is removed there."""


def files() -> list[Path]:
    """Return the modules that are looked through."""
    adapters = sorted(each for each in ADAPTERS.rglob("*.py") if each != BUILDER)
    return [
        *adapters,
        *TRANSITIONS,
        *(path for each in DECIDING for path in sorted(each.rglob("*.py"))),
    ]


@cache
def all_mutants() -> tuple[Mutant, ...]:
    """Return everything that can be removed, in the order of the files."""
    return tuple(each for path in files() for each in mutants_of(read_source(path)))


@cache
def _makers_and_parts() -> tuple[frozenset[str], frozenset[str]]:
    sources = [read_source(path) for path in sorted(ADAPTERS.rglob("*.py"))]
    return action_makers(sources), named_parts(sources)


def mutants_of(source: Source) -> Iterator[Mutant]:
    """Yield what can be removed from a module."""
    yield from named(source, _removals(source))


def _removals(source: Source) -> Iterator[Removal]:
    if source.path.is_relative_to(ADAPTERS):
        makers, parts = _makers_and_parts()
        yield from condition_removals(source)
        yield from element_removals(source, makers)
        yield from update_branches(source)
        yield from row_removals(source, parts)
        return
    if source.path in TRANSITIONS:
        yield from transition_removals(source)
        return
    if source.path.is_relative_to(SERVICES) or source.path.is_relative_to(DELIVERY):
        yield from except_removals(source)
    if not any(source.path.is_relative_to(each) for each in LEFT_OUT):
        yield from decision_removals(source)
