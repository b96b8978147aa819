"""docs/workflows.md says what is so, and its examples run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ojs_aws.client import Client, SyncClient
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.domain.json_text import RawJson, parse_object
from ojs_aws.domain.workflows import definition as definitions
from ojs_aws.domain.workflows.workflow import MAX_BYTES
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.workflows.write import MAX_RESULT_BYTES, MAX_STARTS
from tests.simulation.world import World

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "workflows.md").read_text("utf-8")
ERROR = parse_object('{"type": "Bounced", "message": "no such address", "retryable": false}')


def work(world: World, client: SyncClient, workflow_id: str, fails: str = "") -> list[str]:
    """Do everything that the workflow asks for; the types in the order they were fetched in."""
    done: list[str] = []
    while jobs := world.backend.jobs.fetch(FetchRequest(("default",), 10, "w")):
        for job in jobs:
            done.append(job.type)
            if job.type == fails:
                world.backend.jobs.fail(job.id, "w", ERROR)
            else:
                world.backend.jobs.ack(job.id, "w", RawJson("1"))
        client.workflows.get(workflow_id)
    return done


def test_the_examples_run() -> None:
    """In the order of the page."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(block, names)  # noqa: S102 - our own page
    world = World()
    with SyncClient(client=Client(transport=InProcessTransport(world.backend))) as client:
        report = names["monthly_report"](client)
        assert work(world, client, report) == [
            "data.extract",
            "export.csv",
            "export.pdf",
            "mail.send",
        ]
        assert names["follow"](client, report) == [
            "data.extract completed",
            "group completed",
            "mail.send completed",
        ]
        mailing = names["mailing"](client, ["a@example.com", "b@example.com"])
        fired = work(world, client, mailing, fails="email.send")[2:]
        assert sorted(fired) == ["campaign.count", "campaign.review"]
        release = names["release"](client)
        first, *middle, last = work(world, client, release)
        assert (first, {*middle}, last) == (
            "release.build",
            {"release.test", "release.docs"},
            "release.publish",
        )
        assert names["stop_all"](client) == 0
        names["release"](client)
        assert names["stop_all"](client) == 1


def test_its_numbers_are_those_of_the_code() -> None:
    """Levels, jobs, portions and sizes."""
    assert f"{definitions.MAX_NESTING} levels deep and {definitions.MAX_JOBS:,} jobs" in TEXT
    assert f"{MAX_STARTS} to a transaction" in TEXT
    assert f"{MAX_RESULT_BYTES // 1000} KB" in TEXT
    assert MAX_BYTES == 1_000_000
