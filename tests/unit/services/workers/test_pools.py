"""Worker pools: what a FETCH with one costs, and whose word counts (ojs-fair-scheduling, 5.2)."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import pytest

from ojs_aws.domain.workers import read_pool
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.workers import pools as service
from ojs_aws.transport.http.route import BASE
from tests.api import Api
from tests.jobs import any_job
from tests.simulation.world import World

POOLS = "/admin/pools"


def put(api: Api, name: str = "general", **members: Any) -> Any:
    reply = api.send("PUT", f"{BASE}{POOLS}/{name}", members)
    assert reply.status in {200, 201}, reply.text
    return reply.json


def fill(world: World, *queues: str, count: int = 1) -> None:
    for queue in queues:
        for _ in range(count):
            world.backend.jobs.push(any_job("test.echo", [], queue=queue))


def fetch(api: Api, **members: Any) -> list[str]:
    """The queues of the jobs that a FETCH gets."""
    reply = api.post("/workers/fetch", {"worker_id": "w1", **members})
    assert reply.status == 200, reply.text
    return [job["queue"] for job in reply.json["jobs"]]


def test_a_pool_is_stored_replaced_listed_and_deleted(api: Api) -> None:
    made = put(api, queues={"high": {"weight": 70}, "low": {"weight": 30}}, strategy="weighted")
    assert made["pool"]["weights"] == {"high": 70, "low": 30}
    assert api.send("PUT", f"{BASE}{POOLS}/general", {"queues": ["a"]}).status == 200
    assert api.get(f"{POOLS}/general").json["pool"]["strategy"] == "round-robin"
    put(api, "another", queues=["b"], strategy="strict", concurrency=4)
    listed = api.get(POOLS).json
    assert [each["name"] for each in listed["items"]] == ["another", "general"]
    assert listed["items"][0]["concurrency"] == 4
    assert api.delete(f"{POOLS}/general").json == {"deleted": True, "name": "general"}
    assert api.delete(f"{POOLS}/general").status == 404
    assert api.get(f"{POOLS}/general").status == 404


def test_the_list_says_how_many_workers_name_a_pool(api: Api, world: World) -> None:
    """By their heartbeats; those that are silent do not count."""
    put(api, queues=["a"])
    api.post("/workers/heartbeat", {"worker_id": "w0", "pool": "general", "active_jobs": 2})
    world.clock.advance(s=60)
    for name in ("w1", "w2"):
        api.post("/workers/heartbeat", {"worker_id": name, "pool": "general", "active_jobs": 2})
    (shown,) = api.get(POOLS).json["items"]
    assert (shown["active_workers"], shown["active_jobs"]) == (2, 4)


def test_there_are_only_so_many_pools(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MAX_POOLS", 1)
    put(api, queues=["a"])
    assert api.send("PUT", f"{BASE}{POOLS}/another", {"queues": ["a"]}).status == 409
    assert put(api, queues=["b"])["queues"] == ["b"]


def test_a_fetch_empties_the_queues_of_its_pool_by_weight(api: Api, world: World) -> None:
    """Whatever queues and weights the worker names."""
    put(api, queues={"a": 3, "b": 1})
    fill(world, "a", "b", "c", count=40)
    got = Counter(fetch(api, pool="general", queues=["c"], weights={"c": 9})[0] for _ in range(40))
    assert got.keys() == {"a", "b"}
    assert got["a"] == pytest.approx(30, abs=3)


def test_a_worker_needs_no_queues_if_its_pool_is_there(api: Api, world: World) -> None:
    """One that is not there is no reason to stand still for a worker that names queues."""
    fill(world, "a", count=3)
    assert fetch(api, pool="general", queues=["a"]) == ["a"]
    assert api.post("/workers/fetch", {"pool": "general"}).status == 404
    world.clock.advance(s=6)
    put(api, queues=["a"])
    assert fetch(api, pool="general") == ["a"]
    assert api.post("/workers/fetch", {"pool": "NO"}).status == 400
    assert api.post("/workers/fetch", {"strategy": "strict"}).status == 400


def test_a_fetch_may_name_weights_itself(api: Api, world: World) -> None:
    fill(world, "a", "b", count=40)
    wanted = {"queues": ["a", "b"], "strategy": "weighted", "weights": {"a": 1, "b": 4}}
    got = Counter(fetch(api, **wanted)[0] for _ in range(40))
    assert got["b"] == pytest.approx(32, abs=3)


def test_round_robin_takes_from_each_queue_in_turn(api: Api, world: World) -> None:
    put(api, queues=["a", "b", "c"], strategy="round-robin")
    fill(world, "a", "b", "c", count=4)
    got = [fetch(api, pool="general")[0] for _ in range(9)]
    assert all(set(got[at : at + 3]) == {"a", "b", "c"} for at in (0, 3, 6))


def test_least_loaded_takes_from_the_queue_that_waits_longest(api: Api, world: World) -> None:
    """Once it has looked at each queue; one that was found empty comes last."""
    put(api, queues=["a", "b", "c"], strategy="least-loaded")
    fill(world, "b", count=3)
    world.clock.advance(s=30)
    fill(world, "a", count=3)
    world.clock.advance(s=1)
    got = {fetch(api, pool="general")[0] for _ in range(3)}  # it knows none of them yet
    assert got == {"a", "b"}
    assert fetch(api, pool="general") == ["b"]
    fill(world, "c")
    assert fetch(api, pool="general")[0] in {"a", "b"}


def test_least_loaded_learns_from_its_own_fetches_for_five_seconds(world: World) -> None:
    """Queues behind the last one that had a job were not looked at."""
    pools = world.backend.workers.pools
    pool = read_pool("general", {"queues": ["a", "b", "c", "d"], "strategy": "least-loaded"})
    fill(world, "a", "c")
    world.clock.advance(s=2)
    jobs = world.backend.jobs.fetch(FetchRequest(("a", "c"), 2))
    plain = read_pool("plain", {"queues": ["a", "b", "c", "d"]})
    pools.learn(plain, plain.queues, jobs)
    assert len({pools.order(pool) for _ in pool.queues}) == 4  # round and round: it knows nothing
    pools.learn(pool, pool.queues, jobs)
    assert pools.order(pool)[0] == "d"
    assert set(pools.order(pool)[1:3]) == {"a", "c"}
    assert pools.order(pool)[3] == "b"
    world.clock.advance(s=5)
    assert len({pools.order(pool) for _ in pool.queues}) == 4


def test_a_pool_costs_one_read_in_some_seconds(api: Api, world: World) -> None:
    """And none at all where no FETCH names one."""
    put(api, queues=["a"])
    fill(world, "a", count=20)

    def calls(**members: Any) -> Counter[str]:
        before = Counter(world.aws.calls.made)
        fetch(api, **members)
        return world.aws.calls.made - before

    calls(queues=["a"])  # what a process reads once in some seconds, pools or not
    plain = calls(queues=["a"])
    assert calls(pool="general") == plain + Counter({"GetItem": 1})
    assert calls(pool="general") == plain
    assert calls(queues=["a"], strategy="round-robin") == plain
    world.clock.advance(s=5)
    calls(queues=["a"])
    assert calls(pool="general") == plain + Counter({"GetItem": 1})


def test_a_change_of_a_pool_reaches_a_process_within_seconds(api: Api, world: World) -> None:
    put(api, queues=["a"])
    fill(world, "a", "b", count=5)
    pools = world.backend.workers.pools
    assert fetch(api, pool="general") == ["a"]
    pools.store.delete("general")  # as another process does it
    assert fetch(api, pool="general") == ["a"]
    world.clock.advance(s=5)
    assert api.post("/workers/fetch", {"pool": "general"}).status == 404


def test_a_fetch_without_a_pool_does_not_load_pools(api: Api, world: World) -> None:
    """It costs nothing where nobody uses it."""
    sys.modules.pop("ojs_aws.transport.http.workers.handlers", None)
    fill(world, "a")
    assert fetch(api, queues=["a"]) == ["a"]
    assert "ojs_aws.transport.http.workers.handlers" not in sys.modules
