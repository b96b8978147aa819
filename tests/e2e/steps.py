"""What the end-to-end tests do with a deployment, in words."""

from __future__ import annotations

import json
import random
import string
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import httpx
import pytest

from infra.deployment import Deployment, cdk_environment
from infra.emulator import Emulator
from tests.load import HUNG_S

SIGNS_OF_REFUSAL = ("AccessDenied", "Traceback", "Could not")
"""In a log. What a function could not do at once, others make up for: nobody else would see it."""


@contextmanager
def trusted(emulator: Emulator) -> Iterator[None]:
    """Let all clients of this process trust the emulator's certificate, and reach it directly."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**emulator.trust(), "NO_PROXY": "127.0.0.1,localhost"}.items():
            patch.setenv(name, value)
        yield


def eventually(look: Callable[[], Any], what: str, within_s: float = HUNG_S) -> Any:
    """Look until there is something true to see."""
    give_up_at = time.monotonic() + within_s
    while not (seen := look()):
        assert time.monotonic() < give_up_at, f"not within {within_s:.0f} s: {what}"
        time.sleep(0.1)
    return seen


def log_lines(emulator: Emulator) -> list[str]:
    """What all functions have logged."""
    logs = boto3.client("logs", **emulator.client_settings())
    lines: list[str] = []
    for group in logs.describe_log_groups()["logGroups"]:
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group["logGroupName"])
        lines += [event["message"] for page in pages for event in page["events"]]
    return lines


def push(http: httpx.Client, queue: str, **members: Any) -> dict[str, Any]:
    """Enqueue a job; it as it was answered."""
    options = {"queue": queue, **members.pop("options", {})}
    body = {"type": "e2e.job", "args": [], **members, "options": options}
    answer = http.post("jobs", content=json.dumps(body))
    assert answer.status_code == 201, answer.text
    job: dict[str, Any] = answer.json()["job"]
    return job


def job_of(http: httpx.Client, job_id: str) -> dict[str, Any]:
    """A job as INFO answers it."""
    answer = http.get(f"jobs/{job_id}")
    assert answer.status_code == 200, answer.text
    job: dict[str, Any] = answer.json()["job"]
    return job


def fetch(http: httpx.Client, queue: str, worker: str = "e2e") -> dict[str, Any]:
    """Claim the one job there is to be had."""
    body = {"queues": [queue], "worker_id": worker}
    (job,) = http.post("workers/fetch", json=body).raise_for_status().json()["jobs"]
    claimed: dict[str, Any] = job
    return claimed


def incompressible(size: int) -> str:
    """Text that stays as large as it is, however it is packed."""
    return "".join(random.Random(size).choices(string.ascii_letters + string.digits, k=size))


def in_state(http: httpx.Client, job_id: str, state: str) -> dict[str, Any] | None:
    """A job, once it is in a state."""
    job = job_of(http, job_id)
    return job if job["state"] == state else None


def refusals(emulator: Emulator) -> str:
    """Lines in which a function logs that it was refused something, or failed."""
    lines = log_lines(emulator)
    refused = [line for line in lines if any(sign in line for sign in SIGNS_OF_REFUSAL)]
    return "\n".join(line[:600] for line in refused[:10])


def sending(deployment: Deployment, key: str) -> httpx.Client:
    """A client with a key, or with none."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    base = f"{deployment.api_url}/ojs/v1/"
    return httpx.Client(base_url=base, headers=headers, timeout=HUNG_S)


def cli(emulator: Emulator, deployment: Deployment, key: str, *arguments: str) -> Any:
    """What ``ojs-aws ... --json`` prints."""
    environ = {"OJS_URL": deployment.api_url, "OJS_API_KEY": key}
    done = subprocess.run(
        [sys.executable, "-m", "ojs_aws.cli", *arguments, "--json"],
        env=cdk_environment(emulator) | environ,
        capture_output=True,
        text=True,
        timeout=HUNG_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
