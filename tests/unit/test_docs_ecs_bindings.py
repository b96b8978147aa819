"""The shell script of docs/ecs-bindings.md runs a job with the token of its attempt."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import urllib3

from ojs_aws import SyncClient
from ojs_aws.domain.jobs.attempt_tokens import AttemptGrant, token_text
from ojs_aws.domain.timestamps import Instant
from ojs_aws.testing import OjsServer
from ojs_aws.topology import SIGNING_SECRET
from tests.lambda_runtimes import tool
from tests.load import HUNG_S

PAGE: Final = (Path(__file__).parents[2] / "docs" / "ecs-bindings.md").read_text("utf-8")
FAR: Final = Instant(4_000_000_000_000)


def run(
    folder: Path, url: str, job_id: str, reservation_id: str
) -> subprocess.CompletedProcess[str]:
    """Run the script as a task would."""
    (text,) = re.findall(r"<!-- file: job.sh -->\n```sh\n(.*?)```", PAGE, re.DOTALL)
    (folder / "job.sh").write_text(text)
    grant = AttemptGrant(job_id=job_id, attempt=1, reservation_id=reservation_id, ends_at=FAR)
    environ = {
        **os.environ,
        "OJS_API_URL": f"{url}/ojs/v1",
        "OJS_JOB_ID": job_id,
        "OJS_TOKEN": token_text(grant, SIGNING_SECRET),
    }
    shell = tool("sh")
    return subprocess.run(
        [shell, "job.sh"], cwd=folder, env=environ, check=False, capture_output=True, text=True,
        timeout=HUNG_S,
    )  # fmt: skip


def shown(url: str, job_id: str) -> dict[str, Any]:
    """The job, as it is now."""
    answer = urllib3.request("GET", f"{url}/ojs/v1/jobs/{job_id}", timeout=HUNG_S)
    return dict(answer.json()["job"])


def claimed(url: str) -> str:
    """Claim the job, as the dispatcher does; return the id of its reservation."""
    wanted = {"queues": ["media"], "worker_id": "tasks_1"}
    path = f"{url}/ojs/v1/workers/fetch"
    (job,) = urllib3.request("POST", path, json=wanted, timeout=HUNG_S).json()["jobs"]
    return str(job["reservation_id"])


@pytest.mark.parametrize(("args", "state"), [(["a.mov"], "completed"), ([], "retryable")])
def test_the_script_fetches_its_job_and_reports(
    args: list[Any], state: str, tmp_path: Path, ojs_server: OjsServer
) -> None:
    """With progress, and the result or an error."""
    for each in ("curl", "jq"):
        tool(each)
    with SyncClient(ojs_server.url) as client:
        sent = client.enqueue("video.render", args, queue="media")
        done = run(tmp_path, ojs_server.url, sent.id, claimed(ojs_server.url))
        assert done.returncode == 0, done.stderr
        job = shown(ojs_server.url, sent.id)
        assert job["state"] == state
        assert job.get("result") == ({"rendered": args[0]} if args else None)


def test_the_script_of_an_attempt_that_is_over_does_nothing(
    tmp_path: Path, ojs_server: OjsServer
) -> None:
    """It exits with 75, which nobody counts."""
    for each in ("curl", "jq"):
        tool(each)
    with SyncClient(ojs_server.url) as client:
        sent = client.enqueue("video.render", ["a.mov"], queue="media")
        claimed(ojs_server.url)
        done = run(tmp_path, ojs_server.url, sent.id, "000000000000")
        assert done.returncode == 75
        assert "409" in done.stderr
        assert shown(ojs_server.url, sent.id)["state"] == "active"
