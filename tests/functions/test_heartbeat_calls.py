"""What heartbeats cost: calls, and the row of the index that each of them moves or leaves."""

from __future__ import annotations

import pytest

from ojs_aws.adapters.dynamodb.columns import item_bytes, write_units
from ojs_aws.adapters.dynamodb.names import instant_key
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.jobs.held_job import attempt_of
from ojs_aws.domain.workers import WorkerReport
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.aws import EmbeddedAws
from tests.clocks import advance
from tests.functions.counting import job_item, warm_backend
from tests.job_steps import pushed

REQUEST = FetchRequest(("default",), worker_id="worker-1")
BEAT = WorkerReport(interval_ms=15_000)


@pytest.fixture
def backend(aws: EmbeddedAws) -> Backend:
    """A backend over it, in a process that has fetched before from its usual queues."""
    return warm_backend(aws)


def rows_of(aws: EmbeddedAws, *job_ids: str) -> list[JsonValue]:
    """Return the keys of jobs in the index: a change of one costs two write units."""
    return [job_item(aws, job_id)["gsk"]["S"] for job_id in job_ids]


@pytest.mark.parametrize("promise", [15_000, None])
def test_a_heartbeat_costs_three_calls_and_mostly_two_units(
    aws: EmbeddedAws, backend: Backend, promise: int | None
) -> None:
    """Worker, job, message; no read. Each second one moves the job's row of the index."""
    job = pushed(backend)
    request = FetchRequest(("default",), worker_id="w", heartbeat_interval_ms=promise)
    backend.jobs.fetch(request)
    advance(backend, s=1)
    report = WorkerReport(interval_ms=promise)
    moved: list[bool] = []
    for _ in range(8):
        row = rows_of(aws, job.id)
        with aws.calls.counted() as calls:
            beat = backend.workers.heartbeat("w", [job.id], report=report)
        assert (beat.extended, beat.state) == ((job.id,), "running")
        assert calls == {"UpdateItem": 2, "ChangeMessageVisibility": 1}
        assert write_units(item_bytes(job_item(aws, job.id))) == 1
        moved.append(rows_of(aws, job.id) != row)
        advance(backend, s=15)
    assert moved == [False, True, False, True, False, True, False, True]


@pytest.mark.parametrize("named", [20_000, 30_000, 60_000, 600_000])
def test_a_heartbeat_that_names_an_extension_does_not_read_either(
    aws: EmbeddedAws, backend: Backend, named: int
) -> None:
    """As the Python client does: the same length with FETCH and with each heartbeat."""
    job = pushed(backend)
    backend.jobs.fetch(FetchRequest(("default",), 1, "w", named))
    rows = set()
    for _ in range(12):
        advance(backend, s=5)
        with aws.calls.counted() as calls:
            beat = backend.workers.heartbeat("w", [job.id], named)
        assert beat.extended == (job.id,)
        assert calls == {"UpdateItem": 2, "ChangeMessageVisibility": 1}
        rows |= {*rows_of(aws, job.id)}
    assert len(rows) <= 6


@pytest.mark.parametrize(
    ("own_s", "fetched_ms", "refused"),
    [
        (None, None, []),
        (None, 30_000, [0]),
        (None, 60_000, [0, 1]),
        (300, None, [0]),
        (10, None, [0]),
    ],
)
def test_a_reservation_unlike_most_costs_one_refused_write_or_two(
    aws: EmbeddedAws,
    backend: Backend,
    own_s: int | None,
    fetched_ms: int | None,
    refused: list[int],
) -> None:
    """At the worker's first heartbeat the backend learns how its reservations end.

    The second one gives it a pace, and may find the row behind the instant of its death then.
    """
    job = pushed(backend, visibility_timeout_s=own_s)
    backend.jobs.fetch(FetchRequest(("default",), 1, "w", fetched_ms))
    for number in range(12):
        advance(backend, s=5)
        with aws.calls.counted() as calls:
            assert backend.workers.heartbeat("w", [job.id]).extended == (job.id,)
        writes = 3 if number in refused else 2
        assert calls == {"UpdateItem": writes, "ChangeMessageVisibility": 1}


