"""Write the list of all public names, with their parameters, to docs/reference/public-api.md.

Whoever changes the public API sees it in the difference of that page, and says it in the changelog:
tests/scripts/test_public_api.py compares the page with the API of the last release.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Final

from ojs_aws import Job

CHECKOUT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = CHECKOUT / "docs" / "reference" / "public-api.md"
RELEASED: Final = CHECKOUT / "docs" / "reference" / "public-api-released.txt"

MODULES: Final = {
    "ojs_aws": "What most programs import",
    "ojs_aws.errors": "What is raised and caught",
    "ojs_aws.client": "The client, and what it returns",
    "ojs_aws.worker": "Workers",
    "ojs_aws.middleware": "Middleware and hooks",
    "ojs_aws.testing": "Tests of jobs",
    "ojs_aws.contrib.django": "Jobs of Django projects",
    "ojs_aws.contrib.sqlalchemy": "Jobs in transactions of SQLAlchemy",
    "ojs_aws.contrib.fastapi": "Jobs in FastAPI",
    "ojs_aws.contrib.celery": "Tasks of Celery",
}
"""The modules whose exported names are public; the constructs have a page of their own."""

_INTRODUCTION: Final = """\
# All public names

This page lists every name of the Python package that programs may use, with its parameters; `=`
marks those that have a default. Names that are not here may change without notice. The constructs
are on [a page of their own](constructs.md).

`python scripts/public_api.py` writes this page.
"""


def main() -> int:
    """Write the page; with --release, also what later changes are compared with."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", action="store_true", help="a version is released now")
    options = parser.parse_args()
    PAGE.write_text(page(), encoding="utf-8")
    if options.release:
        RELEASED.write_text("\n".join(names()) + "\n", encoding="utf-8")
    return 0


def page() -> str:
    """Return the page."""
    parts = [_INTRODUCTION]
    for module, title in MODULES.items():
        listed = "\n".join(lines_of(module))
        parts.append(f"## `{module}`: {title[0].lower()}{title[1:]}\n\n```text\n{listed}\n```\n")
    return "\n".join(parts)


def names() -> list[str]:
    """Return each line of the API with its module, sorted."""
    return sorted(f"{module}: {' '.join(each)}" for module in MODULES for each in paths_of(module))


def changes(before: list[str], after: list[str]) -> set[str]:
    """Return the names whose lines differ: ``SnoozeError``, ``from_env``."""
    differing = (line.partition(": ")[2] for line in set(before) ^ set(after))
    found = (re.match(r"(?:class |enum |\w+ )?(\w+)", line) for line in differing)
    return {each[1] for each in found if each}


def lines_of(module: str) -> Iterator[str]:
    """Yield the names of a module, and below each class its members."""
    for path in paths_of(module):
        yield "    " * (len(path) - 1) + path[-1]


def paths_of(module: str) -> Iterator[tuple[str, ...]]:
    """Yield the exported names of a module with their parameters, each with the class it is in."""
    imported = importlib.import_module(module)
    for name in imported.__all__:
        found = getattr(imported, name)
        if inspect.isclass(found) and issubclass(found, Enum):
            yield (f"enum {name}: {', '.join(found.__members__)}",)
            continue
        if not inspect.isclass(found):
            yield (f"{name}{parameters(found)}",)
            continue
        yield (f"class {name}{parameters(found)}",)
        if not issubclass(found, BaseException):
            for member in members(found):
                yield (name, member)


def members(kind: type) -> Iterator[str]:
    """Yield the public members of a class that this package defines, without those of Job."""
    inherited = Job.__mro__ if kind is not Job and issubclass(kind, Job) else ()
    own = [
        each
        for each in kind.__mro__
        if each.__module__.startswith("ojs_aws") and each not in inherited
    ]
    for name in sorted({name for each in own for name in vars(each)}):
        if name.startswith("_") or name in getattr(kind, "_internal", ()):
            continue
        found = inspect.getattr_static(kind, name)
        if isinstance(found, (classmethod, staticmethod)):
            found = found.__func__
        if inspect.isfunction(found):
            yield f"{name}{parameters(found)}"
        elif isinstance(found, (property, functools.cached_property)):
            yield f"{name}: attribute"


def parameters(found: object) -> str:
    """Return the parameters of something that can be called; empty for anything else."""
    try:
        signature = inspect.signature(found)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    texts: list[str] = []
    given = [each for each in signature.parameters.values() if each.name not in {"self", "cls"}]
    for place, each in enumerate(given):
        named_only = each.kind is each.KEYWORD_ONLY
        before = given[place - 1].kind if place else None
        if named_only and before not in {each.KEYWORD_ONLY, each.VAR_POSITIONAL}:
            texts.append("*")
        mark = "*" if each.kind is each.VAR_POSITIONAL else ""
        mark = "**" if each.kind is each.VAR_KEYWORD else mark
        texts.append(f"{mark}{each.name}{'=' if each.default is not each.empty else ''}")
    return f"({', '.join(texts)})"


if __name__ == "__main__":
    sys.exit(main())
