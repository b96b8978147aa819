"""Lists the OJS errors: every code with its HTTP status and retryable flag.

Implements the HTTP binding, section 16, with the wire vocabulary of its table 16.3; the decision
record on error codes says why. Those of callers are in ``ojs_aws.domain.access``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
TransactAction: TypeAlias = dict[str, Any]
"""One entry of ``TransactItems``, as DynamoDB's low-level client takes it."""

DOCS: Final = "https://openjobspec.org/spec/v1/errors"
_SERVER_ERROR: Final = 500


class OjsError(Exception):
    """Serves as the base of every error that a caller can meet.

    :ivar code: machine-readable code on the wire.
    :ivar status: HTTP status.
    :ivar retryable: whether the same request may succeed later.
    :ivar type: the family of the error, for people and logs.
    :ivar usual_hint: what to do where the error's own hint says nothing.
    """

    code: ClassVar[str] = "backend_error"
    status: ClassVar[int] = 500
    retryable: ClassVar[bool] = True
    type: ClassVar[str] = "server_error"
    usual_hint: ClassVar[str] = (
        "Send the request again later. If it fails again, report its request id."
    )
    _shown: ClassVar[frozenset[str]] = frozenset()
    """Details that the error object has as members of its own, too."""

    def __init_subclass__(
        cls,
        *,
        code: str | None = None,
        status: int | None = None,
        retryable: bool | None = None,
        type: str | None = None,  # noqa: A002 - the specification's name
    ) -> None:
        """Take what a class of errors says on the wire; the rest is its base's.

        :param retryable: by default not, where the status says that the request is at fault.
        """
        if status is not None and retryable is None:
            retryable = status >= _SERVER_ERROR
        given = {"code": code, "status": status, "retryable": retryable, "type": type}
        for name, value in given.items():
            if value is not None:
                setattr(cls, name, value)

    def __init__(
        self, message: str, *, details: Mapping[str, JsonValue] | None = None, hint: str = ""
    ) -> None:
        """Keep what was wrong (message), where (details) and what to do (hint)."""
        super().__init__(message)
        self.message = message
        self.details: dict[str, JsonValue] = dict(details or {})
        self.hint = hint

    def as_dict(self, request_id: str = "") -> dict[str, JsonValue]:
        """Return the ``error`` object of an answer (HTTP binding, section 16.1)."""
        error: dict[str, JsonValue] = {
            "code": self.code,
            "type": self.type,
            "message": self.message,
            "retryable": self.retryable,
            "details": self.details,
            "hint": self.hint or self.usual_hint,
            "docs_url": f"{DOCS}#{self.code}",
        }
        if request_id:
            error["request_id"] = request_id
        return error | {name: each for name, each in self.details.items() if name in self._shown}


class InvalidRequestError(OjsError, code="invalid_request", status=400, type="validation_error"):
    """Reports a missing or malformed attribute, parameter or header."""

    usual_hint = "Correct what 'message' and 'details' name, and send the request again."


class InvalidPayloadError(InvalidRequestError, code="invalid_payload"):
    """Reports a body that is no JSON object or is refused JSON (NaN, repeated keys ...)."""

    usual_hint = "Send one JSON object, in UTF-8 and without repeated keys."


class InvalidWorkflowError(InvalidRequestError, code="invalid_workflow"):
    """Reports an invalid workflow; the details name each fault (ojs-workflows, 11.1)."""

    usual_hint = "Correct the steps that 'details' name; docs/workflows.md describes each form."


class InvalidPolicyError(InvalidRequestError, status=422):
    """Reports a well-formed policy that cannot be followed (a backoff coefficient of 0.5, say)."""


class SchemaValidationError(InvalidRequestError, code="schema_validation", status=422):
    """Reports arguments that do not follow their type's schema; the details say where and why.

    The binding's table has 400 for this code; schema registry and conformance case say 422.

    :ivar of_type: the other job type that the schema belongs to, which decides who may read what it
        says; empty where it belongs to the job's own type.
    """

    usual_hint = "Send arguments that follow the schema, or name another schema."

    def __init__(
        self,
        message: str,
        *,
        details: Mapping[str, JsonValue] | None = None,
        hint: str = "",
        of_type: str = "",
    ) -> None:
        """Keep whose schema it is, beside what every error has."""
        super().__init__(message, details=details, hint=hint)
        self.of_type = of_type


class IncompatibleSchemaError(InvalidRequestError, code="x_schema_incompatible", status=422):
    """Reports a schema that breaks its predecessor although its version says otherwise."""

    usual_hint = "Register the schema under a new major version."


class PayloadTooLargeError(
    InvalidRequestError, code="payload_too_large", status=413, type="limit_error"
):
    """Reports an envelope, result or body over its limit, with size and limit in bytes."""

    usual_hint = "Store the data elsewhere and send a reference to it."


class ResultTooLargeError(PayloadTooLargeError, code="x_result_too_large"):
    """Reports that a job's result is too large; the job stays active (ojs-results, 7.2)."""


class UnsupportedCompressionError(
    InvalidRequestError, code="x_unsupported_compression", status=415
):
    """Reports a compression that this server does not read (ojs-payload-limits, 9.3)."""

    usual_hint = "Send the body as it is, or compressed with gzip."


