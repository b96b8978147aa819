"""Send committed jobs to the backend of a test, in the place of a relay."""

from __future__ import annotations

from collections.abc import Iterable

from ojs_aws.client import Client, SyncClient
from ojs_aws.client.transports.substitute import ReplaceableTransport
from ojs_aws.domain.envelope import Job


def send_to_test(jobs: Iterable[Job]) -> None:
    """Enqueue jobs into what takes the place of the backend; they have passed their middleware."""
    with SyncClient(client=Client(transport=ReplaceableTransport(), middleware=[])) as client:
        client.enqueue_many(jobs)
