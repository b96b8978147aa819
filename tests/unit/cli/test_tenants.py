"""Tenants at the terminal: listed and shown."""

from __future__ import annotations

from collections import Counter

import pytest

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


def test_a_tenant_is_limited_suspended_and_resumed(cli: Cli) -> None:
    """A limit is lifted by its option; the others stay."""
    limited = cli.ask("tenants", "set", "acme", "--max-concurrency", "5")
    assert limited == {"tenant_id": "acme", "state": "active", "limits": {"max_concurrency": 5}}
    assert cli.ask("tenants", "suspend", "acme")["state"] == "suspended"
    assert cli.ask("tenants", "show", "acme")["state"] == "suspended"
    resumed = cli.ask("tenants", "resume", "acme")
    assert (resumed["state"], resumed["limits"]) == ("active", {"max_concurrency": 5})
    assert cli.ask("tenants", "set", "acme", "--max-concurrency", "none")["limits"] == {}
    assert "suspended" in cli.run("tenants", "suspend", "acme").out
    assert cli.run("tenants", "reset", "acme").code == 0
    assert cli.ask("tenants", "show", "acme")["state"] == "active"


def test_what_a_tenant_may_enqueue_is_set(cli: Cli) -> None:
    """A rate with its time, and how many jobs may wait; each is lifted by none."""
    rate, depth = ["--max-enqueue-rate", "100/1m"], ["--max-queue-depth", "50"]
    limits = cli.ask("tenants", "set", "acme", *rate, *depth, "--max-scheduled", "5")["limits"]
    every = {"limit": 100, "period": "PT1M"}
    assert limits == {"max_enqueue_rate": every, "max_queue_depth": 50, "max_scheduled": 5}
    lifted = ["--max-enqueue-rate", "none", "--max-scheduled", "none"]
    assert cli.ask("tenants", "set", "acme", *lifted)["limits"] == {"max_queue_depth": 50}


def test_a_tenants_share_is_set(cli: Cli) -> None:
    """By a weight, and lifted by none."""
    limits = cli.ask("tenants", "set", "acme", "--fairness-weight", "2.5")["limits"]
    assert limits == {"fairness_weight": 2.5}
    assert cli.ask("tenants", "set", "acme", "--fairness-weight", "none")["limits"] == {}


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--fairness-weight", "heavy"],
        ["--max-concurrency", "many"],
        ["--max-concurrency=-1"],
        ["--max-enqueue-rate", "100"],
        ["--max-queue-depth", "deep"],
    ],
)
def test_a_limit_in_another_form_is_a_misuse(cli: Cli, options: list[str]) -> None:
    """Nothing is set."""
    assert cli.run("tenants", "set", "acme", *options).code == 2
    assert cli.ask("tenants", "show", "acme")["limits"] == {}