class UnsupportedError(OjsError, code="unsupported", status=422, type="unsupported"):
    """Reports a version or feature that this server does not have."""

    usual_hint = "GET /ojs/manifest lists what this server supports."


class NotFoundError(OjsError, code="not_found", status=404, type="not_found"):
    """Reports that the job, queue or route does not exist."""

    usual_hint = "Check the id or name. What has ended is removed after its retention."


class ResultPrunedError(OjsError, code="result_pruned", status=410, type="not_found"):
    """Reports that an ended job's outcome is no longer stored (ojs-results, 10.5)."""

    usual_hint = "Keep results longer by 'result_ttl' of the job, or read them sooner."


class ResultPendingError(
    OjsError, code="x_result_pending", status=408, retryable=True, type="timeout"
):
    """Reports that the job had not ended when the waiting time was over (ojs-results, 8.2)."""

    usual_hint = "The job has not ended: ask again later."


class MethodNotAllowedError(OjsError, code="method_not_allowed", status=405, type="not_found"):
    """Reports that the route exists, but not with this method."""

    usual_hint = "Use one of the methods in 'details.allowed'."


class ConflictError(OjsError, code="conflict", status=409, type="conflict"):
    """Reports that the job's state or its reservation does not permit the request."""

    usual_hint = "Read the resource again: 'details' say in which state it is."


class DuplicateError(ConflictError, code="duplicate", type="duplicate"):
    """Reports that another job has the id, or that a unique policy rejects this job.

    :ivar existing: queue, type and tenant of the job that is there already, which decide who may
        learn of it; None where they are not known.
    """

    usual_hint = "Use the job that is there already, or another id or uniqueness key."

    def __init__(
        self,
        message: str,
        *,
        details: Mapping[str, JsonValue] | None = None,
        hint: str = "",
        existing: tuple[str, str, str] | None = None,
    ) -> None:
        """Keep the existing job beside what every error has."""
        super().__init__(message, details=details, hint=hint)
        self.existing = existing


class EnqueueRejectedError(
    OjsError, code="x_enqueue_rejected", status=422, type="middleware_error"
):
    """Reports that an enqueue middleware of the backend refused the job."""

    usual_hint = "Send the jobs without those that the middleware refused."


class BulkRefusedError(OjsError, code="x_bulk_refused", status=422, type="validation_error"):
    """Reports that a bulk operation did no item; each item says why (ojs-bulk-operations, 11.2)."""

    usual_hint = "Send the items that 'details' do not name, or use the mode that is not atomic."


class QueuePausedError(
    OjsError, code="queue_paused", status=422, retryable=True, type="queue_paused"
):
    """Reports that the queue is paused."""

    usual_hint = "Resume the queue, or use another one."


class QueueDrainingError(ConflictError, code="x_queue_draining", type="queue_draining"):
    """Reports that the queue is draining and takes no new jobs (ojs-queue-config, 5.1)."""

    usual_hint = "Use another queue, or resume this one."


class JobTypeNotAllowedError(InvalidRequestError, code="JOB_TYPE_NOT_ALLOWED", status=422):
    """Reports that the queue takes no jobs of this type (ojs-queue-config, section 6.5)."""

    usual_hint = "Use another queue, or have its settings allow the type."


class RateLimitedError(
    OjsError, code="rate_limited", status=429, retryable=True, type="rate_limited"
):
    """Reports too many requests."""

    usual_hint = "Wait as long as the header Retry-After says."


class QueueFullError(OjsError, code="QUEUE_FULL", status=429, retryable=True, type="queue_full"):
    """Reports that the queue has reached its bound (ojs-backpressure, section 7.1).

    The code is in capitals, as its document and the conformance cases have it. What the document
    shows beside the code stands there too: ``queue``, ``depth``, ``bound`` and ``strategy``.
    """

    usual_hint = "Wait as long as the header Retry-After says, or use another queue."
    _shown = frozenset({"queue", "depth", "bound", "strategy"})


class TenantLimitError(
    OjsError, code="TENANT_LIMIT_EXCEEDED", status=429, retryable=True, type="tenant_limit"
):
    """Reports that a tenant has reached one of its limits (ojs-multi-tenancy, section 8.2).

    The code is in capitals, as its document has it. What the document shows beside the code stands
    there too: ``tenant_id``, ``limit``, ``current`` and ``maximum``.
    """

    usual_hint = "Wait as long as the header Retry-After says."
    _shown = frozenset({"tenant_id", "limit", "current", "maximum"})


class TenantSuspendedError(TenantLimitError, retryable=False):
    """Reports that the tenant is suspended: it may enqueue no jobs until an operator resumes it."""

    usual_hint = "An operator can resume the tenant; until then, each of its jobs is refused."


class BackendError(OjsError):
    """Reports that an AWS call failed; whether it took effect may be unknown.

    The status is 500 and not 502-504: several clients resend a PUSH without an id on those.
    """


class BackendUnavailableError(BackendError, status=503):
    """Reports that an AWS call was throttled or unreachable and did not take effect."""


class DocumentMissingError(BackendError, retryable=False):
    """Reports that a job's document is not where it was stored; a retry does not help."""
