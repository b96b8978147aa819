"""Batches of sequenced jobs that are too large for one transaction: order, deaths and costs."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.batches import Batches
from ojs_aws.domain.errors import BackendError
from ojs_aws.services.batches import BatchPush
from tests.aws import EmbeddedAws
from tests.functions.test_sequences import KEY, Shop

KEYS = ("k1", "k2", "k3")


@pytest.fixture
def shop(aws: EmbeddedAws) -> Shop:
    return Shop(aws)


def jobs_of(count: int, *keys: str, **more: Any) -> list[dict[str, Any]]:
    """Envelopes of jobs whose keys take turns."""
    found = []
    for number in range(count):
        job_id = f"01990000-0000-7000-9000-{number:012d}"
        found.append(
            {"id": job_id, "type": "a.b", "args": [number], "sequence": keys[number % len(keys)]}
            | more
        )
    return found


def pushed(shop: Shop, jobs: list[dict[str, Any]]) -> list[str]:
    """Send a batch; return the ids of its jobs."""
    answer = shop.api.post("/jobs/batch", {"jobs": jobs})
    assert answer.status in {200, 201}, answer.text
    return [each["id"] for each in answer.json["jobs"]]


def worked_off(shop: Shop) -> dict[str, list[Any]]:
    """Complete all jobs as they come; the arguments in their order, by key."""
    order = defaultdict(list)
    shop.flow()
    while ids := shop.fetch():
        jobs = [shop.job(each) for each in ids]
        keys = [job["sequence"] for job in jobs if "sequence" in job]
        assert len({*keys}) == len(keys)
        for job in jobs:
            order[job.get("sequence", "")].append(job["args"][0])
            shop.backend.jobs.ack(job["id"], "w", None)
        shop.flow()
    return order


def left(shop: Shop) -> list[str]:
    """The partitions of sequences that have items."""
    rows = shop.aws.clients.dynamodb.scan(TableName=shop.aws.settings.table)["Items"]
    return sorted(pk for row in rows if (pk := row["pk"]["S"]).startswith("seq#"))


def dead(*_: object) -> None:
    """A process that dies before the commit."""
    raise BackendError("died")


@pytest.fixture
def dies(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Processes die after a commit, before any job is in its place, until this is undone."""
    monkeypatch.setattr(BatchPush, "begin", lambda *_: {})
    return monkeypatch


def test_jobs_of_a_large_batch_run_in_their_order(shop: Shop) -> None:
    jobs = [*jobs_of(120, *KEYS), {"type": "c.d", "args": [-1]}]
    ids = pushed(shop, jobs)
    assert [shop.job(ids[at])["x_aws_sequence_position"] for at in (0, 1, 2, 3, 117)] == [
        *(1, 1, 1, 2, 40)
    ]
    assert [shop.state(ids[at]) for at in (0, 2, 3, 120)] == [
        *("available", "available", "pending", "available")
    ]
    order = worked_off(shop)
    assert order == {"": [-1]} | {key: [*range(at, 120, 3)] for at, key in enumerate(KEYS)}
    assert left(shop) == []


def test_an_answer_says_the_positions(shop: Shop) -> None:
    answer = shop.api.post("/jobs/batch", {"jobs": jobs_of(60, KEY)})
    assert [each["x_aws_sequence_position"] for each in answer.json["jobs"]] == [*range(1, 61)]
    assert {each["state"] for each in answer.json["jobs"][1:]} == {"pending"}


@pytest.mark.parametrize(("count", "puts"), [(49, 0), (50, 1)])
def test_which_way_a_batch_goes_follows_from_the_request(shop: Shop, count: int, puts: int) -> None:
    """A row for each job and an item for each key are counted, whether they are needed or not."""
    with shop.aws.calls.counted() as calls:
        pushed(shop, jobs_of(count, KEY))
    assert calls["PutItem"] == 2 * puts  # the log, and the sequence that names the batch


def test_a_batch_goes_behind_the_jobs_that_are_there(shop: Shop) -> None:
    first, second = shop.push(), shop.push()
    pushed(shop, jobs_of(60, KEY))
    last = shop.push()
    assert shop.job(last)["x_aws_sequence_position"] == 63
    assert shop.drain() == [first, second, *(each["id"] for each in jobs_of(60, KEY)), last]
    assert left(shop) == []


def test_a_later_job_goes_behind_a_batch_whose_process_died(
    shop: Shop, dies: pytest.MonkeyPatch
) -> None:
    """PUSH puts the batch's jobs of its sequence there first, and the sweep the others."""
    ids = pushed(shop, jobs_of(120, *KEYS))
    dies.undo()
    later = shop.push("k1", args=["later"])
    assert shop.job(later)["x_aws_sequence_position"] == 41
    assert shop.backend.stores.store.load(ids[1]) is None
    shop.clock.advance(s=31)
    shop.backend.upkeep.sweep.tick()
    assert shop.backend.stores.store.load(ids[1]) is not None
    order = worked_off(shop)
    assert order.pop("k1") == [*range(0, 120, 3), "later"]
    assert order == {key: [*range(at, 120, 3)] for at, key in enumerate(KEYS) if at}
    assert left(shop) == []


def test_a_later_batch_goes_behind_one_whose_process_died(
    shop: Shop, dies: pytest.MonkeyPatch
) -> None:
    first = pushed(shop, jobs_of(60, KEY))
    dies.undo()
    second = pushed(
        shop, [each | {"id": each["id"][:-1] + "f"} for each in jobs_of(600, KEY)[::10]]
    )
    assert shop.drain() == [*first, *second]


def test_whoever_asks_for_a_job_puts_those_before_it_there(
    shop: Shop, dies: pytest.MonkeyPatch
) -> None:
    ids = pushed(shop, jobs_of(60, KEY))
    dies.undo()
    assert shop.job(ids[30])["x_aws_sequence_position"] == 31
    assert shop.state(ids[0]) == "available"
    assert shop.drain() == ids


