"""Fair queues through the real adapters: order, weights, late jobs, costs, and two processes."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, UnsupportedError
from ojs_aws.domain.fairness import COST_NS, empty_ns
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.lists import Page
from ojs_aws.domain.jobs.ready_keys import is_fair, ready_since, virtual_start
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.queues import Message
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.candidates import INDEX_LAG_MS, QueueSnapshot, named_by
from ojs_aws.services.jobs.fetch.queue_line import FAIR_DUE
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.testing.deployment import FakeClock
from tests.api import Api
from tests.aws import EmbeddedAws


def job_of(values: dict[str, Any]) -> Job:
    """A job as the transport makes it of a body."""
    return Job.from_members({name: RawJson(json.dumps(value)) for name, value in values.items()})


class Shop:
    """A backend whose jobs bring fairness keys."""

    def __init__(self, aws: EmbeddedAws) -> None:
        self.aws, self.clock = aws, FakeClock()
        self.backend = self.process()
        self.ids: list[str] = []

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
        ids = [each.record.id for each in pushed if each.record is not None]
        self.ids += ids
        return ids

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

    def all_jobs(self) -> list[JobRecord]:
        """All jobs that were pushed."""
        return [*self.backend.stores.store.load_many(self.ids).values()]

    def jobs(self) -> list[JobRecord]:
        """Those that are available."""
        return [job for job in self.all_jobs() if job.state is JobState.AVAILABLE]


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
    assert max(starts) - min(starts) == 39 * COST_NS + 1


def test_a_queue_is_made_fair_once(shop: Shop) -> None:
    """By the first job with a key; an update more is what each job costs then."""
    shop.push("a")
    shop.clock.advance(ms=300)
    with shop.aws.calls.counted() as first:
        shop.push("a")
    assert (first["UpdateItem"], first["Query"]) == (1, 1)
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
    assert [virtual_start(key) for key in shop.rows()][:2] == [head, head + 1]
    assert Counter(shop.fetch(4)) == {"a": 3, "b": 1}


def test_a_queue_without_the_mode_pays_nothing(shop: Shop) -> None:
    """Neither a call nor a place."""
    shop.push("")
    with shop.aws.calls.counted() as plain:
        shop.push("", priority=1)
        shop.fetch(2)
    assert plain["Query"] == 4
    shop.push("")
    shop.backend.jobs.fetch(FetchRequest(("default",), 1, "w"))
    shop.clock.advance(ms=60_000_000)
    with shop.aws.calls.counted() as again:
        shop.backend.changer.load(shop.ids[-1], shop.clock.now())
    assert again == {"GetItem": 1, "UpdateItem": 2}  # it timed out, and its retry became due
    assert len(shop.rows()) == 1
    assert not any(map(is_fair, shop.rows()))


def test_a_queue_can_be_fair_by_what_jobs_say_of_themselves(shop: Shop) -> None:
    """Producers need not change; a job's own key comes before it."""
    shop.backend.queues.config.change("default", {"fairness": {"by": "meta.customer.id"}})
    for customer, count in ((1, 30), ("x y", 3)):
        shop.push("", count, meta={"customer": {"id": customer}})
    shop.push("own", meta={"customer": {"id": 1}})
    keys = {job.fairness.key for job in shop.jobs() if job.fairness is not None}
    assert keys == {"1", "own", next(key for key in keys if key.startswith("sha256-"))}
    assert "own" in shop.fetch(4)


def test_a_tenant_has_a_weight(shop: Shop) -> None:
    """Where the job names none."""
    shop.backend.tenant_admin.change(
        "acme", lambda settings: settings.with_limits({"fairness_weight": 4})
    )
    shop.backend.queues.config.change("default", {"fairness": {"by": "tenant"}})
    other = shop.process()
    shop.push("", meta={"tenant_id": "acme"}, by=other)
    shop.push("", meta={"tenant_id": "beta"}, by=other)
    shop.push("own", weight=2, meta={"tenant_id": "acme"}, by=other)
    found = {(job.fairness.key, job.fairness.weight) for job in shop.jobs() if job.fairness}
    assert found == {("acme", 4.0), ("beta", 1.0), ("own", 2.0)}


