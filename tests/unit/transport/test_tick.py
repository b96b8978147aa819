"""The timer's event sweeps every queue."""

from __future__ import annotations

from ojs_aws.domain.job import JobState
from ojs_aws.transport.events.tick import build_tick
from tests.api import Api
from tests.simulation.world import World


def test_a_tick_moves_what_time_has_overtaken_and_reports_it() -> None:
    """A job that expired while nobody looked is settled by the sweep."""
    world = World()
    api = Api(world.backend)
    body = {"type": "a", "args": [], "scheduled_at": "+PT30S"}
    job_id = api.post("/jobs", body).json["id"]
    world.clock.advance(s=60)
    report = build_tick(world.backend)({"detail-type": "Scheduled Event"}, None)
    assert (report["queues"], report["settled"], report["failed"]) == (1, 1, 0)
    assert report["lag_ms"] == 30_000
    assert world.store.jobs[job_id].state is JobState.AVAILABLE
