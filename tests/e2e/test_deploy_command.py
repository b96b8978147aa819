"""`ojs-aws deploy` to an emulator: no CDK, no Node; it takes a job, and goes again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest

from infra.emulator import Emulator, start_emulator
from tests.load import HUNG_S

pytestmark = pytest.mark.e2e

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Command, Emulator]]:
    """Runs `ojs-aws` against an emulator of its own, with a PATH that has no Node."""
    emulator = start_emulator(os.environ)
    folder = tmp_path_factory.mktemp("deploy")
    checkout = Path(__file__).parents[2]
    environ = emulator.environment(dict(os.environ))
    environ |= {"PATH": str(Path(sys.executable).parent), "PYTHONPATH": str(checkout)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "ojs_aws.cli", *arguments],
            cwd=folder,
            env=environ,
            capture_output=True,
            text=True,
            timeout=10 * HUNG_S,
            check=False,
        )

    try:
        yield run, emulator
    finally:
        emulator.stop()


def of_emulator(emulator: Emulator) -> list[str]:
    """The options by which functions are made for the emulator's own Python."""
    target = emulator.target()
    return ["--architecture", target.machine, "--python", target.python]


def changes(ran: subprocess.CompletedProcess[str]) -> str:
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_a_backend_is_deployed_used_changed_and_destroyed(
    command: tuple[Command, Emulator],
) -> None:
    run, emulator = command
    options = of_emulator(emulator)

    planned = changes(run("deploy", "--plan", *options))
    assert "AWS::DynamoDB::GlobalTable" in planned
    unasked = run("deploy", *options)
    assert (unasked.returncode, "--yes" in unasked.stderr) == (1, True)

    deployed = run("deploy", "--auth", "none", "--queues", "email", "--yes", "--json", *options)
    outputs: dict[str, str] = json.loads(changes(deployed))["outputs"]
    pushed = httpx.post(
        f"{emulator.api_url(outputs['ApiUrl'])}/ojs/v1/jobs",
        json={"type": "a.b", "args": [1], "options": {"queue": "email"}},
        headers={"Content-Type": "application/openjobspec+json"},
        timeout=HUNG_S,
        trust_env=False,
    )
    assert pushed.status_code == 201, pushed.text

    assert "nothing to change" in changes(run("deploy", "--yes", *options))
    assert "nothing to change" in changes(run("upgrade", "--check"))  # its target is known
    missing = run("upgrade", "--stack", "Elsewhere", "--yes", *options)
    assert (missing.returncode != 0, "no stack Elsewhere" in missing.stderr) == (True, True)
    more = changes(run("deploy", "--queues", "email,media", "--plan", *options))
    assert "AWS::SQS::Queue" in more
    assert "REMOVE" not in more
    assert not [line for line in more.splitlines() if line.startswith("REPLACE")]
    refused = run("deploy", "--auth", "jwt", "--yes", *options)
    assert "--jwt-issuer" in refused.stderr

    began = time.monotonic()
    table = ("restore", "table", outputs["TableName"], "again", "--json")
    stream = json.loads(changes(run(*table)))["stream_arn"]
    planned = changes(run("deploy", "--restored-stream", stream, "--yes", *options))
    assert "LEAVES THE STACK, IS KEPT" in planned
    api = emulator.api_url(outputs["ApiUrl"])
    sent = json.loads(changes(run("restore", "messages", "--url", api, "--json")))
    print(f"restored by three commands in {time.monotonic() - began:.0f} s")
    assert sent["ready"] == 1
    own, bucket = outputs["TableName"], outputs["BucketName"]
    boto3.client("dynamodb", **emulator.client_settings()).update_table(
        TableName=own, DeletionProtectionEnabled=False
    )
    boto3.client("dynamodb", **emulator.client_settings()).delete_table(TableName=own)
    still = f"{api}{pushed.headers['location']}"
    assert httpx.get(still, timeout=HUNG_S, trust_env=False).status_code == 200

    gone: Any = json.loads(changes(run("destroy", "--yes", "--json")))
    assert {*gone["kept"]} == {"again", bucket}


def test_the_same_sources_make_the_same_bytes(
    command: tuple[Command, Emulator], tmp_path: Path
) -> None:
    """Those of the deployment, and once more from nothing but the lock file and pip's downloads."""
    from ojs_aws.cli.deployment.deploy_needs import made_bundle

    run, emulator = command
    changes(run("bundle", str(tmp_path), *of_emulator(emulator)))
    [deployed] = tmp_path.glob("*.zip")
    assert made_bundle(emulator.target(), tmp_path / "again").read_bytes() == deployed.read_bytes()
