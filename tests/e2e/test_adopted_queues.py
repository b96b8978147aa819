"""A queue that was made at its first use is declared afterwards, and gets a Lambda worker."""

from __future__ import annotations

import secrets

import boto3
import httpx
import pytest

from infra.deployment import DeploymentError, create_key, deploy, destroy
from infra.emulator import Emulator
from tests.e2e.steps import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

STACK = "Adopting"


def test_a_queue_of_first_use_is_adopted_with_its_messages(emulator: Emulator) -> None:
    """Declared alone it fails the deployment; adopted, its worker runs what was there before."""
    context = {"auth": "api-key", "prefix": f"adopt-{secrets.token_hex(3)}"}
    deployment = deploy(emulator, print, context | {"demo": "false"}, STACK)
    headers = {"Authorization": f"Bearer {create_key(emulator, deployment, 'e2e', 'admin')}"}
    api = f"{deployment.api_url}/ojs/v1"
    with httpx.Client(headers=headers, timeout=30, trust_env=False) as http:
        job = {"type": "demo.echo", "args": [1], "options": {"queue": "demo"}}
        pushed = http.post(f"{api}/jobs", json=job).raise_for_status().json()["job"]
        with pytest.raises(DeploymentError, match="cdk deploy"):
            deploy(emulator, print, context | {"demo": "true"}, STACK)
        # As docs/queues.md says: long enough for the worker's timeout of 60 s.
        url = "{QueueUrlPrefix}{QueuePrefix}demo".format(**deployment.outputs)
        boto3.client("sqs", **emulator.client_settings()).set_queue_attributes(
            QueueUrl=url, Attributes={"VisibilityTimeout": "360"}
        )
        deploy(emulator, print, context | {"demo": "true", "adopted_queues": "demo"}, STACK)

        def state() -> bool:
            found = http.get(f"{api}/jobs/{pushed['id']}").raise_for_status().json()["job"]
            return bool(found["state"] == "completed")

        eventually(state, "the job of before, by the worker of the adopted queue")
    destroy(emulator, STACK)
