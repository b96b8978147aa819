"""Holds the parts from which the shapes of answers are built."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from ojs_aws.domain import attributes as rules
from ojs_aws.domain.job import JobState

Schema: TypeAlias = dict[str, Any]
REF: Final = "#/components/schemas/"
STRING: Final[Schema] = {"type": "string"}
INTEGER: Final[Schema] = {"type": "integer"}
BOOLEAN: Final[Schema] = {"type": "boolean"}
INSTANT: Final[Schema] = {"type": "string", "format": "date-time"}


def ref(name: str) -> Schema:
    """Return a shape by its name."""
    return {"$ref": f"{REF}{name}"}


def array(items: Schema) -> Schema:
    """Return an array of a shape."""
    return {"type": "array", "items": items}


def members(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    """Return an object with these members; others may stand beside them."""
    return {"type": "object", "required": list(required), "properties": properties}


JOB_ID: Final[Schema] = {"type": "string", "pattern": f"^{rules.ID_PATTERN}$"}
STATE: Final[Schema] = {"type": "string", "enum": [str(state) for state in JobState]}
