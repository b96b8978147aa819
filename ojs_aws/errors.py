"""Import from here whatever you raise or catch: all errors of handlers, clients and workers.

A handler raises RetryError, SnoozeError, DiscardError, DeadLetterError or PermanentError to say
what becomes of its job. A caller catches OjsError, the base of every answer that is an error; and
JobFailedError where it waits for a job. Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ojs_aws.exports import lazy_exports

if TYPE_CHECKING:
    from ojs_aws.client.areas.workflows import WorkflowFailedError as WorkflowFailedError
    from ojs_aws.client.areas.workflows import WorkflowWaitTimeoutError as WorkflowWaitTimeoutError
    from ojs_aws.client.results import JobCancelledError as JobCancelledError
    from ojs_aws.client.results import JobExpiredError as JobExpiredError
    from ojs_aws.client.results import JobFailedError as JobFailedError
    from ojs_aws.client.results import WaitTimeoutError as WaitTimeoutError
    from ojs_aws.config import SettingsError as SettingsError
    from ojs_aws.domain.access import InvalidTokenError as InvalidTokenError
    from ojs_aws.domain.access import PermissionDeniedError as PermissionDeniedError
    from ojs_aws.domain.access import TokenExpiredError as TokenExpiredError
    from ojs_aws.domain.access import UnauthenticatedError as UnauthenticatedError
    from ojs_aws.domain.errors import BackendError as BackendError
    from ojs_aws.domain.errors import BackendUnavailableError as BackendUnavailableError
    from ojs_aws.domain.errors import BulkRefusedError as BulkRefusedError
    from ojs_aws.domain.errors import ConflictError as ConflictError
    from ojs_aws.domain.errors import DocumentMissingError as DocumentMissingError
    from ojs_aws.domain.errors import DuplicateError as DuplicateError
    from ojs_aws.domain.errors import EnqueueRejectedError as EnqueueRejectedError
    from ojs_aws.domain.errors import IncompatibleSchemaError as IncompatibleSchemaError
    from ojs_aws.domain.errors import InvalidPayloadError as InvalidPayloadError
    from ojs_aws.domain.errors import InvalidPolicyError as InvalidPolicyError
    from ojs_aws.domain.errors import InvalidRequestError as InvalidRequestError
    from ojs_aws.domain.errors import InvalidWorkflowError as InvalidWorkflowError
    from ojs_aws.domain.errors import JobTypeNotAllowedError as JobTypeNotAllowedError
    from ojs_aws.domain.errors import MethodNotAllowedError as MethodNotAllowedError
    from ojs_aws.domain.errors import NotFoundError as NotFoundError
    from ojs_aws.domain.errors import OjsError as OjsError
    from ojs_aws.domain.errors import PayloadTooLargeError as PayloadTooLargeError
    from ojs_aws.domain.errors import QueueDrainingError as QueueDrainingError
    from ojs_aws.domain.errors import QueueFullError as QueueFullError
    from ojs_aws.domain.errors import QueuePausedError as QueuePausedError
    from ojs_aws.domain.errors import RateLimitedError as RateLimitedError
    from ojs_aws.domain.errors import ResultPendingError as ResultPendingError
    from ojs_aws.domain.errors import ResultPrunedError as ResultPrunedError
    from ojs_aws.domain.errors import ResultTooLargeError as ResultTooLargeError
    from ojs_aws.domain.errors import SchemaValidationError as SchemaValidationError
    from ojs_aws.domain.errors import TenantLimitError as TenantLimitError
    from ojs_aws.domain.errors import TenantSuspendedError as TenantSuspendedError
    from ojs_aws.domain.errors import UnsupportedCompressionError as UnsupportedCompressionError
    from ojs_aws.domain.errors import UnsupportedError as UnsupportedError
    from ojs_aws.middleware.builtin.circuit_breaker import CircuitOpenError as CircuitOpenError
    from ojs_aws.middleware.builtin.encryption import DecryptionError as DecryptionError
    from ojs_aws.middleware.builtin.encryption import EncryptionError as EncryptionError
    from ojs_aws.middleware.builtin.encryption import KeyServiceError as KeyServiceError
    from ojs_aws.middleware.builtin.encryption import PlainArgsError as PlainArgsError
    from ojs_aws.middleware.builtin.encryption import UnknownKeyError as UnknownKeyError
    from ojs_aws.middleware.builtin.limits import ConcurrencyLimitError as ConcurrencyLimitError
    from ojs_aws.middleware.results import AmbiguousMiddlewareError as AmbiguousMiddlewareError
    from ojs_aws.middleware.results import BatchRejectedError as BatchRejectedError
    from ojs_aws.middleware.results import ChainFrozenError as ChainFrozenError
    from ojs_aws.middleware.results import IdChangedError as IdChangedError
    from ojs_aws.middleware.results import InvalidMiddlewareError as InvalidMiddlewareError
    from ojs_aws.middleware.results import InvalidSchemaError as InvalidSchemaError
    from ojs_aws.middleware.results import JobTimeoutError as JobTimeoutError
    from ojs_aws.middleware.results import MiddlewareError as MiddlewareError
    from ojs_aws.middleware.results import MiddlewareWarning as MiddlewareWarning
    from ojs_aws.middleware.results import NextCalledTwiceError as NextCalledTwiceError
    from ojs_aws.middleware.results import NextNotAwaitedError as NextNotAwaitedError
    from ojs_aws.middleware.results import NextNotCalledError as NextNotCalledError
    from ojs_aws.middleware.results import RegistrationError as RegistrationError
    from ojs_aws.middleware.results import SuppressedErrorWarning as SuppressedErrorWarning
    from ojs_aws.middleware.results import UnknownMiddlewareError as UnknownMiddlewareError
    from ojs_aws.typed_jobs.handles import JobNotSentError as JobNotSentError
    from ojs_aws.typed_jobs.values import WrongValueError as WrongValueError
    from ojs_aws.worker.delivery.answers import DeliveryError as DeliveryError
    from ojs_aws.worker.delivery.answers import EndpointError as EndpointError
    from ojs_aws.worker.delivery.answers import UndeliveredError as UndeliveredError
    from ojs_aws.worker.executor import ResultError as ResultError
    from ojs_aws.worker.failure import DeadLetterError as DeadLetterError
    from ojs_aws.worker.failure import DiscardError as DiscardError
    from ojs_aws.worker.failure import JobError as JobError
    from ojs_aws.worker.failure import PermanentError as PermanentError
    from ojs_aws.worker.failure import RetryError as RetryError
    from ojs_aws.worker.failure import SnoozeError as SnoozeError
    from ojs_aws.worker.paths import WorkerPathError as WorkerPathError
    from ojs_aws.worker.registry import ArgumentsError as ArgumentsError
    from ojs_aws.worker.registry import NoHandlerError as NoHandlerError
else:
    __getattr__, __dir__ = lazy_exports(__name__)
