"""Lists the OJS errors: every code with its HTTP status and retryable flag.

Implements the HTTP binding, section 16, with the wire vocabulary of its table 16.3; the decision
record on error codes says why this vocabulary and not the screaming one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

DOCS: Final = "https://openjobspec.org/spec/v1/errors"


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

    def __init__(
        self,
        message: str,
        *,
        details: Mapping[str, JsonValue] | None = None,
        hint: str = "",
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
        return error


class InvalidRequestError(OjsError):
    """Reports a missing or malformed attribute, parameter or header."""

    usual_hint = "Correct what 'message' and 'details' name, and send the request again."
    code = "invalid_request"
    status = 400
    retryable = False
    type = "validation_error"


class InvalidPayloadError(InvalidRequestError):
    """Reports a body that is no JSON object or is refused JSON (NaN, repeated keys ...)."""

    usual_hint = "Send one JSON object, in UTF-8 and without repeated keys."
    code = "invalid_payload"


class InvalidWorkflowError(InvalidRequestError):
    """Reports an invalid workflow; the details name each fault (ojs-workflows, 11.1)."""

    usual_hint = "Correct the steps that 'details' name; docs/workflows.md describes each form."
    code = "invalid_workflow"


class InvalidPolicyError(InvalidRequestError):
    """Reports a well-formed policy that cannot be followed (a backoff coefficient of 0.5, say)."""

    status = 422


class SchemaValidationError(InvalidRequestError):
    """Reports arguments that do not follow their type's schema; the details say where and why.

    The binding's table has 400 for this code; the schema registry, the error catalogue and the
    conformance case say 422, as does every other refusal of what is well formed.

    :ivar of_type: the other job type that the schema belongs to, which decides who may read what it
        says; empty where it belongs to the job's own type.
    """

    usual_hint = "Send arguments that follow the schema, or name another schema."
    code = "schema_validation"
    status = 422

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


class IncompatibleSchemaError(InvalidRequestError):
    """Reports a schema that breaks its predecessor although its version says otherwise."""

    usual_hint = "Register the schema under a new major version."
    code = "x_schema_incompatible"
    status = 422


class PayloadTooLargeError(InvalidRequestError):
    """Reports an envelope, result or body over its limit, with size and limit in bytes."""

    usual_hint = "Store the data elsewhere and send a reference to it."
    code = "payload_too_large"
    status = 413
    type = "limit_error"


class ResultTooLargeError(PayloadTooLargeError):
    """Reports that a job's result is too large; the job stays active (ojs-results, 7.2)."""

    code = "result_too_large"


class UnsupportedCompressionError(InvalidRequestError):
    """Reports a compression that this server does not read (ojs-payload-limits, 9.3)."""

    usual_hint = "Send the body as it is, or compressed with gzip."
    code = "unsupported_compression"
    status = 415


class UnsupportedError(OjsError):
    """Reports a version or feature that this server does not have."""

    usual_hint = "GET /ojs/manifest lists what this server supports."
    code = "unsupported"
    status = 422
    retryable = False
    type = "unsupported"


class NotFoundError(OjsError):
    """Reports that the job, queue or route does not exist."""

    usual_hint = "Check the id or name. What has ended is removed after its retention."
    code = "not_found"
    status = 404
    retryable = False
    type = "not_found"


class ResultPrunedError(OjsError):
    """Reports that an ended job's outcome is no longer stored (ojs-results, 10.5)."""

    usual_hint = "Keep results longer by 'result_ttl' of the job, or read them sooner."
    code = "result_pruned"
    status = 410
    retryable = False
    type = "not_found"


class ResultPendingError(OjsError):
    """Reports that the job had not ended when the waiting time was over (ojs-results, 8.2)."""

    usual_hint = "The job has not ended: ask again later."
    code = "x_result_pending"
    status = 408
    retryable = True
    type = "timeout"


class MethodNotAllowedError(OjsError):
    """Reports that the route exists, but not with this method."""

    usual_hint = "Use one of the methods in 'details.allowed'."
    code = "method_not_allowed"
    status = 405
    retryable = False
    type = "not_found"


class ConflictError(OjsError):
    """Reports that the job's state or its reservation does not permit the request."""

    usual_hint = "Read the resource again: 'details' say in which state it is."
    code = "conflict"
    status = 409
    retryable = False
    type = "conflict"


