"""Buckets in the table: places taken and given back with the writes of jobs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from ojs_aws.adapters.dynamodb.limits import Limits
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendUnavailableError, OjsError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.held_job import ANY_ATTEMPT, AttemptRef, attempt_of
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.testing.deployment import FakeClock
from tests.aws import EmbeddedAws
from tests.clocks import advance
from tests.job_steps import fetched_ids

ERROR = parse_object('{"type": "Broken", "message": "it broke"}')
LIMIT: Any = {"key": "api", "concurrency": 2}


@pytest.fixture
def backend(aws: EmbeddedAws) -> Backend:
    """A backend whose clock a test moves."""
    return build_backend(aws.settings, aws.clients, clock=FakeClock(), parallel=IN_ORDER)


def push(backend: Backend, limit: Any = LIMIT) -> str:
    """Push a job with a limit."""
    job = Job("demo.echo", [])
    job["rate_limit"] = limit
    record = backend.jobs.push(job).record
    assert record is not None
    return record.id


def active(backend: Backend) -> int:
    """Places taken."""
    return backend.limits.get("api").bucket.active


def test_a_place_is_taken_and_given_back_with_the_job(backend: Backend) -> None:
    """By every way out of active."""
    jobs = [push(backend) for _ in range(4)]
    assert fetched_ids(backend, count=10) == jobs[:2]
    assert active(backend) == 2
    backend.jobs.ack(jobs[0], "w", parse_object('{"a": 1}')["a"].raw)
    backend.jobs.fail(jobs[1], "w", ERROR)
    assert active(backend) == 0
    assert fetched_ids(backend, count=10) == jobs[2:]
    backend.jobs.cancel(jobs[2])
    assert active(backend) == 1
    advance(backend, s=1801)
    backend.jobs.info(jobs[3])
    assert active(backend) == 0


def test_a_job_that_is_given_back_gives_its_place_back(backend: Backend) -> None:
    """And takes one again when it begins again."""
    job = push(backend)
    fetched_ids(backend, count=10)
    backend.jobs.fail.requeue(job, "w", None)
    assert active(backend) == 0
    assert fetched_ids(backend, count=10) == [job]
    assert active(backend) == 1


@pytest.mark.parametrize("end", ["ack", "fail", "cancel", "reservation over", "replaced"])
def test_a_job_gives_back_its_places_in_all_its_buckets(backend: Backend, end: str) -> None:
    """RL-R005: one of its own key, of its type, and of its queue; by every way out of active."""
    backend.limits.override("type:demo.echo", {"concurrency": 3})
    backend.limits.limit_queue("default", {"concurrency": 3})
    keys = ("api", "queue:default", "type:demo.echo")

    def taken() -> list[int]:
        return [backend.limits.get(key).bucket.active for key in keys]

    job = Job("demo.echo", [])
    unique: Any = {"keys": ["type"], "on_conflict": "replace", "states": ["available", "active"]}
    job["rate_limit"], job["unique"] = LIMIT, unique
    backend.jobs.push(job)
    (held,) = fetched_ids(backend, count=10)
    assert taken() == [1, 1, 1]
    match end:
        case "ack":
            backend.jobs.ack(held, "w", None)
        case "fail":
            backend.jobs.fail(held, "w", ERROR)
        case "cancel":
            backend.jobs.cancel(held)
        case "replaced":
            backend.jobs.push(Job("demo.echo", [], unique=unique))
        case _:
            advance(backend, s=1801)
            backend.jobs.info(held)
    assert taken() == [0, 0, 0]


def test_a_refused_ack_gives_nothing_back(backend: Backend) -> None:
    """Another worker's, or a second one."""
    job = push(backend)
    fetched_ids(backend, count=10)
    with pytest.raises(OjsError):
        backend.jobs.ack(job, "somebody else", None)
    assert active(backend) == 1
    backend.jobs.ack(job, "w", None)
    with pytest.raises(OjsError):
        backend.jobs.ack(job, "w", None)
    assert active(backend) == 0


def test_an_ack_of_an_attempt_that_is_over_gives_nothing_back(backend: Backend) -> None:
    """The same worker has the job again, and its place."""
    job = push(backend)
    (first,) = backend.jobs.fetch(FetchRequest(("default",), 1, "w"))
    backend.jobs.fail.requeue(job, "w", None)
    (second,) = backend.jobs.fetch(FetchRequest(("default",), 1, "w"))
    for which in (attempt_of(first), AttemptRef(attempt=1)):
        with pytest.raises(OjsError):
            backend.jobs.ack(job, "w", None, which=which)
    assert (backend.jobs.info(job).state, active(backend)) == ("active", 1)
    backend.jobs.ack(job, "w", None, which=attempt_of(second))
    assert (backend.jobs.info(job).state, active(backend)) == ("completed", 0)


