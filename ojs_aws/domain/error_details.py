"""Builds the errors whose details name a resource, its state or its size."""

from __future__ import annotations

from ojs_aws.domain.errors import (
    ConflictError,
    InvalidRequestError,
    JsonValue,
    NotFoundError,
    PayloadTooLargeError,
)


def not_found(
    kind: str, name: str, message: str, hint: str = "", **more: JsonValue
) -> NotFoundError:
    """Return the error about a resource that does not exist."""
    details = {"resource_type": kind, "resource_id": name, **more}
    return NotFoundError(message, details=details, hint=hint)


def unknown_cron(name: str) -> NotFoundError:
    """Return the error about a cron job that does not exist."""
    return not_found("cron", name[:255], f"Cron job '{name[:80]}' not found.")


def unknown_workflow(workflow_id: str) -> NotFoundError:
    """Return the error about a workflow that does not exist."""
    return not_found("workflow", workflow_id, f"Workflow '{workflow_id}' not found.")


def wrong_state(
    kind: str, name: str, state: str, message: str, hint: str = "", **more: JsonValue
) -> ConflictError:
    """Return the error about a job, a worker or a workflow whose state is in the way."""
    details = {f"{kind}_id": name, "current_state": state, **more}
    return ConflictError(message, details=details, hint=hint)


def too_large(
    field: str, size: int, most: int, message: str, hint: str = ""
) -> PayloadTooLargeError:
    """Return the error about an attribute of more bytes than are accepted."""
    details: dict[str, JsonValue] = {"field": field, "size_bytes": size, "max_bytes": most}
    return PayloadTooLargeError(message, details=details, hint=hint)


def field_error(field: str, message: str, hint: str = "", **more: JsonValue) -> InvalidRequestError:
    """Return the error about an attribute, a parameter or a member that is not accepted."""
    return InvalidRequestError(message, details={"field": field, **more}, hint=hint)