def test_a_heartbeat_that_may_not_shorten_writes_nothing_to_the_job(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """The first one, which asks for less than is left. The second one gives the worker a pace."""
    job = pushed(backend)
    backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    item = job_item(aws, job.id)
    for is_written in (False, True):
        advance(backend, s=5)
        with aws.calls.counted() as calls:
            assert backend.workers.heartbeat("w", [job.id], 30_000).extended == (job.id,)
        assert calls == {"UpdateItem": 2, "ChangeMessageVisibility": 1}
        assert (job_item(aws, job.id) != item) is is_written


def test_a_reservation_unlike_the_default_stores_its_length_in_few_bytes(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """In the item of an active job, so that each heartbeat extends by as much."""
    for fetched_ms, own_s, stored in ((None, None, 0), (1_800_000, None, 0), (None, 60, 0)):
        job = pushed(backend, visibility_timeout_s=own_s)
        backend.jobs.fetch(FetchRequest(("default",), 1, "w", fetched_ms))
        assert ("rv" in job_item(aws, job.id)) is bool(stored)
    job = pushed(backend)
    backend.jobs.fetch(FetchRequest(("default",), 1, "w", 47_231))
    item = job_item(aws, job.id)
    assert item["rv"] == {"N": "47231"}
    assert item_bytes(item) - item_bytes({k: v for k, v in item.items() if k != "rv"}) <= 8
    backend.jobs.ack(job.id, "w", None)
    assert "rv" not in job_item(aws, job.id)


def test_a_job_that_nobody_beats_for_is_listed_again_once(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """A worker gave its name, so it might have sent heartbeats: its row was early."""
    job = pushed(backend)
    backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    (early,) = rows_of(aws, job.id)
    rows = set()
    for _ in range(20):
        advance(backend, s=60)
        assert backend.jobs.fetch(REQUEST) == []
        rows |= {*rows_of(aws, job.id)}
    assert rows == {instant_key(int(str(early)) + 1_755_000) + "#100"}


def test_a_worker_that_beats_more_often_moves_its_rows_as_rarely(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """Every five seconds, although every fifteen would do."""
    job = pushed(backend)
    backend.jobs.fetch(FetchRequest(("default",), worker_id="w", heartbeat_interval_ms=15_000))
    rows = set()
    for _ in range(20):
        advance(backend, s=5)
        with aws.calls.counted() as calls:
            backend.workers.heartbeat("w", [job.id], report=BEAT)
        assert calls == {"UpdateItem": 2, "ChangeMessageVisibility": 1}
        rows |= {*rows_of(aws, job.id)}
    assert len(rows) == 5


def test_a_heartbeat_of_several_jobs_reads_none(aws: EmbeddedAws, backend: Backend) -> None:
    """Worker, a conditional update each, one SQS call for all."""
    jobs = [pushed(backend) for _ in range(3)]
    request = FetchRequest(("default",), 3, worker_id="w", heartbeat_interval_ms=15_000)
    backend.jobs.fetch(request)
    advance(backend, s=1)
    names = [job.id for job in jobs]
    rows = rows_of(aws, *names)
    with aws.calls.counted() as calls:
        assert len(backend.workers.heartbeat("w", names, report=BEAT).extended) == 3
    assert calls == {"UpdateItem": 4, "ChangeMessageVisibilityBatch": 1}
    assert rows_of(aws, *names) == rows


def test_a_heartbeat_that_is_refused_does_not_read_either(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """The refused write says what became of the job: it is lost, or it was cancelled."""
    lost, cancelled = pushed(backend), pushed(backend)
    request = FetchRequest(("default",), 2, worker_id="w", heartbeat_interval_ms=15_000)
    backend.jobs.fetch(request)
    backend.jobs.cancel(cancelled.id)
    with aws.calls.counted() as calls:
        beat = backend.workers.heartbeat("w", [cancelled.id], report=BEAT)
        assert (beat.cancelled, beat.lost) == ((cancelled.id,), ())
        beat = backend.workers.heartbeat("x", [lost.id], report=BEAT)
        assert (beat.cancelled, beat.lost) == ((), (lost.id,))
    assert calls == {"UpdateItem": 4}


def test_a_row_out_of_step_costs_a_refused_write(aws: EmbeddedAws, backend: Backend) -> None:
    """The heartbeat that would have moved it did not name the job; the next one does, then."""
    job = pushed(backend)
    backend.workers.heartbeat("w", [], report=BEAT)
    backend.jobs.fetch(FetchRequest(("default",), 1, "w", heartbeat_interval_ms=15_000))
    advance(backend, s=13)
    backend.workers.heartbeat("w", [], report=BEAT)
    advance(backend, s=15)
    with aws.calls.counted() as calls:
        assert backend.workers.heartbeat("w", [job.id], report=BEAT).extended == (job.id,)
    assert calls == {"UpdateItem": 3, "ChangeMessageVisibility": 1}


def test_a_heartbeat_of_a_lambda_function_costs_two_calls(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """It knows the job from the claim, and from the heartbeat before; nobody registers it.

    One write unit: the row of the index stays, since its time is far off.
    """
    pushed(backend)
    request = FetchRequest(("default",), 1, "lambda_1", visibility_timeout_ms=1_800_000)
    (job,) = backend.jobs.fetch(request)
    extend = backend.workers.heartbeat.extend
    row = rows_of(aws, job.id)
    for _ in range(2):
        advance(backend, s=1)
        with aws.calls.counted() as calls:
            answer, after = extend("lambda_1", job.id, None, which=attempt_of(job), start=job)
        assert calls == {"UpdateItem": 1, "ChangeMessageVisibility": 1}
        assert len(answer.extended) == 1
        assert after is not None
        job = after
        assert rows_of(aws, job.id) == row
    with aws.calls.counted() as calls:  # there is nothing to write: it looks at the job instead
        extend("lambda_1", job.id, None, which=attempt_of(job), start=job)
    assert calls == {"GetItem": 1, "ChangeMessageVisibility": 1}


def test_a_heartbeat_of_fifty_jobs_costs_one_write_each_and_few_calls(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """One registry write of one unit, no read, SQS in tens; a heartbeat without jobs: one call."""
    jobs = [pushed(backend) for _ in range(50)]
    backend.jobs.fetch(FetchRequest(("default",), 50, "w", heartbeat_interval_ms=15_000))
    advance(backend, s=1)
    with aws.calls.counted() as calls:
        beat = backend.workers.heartbeat("w", [job.id for job in jobs], report=BEAT)
        assert len(beat.extended) == 50
    batches = calls.pop("ChangeMessageVisibilityBatch")
    assert batches <= 5
    assert calls == {"UpdateItem": 51}
    key = {"pk": {"S": "workers"}, "sk": {"S": "w"}}
    worker = aws.clients.dynamodb.get_item(TableName=aws.settings.table, Key=key)["Item"]
    assert write_units(item_bytes(worker)) == 1
    with aws.calls.counted() as calls:
        backend.workers.heartbeat("w", [])
    assert calls == {"UpdateItem": 1}


def test_finding_dead_workers_costs_nothing(aws: EmbeddedAws, backend: Backend) -> None:
    """Decision 9: the same calls, and the same write units, as without a promise to beat."""
    plain, promising = pushed(backend), pushed(backend)
    for job, interval in ((plain, None), (promising, 5000)):
        request = FetchRequest(("default",), worker_id="w", heartbeat_interval_ms=interval)
        with aws.calls.counted() as calls:
            assert [claimed.id for claimed in backend.jobs.fetch(request)] == [job.id]
        assert calls == {"ReceiveMessage": 1, "Query": 2, "UpdateItem": 1}
        item = job_item(aws, job.id)
        rest = {name: value for name, value in item.items() if name != "ra"}
        assert ("ra" in item) is (interval is not None)
        assert item_bytes(item) - item_bytes(rest) <= 10
    for job in (plain, promising):
        with aws.calls.counted() as calls:
            backend.jobs.ack(job.id, "w", None)
        assert calls == {"UpdateItem": 1, "DeleteMessage": 1}
