"""Exports names of a module that are imported when they are first used (PEP 562)."""

from __future__ import annotations

import functools
import importlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

Exports: TypeAlias = tuple[Callable[[str], object], Callable[[], list[str]]]

_EXPORT: Final = re.compile(r"^    from (\S+) import (?:\(\s*)?(\w+) as \2\b", re.MULTILINE)


def lazy_exports(
    package: str, *, extra: str = "", renamed: Mapping[str, str] = MappingProxyType({})
) -> Exports:
    """Return ``__getattr__`` and ``__dir__`` of a module, which also give it ``__all__``.

    The module imports each name for type checkers, under TYPE_CHECKING and ``as`` itself. These
    lines say to them what it exports, and here as well: they are read when a name is first used.

    :param extra: of this package, which installs what the modules need; named if that is missing.
    :param renamed: former names, with those that took their place. They work, and warn.
    """
    module = sys.modules[package]

    @functools.cache
    def homes() -> dict[str, str]:
        """Return the module of each exported name."""
        import pkgutil  # noqa: PLC0415 - functions use none of these names
        from pathlib import PurePath  # noqa: PLC0415 - likewise

        source = pkgutil.get_data(package, PurePath(module.__file__ or "").name) or b""
        return {name: home for home, name in _EXPORT.findall(source.decode())}

    def load(name: str) -> object:
        """Import an exported name at its first use."""
        if name == "__all__":
            return sorted(homes())
        if name in renamed:
            _warn(f"{package}.{name} is called {renamed[name]} now.")
            return load(renamed[name])
        if name not in homes():
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}{_meant(name, homes())}"
            )
        try:
            home = importlib.import_module(homes()[name])
        except ModuleNotFoundError as missing:
            if not extra or (missing.name or "").startswith("ojs_aws"):
                raise
            needed = f"{package}.{name} needs {missing.name}: pip install 'ojs-aws[{extra}]'"
            raise ModuleNotFoundError(needed, name=missing.name) from missing
        value: object = getattr(home, name)
        setattr(module, name, value)
        return value

    def listed() -> list[str]:
        """List the exported names, imported already or not."""
        return sorted({*vars(module), "__all__", *homes()})

    return load, listed


def _meant(name: str, names: Iterable[str]) -> str:
    """Return a question that names the nearest export; only for what looks like a class."""
    if not name[:1].isupper():  # Python asks in vain for each submodule that it imports
        return ""
    from difflib import get_close_matches  # noqa: PLC0415 - only for a mistake

    close = get_close_matches(name, names, n=1)
    return f": did you mean {close[0]!r}?" if close else ""


def _warn(text: str) -> None:
    """Warn at the line that uses a former name."""
    import warnings  # noqa: PLC0415 - only for a former name

    warnings.warn(text, DeprecationWarning, stacklevel=3)
