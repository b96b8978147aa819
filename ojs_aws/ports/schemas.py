"""The schemas of job types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ojs_aws.domain.schemas.schema import SchemaEntry, SchemaName, SchemaVersion


class SchemaTakenError(Exception):
    """The version of the type, or the URI, has a schema.

    :ivar existing: which; None when it is gone again.
    """

    def __init__(self, existing: SchemaName | None) -> None:
        """Keep which."""
        super().__init__("taken")
        self.existing = existing


class Schemas(Protocol):
    """The schemas of job types. One that is registered never changes; it can be deleted."""

    def add(self, entry: SchemaEntry) -> None:
        """Store a schema.

        :raises SchemaTakenError: its type has this version, or another one has its URI.
        """

    def load(self, uri: str) -> SchemaEntry | None:
        """One read, and never an old one."""

    def named(self, job_type: str, version: SchemaVersion) -> SchemaName | None:
        """The version of a type; 1 and "1" are the same."""

    def names(self, job_type: str = "") -> list[SchemaName]:
        """All versions of a type, or of all types, by type and in no order of versions."""

    def delete(self, name: SchemaName) -> None:
        """Remove a schema; one that is gone is no error."""
