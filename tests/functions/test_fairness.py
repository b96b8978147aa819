"""Fair queues through the real adapters: order, weights, late jobs, costs, and two processes."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.jobs.ready_keys import is_fair, ready_since, virtual_start
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.testing.deployment import FakeClock
from tests.aws import EmbeddedAws


def job_of(values: dict[str, Any]) -> Job:
    """A job as the transport makes it of a body."""
    return Job.from_members({name: RawJson(json.dumps(value)) for name, value in values.items()})


class Shop:
    """A backend whose jobs bring fairness keys."""

    def __init__(self, aws: EmbeddedAws) -> None:
        self.aws, self.clock = aws, FakeClock()
        self.backend = self.process()

    def process(self) -> Backend:
        """Another process of the deployment, which has seen nothing yet."""
        return build_backend(
            self.aws.settings, self.aws.clients, clock=self.clock, parallel=IN_ORDER
        )

    def push(
        self, key: str, count: int = 1, *, by: Backend | None = None, **more: Any
    ) -> list[str]:
        """Enqueue jobs of a key in one request; an empty key for jobs without one."""
        weight = {"weight": more.pop("weight")} if "weight" in more else {}
        fairness = {"key": key, **weight}
        named = {"fairness": fairness} if key else {}
        values = {"type": f"job.{key or 'none'}", "args": [], "queue": "default", **named, **more}
        jobs = [job_of(values) for _ in range(count)]
        pushed = (by or self.backend).jobs.push.all(jobs)
        return [each.record.id for each in pushed if each.record is not None]

    def fetch(self, count: int = 1) -> list[str]:
        """Claim jobs, each by a request of its own; their keys."""
        found = []
        for _ in range(count):
            jobs = self.backend.jobs.fetch(FetchRequest(("default",), 1, "w"))
            found += [job.type.removeprefix("job.") for job in jobs]
            for job in jobs:
                self.backend.jobs.ack(job.id, "w", None)
        return found

    def rows(self) -> list[str]:
        """The sort keys of the ready list."""
        return [row.sort_key for row in self.backend.stores.store.head("default", 900).jobs]


@pytest.fixture
def shop(aws: EmbeddedAws) -> Shop:
    """A shop."""
    return Shop(aws)


def test_a_key_that_comes_behind_a_batch_of_another_starts_at_once(shop: Shop) -> None:
    """And then they take turns."""
    shop.push("a", 90)
    shop.clock.advance(ms=5_000)
    shop.push("b", 3)
    assert shop.fetch(6) in (list("ababab"), list("bababa"))
    assert shop.fetch(3) == list("aaa")


def test_weights_give_shares(shop: Shop) -> None:
    """A key of weight 2 starts twice as often."""
    shop.push("a", 40, weight=1)
    shop.push("b", 40, weight=2)
    counted = Counter(shop.fetch(30))
    assert counted == {"a": 10, "b": 20}


def test_jobs_without_a_key_share_one(shop: Shop) -> None:
    """In a fair queue each job has a place."""
    shop.push("a")
    shop.push("", 30)
    shop.clock.advance(ms=5_000)
    shop.push("a", 3)
    assert all(map(is_fair, shop.rows()))
    assert Counter(shop.fetch(6))["a"] >= 3


def test_a_due_job_comes_before_a_backlog(shop: Shop) -> None:
    """Virtual starts are behind the clock, at which it became due."""
    shop.push("a", 60)
    shop.push("b", scheduled_at="+PT10S")
    shop.clock.advance(ms=11_000)
    assert "b" in shop.fetch(2)


def test_a_job_that_is_given_back_gets_a_place_of_its_key(shop: Shop) -> None:
    """Its old place is not kept, and the real instant is."""
    shop.push("a", 5)
    [job] = shop.backend.jobs.fetch(FetchRequest(("default",), 1, "w"))
    shop.clock.advance(ms=60_000_000)
    now = shop.clock.now()
    settled = shop.backend.changer.load(job.id, now)
    assert settled.fairness is not None
    last = max(virtual_start(key) for key in shop.rows() if job.ready_key not in key)
    assert settled.fairness.start >= last
    assert 0 < ready_since(settled.ready_key) <= now


def test_strict_priority_comes_first(shop: Shop) -> None:
    """Fairness is within a priority, and neither moves the other on."""
    shop.push("a", 30)
    shop.push("b", 2)
    shop.push("a", 2, priority=5)
    shop.push("b", 1)
    assert shop.fetch(2) == ["a", "a"]
    assert Counter(shop.fetch(6))["b"] == 3


def test_an_idle_key_saves_nothing_up(shop: Shop) -> None:
    """It comes back at the head, and not before what others had meanwhile."""
    shop.push("a")
    shop.fetch()
    shop.push("b", 40)
    for _ in range(10):
        shop.clock.advance(ms=60_000)
        shop.fetch(2)
    shop.push("a", 10)
    assert Counter(shop.fetch(10)) in ({"a": 5, "b": 5}, {"a": 6, "b": 4})


def test_an_other_process_knows_nothing_and_places_rightly(shop: Shop) -> None:
    """It reads the head, and the key's item decides."""
    shop.push("a", 20)
    other = shop.process()
    shop.push("a", 20, by=other)
    starts = [virtual_start(key) for key in shop.rows()]
    assert len(set(starts)) == 40
    assert max(starts) - min(starts) == 39_000


def test_a_queue_is_made_fair_once(shop: Shop) -> None:
    """By the first job with a key; an update more is what each job costs then."""
    shop.push("a")
    shop.clock.advance(ms=300)
    with shop.aws.calls.counted() as first:
        shop.push("a")
    assert first == {"Query": 1, "UpdateItem": 1, "TransactWriteItems": 1, "SendMessage": 1} or (
        first["UpdateItem"] == 1 and first["Query"] == 1
    )
    with shop.aws.calls.counted() as second:
        shop.push("a", 50)
    assert (second["UpdateItem"], second["Query"]) == (1, 0)


def test_a_place_that_cannot_be_had_costs_no_job(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts at the head."""
    shop.push("a", 3)
    head = virtual_start(shop.rows()[0])

    def fails(*_: object) -> bool:
        raise BackendError("throttled")

    keys = shop.backend.stores.fair_keys()
    monkeypatch.setattr(type(keys), "begin", fails)
    monkeypatch.setattr(type(keys), "move_on", fails)
    shop.push("b")
    assert [virtual_start(key) for key in shop.rows()].count(head) == 2
    assert Counter(shop.fetch(4)) == {"a": 3, "b": 1}


def test_a_queue_without_the_mode_pays_nothing(shop: Shop) -> None:
    """Neither a call nor a place."""
    shop.push("")
    with shop.aws.calls.counted() as plain:
        shop.push("", priority=1)
        shop.fetch(2)
    assert plain["Query"] == 4
    assert not any(map(is_fair, shop.rows()))
