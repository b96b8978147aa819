"""Fair queues that learn what starts cost: shares of time, calls, and who pays nothing."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from ojs_aws.domain.fairness import Runs, read_run_times
from ojs_aws.domain.job_policies import FairShare
from ojs_aws.domain.jobs.ready_keys import virtual_start
from tests.aws import EmbeddedAws
from tests.functions.test_queue_totals import Deployed

BY_TIME: dict[str, Any] = {"fairness": {"by": "meta.customer", "cost": "run_time"}}


@pytest.fixture
def deployed(aws: EmbeddedAws) -> Deployed:
    """A deployment whose queue learns."""
    deployed = Deployed(aws)
    deployed.backend.queues.config.change("default", BY_TIME)
    return deployed


def push(deployed: Deployed, customer: str, job_type: str) -> str:
    """Enqueue a job of a customer."""
    return deployed.api.push(type=job_type, meta={"customer": customer})


def share_of(deployed: Deployed, job_id: str) -> FairShare | None:
    """Whose share a job uses."""
    return deployed.backend.stores.store.load_many([job_id])[job_id].fairness


def run(deployed: Deployed, customer: str, job_type: str, ms: int) -> None:
    """Enqueue a job and run it for so long."""
    push(deployed, customer, job_type)
    [job] = deployed.api.fetch()
    deployed.clock.advance(ms=ms)
    deployed.worker("ack", job["id"])


def known(deployed: Deployed) -> dict[str, Runs]:
    """What is known of the queue's run times."""
    stored = deployed.backend.stores.queue_settings().load(["default"])
    return read_run_times(stored["default"].run_times)


def learnt(deployed: Deployed, runs: int = 40) -> None:
    """Let jobs of two types run, one four times as long, and PUSH know it."""
    for _ in range(runs):
        run(deployed, "a", "short", 100)
        run(deployed, "a", "long", 400)
    deployed.flow()
    deployed.clock.advance(s=6)


def test_a_start_costs_what_its_type_ran(deployed: Deployed) -> None:
    """So customers share time: four short jobs for a long one."""
    learnt(deployed)
    assert known(deployed) == {"short": Runs(40, 4_000), "long": Runs(40, 16_000)}
    for _ in range(10):
        push(deployed, "b", "long")
    for _ in range(40):
        push(deployed, "c", "short")
    order = [deployed.api.fetch()[0]["type"] for _ in range(25)]
    assert Counter(order) == {"short": pytest.approx(20, abs=1), "long": pytest.approx(5, abs=1)}


def test_a_type_that_never_ran_costs_1(deployed: Deployed) -> None:
    """As each does before anything is known."""
    settings = deployed.backend.queues.push_settings
    assert settings.of("default").costs == {}
    learnt(deployed)
    costs = settings.of("default").costs
    assert costs is not None
    assert costs.keys() == {"short", "long"}
    [first, second] = [push(deployed, "z", "new") for _ in range(2)]
    jobs = deployed.backend.stores.store.load_many([first, second])
    starts = [virtual_start(jobs[each].ready_key) for each in (first, second)]
    share = jobs[first].fairness
    assert share is not None
    assert share.cost == 1.0
    assert starts[1] - starts[0] in (2_000, 2_001)


def test_learning_is_a_read_and_a_write_in_a_minute(deployed: Deployed) -> None:
    """By the stream's consumer. PUSH reads the run times with the settings that it reads anyhow."""
    learnt(deployed, 2)
    deployed.clock.advance(s=60)
    calls = list[Counter[str]]()
    for _ in range(2):
        run(deployed, "a", "short", 100)
        with deployed.aws.calls.counted() as counted:
            deployed.flow()
        calls.append(counted)
        deployed.clock.advance(s=1)
    minute = {"UpdateItem": 1, "BatchGetItem": 1}
    assert calls[0]["BatchGetItem"] == 1
    assert calls[1]["BatchGetItem"] == 0
    assert (calls[0] - calls[1]) >= Counter(minute)
    deployed.clock.advance(s=6)
    with deployed.aws.calls.counted() as first:
        push(deployed, "a", "short")
    with deployed.aws.calls.counted() as second:
        push(deployed, "a", "short")
    assert first == {"PutItem": 1, "SendMessage": 1, "UpdateItem": 1, "Query": 1, "BatchGetItem": 1}
    assert second == {"PutItem": 1, "SendMessage": 1, "UpdateItem": 1}


@pytest.mark.parametrize("config", [None, {"fairness": {"by": "meta.customer"}}])
def test_a_queue_that_does_not_learn_pays_nothing(
    deployed: Deployed, config: dict[str, Any] | None
) -> None:
    """Its jobs carry no cost, and the consumer reads and writes nothing more."""
    if config is not None:
        deployed.backend.queues.config.change("other", config)
    job_id = deployed.api.push(queue="other", meta={"customer": "a"})
    deployed.flow()
    deployed.api.fetch("other")
    deployed.worker("ack", job_id)
    with deployed.aws.calls.counted() as calls:
        deployed.flow()
    assert calls["BatchGetItem"] == 0
    assert "costs" not in deployed.backend.queues.__dict__
    share = share_of(deployed, job_id)
    assert (share is None) is (config is None)
    assert share is None or share.cost is None


def test_learning_is_no_change_of_the_settings(deployed: Deployed) -> None:
    """No event, no revision; and a change of the settings forgets nothing."""
    before = deployed.backend.stores.queue_settings().load(["default"])["default"]
    learnt(deployed, 3)
    deployed.flow()
    after = deployed.backend.stores.queue_settings().load(["default"])["default"]
    assert after.revision == before.revision
    updated = deployed.api.get("/events", query={"types": "queue.config_updated"}).json["events"]
    assert len(updated) <= 1
    deployed.backend.queues.config.change("default", {"max_size": 100})
    assert known(deployed) == {"short": Runs(3, 300), "long": Runs(3, 1_200)}


def test_a_retry_costs_what_the_job_did(deployed: Deployed) -> None:
    """Its cost is stored with it, as its weight is."""
    learnt(deployed)
    job_id = push(deployed, "a", "long")
    before = share_of(deployed, job_id)
    assert before is not None
    assert before.cost == pytest.approx(1.6, abs=0.1)
    deployed.api.fetch()
    deployed.clock.advance(s=60_000)
    after = deployed.backend.changer.load(job_id, deployed.clock.now()).fairness
    assert after is not None
    assert after.cost == before.cost
    assert after.rate == pytest.approx(1 / 1.6, rel=0.1)
    assert after.start > before.start
