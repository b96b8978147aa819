"""Stores schemas: a small item in the list of all versions, and one with the schema.

The list is one partition, so that it is read by a query; a job's schema is one read by its URI.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ojs_aws.adapters.dynamodb import columns as c
from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, number, packed, read_string, string, unpacked
from ojs_aws.adapters.dynamodb.table import (
    InTable,
    any_failed,
    condition,
    delete_part,
    item_key,
    key_in,
    put_part,
)
from ojs_aws.domain.conflicts import SchemaTakenError
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.schemas import SchemaEntry, SchemaName, SchemaVersion
from ojs_aws.topology import SCHEMA_LIST

SCHEMA_SK: Final = "schema"
URI: Final = "ur"
SCHEMA_VERSION: Final = "vv"

_COLUMNS: Final[c.Columns] = {
    c.TEXT: {n.TYPE: "type", URI: "uri"},
    c.Kind(lambda version: string(json.dumps(version)), lambda value: json.loads(value["S"])): {
        SCHEMA_VERSION: "version"
    },
    c.NUMBER: {n.CREATED: "created_at"},
    c.OPTIONAL_TEXT: {n.BY: "by"},
}


@dataclass(frozen=True, slots=True)
class Schemas(InTable):
    """Stores the schemas of job types. A registered one never changes; it can be deleted.

    :ivar token: makes the token of a write; a write that finds its own token took effect before.
    """

    token: Callable[[], str]

    def add(self, entry: SchemaEntry) -> None:
        """Store a schema.

        Makes one transaction of two puts; read the item if one of them exists.

        :raises SchemaTakenError: its type has this version, or another one has its URI.
        """
        token = string(self.token())
        listed = {
            **_list_key(entry.type, entry.version),
            **c.attributes(entry, _COLUMNS),
            n.TOKEN: token,
        }
        document = {
            **_key(entry.uri),
            **c.attributes(entry, _COLUMNS),
            n.DOCUMENT: packed(entry.schema),
            n.TOKEN: token,
        }
        is_new = condition("attribute_not_exists(#pk)")
        puts = [put_part(self.table, item, is_new) for item in (listed, document)]
        if self.transact_write_items(puts, any_failed):
            taken = self.get_item(key_in(listed)) or self.get_item(key_in(document))
            if read_string(taken, n.TOKEN) != token["S"]:
                raise SchemaTakenError(read_schema_name(taken) if taken else None)

    def load(self, uri: str) -> SchemaEntry | None:
        """Read a schema, strongly consistent, in one call.

        Makes one consistent read.
        """
        return self.load_item(_key(uri), _read)

    def named(self, job_type: str, version: SchemaVersion) -> SchemaName | None:
        """Return the version of a type; 1 and "1" are the same.

        Makes one consistent read.
        """
        return self.load_item(_list_key(job_type, version), read_schema_name)

    def names(self, job_type: str = "") -> list[SchemaName]:
        """Return all versions of a type, or of all types, by type; versions are unordered.

        Runs one query of the list for each megabyte.
        """
        prefix = {"sk": string(f"{job_type} ")} if job_type else {}
        items = self.items(
            "#pk = :pk AND begins_with(#sk, :sk)" if job_type else "#pk = :pk",
            {"pk": string(SCHEMA_LIST), **prefix},
            ConsistentRead=True,
        )
        return [read_schema_name(item) for item in items]

    def delete(self, name: SchemaName) -> None:
        """Remove a schema; a missing one is no error.

        Makes one transaction of two deletes; a newer registration of the name stays.
        """
        is_same = condition("attribute_not_exists(#pk) OR #cr = :cr", cr=number(name.created_at))
        keys = (_list_key(name.type, name.version), _key(name.uri))
        deletes = [delete_part(self.table, key, is_same) for key in keys]
        self.transact_write_items(deletes, any_failed)


def _key(uri: str) -> Item:
    return item_key(f"schema#{uri}", SCHEMA_SK)


def _list_key(job_type: str, version: SchemaVersion) -> Item:
    """Return the key in the list. No type holds a space; 1 and "1" are one version."""
    return item_key(SCHEMA_LIST, f"{job_type} {version}")


def _read(item: Item) -> SchemaEntry:
    schema = RawJson(unpacked(item[n.DOCUMENT]))
    return SchemaEntry(**c.read_members(item, _COLUMNS), schema=schema)


def read_schema_name(item: Item) -> SchemaName:
    """Return the version of a schema that an item of the list describes."""
    return SchemaName(**c.read_members(item, _COLUMNS))
