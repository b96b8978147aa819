"""Names the schemas of job types and orders their versions (ojs-schema-registry)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.attributes import invalid
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant

MAX_VERSION_LENGTH: Final = 64
VERSION_PATTERN: Final = (
    r"\d{1,9}(\.\d{1,9}){0,2}(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z.-]+)?"
)

_VERSION: Final = re.compile(VERSION_PATTERN, re.ASCII)

SchemaVersion = str | int
"""As it was registered: ``2``, ``"2"``, ``"2.0"`` or ``"2.0.0"``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaName:
    """Names one version of a type's schema.

    :ivar uri: what jobs name it by, in their attribute ``schema``.
    :ivar by: who registered it, as ``domain.credentials`` stores it; empty where nobody knows.
    """

    type: str
    version: SchemaVersion
    uri: str
    created_at: Instant
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaEntry(SchemaName):
    """Holds one version of a type's schema.

    :ivar schema: the JSON Schema as it was registered, digit for digit.
    """

    schema: RawJson

    @property
    def name(self) -> SchemaName:
        """Return the entry without its schema."""
        return SchemaName(
            type=self.type,
            version=self.version,
            uri=self.uri,
            created_at=self.created_at,
            by=self.by,
        )


def check_schema_version(value: JsonValue) -> SchemaVersion:
    """Return a version, checked: a whole number or SemVer, whose end may be left out.

    :raises InvalidRequestError: it is none.
    """
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9:
        return value
    if isinstance(value, str) and len(value) <= MAX_VERSION_LENGTH and _VERSION.fullmatch(value):
        return value
    raise invalid("version", 'a version such as 1, "2.0" or "2.0.0"', value, missing=value is None)


def version_in_path(text: str) -> SchemaVersion:
    """Return the version in a path; digits alone are a whole number.

    :raises InvalidRequestError: it is none.
    """
    plain = text.isascii() and text.isdigit() and str(int(text[:10])) == text
    return check_schema_version(int(text) if plain else text)


def schema_uri(job_type: str, version: SchemaVersion) -> str:
    """Return the URI of a schema that was registered without one (core, section 5.2)."""
    return f"urn:ojs:schema:{job_type}:v{version}"


def precedence(version: SchemaVersion) -> tuple[object, ...]:
    """Return a version's sort key as SemVer orders them (section 6.3); missing parts are zero."""
    release, _, pre = str(version).partition("+")[0].partition("-")
    numbers = [int(part) for part in release.split(".")]
    numbers += [0] * (3 - len(numbers))
    identifiers = tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part) for part in pre.split(".") if part
    )
    return (*numbers, not identifiers, identifiers)


def release_of(version: SchemaVersion) -> tuple[int, int, int]:
    """Return major, minor and patch of a version."""
    major, minor, patch = precedence(version)[:3]
    return int(str(major)), int(str(minor)), int(str(patch))


def predecessor(names: list[SchemaName], version: SchemaVersion) -> SchemaName | None:
    """Return the version before another one, if the two should be compatible.

    They should be where the major version is the same, and not 0 (SemVer, item 4).
    """
    major = release_of(version)[0]
    earlier = [
        name
        for name in newest_first(names)
        if precedence(name.version) < precedence(version) and release_of(name.version)[0] == major
    ]
    return earlier[0] if earlier and major else None


def newest_first(names: list[SchemaName]) -> list[SchemaName]:
    """Return the versions of one type, newest first; of equal ones, the later registered first."""
    return sorted(names, key=lambda one: (precedence(one.version), one.created_at), reverse=True)
