"""Every AWS call is somebody's bill: the calls and write units of each operation, counted."""

from __future__ import annotations

import contextlib
from collections import Counter

import pytest

from ojs_aws.adapters.dynamodb.columns import item_bytes, write_units
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue, OjsError, QueueFullError
from ojs_aws.domain.json_text import RawJson, encode, parse_object
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.schemas.registry import SchemaRegistration
from ojs_aws.testing.deployment import FakeClock
from tests.aws import EmbeddedAws
from tests.functions.counting import job_item, warm_backend
from tests.job_steps import pushed
from tests.jobs import noise


@pytest.fixture
def backend(aws: EmbeddedAws) -> Backend:
    """A backend over it, in a process that has fetched before from its usual queues."""
    return warm_backend(aws)


ERROR = parse_object('{"type": "Broken", "message": "it broke"}')


REQUEST = FetchRequest(("default",), worker_id="worker-1")


def test_push_costs_two_calls(aws: EmbeddedAws, backend: Backend) -> None:
    """One conditional put, one message; a scheduled job the same."""
    with aws.calls.counted() as calls:
        pushed(backend)
    assert calls == {"PutItem": 1, "SendMessage": 1}
    with aws.calls.counted() as calls:
        pushed(backend, scheduled_at="+PT1M")
    assert calls == {"PutItem": 1, "SendMessage": 1}


def test_the_settings_of_a_queue_are_read_once_in_five_seconds(aws: EmbeddedAws) -> None:
    """By each process, whether it has any; a fetch reads none."""
    clock = FakeClock()
    backend = build_backend(aws.settings, aws.clients, clock=clock, parallel=IN_ORDER)
    for first in (True, False):
        with aws.calls.counted() as calls:
            pushed(backend)
        cost = {"PutItem": 1, "SendMessage": 1}
        assert calls == ({"BatchGetItem": 1, **cost} if first else cost)
    clock.advance(s=5)
    with aws.calls.counted() as calls:
        pushed(backend)
    assert calls == {"BatchGetItem": 1, "PutItem": 1, "SendMessage": 1}
    backend.queues.config.change("default", {"visibility_timeout": 60})
    pushed(backend)
    backend.jobs.fetch.limited_types.of("default")
    for aligned in ({"ChangeMessageVisibility": 1}, {}):  # then the process knows it
        with aws.calls.counted() as calls:
            (job,) = backend.jobs.fetch(REQUEST)
        assert calls == {"Query": 2, "ReceiveMessage": 1, "UpdateItem": 1, **aligned}
        assert job.reservation is not None
        assert job.reservation.expires_at == clock.at + 60_000


def test_a_bounded_queue_costs_one_write_more(aws: EmbeddedAws, backend: Backend) -> None:
    """For each push, however many jobs there are; fetch and ACK pay nothing.

    A rejected push costs one write, and another one to tell of it, once a second; and a read,
    because a push that is repeated must find its job (decision 42).
    """
    backend.queues.config.change("default", {"max_size": 2, "warning_threshold": 1})
    fresh = build_backend(aws.settings, aws.clients, clock=FakeClock(), parallel=IN_ORDER)
    fresh.queues.push_settings.of("default")
    fresh.jobs.fetch.limited_types.of("default")
    for crossing in (0, 1):
        with aws.calls.counted() as calls:
            pushed(fresh)
        assert calls == {"UpdateItem": 1 + crossing, "PutItem": 1, "SendMessage": 1}
    for cost in (2, 1):
        with aws.calls.counted() as calls, pytest.raises(QueueFullError):
            pushed(fresh)
        assert calls == {"UpdateItem": cost, "GetItem": 1}
    with aws.calls.counted() as calls:
        (job,) = fresh.jobs.fetch(REQUEST)
        fresh.jobs.ack(job.id, "worker-1", None)
    assert calls == {"Query": 2, "ReceiveMessage": 1, "UpdateItem": 2, "DeleteMessage": 1}


