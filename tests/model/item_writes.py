"""Reports each write to a dict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

V = TypeVar("V")


class Watched(dict[str, V]):
    """Holds items by key, and reports each write with the item before and after it."""

    def __init__(self, changed: Callable[[str, V | None, V | None], None]) -> None:
        super().__init__()
        self._changed = changed

    def __setitem__(self, key: str, value: V) -> None:
        before = self.get(key)
        super().__setitem__(key, value)
        self._changed(key, before, value)

    def __delitem__(self, key: str) -> None:
        before = self[key]
        super().__delitem__(key)
        self._changed(key, before, None)

    def __ior__(self, other: Any) -> Watched[V]:  # type: ignore[override,misc]
        for key, value in other.items():
            self[key] = value
        return self

    def setdefault(self, key: str, default: V) -> V:
        """Return an item; write the default where there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str, default: Any = None) -> Any:
        """Remove an item and return it, else the default."""
        value = self.get(key, default)
        if key in self:
            del self[key]
        return value