@pytest.mark.parametrize("is_named", [True, False])
def test_an_ack_ends_no_attempt_that_began_while_it_was_sent(
    aws: EmbeddedAws, backend: Backend, monkeypatch: pytest.MonkeyPatch, *, is_named: bool
) -> None:
    """A limited job's ACK is sent twice; in between the job is retried, as attempt 1 again."""
    job = push(backend)
    (first,) = backend.jobs.fetch(FetchRequest(("default",), 1, "w"))
    send = aws.clients.dynamodb.transact_write_items
    overtaken: list[JobRecord] = []

    def after_a_retry(**arguments: Any) -> Any:
        if not overtaken:
            overtaken.append(first)
            backend.jobs.fail(job, "w", parse_object('{"message": "m", "retryable": false}'))
            backend.dead_letters.service.retry(job)
            overtaken.extend(backend.jobs.fetch(FetchRequest(("default",), 1, "w")))
        return send(**arguments)

    monkeypatch.setattr(aws.clients.dynamodb, "transact_write_items", after_a_retry)
    which = attempt_of(first) if is_named else ANY_ATTEMPT
    with pytest.raises(OjsError):
        backend.jobs.ack(job, "w", None, which=which)
    assert [each.attempt for each in overtaken] == [1, 1]
    assert (backend.jobs.info(job).state, active(backend)) == ("active", 1)


def test_a_transaction_whose_answer_is_lost_counts_once(
    aws: EmbeddedAws, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """botocore repeats it, and it meets its own token."""
    job = push(backend)
    send = aws.clients.dynamodb.transact_write_items
    sent: list[int] = []

    def twice(**arguments: Any) -> Any:
        sent.append(1)
        send(**arguments)
        return send(**arguments)

    monkeypatch.setattr(aws.clients.dynamodb, "transact_write_items", twice)
    assert fetched_ids(backend, count=10) == [job]
    assert active(backend) == 1
    backend.jobs.ack(job, "w", None)
    assert (len(sent), active(backend)) == (2, 0)


def test_a_claim_that_nobody_heard_of_ends_with_its_reservation(
    aws: EmbeddedAws, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No lease to expire: the place is the job's."""
    job = push(backend)
    send = aws.clients.dynamodb.transact_write_items

    def lost(**arguments: Any) -> Any:
        send(**arguments)
        raise ReadTimeoutError(endpoint_url="https://dynamodb")

    with monkeypatch.context() as patch:
        patch.setattr(aws.clients.dynamodb, "transact_write_items", lost)
        with pytest.raises(OjsError):
            fetched_ids(backend, count=10)
    assert active(backend) == 1
    advance(backend, s=1801)
    backend.jobs.info(job)
    assert active(backend) == 0
    advance(backend, s=600)
    assert fetched_ids(backend, count=10) == [job]
    assert active(backend) == 1


def test_of_two_that_saw_the_same_free_place_one_takes_it(
    aws: EmbeddedAws, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RL-001: checked and taken atomically. The other one looks again, and passes by."""
    jobs = [push(backend, {"key": "api", "concurrency": 1}) for _ in range(2)]
    other = build_backend(aws.settings, aws.clients, clock=backend.clock, parallel=IN_ORDER)
    send = aws.clients.dynamodb.transact_write_items
    faster: list[str] = []

    def overtaken(**arguments: Any) -> Any:
        if not faster:
            faster.append("is fetching")
            faster.extend(fetched_ids(other, count=10))
        return send(**arguments)

    monkeypatch.setattr(aws.clients.dynamodb, "transact_write_items", overtaken)
    assert fetched_ids(backend, count=10) == []
    assert faster[1:] == jobs[:1]
    assert active(backend) == 1


def test_buckets_are_paged_by_key(backend: Backend) -> None:
    """Those that jobs have brought."""
    for key in ("c", "a", "b"):
        push(backend, {"key": key, "concurrency": 1})
    page, following = backend.limits.page("", 2)
    assert [each.bucket.key for each in page] == ["a", "b"]
    rest, end = backend.limits.page(following, 2)
    assert ([each.bucket.key for each in rest], end) == (["c"], "")


def test_a_job_that_is_replaced_gives_its_place_back(backend: Backend) -> None:
    """In the transaction that puts the other one in its place."""
    unique: Any = {"keys": ["type"], "on_conflict": "replace", "states": ["available", "active"]}
    for _ in range(2):
        job = Job("demo.echo", [])
        job["rate_limit"], job["unique"] = LIMIT, unique
        backend.jobs.push(job)
        assert len(fetched_ids(backend, count=10)) == 1
        assert active(backend) == 1


def test_queues_are_known_whose_jobs_bring_a_key_that_was_laid_down_before(
    backend: Backend,
) -> None:
    """Or nobody could say how many wait, and wake them when it is lifted."""
    backend.limits.override("api", {"concurrency": 0})
    push(backend)
    counted = backend.limits.get("api")
    assert (counted.waiting, counted.bucket.queues) == (1, ("default",))
    assert fetched_ids(backend, count=10) == []


def test_a_claim_stores_the_policy_that_no_push_could_note(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note may fail: operators see the limit when its first job starts."""

    def is_lost(*_: object, **__: object) -> None:
        raise BackendUnavailableError("throttled")

    with monkeypatch.context() as patch:
        patch.setattr(Limits, "note", is_lost)
        job = push(backend)
    assert fetched_ids(backend) == [job]
    assert json.loads(backend.limits.get("api").bucket.policy) == LIMIT
