"""Large batches of which every job is an ignored duplicate."""

from __future__ import annotations

from typing import Any

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.unique.keys import parse_unique_policy
from ojs_aws.services.unique import WantedJob
from tests.simulation.world import World

POLICY: Any = {"keys": ["type"], "on_conflict": "ignore"}


def test_a_batch_of_ignored_jobs_has_no_log(world: World) -> None:
    """Nothing is written for it: neither parts nor a commit."""
    push = world.backend.jobs.push
    types = ["a.a", "b.b"]
    first = [push(Job(type_, [1], unique=POLICY)).record for type_ in types]
    again = [
        push.check(Job(type_, [2], id=f"01990000-0000-7000-8000-{at:012x}", unique=POLICY))
        for at, type_ in enumerate(types, 500)
    ]
    wanted = [WantedJob(record, parse_unique_policy(POLICY)) for record in again]
    world.faults.calls.clear()
    lets = world.backend.batch_push.store_all(wanted, push.new_jobs.same)
    assert [each.record.id for each in lets] == [each.id for each in first if each is not None]
    assert all(each.is_duplicate for each in lets)
    assert {"stage", "decide"}.isdisjoint(world.faults.calls)
