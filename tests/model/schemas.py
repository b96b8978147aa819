"""Keeps schemas in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from ojs_aws.domain.schemas.schema import SchemaEntry, SchemaName, SchemaVersion
from ojs_aws.ports import SchemaTakenError


@dataclass
class MemorySchemas:
    """Keeps schemas in a dict, by URI."""

    entries: dict[str, SchemaEntry] = field(default_factory=dict)

    def add(self, entry: SchemaEntry) -> None:
        """Keep a schema."""
        taken = self.named(entry.type, entry.version) or self.entries.get(entry.uri)
        if taken is not None:
            raise SchemaTakenError(taken.name if isinstance(taken, SchemaEntry) else taken)
        self.entries[entry.uri] = entry

    def load(self, uri: str) -> SchemaEntry | None:
        """Read a schema."""
        return self.entries.get(uri)

    def named(self, job_type: str, version: SchemaVersion) -> SchemaName | None:
        """Look for a version."""
        return next((x for x in self.names(job_type) if str(x.version) == str(version)), None)

    def names(self, job_type: str = "") -> list[SchemaName]:
        """Look through all of them."""
        found = [x.name for x in self.entries.values() if job_type in {"", x.type}]
        return sorted(found, key=lambda name: f"{name.type} {name.version}")

    def delete(self, name: SchemaName) -> None:
        """Remove a schema."""
        found = self.entries.get(name.uri)
        if found is not None and found.created_at == name.created_at:
            del self.entries[name.uri]