def test_the_mode_can_be_switched_on_and_off_with_a_backlog(shop: Shop) -> None:
    """Old and new places sort together, and none is left."""
    shop.push("", 5)
    shop.clock.advance(ms=1_000)
    shop.push("a", 5)
    assert shop.fetch()[0] in {"a", "none"}
    shop.backend.queues.config.change("default", {"fairness": None})
    shop.clock.advance(ms=10_000)
    other = shop.process()
    shop.push("", 2, by=other)
    assert not is_fair(shop.rows()[-1])
    assert len(shop.fetch(12)) == 11
    assert shop.rows() == []


def test_jobs_from_before_get_a_place_when_they_come_again(shop: Shop) -> None:
    """FETCH has seen that the queue is fair by now."""
    shop.push("", scheduled_at="+PT10S")
    shop.push("a", 60)
    shop.clock.advance(ms=11_000)
    assert "none" in shop.fetch(2)


def test_a_job_that_waited_in_a_sequence_keeps_the_place_it_paid_for(shop: Shop) -> None:
    """Never one before the head, which it would pull back for all."""
    shop.push("a", 2, sequence="s")
    blocked = next(job for job in shop.all_jobs() if job.state is JobState.PENDING)
    assert blocked.fairness is not None
    assert blocked.fairness.start > 0
    shop.fetch()
    shop.clock.advance(ms=60_000)
    shop.backend.sequence_advance.advance("", "s")
    [key] = shop.rows()
    assert virtual_start(key) >= empty_ns(shop.clock.now())


def test_a_step_of_a_workflow_has_a_place(shop: Shop) -> None:
    """As every new job of a fair queue."""
    shop.push("a", 30)
    step = {"name": "s", "type": "job.b", "args": [], "options": {"fairness": {"key": "b"}}}
    api = Api(shop.backend)
    assert api.post("/workflows", {"type": "chain", "name": "w", "steps": [step]}).status == 201
    assert "b" in shop.fetch(2)


def test_a_default_policy_cannot_be_fair(shop: Shop) -> None:
    """FETCH looks at each queue's own row."""
    with pytest.raises(UnsupportedError, match="one queue"):
        shop.backend.queues.config.change("_default", {"fairness": {}})


def test_why_says_that_a_key_is_over_its_share(shop: Shop) -> None:
    """And how many jobs of it start before; the first of a key is not over."""
    ids = shop.push("a", 10)
    shop.push("b")
    why = shop.backend.jobs.why
    texts = [reason.message for reason in why(ids[9]).reasons]
    assert any("Its key 'a' is over its share: 9 of them start first." in text for text in texts)
    for job_id in (ids[0], *shop.push("c")):
        found = [reason.message for reason in why(job_id).reasons]
        assert found
        assert not any("share" in text for text in found)


def test_clocks_that_differ_by_seconds_hold_no_key_up(shop: Shop) -> None:
    """A job that a fast clock has placed is over, and its key comes again with a slow one."""
    shop.clock.advance(ms=5_000)
    shop.push("a", by=shop.process())
    shop.fetch()
    shop.clock.set_back(shop.clock.at - 5_000)
    other = shop.process()
    shop.push("b", 40, by=other)
    shop.push("a", 5, by=other)
    assert Counter(shop.fetch(10)) == {"a": 5, "b": 5}


def test_a_round_makes_a_bounded_number_of_due_jobs_available(shop: Shop) -> None:
    """The most urgent ones: those of higher priority, then those that were due first."""
    shop.push("a", 20)
    shop.push("b", 20, scheduled_at="+PT10S")
    shop.push("c", 1, scheduled_at="+PT11S", priority=3)
    shop.clock.advance(ms=12_000)
    assert shop.fetch() == ["c"]
    due = [job for job in shop.all_jobs() if job.state is JobState.SCHEDULED]
    assert 20 - len(due) in {FAIR_DUE, FAIR_DUE + 1}