def test_a_repeated_batch_finds_its_jobs(shop: Shop, dies: pytest.MonkeyPatch) -> None:
    """Whether they are in their places or not, and again when they have been completed."""
    jobs = jobs_of(60, KEY)
    ids = pushed(shop, jobs)
    dies.undo()
    for _ in range(2):
        answer = shop.api.post("/jobs/batch", {"jobs": jobs})
        assert (answer.status, [each["id"] for each in answer.json["jobs"]]) == (200, ids)
    assert shop.drain() == ids
    assert pushed(shop, jobs) == ids
    assert left(shop) == []


def test_a_batch_that_was_never_committed_holds_nobody_up(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sequence is idle: the next job has the turn, and the item expires or ends with it."""
    with monkeypatch.context() as patch:
        patch.setattr(Batches, "decide", dead)
        assert shop.api.post("/jobs/batch", {"jobs": jobs_of(60, KEY)}).status == 500
    seen = shop.backend.stores.sequences().load("", KEY)
    assert seen is not None
    assert (seen.job_id, len(seen.batches)) == ("", 1)
    assert shop.api.get(f"/admin/sequences/{KEY}").status == 404
    first, second = shop.push(), shop.push()
    assert [shop.state(each) for each in (first, second)] == ["available", "pending"]
    assert shop.drain() == [first, second]
    [row] = [
        row
        for row in shop.aws.clients.dynamodb.scan(TableName=shop.aws.settings.table)["Items"]
        if row["pk"]["S"].startswith("seq#")
    ]
    assert int(row["ttl"]["N"]) > shop.clock.now() / 1000
    assert shop.drain() == []
    third = shop.push()
    assert shop.state(third) == "available"


def test_a_sequence_that_ends_while_a_batch_comes_stays_for_it(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head ends between the announcement and the commit: then the batch's first job is next."""
    first = shop.push()
    shop.flow()
    stage = Batches.stage

    def ends(batches: Batches, *given: Any) -> tuple[int, ...]:
        assert shop.fetch() == [first]
        shop.complete(first)
        seen = shop.backend.stores.sequences().load("", KEY)
        assert seen is not None
        assert (seen.job_id, seen.next) == ("", 3)
        return stage(batches, *given)

    monkeypatch.setattr(Batches, "stage", ends)
    ids = pushed(shop, jobs_of(60, KEY))
    assert [shop.state(each) for each in ids[:2]] == ["available", "pending"]
    assert shop.drain() == ids
    assert left(shop) == []


def test_a_discarded_job_cancels_those_of_a_batch_that_is_not_there_yet(
    shop: Shop, dies: pytest.MonkeyPatch
) -> None:
    first = shop.push({"key": KEY, "on_discard": "cancel"})
    ids = pushed(shop, jobs_of(60, KEY))
    dies.undo()
    assert shop.fetch() == [first]
    shop.fail(first)
    assert {shop.state(each) for each in ids} == {"cancelled"}
    assert left(shop) == []


def test_a_discarded_job_is_retried_where_a_sequence_was_left_idle(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = shop.push({"key": KEY, "on_discard": "skip"})
    shop.fetch()
    with monkeypatch.context() as patch:
        patch.setattr(Batches, "decide", dead)
        assert shop.api.post("/jobs/batch", {"jobs": jobs_of(60, KEY)}).status == 500
    shop.fail(first)
    assert shop.api.post(f"/dead-letter/{first}/retry").status == 200
    later = shop.push()
    assert shop.drain() == [first, later]


def test_a_sequence_is_not_held_up_by_a_log_that_is_gone(
    shop: Shop, dies: pytest.MonkeyPatch
) -> None:
    """The sweep gives the batch up later; a new job has the turn."""
    pushed(shop, jobs_of(60, KEY))
    dies.undo()
    table = shop.aws.settings.table
    for row in shop.aws.clients.dynamodb.scan(TableName=table)["Items"]:
        if row["pk"]["S"].startswith("batch#") and row["sk"]["S"] != "decision":
            key = {"pk": row["pk"], "sk": row["sk"]}
            shop.aws.clients.dynamodb.delete_item(TableName=table, Key=key)
    later = shop.push()
    assert shop.state(later) == "available"
    assert shop.drain() == [later]
    assert left(shop) == []


def test_unique_jobs_of_sequences_fit_one_transaction(shop: Shop) -> None:
    """Whose locks are taken at once; more are refused, and nothing is stored."""
    unique = {"keys": ["type", "args"]}
    answer = shop.api.post("/jobs/batch", {"jobs": jobs_of(60, KEY, unique=unique)})
    assert (answer.status, answer.json["error"]["details"]["max_size"]) == (413, 100)
    assert shop.rest() == (False, 0)
    assert len(pushed(shop, jobs_of(25, *(f"k{n}" for n in range(25)), unique=unique))) == 25


def test_a_large_batch_costs_two_calls_more_for_fifty_jobs_of_a_key(shop: Shop) -> None:
    """Its log and its marks apart: a transaction and a read for each forty-nine."""
    with shop.aws.calls.counted() as calls:
        pushed(shop, jobs_of(490, KEY))
    sent = calls.pop("SendMessage", 0) + calls.pop("SendMessageBatch", 0)
    assert sent == 1
    chunks = 5 + 6  # 250 and 240 jobs
    assert calls == {
        "BatchGetItem": 5,  # are the ids free?
        "GetItem": 1 + chunks,
        "Query": 1,
        "PutItem": 3,
        "TransactWriteItems": 1 + chunks,
        "UpdateItem": 1,
        "DeleteItem": 1,
    }
