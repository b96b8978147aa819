"""Tenants at the terminal: listed and shown."""

from __future__ import annotations

from collections import Counter

from ojs_aws.domain.queues.tallies import Tally, TallyKind, minute_of
from tests.simulation.world import World
from tests.unit.cli.conftest import Cli


def test_tenants_are_listed_and_shown(cli: Cli, world: World) -> None:
    """With what was counted of them."""
    assert "No job names a tenant." in cli.run("tenants", "list").out
    done = Tally(Counter({TallyKind.ENQUEUED: 7}), held=Counter({"available": 7}))
    world.backend.stores.tenant_tallies().add("acme", minute_of(world.clock.now()), done, "1")
    (listed,) = cli.ask("tenants", "list")["tenants"]
    assert (listed["tenant_id"], listed["total_jobs"]) == ("acme", 7)
    assert "acme" in cli.run("tenants", "list").out
    shown = cli.ask("tenants", "show", "acme")
    assert (shown["jobs"]["available"], shown["jobs"]["completed_24h"]) == (7, 0)
