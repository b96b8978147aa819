"""Uses the API of a deployed stack: makes keys, sends requests, and runs a job."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import Any, Final

from infra import CHECKOUT
from infra.deployment import Deployment, DeploymentError, Say, cdk_environment
from infra.emulator import Emulator

LIMIT_S: Final = 30.0
"""How long a command, a request, and the demo job may take."""
ERROR_STATUS: Final = 400


class SlowJobError(DeploymentError):
    """Says that the demo job has not ended in time; it may still end."""


def create_key(emulator: Emulator, deployment: Deployment, name: str, *scopes: str) -> str:
    """Make an API key of a deployment with the command line, and return it.

    :param scopes: of the key, such as ``producer``.
    :raises DeploymentError: the command failed.
    """
    named = [part for scope in scopes for part in ("--scope", scope)]
    made = subprocess.run(
        [sys.executable, "-m", "ojs_aws.cli", "keys", "create", name, *named],
        cwd=CHECKOUT,
        env=cdk_environment(emulator) | {"OJS_TABLE": deployment.outputs["TableName"]},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if made.returncode:
        raise DeploymentError(f"ojs-aws keys create failed: {made.stderr}")
    return made.stdout.strip()


def request(
    method: str, url: str, body: object = None, api_key: str = ""
) -> tuple[int, dict[str, Any]]:
    """Send one request, and return status and JSON body of the answer, errors included."""
    content = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url, content, method=method)  # noqa: S310 - our own http URL
    if content is not None:
        asked.add_header("Content-Type", "application/openjobspec+json")
    if api_key:
        asked.add_header("Authorization", f"Bearer {api_key}")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(asked, timeout=LIMIT_S) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as refused:
        text = refused.read()
        try:
            return refused.code, json.loads(text)
        except ValueError:
            return refused.code, {"error": {"message": text.decode("utf-8", "replace")[:500]}}


def run_demo_job(api_url: str, say: Say, api_key: str = "") -> float:
    """Enqueue ``demo.echo``, wait for the worker, and return the seconds until it completed.

    :param api_key: may enqueue and read; needed if the deployment requires keys.
    :raises SlowJobError: the job did not end in time.
    :raises DeploymentError: the push was refused, or the job failed.
    """
    began = time.monotonic()
    pushed = {"type": "demo.echo", "args": ["hello"], "options": {"queue": "demo"}}
    try:
        status, answer = request("POST", f"{api_url}/ojs/v1/jobs", pushed, api_key)
        if status >= ERROR_STATUS:
            raise DeploymentError(f"Enqueueing failed with status {status}: {answer}")
        job = answer["job"]
        say(f"pushed demo.echo as {job['id']}: {job['state']}")
        seen = job["state"]
        while time.monotonic() - began < LIMIT_S and seen not in {"completed", "discarded"}:
            time.sleep(0.1)
            status, answer = request("GET", f"{api_url}/ojs/v1/jobs/{job['id']}", None, api_key)
            if status >= ERROR_STATUS:
                raise DeploymentError(f"Reading the job failed with status {status}: {answer}")
            job = answer["job"]
            if job["state"] != seen:
                seen = job["state"]
                say(f"job is {seen}")
    except (OSError, ValueError, KeyError) as problem:
        raise DeploymentError(f"The API did not answer as it should: {problem!r}") from problem
    if seen not in {"completed", "discarded"}:
        raise SlowJobError(f"The job has not ended within {LIMIT_S:.0f} s: {job}")
    if seen != "completed" or job.get("result") != ["hello"]:
        raise DeploymentError(f"The job failed: {job}")
    return time.monotonic() - began