def test_a_fetch_of_a_fair_queue_reads_no_more(shop: Shop) -> None:
    """The row that says that it is fair comes with the head."""
    shop.push("a", 5)
    with shop.aws.calls.counted() as fair:
        shop.backend.jobs.fetch(FetchRequest(("default",), 1, "w"))
    shop.push("", 5, queue="plain")
    with shop.aws.calls.counted() as plain:
        shop.backend.jobs.fetch(FetchRequest(("plain",), 1, "w"))
    assert fair["Query"] == plain["Query"] == 2
    assert fair["UpdateItem"] == plain["UpdateItem"] == 1
    assert fair["BatchGetItem"] == plain["BatchGetItem"] == 0


def test_a_queue_that_is_not_fair_settles_no_due_jobs_before_their_turn(shop: Shop) -> None:
    """What is due there has its place by the clock."""
    shop.push("", 5, scheduled_at="+PT10S", priority=-5)
    shop.clock.advance(ms=11_000)
    shop.push("")
    shop.backend.jobs.fetch(FetchRequest(("default",), 1, "w"))
    states = Counter(job.state for job in shop.all_jobs())
    assert states[JobState.ACTIVE] == 1
    assert states[JobState.SCHEDULED] >= 4


def test_a_worker_of_one_tenant_gets_a_due_job_before_the_backlog(shop: Shop) -> None:
    """It looks through the list itself, and settles the tenant's due jobs first."""
    meta = {"tenant_id": "acme"}
    shop.push("a", 3, meta=meta)
    shop.push("b", scheduled_at="+PT10S", meta=meta)
    shop.clock.advance(ms=11_000)
    request = FetchRequest(("default",), 2, "w", tenant="acme")
    assert "job.b" in {job.type for job in shop.backend.jobs.fetch(request)}


def test_a_new_job_at_the_head_is_not_taken_for_gone(shop: Shop) -> None:
    """Its message may come before the index shows it, and its place is before the others."""
    shop.push("a", 30)
    head = shop.backend.stores.store.head("default", 10)
    shop.push("b")
    key = next(key for key in shop.rows() if key not in {row.sort_key for row in head.jobs})
    named = named_by(Message("b", key))
    snapshot = QueueSnapshot(head, Page(()))
    assert not snapshot.has_passed(named, shop.clock.now())
    assert snapshot.has_passed(named, Instant(shop.clock.now() + INDEX_LAG_MS + 1))


def test_many_jobs_are_enqueued_by_one_update_for_each_key(shop: Shop) -> None:
    """A batch beyond a transaction goes by a log, and its jobs have places, too."""
    shop.push("a")
    with shop.aws.calls.counted() as counted:
        shop.push("b", 250)
    assert counted["Query"] <= 2
    starts = sorted(map(virtual_start, shop.rows()))
    assert len(starts) == 251
    assert starts[-1] - starts[0] == 249 * COST_NS + 1


def test_a_bulk_of_retries_gives_places(shop: Shop) -> None:
    """Jobs that are retried together take places of their keys."""
    [job_id] = shop.push("a", retry={"max_attempts": 1, "on_exhaustion": "dead_letter"})
    shop.backend.jobs.fetch(FetchRequest(("default",), 1, "w"))
    body = {"job_id": job_id, "error": {"type": "boom", "message": "broken"}}
    api = Api(shop.backend)
    assert api.post("/workers/nack", body).status == 200
    shop.push("b", 3)
    shop.clock.advance(ms=60_000)
    answer = api.post("/jobs/bulk/retry", {"job_ids": [job_id], "atomicity": "atomic"})
    assert answer.status == 200, answer.json
    assert all(map(is_fair, shop.rows()))
    assert shop.fetch(3).count("a") == 1
