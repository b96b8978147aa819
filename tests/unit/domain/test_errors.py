"""The catalogue of errors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ojs_aws.domain import access, errors
from ojs_aws.domain.errors import OjsError


def family(kind: type[OjsError]) -> Iterator[type[OjsError]]:
    """A class of errors and all below it."""
    yield kind
    for below in kind.__subclasses__():
        yield from family(below)


CATALOGUE = {
    errors.InvalidRequestError: ("invalid_request", 400, False),
    errors.InvalidPayloadError: ("invalid_payload", 400, False),
    errors.InvalidPolicyError: ("invalid_request", 422, False),
    errors.InvalidWorkflowError: ("invalid_workflow", 400, False),
    errors.SchemaValidationError: ("schema_validation", 422, False),
    errors.IncompatibleSchemaError: ("x_schema_incompatible", 422, False),
    errors.PayloadTooLargeError: ("payload_too_large", 413, False),
    errors.ResultTooLargeError: ("x_result_too_large", 413, False),
    errors.ResultPrunedError: ("result_pruned", 410, False),
    errors.ResultPendingError: ("x_result_pending", 408, True),
    errors.UnsupportedCompressionError: ("x_unsupported_compression", 415, False),
    errors.UnsupportedError: ("unsupported", 422, False),
    errors.NotFoundError: ("not_found", 404, False),
    errors.MethodNotAllowedError: ("method_not_allowed", 405, False),
    errors.ConflictError: ("conflict", 409, False),
    errors.DuplicateError: ("duplicate", 409, False),
    access.UnauthenticatedError: ("unauthenticated", 401, False),
    access.InvalidTokenError: ("unauthenticated", 401, False),
    access.TokenExpiredError: ("token_expired", 401, False),
    access.PermissionDeniedError: ("permission_denied", 403, False),
    errors.EnqueueRejectedError: ("x_enqueue_rejected", 422, False),
    errors.BulkRefusedError: ("x_bulk_refused", 422, False),
    errors.QueuePausedError: ("queue_paused", 422, True),
    errors.QueueDrainingError: ("x_queue_draining", 409, False),
    errors.JobTypeNotAllowedError: ("JOB_TYPE_NOT_ALLOWED", 422, False),
    errors.QueueFullError: ("QUEUE_FULL", 429, True),
    errors.TenantLimitError: ("TENANT_LIMIT_EXCEEDED", 429, True),
    errors.TenantSuspendedError: ("TENANT_LIMIT_EXCEEDED", 429, False),
    errors.RateLimitedError: ("rate_limited", 429, True),
    errors.BackendError: ("backend_error", 500, True),
    errors.BackendUnavailableError: ("backend_error", 503, True),
    errors.DocumentMissingError: ("backend_error", 500, False),
}


@pytest.mark.parametrize(("kind", "expected"), CATALOGUE.items())
def test_every_error_has_its_code_status_and_verdict(
    kind: type[OjsError], expected: tuple[str, int, bool]
) -> None:
    """ERR-016; HTTP binding, section 16.3."""
    assert (kind.code, kind.status, kind.retryable) == expected


def test_the_catalogue_is_complete_and_no_caller_s_mistake_is_retryable() -> None:
    """A client that repeats what cannot succeed only adds load."""
    modules = {errors.__name__, access.__name__}
    own = {kind for kind in family(OjsError) if kind.__module__ in modules}
    assert own - {OjsError} == set(CATALOGUE)
    later = {
        errors.QueueFullError,
        errors.QueuePausedError,
        errors.RateLimitedError,
        errors.ResultPendingError,
        errors.TenantLimitError,
    }
    for kind in own - later - {errors.DocumentMissingError}:  # what is gone stays gone
        assert kind.retryable is (kind.status >= 500)


def test_an_error_says_what_where_and_what_to_do() -> None:
    """HTTP binding, section 16.1; a kind has a usual hint."""
    problem = errors.NotFoundError("No such job.", details={"id": "x"}, hint="Look again.")
    assert problem.as_dict("req_1") == {
        "code": "not_found",
        "type": "not_found",
        "message": "No such job.",
        "retryable": False,
        "details": {"id": "x"},
        "docs_url": "https://openjobspec.org/spec/v1/errors#not_found",
        "hint": "Look again.",
        "request_id": "req_1",
    }
    bare = errors.ConflictError("No.").as_dict()
    assert bare["details"] == {}
    assert bare["hint"] == errors.ConflictError.usual_hint
    assert "request_id" not in bare
    assert str(problem) == "No such job."