class DuplicateError(ConflictError):
    """Reports that another job has the id, or that a unique policy rejects this job.

    :ivar existing: queue and type of the job that is there already, which decide who may learn of
        it; None where they are not known.
    """

    usual_hint = "Use the job that is there already, or another id or uniqueness key."
    code = "duplicate"
    type = "duplicate"

    def __init__(
        self,
        message: str,
        *,
        details: Mapping[str, JsonValue] | None = None,
        hint: str = "",
        existing: tuple[str, str] | None = None,
    ) -> None:
        """Keep the existing job beside what every error has."""
        super().__init__(message, details=details, hint=hint)
        self.existing = existing


class UnauthenticatedError(OjsError):
    """Reports missing or invalid credentials; only the server's log says which.

    :ivar challenge: the ``WWW-Authenticate`` header (RFC 9110, section 11.6.1; RFC 6750, 3).
    """

    usual_hint = "Send 'Authorization: Bearer' and an API key; `ojs-aws keys create` makes one."
    code = "unauthenticated"
    status = 401
    retryable = False
    type = "authentication_error"

    @property
    def challenge(self) -> str:
        """Return how to authenticate; for refused credentials, what is wrong with them."""
        return 'Bearer realm="ojs"'


class InvalidTokenError(UnauthenticatedError):
    """Reports credentials that are not valid."""

    @property
    def challenge(self) -> str:
        """Return how to authenticate, with RFC 6750's ``invalid_token``."""
        return 'Bearer realm="ojs", error="invalid_token"'


class TokenExpiredError(InvalidTokenError):
    """Reports credentials that have expired."""

    usual_hint = "Make a new key with `ojs-aws keys create`, or renew the token."
    code = "token_expired"


class PermissionDeniedError(OjsError):
    """Reports that a known caller may not do this."""

    usual_hint = "Use credentials with the scope that 'details' name."
    code = "permission_denied"
    status = 403
    retryable = False
    type = "authorization_error"


class EnqueueRejectedError(OjsError):
    """Reports that an enqueue middleware of the backend refused the job."""

    usual_hint = "Send the jobs without those that the middleware refused."
    code = "x_enqueue_rejected"
    status = 422
    retryable = False
    type = "middleware_error"


class BulkRefusedError(OjsError):
    """Reports that a bulk operation did no item; each item says why (ojs-bulk-operations, 11.2)."""

    usual_hint = "Send the items that 'details' do not name, or use the mode that is not atomic."
    code = "x_bulk_refused"
    status = 422
    retryable = False
    type = "validation_error"


class QueuePausedError(OjsError):
    """Reports that the queue is paused."""

    usual_hint = "Resume the queue, or use another one."
    code = "queue_paused"
    status = 422
    retryable = True
    type = "queue_paused"


class QueueDrainingError(ConflictError):
    """Reports that the queue is draining and takes no new jobs (ojs-queue-config, 5.1)."""

    usual_hint = "Use another queue, or resume this one."
    code = "x_queue_draining"
    type = "queue_draining"


class JobTypeNotAllowedError(InvalidRequestError):
    """Reports that the queue takes no jobs of this type (ojs-queue-config, section 6.5)."""

    usual_hint = "Use another queue, or have its settings allow the type."
    code = "JOB_TYPE_NOT_ALLOWED"
    status = 422


class RateLimitedError(OjsError):
    """Reports too many requests."""

    usual_hint = "Wait as long as the header Retry-After says."
    code = "rate_limited"
    status = 429
    retryable = True
    type = "rate_limited"


class QueueFullError(OjsError):
    """Reports that the queue has reached its bound (ojs-backpressure, section 7.1).

    The code is in capitals, as its document and the conformance cases have it. What the document
    shows beside the code stands there too: ``queue``, ``depth``, ``bound`` and ``strategy``.
    """

    usual_hint = "Wait as long as the header Retry-After says, or use another queue."
    code = "QUEUE_FULL"
    status = 429
    retryable = True
    type = "queue_full"

    def as_dict(self, request_id: str = "") -> dict[str, JsonValue]:
        """Return the error object; it has the details as members of its own, too."""
        shown = {name: value for name, value in self.details.items() if name in _FULL}
        return {**super().as_dict(request_id), **shown}


_FULL: Final = frozenset({"queue", "depth", "bound", "strategy"})


class BackendError(OjsError):
    """Reports that an AWS call failed; whether it took effect may be unknown.

    The status is 500 and not 502-504: several clients resend a PUSH without an id on those.
    """


class BackendUnavailableError(BackendError):
    """Reports that an AWS call was throttled or unreachable and did not take effect."""

    status = 503


class DocumentMissingError(BackendError):
    """Reports that a job's document is not where it was stored; a retry does not help."""

    retryable = False
