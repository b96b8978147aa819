"""The client library: ``Client`` (asynchronous), ``SyncClient``, and what they return and raise."""

from ojs_aws.client.admin import Admin
from ojs_aws.client.client import Client
from ojs_aws.client.connection import HttpConnection, Resends
from ojs_aws.client.errors import (
    BatchRejectedError,
    JobCancelledError,
    JobFailedError,
    WaitTimeoutError,
)
from ojs_aws.client.results import DeadLetters, EnqueueResult, EnqueueStatus, Stored
from ojs_aws.client.sync import SyncAdmin, SyncClient
from ojs_aws.client.transport import Transport

__all__ = [
    "Admin",
    "BatchRejectedError",
    "Client",
    "DeadLetters",
    "EnqueueResult",
    "EnqueueStatus",
    "HttpConnection",
    "JobCancelledError",
    "JobFailedError",
    "Resends",
    "Stored",
    "SyncAdmin",
    "SyncClient",
    "Transport",
    "WaitTimeoutError",
]
