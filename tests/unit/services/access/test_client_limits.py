"""Limits of API clients, over the model (HTTP binding, section 18)."""

from __future__ import annotations

import pytest

from ojs_aws.adapters.dynamodb.access import ClientBuckets
from ojs_aws.config import Settings
from ojs_aws.domain.limits import ClientRate
from ojs_aws.services.access.callers import ClientRateLimits
from tests.simulation.faults import Fault
from tests.simulation.world import World


def process(world: World, rate: ClientRate) -> ClientRateLimits:
    """A process of its own over the shared buckets."""
    return ClientRateLimits(lambda: world.client_buckets, world.clock, rate)


def test_there_is_no_limit_unless_it_is_asked_for() -> None:
    """Nothing is counted then."""
    assert World().backend.client_limits is None


def test_a_client_gets_its_burst_and_then_its_rate() -> None:
    """A token bucket: what is not used is kept up to the burst, and no further."""
    world = World(settings=Settings(client_rate_per_s=2, client_burst=5))
    limit = world.backend.client_limits
    assert limit is not None
    assert [limit("a").is_refused for _ in range(7)] == [False] * 5 + [True] * 2
    assert not limit("b").is_refused
    world.clock.advance(ms=499)
    assert limit("a").is_refused
    world.clock.advance(ms=1)
    assert [limit("a").is_refused for _ in range(2)] == [False, True]
    world.clock.advance(s=60)
    assert [limit("a").is_refused for _ in range(7)] == [False] * 5 + [True] * 2


def test_who_waits_as_long_as_asked_gets_a_token() -> None:
    """Retry-After is no guess; and the remaining requests are those that pass."""
    world, rate = World(), ClientRate(per_s=3, burst=4)
    limit = process(world, rate)
    left = [limit("a").remaining(rate, limit.now_us()) for _ in range(4)]
    assert left == [3, 2, 1, 0]
    refused = limit("a")
    assert refused.is_refused
    world.clock.advance(s=refused.wait_s(rate, limit.now_us()))
    assert not limit("a").is_refused


@pytest.mark.parametrize(("per_s", "processes"), [(5, 4), (400, 10), (1000, 7)])
def test_processes_share_a_limit_up_to_what_they_need_not_ask_for(
    per_s: int, processes: int
) -> None:
    """At most ``share - 1`` a second and process beyond it, and never less than the limit."""
    world, rate = World(), ClientRate(per_s=per_s, burst=per_s)
    limits = [process(world, rate) for _ in range(processes)]
    admit, seconds = 0, 4
    for tick in range(seconds * 20):
        for each in range(per_s // 5):
            limit = limits[(tick + each) % processes]
            admit += not limit("a").is_refused
        world.clock.advance(ms=50)
    free = processes * (rate.share - 1)
    allowed = rate.burst + per_s * seconds
    assert per_s * seconds <= admit <= allowed + free * (seconds + 1)


def test_requests_cost_one_write_for_each_share_of_them() -> None:
    """A high limit costs little."""
    world = World(settings=Settings(client_rate_per_s=1000))
    limit = world.backend.client_limits
    assert limit is not None
    for _ in range(100):
        limit("a")
    assert world.faults.calls.count("charge") == 10


def test_what_a_process_need_not_ask_for_is_counted_by_whole_seconds() -> None:
    """From the first request on; the next second begins at its very instant."""
    world, rate = World(), ClientRate(per_s=300, burst=300)
    asked = list[str]()

    def buckets() -> ClientBuckets:
        asked.append("buckets")
        return world.client_buckets

    limit = ClientRateLimits(buckets, world.clock, rate)
    standings = []
    for _ in range(3):
        standings += [limit("a") for _ in range(rate.share - 1)]
        world.clock.advance(s=1)
    assert asked == []
    left = [each.remaining(rate, standings[0].full_at_us) for each in standings[:2]]
    assert left == [300, 299]


def test_a_bucket_that_has_long_been_full_is_not_fuller(world: World) -> None:
    """What a process has not asked for counts from now."""
    rate = ClientRate(per_s=300, burst=300)
    limit = process(world, rate)
    for _ in range(2):
        standing = limit("a")
        assert standing.remaining(rate, limit.now_us()) == rate.burst - 1
        world.clock.advance(s=60)


def test_a_client_that_is_refused_costs_nothing_until_it_may_come_again() -> None:
    """Its process remembers."""
    world = World(settings=Settings(client_rate_per_s=1, client_burst=1))
    limit = world.backend.client_limits
    assert limit is not None
    for _ in range(50):
        limit("a")
    assert world.faults.calls.count("charge") == 2


def test_a_table_that_fails_is_no_reason_to_refuse() -> None:
    """Requests pass uncounted."""
    world = World(settings=Settings(client_rate_per_s=1, client_burst=1))
    limit = world.backend.client_limits
    assert limit is not None
    for _ in range(3):
        world.faults.faulty, world.faults.fault = len(world.faults.calls), Fault.FAILS_BEFORE
        assert not limit("a").is_refused
