"""Give the relay a connection of Django."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from django.conf import settings
from django.db import connections

from ojs_aws.contrib.outbox.database import (
    NOTICES_A_DEAD_SERVER,
    POSTGRESQL,
    SQLITE,
    Row,
    Value,
)

_PARAMETER: Final = re.compile(r":(\w+)")


class RelayDatabase:
    """Is a database of the setting ``DATABASES``, for a relay; each statement commits by itself.

    The connection is the relay's own, and of no pool: its lock ends with it.

    :ivar dialect: ``postgresql`` or ``sqlite``.
    :ivar path: of the file of SQLite; empty in memory, and for PostgreSQL.
    :ivar connection_number: counts the connections; 0 while none is open.
    """

    def __init__(self, alias: str) -> None:
        """Use a connection like those of an alias, opened with the first statement.

        :raises ValueError: neither PostgreSQL nor SQLite.
        """
        self.dialect = str(connections[alias].vendor)
        if self.dialect not in {POSTGRESQL, SQLITE}:
            raise ValueError(
                f"The outbox works in PostgreSQL and SQLite, and DATABASES[{alias!r}] is "
                f"{self.dialect}."
            )
        name = str(connections[alias].settings_dict["NAME"])
        is_file = self.dialect == SQLITE and name != ":memory:" and not name.startswith("file:")
        self.path = name if is_file else ""
        self.connection_number = 0
        self._opened_so_far = 0
        self._alias = alias
        self._connection: Any = None

    def run(self, statement: str, parameters: Mapping[str, Value]) -> list[Row]:
        """Run a statement, and return its rows."""
        try:
            with self._opened().cursor() as cursor:
                cursor.execute(_PARAMETER.sub(r"%(\1)s", statement), dict(parameters))
                rows: list[Row] = cursor.fetchall() if cursor.description else []
        except BaseException:
            self.close()
            raise
        return rows

    def driver_connection(self) -> object:
        """Return the driver's own connection."""
        return self._opened().connection

    def close(self) -> None:
        """Close the connection, whatever state it is in."""
        connection, self._connection = self._connection, None
        self.connection_number = 0
        if connection is not None:
            with suppress(Exception):  # it may be broken
                connection.close()

    def _opened(self) -> Any:
        if self._connection is None:
            made = connections[self._alias].copy()
            made.inc_thread_sharing()  # whoever ends a relay closes this
            made.settings_dict.update(_for_relay(made.settings_dict, self.dialect))
            made.ensure_connection()
            if self.dialect == POSTGRESQL:
                with made.cursor() as cursor:
                    cursor.execute("SET TIME ZONE 'UTC'")  # also of times without a zone
            self._connection = made
            self._opened_so_far += 1
            self.connection_number = self._opened_so_far
        return self._connection


def _for_relay(given: Mapping[str, Any], dialect: str) -> dict[str, Any]:
    """Return what a relay's connection has of its own in the place of the given settings."""
    options = {key: value for key, value in given["OPTIONS"].items() if key != "pool"}
    if dialect == POSTGRESQL:
        options = {**NOTICES_A_DEAD_SERVER, **options}
    zone = "UTC" if settings.USE_TZ else None
    return {"AUTOCOMMIT": True, "TIME_ZONE": zone, "OPTIONS": options}
