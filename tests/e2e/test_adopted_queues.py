"""A queue that was made at its first use is declared afterwards, and gets a Lambda worker."""

from __future__ import annotations

import os
from collections.abc import Iterator

import boto3
import httpx
import pytest

from infra.deployment import create_key, deploy
from infra.emulator import Emulator, start_emulator
from tests.e2e.steps import eventually, trusted
from tests.load import HUNG_S

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

STACK = "Adopting"


@pytest.fixture
def apart() -> Iterator[Emulator]:
    """An emulator of its own: other tests read what all functions of theirs have logged."""
    running = start_emulator(os.environ, enforces_iam=True)
    try:
        with trusted(running):
            yield running
    finally:
        running.stop()


def test_a_queue_of_first_use_is_adopted_with_its_messages(apart: Emulator) -> None:
    """Its worker runs what was enqueued before it was declared; the queue is the same one.

    That a queue which is declared only fails the deployment, AWS alone shows: the emulator takes
    the queue of that name.
    """
    context = {"auth": "api-key", "prefix": "adopting"}
    deployment = deploy(apart, print, context | {"demo": "false"}, STACK)
    headers = {"Authorization": f"Bearer {create_key(apart, deployment, 'e2e', 'admin')}"}
    api = f"{deployment.api_url}/ojs/v1"
    with httpx.Client(headers=headers, timeout=HUNG_S) as http:
        job = {"type": "demo.echo", "args": [1], "options": {"queue": "demo"}}
        pushed = http.post(f"{api}/jobs", json=job).raise_for_status().json()["job"]
        # As docs/queues.md says: long enough for the worker's timeout of 60 s.
        url = "{QueueUrlPrefix}{QueuePrefix}demo".format(**deployment.outputs)
        sqs = boto3.client("sqs", **apart.client_settings())
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "360"})
        deploy(apart, print, context | {"demo": "true", "adopted_queues": "demo"}, STACK)

        def is_completed() -> bool:
            found = http.get(f"{api}/jobs/{pushed['id']}").raise_for_status().json()["job"]
            return bool(found["state"] == "completed")

        eventually(is_completed, "the job of before, by the worker of the adopted queue")
    made = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])
    assert made["Attributes"]["VisibilityTimeout"] == "360"  # it was not made again
