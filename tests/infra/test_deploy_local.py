"""What ``make deploy-local`` does when its demo job is slow."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from infra import deploy_local, deployment
from infra.deployment import Deployment, DeploymentError, SlowJobError


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The job that the API answers with; no time passes, and none is left."""
    job: dict[str, Any] = {"id": "1", "state": "available"}
    monkeypatch.setattr(deployment, "request", lambda *_: (200, {"job": job}))
    monkeypatch.setattr(deployment, "LIMIT_S", 0.0)
    return job


def test_a_slow_demo_job_is_a_warning_and_the_deployment_stays(
    job: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody waits at the terminal, and can look at it."""
    deploy_local._try_job("http://api", "", is_once=False)
    said = capsys.readouterr().out
    assert "WARNING: The job has not ended" in said
    assert "the deployment stays" in said


def test_with_once_a_slow_demo_job_is_a_failure(job: dict[str, Any]) -> None:
    """It exits with 0 only if all worked."""
    with pytest.raises(SlowJobError):
        deploy_local._try_job("http://api", "", is_once=True)


def test_a_demo_job_that_fails_is_a_failure(job: dict[str, Any]) -> None:
    """It is not slow: something is wrong with what was deployed."""
    job["state"] = "discarded"
    with pytest.raises(DeploymentError, match="The job failed"):
        deploy_local._try_job("http://api", "", is_once=False)


@pytest.mark.parametrize(
    ("script", "why"),
    [("exit 3", "failed with code 3"), ("kill -9 $$", "failed with code -9")],
)
def test_a_cdk_that_fails_is_said_with_its_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, why: str
) -> None:
    """One that was killed has not taken too long."""
    cdk = tmp_path / "cdk"
    cdk.write_text(f"#!/bin/sh\n{script}\n")
    cdk.chmod(0o755)
    monkeypatch.setattr(deployment, "find_cdk", lambda _: cdk)
    monkeypatch.setattr(deployment, "cdk_environment", lambda _: {})
    emulator: Any = SimpleNamespace(folder=tmp_path)
    with pytest.raises(DeploymentError, match=why):
        deployment._cdk(emulator, "deploy")


def test_keys_create_that_takes_too_long_fails_the_deployment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With words, and no error of Python."""

    def late(*_: object, timeout: float, **__: object) -> None:
        raise subprocess.TimeoutExpired("ojs-aws", timeout)

    monkeypatch.setattr(subprocess, "run", late)
    monkeypatch.setattr(deployment, "cdk_environment", lambda _: {})
    made = Deployment(api_url="", outputs={"TableName": "t"}, seconds={})
    emulator: Any = SimpleNamespace()
    with pytest.raises(DeploymentError, match="keys create took more than 30 s"):
        deployment.create_key(emulator, made, "demo", "producer")
