"""What a workflow costs: AWS calls and write units of its creation and of each of its steps."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.columns import item_bytes, write_units
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.testing.deployment import FakeClock
from tests.api import Api
from tests.aws import EmbeddedAws
from tests.functions.test_cron_stream import Stream


@pytest.fixture
def backend(aws: EmbeddedAws) -> Backend:
    """A backend over it that knows the settings of the queue: they are read once in a while."""
    backend = build_backend(aws.settings, aws.clients, clock=FakeClock(), parallel=IN_ORDER)
    backend.queues.push_settings.of("default")
    return backend


def job(type_: str, **more: Any) -> dict[str, Any]:
    return {"type": type_, "args": [1], **more}


CHAIN = {"type": "chain", "steps": [job("a"), job("b"), job("c")]}
GROUP = {"type": "group", "jobs": [job("a")] * 20}
BATCH = {"type": "batch", "jobs": [job("a")] * 2, "callbacks": {"on_complete": job("c")}}
STEPS = [
    job("a", id="a", depends_on=[]),
    job("b", id="b", depends_on=["a"]),
    job("c", id="c", depends_on=["a"]),
    job("d", id="d", depends_on=["b", "c"]),
]


def created(aws: EmbeddedAws, backend: Backend, body: dict[str, Any]) -> tuple[str, dict[str, int]]:
    """A new workflow, and the calls that it took."""
    with aws.calls.counted() as calls:
        workflow_id: str = Api(backend).post("/workflows", body).json["id"]
    return workflow_id, dict(calls)


def end(backend: Backend) -> int:
    """Complete all jobs that there are; how many."""
    jobs = backend.jobs.fetch(FetchRequest(("default",), 50, "w"))
    for each in jobs:
        backend.jobs.ack(each.id, "w", None)
    return len(jobs)


def followed(aws: EmbeddedAws, stream: Stream) -> Counter[str]:
    """What the stream's consumer calls to move the workflow on, events not counted."""
    with aws.calls.counted() as calls:
        stream.flow()
    return calls


@pytest.mark.parametrize(
    ("body", "cost"),
    [
        (CHAIN, {"TransactWriteItems": 1, "SendMessage": 1}),
        (GROUP, {"TransactWriteItems": 1, "SendMessageBatch": 2}),
        (BATCH, {"TransactWriteItems": 1, "SendMessageBatch": 1}),
        ({"steps": STEPS}, {"TransactWriteItems": 1, "SendMessage": 1}),
    ],
)
def test_creating_a_workflow_costs_a_transaction_and_its_first_messages(
    aws: EmbeddedAws, backend: Backend, body: dict[str, Any], cost: dict[str, int]
) -> None:
    """One message for ten jobs."""
    assert created(aws, backend, body)[1] == cost


def test_a_workflow_asks_for_the_settings_of_its_queue_as_often_as_one_job(
    aws: EmbeddedAws,
) -> None:
    """However many jobs it has, and though nothing is remembered between requests."""
    settings = replace(aws.settings, queue_settings_age_ms=0)
    backend = build_backend(settings, aws.clients, clock=FakeClock(), parallel=IN_ORDER)
    calls = created(aws, backend, {"type": "group", "jobs": [job("a")] * 70})[1]
    assert calls["BatchGetItem"] == 2  # when it is checked, and when its jobs are made


def workflow_items(aws: EmbeddedAws, workflow_id: str) -> dict[str, int]:
    """The sizes in bytes of what is kept of a workflow, by its sort keys."""
    answer = aws.clients.dynamodb.query(
        TableName=aws.settings.table,
        KeyConditionExpression="#pk = :pk",
        ExpressionAttributeNames={"#pk": "pk"},
        ExpressionAttributeValues={":pk": {"S": f"workflow#{workflow_id}"}},
    )
    return {item["sk"]["S"]: item_bytes(dict(item)) for item in answer["Items"]}


def test_a_workflow_of_twenty_members_is_two_small_items(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """Two units for the workflow and two for its plan, in a transaction, and one for the index."""
    workflow_id, _ = created(aws, backend, GROUP)
    sizes = workflow_items(aws, workflow_id)
    assert len(sizes) == 2
    assert 2 * write_units(*sizes.values()) + 1 == 5


ENDS = {"GetItem": 1, "TransactWriteItems": 1}
"""A read of the workflow, and the write that takes ends over and stores the jobs that begin."""

READS = {"Query": 1}
"""Of the plan, once for each process; or of results that were stored before."""

ONE, TWO = {"SendMessage": 1}, {"SendMessageBatch": 1}


@pytest.mark.parametrize(
    ("body", "rounds"),
    [
        (CHAIN, [(1, ENDS | READS | ONE), (1, ENDS | READS | ONE), (1, ENDS)]),
        (GROUP, [(20, ENDS | READS)]),
        (BATCH, [(2, ENDS | READS | ONE), (1, ENDS)]),
        ({"steps": STEPS}, [(1, ENDS | READS | TWO), (2, ENDS | ONE), (1, ENDS)]),
    ],
)
def test_jobs_that_end_together_cost_a_read_and_a_write(
    aws: EmbeddedAws,
    backend: Backend,
    body: dict[str, Any],
    rounds: list[tuple[int, dict[str, int]]],
) -> None:
    """And the steps that begin then a message; two puts log all the events.

    What the queue did is counted by one more for each of the two batches, or two at a minute's end.
    """
    stream = Stream(aws, backend)
    created(aws, backend, body)
    stream.flow()
    for ended, cost in rounds:
        assert end(backend) == ended
        calls = followed(aws, stream)
        assert 1 <= calls.pop("UpdateItem") <= 4
        assert calls == cost | {"PutItem": 2}
    assert end(backend) == 0


def test_a_step_of_a_chain_costs_seven_write_units(aws: EmbeddedAws, backend: Backend) -> None:
    """Workflow, result and next job in a transaction, two each, and the job's row of the index."""
    stream = Stream(aws, backend)
    workflow_id, _ = created(aws, backend, CHAIN)
    stream.flow()
    end(backend)
    stream.flow()
    sizes = workflow_items(aws, workflow_id)
    results = [size for key, size in sizes.items() if key.startswith("results#")]
    [following] = backend.jobs.fetch(FetchRequest(("default",), 1, "w"))
    key = {"pk": {"S": f"job#{following.id}"}, "sk": {"S": "job"}}
    item = aws.clients.dynamodb.get_item(TableName=aws.settings.table, Key=key)["Item"]
    assert len(results) == 1
    assert 2 * write_units(sizes["workflow"], *results, item_bytes(dict(item))) + 1 == 7
