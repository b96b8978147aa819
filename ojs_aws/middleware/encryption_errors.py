"""What can go wrong when arguments are encrypted or decrypted. No message holds plain text."""

from __future__ import annotations

from ojs_aws.middleware.errors import MiddlewareError


class EncryptionError(MiddlewareError):
    """Base of these errors."""


class UnknownKeyError(EncryptionError, LookupError):
    """The key that arguments were encrypted with is not among the worker's keys."""


class KeyServiceError(EncryptionError):
    """The key service did not give or open a key; a later attempt may succeed."""


class DecryptionError(EncryptionError, ValueError):
    """The arguments were changed, belong to another job, or are in no form that can be read."""


class PlainArgsError(EncryptionError, ValueError):
    """The job's arguments are not encrypted, and the worker accepts no others."""
