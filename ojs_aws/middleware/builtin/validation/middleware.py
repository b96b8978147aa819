"""Check a job's arguments against the JSON Schema of its type (schema registry, section 5).

The schema describes the whole value of ``args``, which is an array: ``prefixItems`` describes the
arguments one by one. Needs the package ``jsonschema`` (``pip install ojs-aws[validation]``), which
is imported when the middleware is made.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, Protocol

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue, SchemaValidationError
from ojs_aws.middleware.builtin.validation import Schema
from ojs_aws.middleware.protocols import EnqueueNext
from ojs_aws.middleware.results import missing_extra

if TYPE_CHECKING:
    from ojs_aws.middleware.builtin.validation.schemas import ArgsSchema, Compiler

DEFAULT_MAX_ERRORS: Final = 10
MAX_COMPILED: Final = 1024
"""Schemas of a registry object that are kept compiled."""

_logger = logging.getLogger(__name__)


class SchemaRegistry(Protocol):
    """Knows the schemas of job types."""

    def schema_for(self, job_type: str, version: str | None) -> Schema | None:
        """Return the schema of a type's version, or the latest one; None if there is none.

        Called for every job, from any thread; the answer is compiled once, as long as it stays
        equal.
        """


class ValidationMiddleware:
    """Refuses jobs whose arguments do not follow their type's schema. Put it first.

    A job names its version in the attribute ``version``; the mapping's key is then the type with
    the version, ``invoice.generate@2.0``, else the plain type.
    """

    never_waits = True

    def __init__(
        self,
        schemas: Mapping[str, Schema] | SchemaRegistry,
        *,
        unknown_types: Literal["pass", "refuse"] = "pass",
        mode: Literal["strict", "warn"] = "strict",
        resources: Mapping[str, Schema] | None = None,
        max_errors: int = DEFAULT_MAX_ERRORS,
        check_formats: bool = True,
    ) -> None:
        """Check by these schemas.

        :param schemas: schemas by job type, compiled here; or a registry, which is asked per job.
        :param unknown_types: what becomes of a job whose type has no schema.
        :param mode: ``warn`` logs what is wrong and lets the job pass (section 7.2).
        :param resources: further schemas by URI, for ``$ref``. Nothing is ever downloaded.
        :param max_errors: how many errors are reported at most.
        :param check_formats: whether ``format`` is a constraint or only a note.
        :raises InvalidSchemaError: a schema that is none, refers to what is not here, is of another
            draft, or can never accept an array.
        :raises ValueError: an option that does not exist.
        :raises ImportError: jsonschema is not installed.
        """
        if unknown_types not in ("pass", "refuse") or mode not in ("strict", "warn"):
            raise ValueError(f"unknown option: unknown_types={unknown_types!r}, mode={mode!r}")
        if max_errors < 1:
            raise ValueError(f"max_errors must be at least 1, not {max_errors}")
        try:
            from ojs_aws.middleware.builtin.validation.schemas import Compiler  # jsonschema is slow
        except ModuleNotFoundError as missing:
            raise missing_extra("ValidationMiddleware", "validation") from missing
        compiler = Compiler(resources or {}, check_formats=check_formats)
        self._lookup: _Mapped | _Asked = (
            _Mapped({name: compiler.compile(name, schema) for name, schema in schemas.items()})
            if isinstance(schemas, Mapping)
            else _Asked(schemas, compiler)
        )
        self._refuses_unknown = unknown_types == "refuse"
        self._only_warns = mode == "warn"
        self._max_errors = max_errors

    async def enqueue(self, job: Job, call_next: EnqueueNext) -> Job | None:
        """Pass a job on if its arguments follow the schema.

        :raises SchemaValidationError: they are not (422); ``details["validation_errors"]`` has the
            path, what was expected and the part of the schema that says so, and no values.
        :raises InvalidRequestError: the type has no schema, and that is refused.
        """
        version = job.get("version")
        named = str(version) if isinstance(version, (str, int, float)) else None
        schema = self._lookup.find(job.type, named)
        if schema is not None:
            self._check(job, schema)
        elif self._refuses_unknown:
            message = f"There is no schema for jobs of the type {job.type!r}."
            hint = "Register a schema for the type, or allow types without one."
            raise field_error("type", message, hint, received=job.type[:255])
        return await call_next(job)

    def _check(self, job: Job, schema: ArgsSchema) -> None:
        errors, has_more = schema.errors(job.get("args", []), self._max_errors)
        if not errors:
            return
        if self._only_warns:
            texts = [f"{error['path']}: {error['message']}" for error in errors]
            about = {"job_id": job.id, "job_type": job.type, "validation_errors": texts}
            _logger.warning("Job arguments do not match their schema", extra=about)
            return
        details: dict[str, JsonValue] = {"field": "args", "validation_errors": [*errors]}
        if has_more:
            details["has_more_errors"] = True
        raise SchemaValidationError(
            f"The job's arguments do not match the schema of {schema.name}: "
            f"{errors[0]['path']}: {errors[0]['message']}.",
            details=details,
            hint="Correct the arguments, or enqueue the job with the version that they follow.",
        )


@dataclass(frozen=True, slots=True)
class _Mapped:
    """Finds schemas that were compiled at configuration."""

    compiled: Mapping[str, ArgsSchema]

    def find(self, job_type: str, version: str | None) -> ArgsSchema | None:
        """Return the schema of the version, else that of the type."""
        if version is not None and (found := self.compiled.get(f"{job_type}@{version}")):
            return found
        return self.compiled.get(job_type)


@dataclass(frozen=True, slots=True)
class _Asked:
    """Asks a registry for schemas, and keeps those compiled that were used last."""

    registry: SchemaRegistry
    compiler: Compiler
    _kept: OrderedDict[str, tuple[Schema, ArgsSchema]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def find(self, job_type: str, version: str | None) -> ArgsSchema | None:
        """Return what the registry has.

        :raises InvalidSchemaError: it has no usable schema.
        """
        schema = self.registry.schema_for(job_type, version)
        if schema is None:
            return None
        name = job_type if version is None else f"{job_type}@{version}"
        with self._lock:
            kept = self._kept.get(name)
            if kept is not None and kept[0] == schema:
                self._kept.move_to_end(name)
                return kept[1]
        compiled = self.compiler.compile(name, schema)
        with self._lock:
            self._kept[name] = (schema, compiled)
            if len(self._kept) > MAX_COMPILED:
                self._kept.popitem(last=False)
        return compiled
