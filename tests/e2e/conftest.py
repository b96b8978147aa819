"""The stack, deployed once by the real CDK to an emulator that enforces the functions' roles."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from infra.deployment import Deployment, create_key, deploy, destroy
from infra.emulator import Emulator, start_emulator
from ojs_aws.cli.verify.conformance.runner import ConformanceRunner, open_client
from tests.e2e.steps import trusted
from tests.load import HUNG_S

EXTENSIONS = {
    "extensions": str(Path(__file__).parent / "extensions"),
    "enqueue_middleware": "policies:chain",
    "hooks": "policies:hooks",
    "auth": "api-key",
    "web_dashboard": "true",
    "job_endpoint": "true",
}
"""Context of the app: middleware and hooks of a user, the credentials that are the default, the
page for operators, and the job endpoint."""


@pytest.fixture(scope="session")
def emulator() -> Iterator[Emulator]:
    """An emulator of our own."""
    running = start_emulator(os.environ, enforces_iam=True)
    try:
        with trusted(running):
            yield running
    finally:
        running.stop()


@pytest.fixture(scope="session")
def deployment(emulator: Emulator) -> Iterator[Deployment]:
    """The deployed stack; that it can be destroyed again is part of the test."""
    deployed = deploy(emulator, print, EXTENSIONS)
    print(f"seconds: {dict(deployed.seconds)}")
    yield deployed
    destroy(emulator)


@pytest.fixture(scope="session")
def api_key(emulator: Emulator, deployment: Deployment) -> str:
    """A key that may do everything, made with the command line."""
    return create_key(emulator, deployment, "e2e", "admin")


@pytest.fixture(scope="session")
def http(deployment: Deployment, api_key: str) -> Iterator[httpx.Client]:
    """A client of the deployed API; paths are relative to ``/ojs/v1``."""
    with httpx.Client(
        base_url=f"{deployment.api_url}/ojs/v1/",
        headers={
            "Authorization": f"Bearer {api_key}",
            "Content-Type": "application/openjobspec+json",
            "User-Agent": "ojs-e2e",
        },
        timeout=HUNG_S,
    ) as client:
        yield client


@pytest.fixture(scope="session")
def conformance(deployment: Deployment, api_key: str) -> Iterator[ConformanceRunner]:
    """A runner of conformance cases against the deployed API."""
    with open_client(trust_env=True) as client:
        client.headers["Authorization"] = f"Bearer {api_key}"
        yield ConformanceRunner(deployment.api_url, client, run=secrets.token_hex(3))


@pytest.fixture
def queue() -> str:
    """A queue that nobody else uses, and that no deployment declares."""
    return f"e2e-{secrets.token_hex(4)}"
