"""Checking the arguments of jobs that name a schema (core, section 5.2; schema registry, 7)."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue, SchemaValidationError
from ojs_aws.domain.json_text import decode
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import Clock, Schemas

if TYPE_CHECKING:
    from ojs_aws.middleware.schemas import ArgsSchema

MAX_KEPT: Final = 256
"""Schemas that a process keeps compiled."""

KEPT_MS: Final = 60_000
"""How long one is used before it is looked for again: it may have been deleted."""

UNKNOWN_KEPT_MS: Final = 5_000
"""Likewise, for a URI that nothing is registered under: that may change."""

MAX_ERRORS: Final = 10
ENCODINGS: Final = "ojs.codec.encodings"
"""The member of ``meta`` that says that the arguments are encrypted: nobody here can read them."""


@dataclass(frozen=True, slots=True)
class _Kept:
    schema: ArgsSchema | None
    until: Instant


class SchemaChecking:
    """Checks arguments by registered schemas. A schema that nobody registered says nothing."""

    def __init__(self, schemas: Schemas, clock: Clock) -> None:
        """Keep nothing yet."""
        self._schemas = schemas
        self._clock = clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, job: Job) -> None:
        """Check a job's arguments.

        :raises SchemaValidationError: they do not follow the schema (422); the details say where,
            what was expected and the part of the schema that says so, and no values.
        """
        uri = job.get("schema")
        if not isinstance(uri, str) or _is_encoded(job):
            return
        schema = self._schema(uri)
        if schema is None:
            return
        errors, has_more = schema.errors(job.get("args", []), MAX_ERRORS)
        if not errors:
            return
        details: dict[str, JsonValue] = {
            "field": "args",
            "schema": uri,
            "validation_errors": [*errors],
        }
        if has_more:
            details["has_more_errors"] = True
        raise SchemaValidationError(
            f"The job's arguments do not match the schema {schema.name}: "
            f"{errors[0]['path']}: {errors[0]['message']}.",
            details=details,
            hint="Correct the arguments, or name the schema of the version that they follow.",
        )

    def _schema(self, uri: str) -> ArgsSchema | None:
        now = self._clock.now()
        with self._lock:
            kept = self._kept.get(uri)
            if kept is not None and now < kept.until:
                self._kept.move_to_end(uri)
                return kept.schema
        entry = self._schemas.load(uri)
        schema: ArgsSchema | None = None
        if entry is not None:
            from ojs_aws.middleware.registered import (  # noqa: PLC0415 - imports jsonschema
                compile_registered,
            )

            document = decode(entry.schema)
            if isinstance(document, dict):
                schema = compile_registered(f"{entry.type}@{entry.version}", document)
        until = Instant(now + (UNKNOWN_KEPT_MS if schema is None else KEPT_MS))
        with self._lock:
            self._kept[uri] = _Kept(schema, until)
            self._kept.move_to_end(uri)
            if len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        return schema


def _is_encoded(job: Job) -> bool:
    meta = job.get("meta")
    return isinstance(meta, dict) and bool(meta.get(ENCODINGS))