def test_a_document_of_its_own_costs_one_put_and_one_read(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """It is put first, then the job: a transaction of both would cost twice as much."""
    for size, put, read in ((6_000, "PutItem", "GetItem"), (50_000, "PutObject", "GetObject")):
        with aws.calls.counted() as calls:
            pushed(backend, args=[noise(size)])
        assert calls == Counter({"PutItem": 1, "SendMessage": 1}) + Counter([put])
        with aws.calls.counted() as calls:
            assert len(backend.jobs.fetch(REQUEST)) == 1
        assert calls == Counter({"ReceiveMessage": 1, "Query": 2, "UpdateItem": 1, read: 1})


def test_documents_in_the_table_are_put_and_read_together(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """A batch of a hundred in 15 calls, a FETCH of ten in 14."""
    jobs = [Job("email.send", [noise(3_000), at]) for at in range(100)]
    with aws.calls.counted() as calls:
        backend.jobs.push.all(jobs)
    assert calls == {"BatchWriteItem": 4, "TransactWriteItems": 1, "SendMessageBatch": 10}
    with aws.calls.counted() as calls:
        found = backend.jobs.fetch(FetchRequest(("default",), count=10, worker_id="w"))
    assert calls == {"ReceiveMessage": 1, "Query": 2, "UpdateItem": 10, "BatchGetItem": 1}
    assert all(job.is_whole for job in found)


def test_a_schema_is_read_once(aws: EmbeddedAws, backend: Backend) -> None:
    """For the first job that names it; then it is kept for a minute, and others pay nothing."""
    schema: JsonValue = {"type": "array", "maxItems": 2}
    wanted = SchemaRegistration(
        type="demo.echo", version=1, uri=None, schema=schema, text=encode(schema)
    )
    with aws.calls.counted() as calls:
        uri = backend.schemas.registry.register(wanted).uri
    assert calls == {"TransactWriteItems": 1}
    with aws.calls.counted() as calls:
        pushed(backend, schema=uri)
    assert calls == {"GetItem": 1, "PutItem": 1, "SendMessage": 1}
    with aws.calls.counted() as calls:
        pushed(backend, schema=uri)
    assert calls == {"PutItem": 1, "SendMessage": 1}
    for ask, cost in [
        (backend.schemas.registry.everything, {"Query": 1}),
        (lambda: backend.schemas.registry.latest("demo.echo"), {"Query": 1, "GetItem": 1}),
        (lambda: backend.schemas.registry.version("demo.echo", 1), {"GetItem": 2}),
        (
            lambda: backend.schemas.registry.delete("demo.echo", 1),
            {"GetItem": 1, "TransactWriteItems": 1},
        ),
    ]:
        with aws.calls.counted() as calls:
            ask()
        assert calls == cost


UNIQUE = {"keys": ["type"]}


def test_a_unique_push_costs_two_calls(aws: EmbeddedAws, backend: Backend) -> None:
    """One transaction of the job and its lock, one message; with a document of 6 KB the same."""
    for args in ([1], [noise(6_000)]):
        policy = {"keys": ["type", "args"]}
        with aws.calls.counted() as calls:
            pushed(backend, args=args, unique=policy)
        assert calls == {"TransactWriteItems": 1, "SendMessage": 1}


@pytest.mark.parametrize(
    ("strategy", "cost"),
    [
        ("reject", {"TransactWriteItems": 1, "GetItem": 1}),
        ("ignore", {"TransactWriteItems": 1, "GetItem": 1}),
        ("replace", {"TransactWriteItems": 2, "GetItem": 1, "SendMessage": 1}),
        ("replace_except_schedule", {"TransactWriteItems": 2, "GetItem": 1}),
    ],
)
def test_what_a_duplicate_costs(
    aws: EmbeddedAws, backend: Backend, strategy: str, cost: dict[str, int]
) -> None:
    """The refused transaction, a look at the job, and what is written then."""
    pushed(backend, unique=UNIQUE, scheduled_at="+PT1H")
    with aws.calls.counted() as calls, contextlib.suppress(OjsError):
        pushed(backend, unique={**UNIQUE, "on_conflict": strategy})
    assert calls == cost


def test_a_unique_push_costs_five_write_units(aws: EmbeddedAws, backend: Backend) -> None:
    """Two for the job and two for its lock, in a transaction, and one for the index."""
    job = pushed(backend, unique={**UNIQUE, "period": "PT1H"})
    key = {"pk": {"S": f"uniq#{job.unique_key}"}, "sk": {"S": "lock"}}
    lock = aws.clients.dynamodb.get_item(TableName=aws.settings.table, Key=key)["Item"]
    sizes = item_bytes(job_item(aws, job.id)), item_bytes(lock)
    assert 2 * write_units(*sizes) + 1 == 5


def test_a_job_that_is_not_unique_costs_nothing_more(aws: EmbeddedAws, backend: Backend) -> None:
    """Neither a call nor a byte, and once it is enqueued a unique one costs what others do."""
    plain, unique = pushed(backend), pushed(backend, unique=UNIQUE)
    assert "uk" not in job_item(aws, plain.id)
    for job in (plain, unique):
        with aws.calls.counted() as calls:
            backend.jobs.fetch(REQUEST)
            backend.jobs.ack(job.id, "worker-1", None)
        assert calls.pop("UpdateItem") == 2
        assert calls == {"ReceiveMessage": 1, "Query": 2, "DeleteMessage": 1}


@pytest.mark.parametrize("backlog", [1, 60])
def test_fetch_of_one_job_costs_four_calls_whatever_waits_behind_it(
    aws: EmbeddedAws, backend: Backend, backlog: int
) -> None:
    """Receive, look at the head and at what is due, claim."""
    for _ in range(backlog):
        pushed(backend)
    with aws.calls.counted() as calls:
        assert len(backend.jobs.fetch(REQUEST)) == 1
    assert calls == {"ReceiveMessage": 1, "Query": 2, "UpdateItem": 1}


def test_an_empty_fetch_costs_three_calls(aws: EmbeddedAws, backend: Backend) -> None:
    """Receive, look at the head, look for what is overdue."""
    with aws.calls.counted() as calls:
        assert backend.jobs.fetch(REQUEST) == []
    assert calls == {"ReceiveMessage": 1, "Query": 2}


def test_ack_costs_two_calls(aws: EmbeddedAws, backend: Backend) -> None:
    """One conditional update without a read, one message deleted."""
    job = pushed(backend)
    backend.jobs.fetch(REQUEST)
    with aws.calls.counted() as calls:
        backend.jobs.ack(job.id, "worker-1", None)
    assert calls == {"UpdateItem": 1, "DeleteMessage": 1}


def test_fail_with_retry_costs_three_calls(aws: EmbeddedAws, backend: Backend) -> None:
    """Read, conditional update, hide the message."""
    job = pushed(backend)
    backend.jobs.fetch(REQUEST)
    with aws.calls.counted() as calls:
        backend.jobs.fail(job.id, "worker-1", ERROR)
    assert calls == {"GetItem": 1, "UpdateItem": 1, "ChangeMessageVisibility": 1}


def test_giving_a_job_back_costs_as_much_as_a_failure(aws: EmbeddedAws, backend: Backend) -> None:
    """Read, conditional update, and the message comes back at once; no other is sent."""
    job = pushed(backend)
    backend.jobs.fetch(REQUEST)
    with aws.calls.counted() as calls:
        backend.jobs.fail.requeue(job.id, "worker-1", ERROR)
    assert calls == {"GetItem": 1, "UpdateItem": 1, "ChangeMessageVisibility": 1}
    (again,) = backend.jobs.fetch(REQUEST)
    assert (again.id, again.attempt, again.uncounted_attempts) == (job.id, 2, 1)


def test_snoozing_a_job_costs_as_much_as_a_failure(aws: EmbeddedAws, backend: Backend) -> None:
    """Read, conditional update, hide the message; the attempt does not count."""
    job = pushed(backend)
    backend.jobs.fetch(REQUEST)
    with aws.calls.counted() as calls:
        backend.jobs.fail.requeue(job.id, "worker-1", ERROR, delay_ms=30_000)
    assert calls == {"GetItem": 1, "UpdateItem": 1, "ChangeMessageVisibility": 1}
    again = backend.jobs.info(job.id)
    assert (again.state, again.attempt, again.uncounted_attempts) == ("retryable", 1, 1)


def test_fail_from_a_worker_that_has_the_job_saves_the_read(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """Lambda workers know what they claimed."""
    pushed(backend)
    (job,) = backend.jobs.fetch(REQUEST)
    with aws.calls.counted() as calls:
        backend.jobs.fail(job.id, "worker-1", ERROR, start=job)
    assert calls == {"UpdateItem": 1, "ChangeMessageVisibility": 1}


def test_info_costs_one_call(aws: EmbeddedAws, backend: Backend) -> None:
    """Also with a document of its own in the table."""
    for args in ([1], [noise(6_000)]):
        job = pushed(backend, args=args)
        with aws.calls.counted() as calls:
            backend.jobs.info(job.id)
        assert calls == {"Query": 1}


def test_a_job_of_a_kilobyte_costs_eight_write_units(aws: EmbeddedAws, backend: Backend) -> None:
    """Put 1+1, claim 1+2, ACK 1+2 (item and index; a changed index key is two writes)."""
    args = [
        {
            "user_id": 12345,
            "email": "someone@example.com",
            "template": "welcome",
            "locale": "en-US",
            "note": "Lorem ipsum dolor sit amet, consectetur adipiscing elit. " * 8,
            "products": [{"sku": f"A-{n}", "price": n * 1.5} for n in range(12)],
        }
    ]
    job = pushed(backend, args=args, meta={"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"})
    assert 960 < len(str(job.document)) <= 1024
    sizes = [item_bytes(job_item(aws, job.id))]
    (claimed,) = backend.jobs.fetch(REQUEST)
    active = item_bytes(job_item(aws, job.id))
    handle = len(claimed.reservation.message_handle) if claimed.reservation else 0
    sizes.append(active + max(0, 412 * 3 // 4 - handle))  # handles of AWS have some 412 characters
    backend.jobs.ack(job.id, "worker-1", None)
    sizes.append(item_bytes(job_item(aws, job.id)))
    assert max(sizes) <= 1024, sizes
    assert write_units(*sizes) + 1 + 2 + 2 == 8


def test_a_transition_of_a_large_job_costs_what_a_small_one_does(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """100 KB stay where they are."""
    job = pushed(backend, args=[noise(100_000)])
    assert write_units(item_bytes(job_item(aws, job.id))) == 1
    backend.jobs.fetch(REQUEST)
    with aws.calls.counted() as calls:
        backend.jobs.ack(job.id, "worker-1", None)
    assert calls == {"UpdateItem": 1, "DeleteMessage": 1}
    assert write_units(item_bytes(job_item(aws, job.id))) == 1


def test_a_large_result_is_not_kept_for_a_job_that_is_not_the_workers(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """Bad input changes nothing, not even beside the job."""
    job = pushed(backend)
    backend.jobs.fetch(REQUEST)
    result = RawJson(f'"{noise(7_000)}"')
    unknown = job.id[:-1] + ("1" if job.id.endswith("0") else "0")
    for job_id, worker in ((job.id, "worker-2"), (unknown, "worker-1")):
        with aws.calls.counted() as calls, pytest.raises(OjsError):
            backend.jobs.ack(job_id, worker, result)
        # What is not there may be a job of an open batch, or have got there meanwhile.
        assert calls == ({"GetItem": 2, "Query": 1} if job_id == unknown else {"GetItem": 1})
    with aws.calls.counted() as calls:
        backend.jobs.ack(job.id, "worker-1", result)
    assert calls == {"GetItem": 1, "PutItem": 1, "UpdateItem": 1, "DeleteMessage": 1}


def test_a_queue_is_registered_by_a_job_that_has_no_message_yet(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """The sweep must know of it; once per process is enough. So it is for counting the queues."""
    with aws.calls.counted() as calls:
        pushed(backend, queue="later", scheduled_at="+P7D")
        pushed(backend, queue="later", scheduled_at="+P7D")
    assert calls == {"PutItem": 2, "UpdateItem": 1, "Query": 1}
    assert [info.name for info in backend.queues.service.list()] == ["default", "later"]


def test_a_fetch_from_a_paused_queue_costs_no_more_than_another(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """It receives and looks at the head, and that is all; PUSH does not notice."""
    pushed(backend)
    with aws.calls.counted() as calls:
        backend.queues.service.pause("default")
    assert calls == {"UpdateItem": 1}
    with aws.calls.counted() as calls:
        assert backend.jobs.fetch(REQUEST) == []
    assert calls == {"ReceiveMessage": 1, "Query": 2}
    with aws.calls.counted() as calls:
        pushed(backend)
    assert calls == {"PutItem": 1, "SendMessage": 1}
    with aws.calls.counted() as calls:
        backend.queues.service.resume("default")
    assert calls == {"UpdateItem": 1, "Query": 1, "GetQueueAttributes": 1, "SendMessage": 1}


@pytest.mark.parametrize("jobs", [0, 60])
def test_statistics_cost_the_same_calls_whatever_the_queue_holds(
    aws: EmbeddedAws, backend: Backend, jobs: int
) -> None:
    """Eight queries for what it holds, a query and a read for what it did."""
    for _ in range(jobs):
        pushed(backend)
    for job in backend.jobs.fetch(FetchRequest(("default",), count=50)) if jobs else ():
        backend.jobs.ack(job.id, None, None)
    with aws.calls.counted() as calls:
        stats = backend.queues.statistics("default")
    assert calls == {"Query": 9, "GetItem": 1}
    assert stats.counts.counts["available"] == max(0, jobs - 50)
    assert stats.counts.counts["completed"] == min(jobs, 50)


def test_comparing_a_schema_with_the_one_before_costs_two_reads(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """Only for versions that promise to be compatible; major versions cost what they did."""

    def register(version: str) -> dict[str, int]:
        schema: JsonValue = {"type": "array"}
        wanted = SchemaRegistration(
            type="demo.echo", version=version, uri=None, schema=schema, text=encode(schema)
        )
        with aws.calls.counted() as calls:
            backend.schemas.registry.register(wanted)
        return dict(calls)

    assert register("1.0") == {"TransactWriteItems": 1}
    assert register("1.1") == {"TransactWriteItems": 1, "Query": 1, "GetItem": 1}
    assert register("2.0") == {"TransactWriteItems": 1}
