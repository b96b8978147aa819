"""Compares versions of jobs with the ranges that workers accept (ojs-job-versioning, 5 and 8).

A version is ``{major}.{minor}``; existing producers also send whole numbers, and a third part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.errors import InvalidRequestError, JsonValue

ANY: Final = "*"
MARK: Final = "@"
"""Stands between the type and the version where a producer writes both as one."""

Version = tuple[int, int, int]

_VERSION: Final = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?", re.ASCII)
_CLAUSE: Final = re.compile(r"(>=|<=|>|<|=)?\s*([\d.]+)", re.ASCII)


def read_version(value: JsonValue) -> Version | None:
    """Return a version, or None for an invalid one: the job counts as unversioned."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value, 0, 0
    found = _VERSION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    major, minor, patch = (int(part or 0) for part in found.groups())
    return major, minor, patch


def split_type(text: str) -> tuple[str, str]:
    """Return type and version of ``invoice.generate@2.0``; an empty version for none (VER-002)."""
    job_type, mark, version = text.partition(MARK)
    return (job_type, version) if mark and read_version(version) is not None else (text, "")


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Holds the versions that a handler accepts; without clauses it accepts all."""

    text: str
    clauses: tuple[tuple[str, Version], ...] = ()

    @classmethod
    def parse(cls, text: str) -> VersionRange:
        """Read ``"*"``, ``"2.0"``, ``">=1.0 <3.0"`` or ``">=1.0, <3.0"`` (sections 8.1, 15.1).

        :raises InvalidRequestError: it is none of these.
        """
        if text.strip() == ANY:
            return cls(text)
        clauses: list[tuple[str, Version]] = []
        for part in re.sub(r"(>=|<=|>|<|=)\s+", r"\1", text).replace(",", " ").split():
            found = _CLAUSE.fullmatch(part)
            version = read_version(found[2]) if found else None
            if found is None or version is None:
                raise _unreadable(text)
            clauses.append((found[1] or "=", version))
        if not clauses:
            raise _unreadable(text)
        return cls(text, tuple(clauses))

    @property
    def is_any(self) -> bool:
        """Return whether the range accepts every version."""
        return not self.clauses

    def accepts(self, version: Version) -> bool:
        """Return whether a version is in the range."""
        return all(_holds(version, operator, bound) for operator, bound in self.clauses)


def _holds(version: Version, operator: str, bound: Version) -> bool:
    match operator:
        case ">=":
            return version >= bound
        case "<=":
            return version <= bound
        case ">":
            return version > bound
        case "<":
            return version < bound
    return version == bound


def _unreadable(text: str) -> InvalidRequestError:
    expected = '"*", "2.0", or a range such as ">=1.0 <3.0"'
    message = f"{text[:80]!r} names no versions: expected {expected}."
    return field_error("versions", message, expected=expected)
