"""Declares the store of job types' schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ojs_aws.domain.schemas.schema import SchemaEntry, SchemaName, SchemaVersion


class SchemaTakenError(Exception):
    """Reports that the version of the type, or the URI, already has a schema.

    :ivar existing: which; None when it is gone again.
    """

    def __init__(self, existing: SchemaName | None) -> None:
        """Keep which of them it is."""
        super().__init__("taken")
        self.existing = existing


class Schemas(Protocol):
    """Stores the schemas of job types. A registered one never changes; it can be deleted."""

    def add(self, entry: SchemaEntry) -> None:
        """Store a schema.

        :raises SchemaTakenError: its type has this version, or another one has its URI.
        """

    def load(self, uri: str) -> SchemaEntry | None:
        """Read a schema, strongly consistent, in one call."""

    def named(self, job_type: str, version: SchemaVersion) -> SchemaName | None:
        """Return the version of a type; 1 and "1" are the same."""

    def names(self, job_type: str = "") -> list[SchemaName]:
        """Return all versions of a type, or of all types, by type; versions are unordered."""

    def delete(self, name: SchemaName) -> None:
        """Remove a schema; a missing one is no error."""
