"""Checks the arguments of jobs that name a schema (core, section 5.2; schema registry, 7)."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.envelope import VALIDATE, Job
from ojs_aws.domain.errors import JsonValue, SchemaValidationError
from ojs_aws.domain.json_text import decode
from ojs_aws.domain.runtime import SCHEMA_S, Clock, SchemaChecks, current_request
from ojs_aws.domain.schemas import newest_first
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.schemas import Schemas
    from ojs_aws.domain.schemas import SchemaEntry
    from ojs_aws.middleware.builtin.validation.schemas import ArgsSchema

MAX_KEPT: Final = 256
"""Schemas that a process keeps compiled."""

KEPT_MS: Final = 60_000
"""How long one is used before it is looked for again: it may have been deleted."""

UNKNOWN_KEPT_MS: Final = 5_000
"""Likewise, for a URI that nothing is registered under: that may change."""

MAX_ERRORS: Final = 10
MAX_STEPS: Final = 100_000
"""Steps of one check: one that takes more would take more than a second."""

ENCODINGS: Final = "ojs.codec.encodings"
"""The member of ``meta`` that says that the arguments are encrypted: nobody here can read them."""


@dataclass(frozen=True, slots=True)
class _KeptSchema:
    schema: ArgsSchema | None
    until: Instant


class SchemaValidation:
    """Checks arguments by registered schemas. An unregistered schema checks nothing.

    All checks of one request together may take ``SCHEMA_S`` of processor time, and so may a check
    outside of requests.
    """

    def __init__(self, schemas: Schemas, clock: Clock, processor_s: Callable[[], float]) -> None:
        """Start with an empty cache.

        :param processor_s: returns the processor time of the current thread, in seconds.
        """
        self._schemas = schemas
        self._clock = clock
        self._processor_s = processor_s
        self._kept: OrderedDict[str, _KeptSchema] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, job: Job) -> None:
        """Check a job's arguments; the same of a job only once in a request.

        A job that insists on validation (``meta.ojs_validate``) and names no schema is checked by
        that of its version, else by the latest of its type.

        :raises SchemaValidationError: they do not follow the schema (422); the details say where,
            what was expected and the part of the schema that says so, and no values. Or the job
            insists, and there is none. Or the checks of the request take too long.
        """
        meta = job.get("meta")
        stated = meta if isinstance(meta, dict) else {}
        uri, insists = job.get("schema"), stated.get(VALIDATE) is True
        if stated.get(ENCODINGS) or not (isinstance(uri, str) or insists):
            return
        request = current_request.get()
        checks = SchemaChecks() if request is None else request.schema_checks
        args = job.text("args") if "args" in job else ""
        asked = (uri, insists, job.type, job.get("version"), args)
        if checks.passed.get(job.id) == asked:
            return
        if checks.left_s <= 0:
            raise _too_long(job, checks)
        if isinstance(uri, str):
            schema = self._looked_up(uri, lambda: uri, checks)
        else:
            schema = self._of_type(job, checks)
        if schema is not None:
            self._check(job, schema, checks)
        elif insists:
            raise _unchecked(job)
        checks.passed[job.id] = asked

    def _check(self, job: Job, schema: ArgsSchema, checks: SchemaChecks) -> None:
        from ojs_aws.middleware.builtin.validation.keywords import OutOfTimeError, Work

        try:
            with self._measure(checks) as left_s:
                work = Work(MAX_STEPS, left_s)
                errors, has_more = schema.errors(job.get("args", []), MAX_ERRORS, work)
        except OutOfTimeError:
            checks.left_s = 0
            raise _too_long(job, checks) from None
        if not errors:
            return
        uri, of_type = job.get("schema"), schema.name.rpartition("@")[0]
        details: dict[str, JsonValue] = {
            "field": "args",
            "schema": uri if isinstance(uri, str) else schema.name,
            "validation_errors": [*errors],
        }
        if has_more:
            details["has_more_errors"] = True
        raise SchemaValidationError(
            f"The job's arguments do not match the schema {schema.name}: "
            f"{errors[0]['path']}: {errors[0]['message']}.",
            details=details,
            hint="Correct the arguments, or name the schema of the version that they follow.",
            of_type="" if of_type == job.type else of_type,
        )

    @contextmanager
    def _measure(self, checks: SchemaChecks) -> Iterator[Callable[[], float]]:
        """Count the processor time of a block; yield what returns how much is left."""
        begun, left_s = self._processor_s(), checks.left_s
        try:
            yield lambda: left_s - (self._processor_s() - begun)
        finally:
            checks.left_s -= self._processor_s() - begun

    def _of_type(self, job: Job, checks: SchemaChecks) -> ArgsSchema | None:
        """Return the schema of the job's version, else of the latest version of its type."""
        wanted = job.get("version")

        def uri() -> str:
            if isinstance(wanted, (int, str)):
                named = self._schemas.named(job.type, wanted)
                return named.uri if named else ""
            names = newest_first(list(self._schemas.names(job.type)))
            return names[0].uri if names else ""

        return self._looked_up(f"{job.type}@{'' if wanted is None else wanted}", uri, checks)

    def _looked_up(
        self, key: str, find: Callable[[], str], checks: SchemaChecks
    ) -> ArgsSchema | None:
        """Return the cached value of a key, else look it up now."""
        now = self._clock.now()
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and now < kept.until:
                self._kept.move_to_end(key)
                return kept.schema
        uri = find()
        entry = self._schemas.load(uri) if uri else None
        schema = None if entry is None else self._compiled(entry, checks)
        until = Instant(now + (UNKNOWN_KEPT_MS if schema is None else KEPT_MS))
        with self._lock:
            self._kept[key] = _KeptSchema(schema, until)
            self._kept.move_to_end(key)
            if len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        return schema

    def _compiled(self, entry: SchemaEntry, checks: SchemaChecks) -> ArgsSchema | None:
        from ojs_aws.middleware.builtin.validation.registry import (  # imports jsonschema
            compile_registered,
        )

        with self._measure(checks):
            document = decode(entry.schema)
            if not isinstance(document, dict):
                return None
            name = f"{entry.type}@{entry.version}"
            return compile_registered(name, document, is_known=True)


def _too_long(job: Job, checks: SchemaChecks) -> SchemaValidationError:
    """Return the error about checks that take too long; it says what was too large."""
    others, size = len(checks.passed), len(job.text("args").encode())
    subject = f"{others} other jobs and of this one" if others else f"{size} bytes"
    return SchemaValidationError(
        f"To check the arguments of {subject} by their schemas takes more than {SCHEMA_S:g} s of "
        "processor time, the most for one request.",
        details={
            "field": "args",
            "schema": job.get("schema"),
            "args_bytes": size,
            "checked_jobs": others,
            "max_processor_ms": round(SCHEMA_S * 1000),
        },
        hint="Send fewer jobs in one request."
        if others
        else "Send smaller arguments, or name a simpler schema.",
    )


def _unchecked(job: Job) -> SchemaValidationError:
    return SchemaValidationError(
        f"The job insists on validation (meta.{VALIDATE}), and no schema is registered for its "
        f"type '{job.type}', or under the version or URI that it names.",
        details={"field": "args", "type": job.type, "schema": job.get("schema")},
        hint="Register a schema (POST /ojs/v1/schemas), or leave the member out.",
    )
