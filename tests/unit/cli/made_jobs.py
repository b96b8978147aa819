"""Makes jobs for the tests of commands."""

from __future__ import annotations

from ojs_aws.domain.json_text import encode, parse_object
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.simulation.world import World
from tests.unit.cli.conftest import Cli


def enqueue(cli: Cli, *more: str) -> str:
    """Enqueue a job; its id."""
    return str(cli.ask("enqueue", "demo.echo", "[1]", *more)["id"])


def die(cli: Cli, world: World, queue: str = "default", kind: str = "Broken") -> str:
    """Enqueue a job and fail it for good."""
    job_id = enqueue(cli, "-q", queue, "--max-attempts", "1")
    world.registry.ensure(queue, world.clock.now())
    world.backend.jobs.fetch(FetchRequest((queue,), worker_id="w"))
    failure = parse_object(encode({"type": kind, "message": "m", "code": "DEAD_LETTER"}))
    world.backend.jobs.fail(job_id, "w", failure)
    world.clock.advance(s=1)
    return job_id
