"""Sequences at the terminal: those that are stopped are listed, and go on."""

from __future__ import annotations

from ojs_aws.domain.json_text import parse_object
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.simulation.world import World
from tests.unit.cli.conftest import Cli


def push(cli: Cli, number: int) -> str:
    """Enqueue a job of the sequence; its id."""
    body = {"type": "email.send", "args": [number], "sequence": "order-1"}
    return str(cli.server.api.post("/jobs", body).json["job"]["id"])


def test_stopped_sequences_are_listed_until_they_go_on(cli: Cli, world: World) -> None:
    """With the discarded job, and how many jobs were enqueued behind it."""
    assert "No sequence is stopped." in cli.run("sequences", "list").out
    job_id, *_ = [push(cli, number) for number in range(3)]
    world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    failure = parse_object('{"type": "Broken", "message": "no", "code": "DISCARD"}')
    world.backend.jobs.fail(job_id, "w", failure)
    world.backend.sequence_advance.advance("", "order-1")
    [listed] = cli.ask("sequences", "list")["sequences"]
    assert (listed["key"], listed["job_id"], listed["state"]) == ("order-1", job_id, "stopped")
    row = next(line for line in cli.run("sequences", "list").out.splitlines() if "order-1" in line)
    assert row.split()[-1] == "2"
    assert cli.ask("sequences", "list", "--queue", "other")["sequences"] == []
    assert cli.ask("sequences", "list", "--tenant", "acme")["sequences"] == []
    cli.ask("sequences", "skip", "order-1")
    assert cli.ask("sequences", "list")["sequences"] == []
