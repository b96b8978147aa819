"""Exports names of a package that are imported when they are first used (PEP 562)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import TypeAlias

Exports: TypeAlias = tuple[list[str], Callable[[str], object], Callable[[], list[str]]]


def lazy_exports(package: str, homes: Mapping[str, str]) -> Exports:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package.

    Type checkers do not see these: the package imports each name for them, under TYPE_CHECKING and
    ``as`` itself, which exports it.

    :param homes: the names that a module of the package exports, apart by spaces.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    module = sys.modules[package]

    def load(name: str) -> object:
        """Import an exported name at its first use."""
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(importlib.import_module(f"{package}.{home}"), name)
        setattr(module, name, value)
        return value

    def listed() -> list[str]:
        """List the exported names, imported already or not."""
        return sorted({*vars(module), *home_of})

    return sorted(home_of), load, listed
