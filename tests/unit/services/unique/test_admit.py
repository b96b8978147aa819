"""Unique jobs as specified: who is a duplicate, and what becomes of it.

The same tests on the model in memory and on moto.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, cast

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import DuplicateError, InvalidRequestError
from ojs_aws.domain.json_text import decode, parse_object
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.render import PushResult
from ojs_aws.testing.deployment import CountingIds, FakeClock
from tests.aws import embedded
from tests.clocks import advance
from tests.simulation.world import World

ERROR = parse_object('{"type": "Broken", "message": "it broke"}')
BY_TYPE: dict[str, Any] = {"keys": ["type"]}
ID = "01990000-0000-7000-8000-aaaaaaaaaaaa"


@pytest.fixture(params=["memory", "moto"])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """A backend of each kind, with a clock that tests move."""
    if request.param == "memory":
        yield World().backend
        return
    with embedded() as aws:
        client = cast("DynamoDBClient", OneCallAtATime(aws.clients.dynamodb))
        clients = replace(aws.clients, dynamodb=client)
        yield build_backend(
            aws.settings, clients, clock=FakeClock(), ids=CountingIds(), parallel=IN_ORDER
        )


class OneCallAtATime:
    """A client of moto for many threads: moto's transactions are not atomic by themselves."""

    def __init__(self, client: DynamoDBClient) -> None:
        """Wrap a client."""
        self._client, self._lock = client, threading.Lock()

    def __getattr__(self, name: str) -> Any:
        """The client's method, alone while it runs."""
        method = getattr(self._client, name)

        def alone(**arguments: Any) -> Any:
            with self._lock:
                return method(**arguments)

        return alone


def push(backend: Backend, args: Any = (1,), **unique: Any) -> PushResult:
    """Push a job that is unique by its type, or as given."""
    options = {
        name: unique.pop(name)
        for name in (
            *("id", "queue", "scheduled_at", "meta", "retry", "pending", "expires_at"),
            *("rate_limit", "fairness"),
        )
        if name in unique
    }
    job = Job("demo.unique", [*args], **options)
    job["unique"] = BY_TYPE | unique
    return backend.jobs.push(job)


def id_of(pushed: PushResult) -> str:
    """The job's id."""
    assert pushed.record is not None
    return pushed.record.id


def state(backend: Backend, job_id: str) -> str:
    """The state of a job, as INFO shows it."""
    return str(backend.jobs.info(job_id).state)


def fetch(backend: Backend) -> None:
    """A worker takes a job."""
    assert len(backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))) == 1


def test_op_008_a_duplicate_is_rejected_by_default(backend: Backend) -> None:
    """Section 5.1: 409 ``duplicate``, with the job that was there and its state."""
    first = push(backend)
    with pytest.raises(DuplicateError) as error:
        push(backend)
    assert error.value.code == "duplicate"
    assert error.value.details["existing_job_id"] == id_of(first)
    assert error.value.details["existing_job_state"] == "available"
    assert state(backend, id_of(first)) == "available"


def test_env_048_without_a_policy_nothing_is_a_duplicate(backend: Backend) -> None:
    """Two identical jobs; and they do not count for a unique one either."""
    for _ in range(2):
        assert backend.jobs.push(Job("demo.unique", [1])).is_new
    assert push(backend).is_new


def test_ignore_gives_the_existing_job(backend: Backend) -> None:
    """Section 5.4: no error, no second job."""
    first = push(backend)
    fetch(backend)
    again = push(backend, [2], on_conflict="ignore")
    assert (again.is_new, again.is_duplicate) == (False, True)
    assert again.record is not None
    assert (again.record.id, again.record.state) == (id_of(first), "active")
    assert '"args":[1]' in str(again.record.document)


@pytest.mark.parametrize("is_active", [False, True])
def test_replace_cancels_the_existing_job(backend: Backend, is_active: bool) -> None:
    """Section 5.2, an active job too: the strong guarantee allows it."""
    first = push(backend)
    if is_active:
        fetch(backend)
    second = push(backend, [2], on_conflict="replace")
    assert second.is_new
    assert state(backend, id_of(first)) == "cancelled"
    assert state(backend, id_of(second)) == "available"
    (job,) = backend.jobs.fetch(FetchRequest(("default",), worker_id="w2"))
    assert job.id == id_of(second)
    with pytest.raises(DuplicateError):
        push(backend)


def test_replace_except_schedule_keeps_the_scheduled_job_and_its_time(backend: Backend) -> None:
    """Section 5.3: it has the new arguments and metadata, and nothing else of the new job."""
    first = push(backend, meta={"a": 1}, scheduled_at="+PT1H")
    due = backend.jobs.info(id_of(first)).scheduled_at
    second = push(
        backend, [2], on_conflict="replace_except_schedule", meta={"b": 2}, scheduled_at="+PT2H"
    )
    assert (second.is_new, second.is_update, id_of(second)) == (False, True, id_of(first))
    job = backend.jobs.info(id_of(first))
    document = decode(job.document, max_depth=9)  # type: ignore[arg-type]
    assert isinstance(document, dict)
    assert (document["args"], document["meta"], job.state) == ([2], {"b": 2}, "scheduled")
    assert job.scheduled_at == due
    with pytest.raises(DuplicateError):
        push(backend)


def test_a_job_with_new_arguments_has_the_limit_and_the_share_of_these(backend: Backend) -> None:
    """Else it would run in the place of another customer. What it names itself stays."""
    backend.queues.config.change("default", {"fairness": {"by": "meta.customer"}})
    limit = {"key": "api", "by": "args.0", "concurrency": 1}
    options: dict[str, Any] = {"scheduled_at": "+PT1H", "rate_limit": limit}
    job_id = id_of(push(backend, ["old"], meta={"customer": "old"}, **options))

    def stored() -> tuple[str, str]:
        job = backend.jobs.info(job_id)
        assert job.limit is not None
        assert job.fairness is not None
        return job.limit.key, job.fairness.key

    def bring(customer: str, **options: Any) -> None:
        meta = {"customer": customer}
        conflict = "replace_except_schedule"
        assert push(backend, [customer], on_conflict=conflict, meta=meta, **options).is_update

    bring("new", rate_limit=limit)
    assert stored() == ("api:new", "new")
    assert [each.bucket.key for each in backend.limits.page("", 9)[0]] == ["api:new", "api:old"]
    bring("mine", fairness={"key": "own"})
    assert stored() == ("api:mine", "new")
    bring("theirs", queue="other")  # which shares by nothing
    assert stored() == ("api:theirs", "new")
    bring("mine")
    assert push(backend, [], on_conflict="replace_except_schedule").is_update
    assert stored() == ("api:mine", "")


def test_replace_except_schedule_is_replace_for_other_jobs(backend: Backend) -> None:
    """Section 5.3; one whose schedule is over is no scheduled job."""
    for options in ({}, {"scheduled_at": "+PT1S"}):
        first = push(backend, on_conflict="replace", **options)
        advance(backend, s=2)
        second = push(backend, [2], on_conflict="replace_except_schedule")
        assert second.is_new
        assert state(backend, id_of(first)) == "cancelled"


def test_an_update_that_is_repeated_finds_the_job_it_changed(backend: Backend) -> None:
    """Also when that has begun to run: the client only did not get the answer."""
    first = push(backend, scheduled_at="+PT10S")
    policy = {"on_conflict": "replace_except_schedule"}
    push(backend, [2], id=ID, **policy)
    advance(backend, s=11)
    fetch(backend)
    again = push(backend, [2], id=ID, **policy)
    assert (again.is_update, id_of(again)) == (True, id_of(first))


@pytest.mark.parametrize("strategy", ["reject", "ignore", "replace", "replace_except_schedule"])
def test_a_repeated_push_finds_its_own_job(backend: Backend, strategy: str) -> None:
    """Whatever became of it meanwhile."""
    first = push(backend, id=ID, on_conflict=strategy)
    again = push(backend, id=ID, on_conflict=strategy)
    assert (id_of(first), id_of(again), again.is_new) == (ID, ID, False)
    assert not again.is_duplicate
    fetch(backend)
    backend.jobs.ack(ID, "w", None)
    push(backend, on_conflict=strategy)
    late = push(backend, id=ID, on_conflict=strategy)
    assert late.record is not None
    assert (late.record.id, late.record.state, late.is_new) == (ID, "completed", False)


def test_the_id_of_another_job_is_refused(backend: Backend) -> None:
    """As without a policy."""
    push(backend, id=ID)
    with pytest.raises(DuplicateError, match=ID):
        push(backend, [2], id=ID)


def test_a_job_that_ended_keeps_nobody_out(backend: Backend) -> None:
    """Section 6.1: by default only those that are still to end do; section 14, case 4."""
    push(backend)
    fetch(backend)
    with pytest.raises(DuplicateError):
        push(backend)
    backend.jobs.ack(id_of(push(backend, on_conflict="ignore")), "w", None)
    assert push(backend).is_new


def test_a_retryable_job_does_until_it_is_discarded(backend: Backend) -> None:
    """Section 9; section 14, case 10."""
    first = push(backend, retry={"max_attempts": 2, "jitter": False})
    fetch(backend)
    assert backend.jobs.fail(id_of(first), "w", ERROR).state == "retryable"
    with pytest.raises(DuplicateError):
        push(backend)
    advance(backend, s=5)
    fetch(backend)
    backend.jobs.fail(id_of(first), "w", ERROR)
    assert push(backend).is_new


def test_time_counts_even_when_nobody_has_written_it_down(backend: Backend) -> None:
    """A job that expired is discarded, although its item does not say so yet."""
    push(backend, expires_at="+PT5S")
    advance(backend, s=6)
    assert push(backend).is_new


@pytest.mark.parametrize("options", [{"scheduled_at": "+PT1H"}, {"pending": True}])
def test_jobs_that_wait_are_unique_too(backend: Backend, options: dict[str, Any]) -> None:
    """Scheduled and pending jobs hold their key, and are kept out by others."""
    push(backend, **options)
    for again in ({}, options):
        with pytest.raises(DuplicateError):
            push(backend, **again)


def test_terminal_states_count_when_the_policy_says_so(backend: Backend) -> None:
    """Section 6.3; section 14, case 5. There is nothing left to cancel when it is replaced."""
    every = ["available", "active", "completed"]
    first = push(backend)
    fetch(backend)
    backend.jobs.ack(id_of(first), "w", None)
    again = push(backend, on_conflict="ignore", states=every)
    assert (again.is_duplicate, id_of(again)) == (True, id_of(first))
    with pytest.raises(DuplicateError):
        push(backend, states=every)
    assert push(backend, on_conflict="replace", states=every).is_new
    assert state(backend, id_of(first)) == "completed"


def test_narrow_states_let_jobs_in_beside_an_active_one(backend: Backend) -> None:
    """Section 6.4: the newcomer's policy says which states count."""
    push(backend)
    fetch(backend)
    assert push(backend, states=["scheduled"]).is_new
    with pytest.raises(DuplicateError):
        push(backend)


def test_a_period_counts_from_the_existing_job(backend: Backend) -> None:
    """Section 7: attempts that are rejected do not make it longer; section 14, case 3."""
    push(backend, period="PT10S")
    for _ in range(3):
        advance(backend, s=3)
        with pytest.raises(DuplicateError):
            push(backend, period="PT10S")
    advance(backend, s=1)
    assert push(backend, period="PT10S").is_new


def test_jobs_that_differ_in_a_dimension_are_no_duplicates(backend: Backend) -> None:
    """Sections 3 and 14, cases 2 and 8."""
    by_queue = {"keys": ["type", "queue"]}
    push(backend, queue="a", **by_queue)
    assert push(backend, queue="b", **by_queue).is_new
    by_user = {"keys": ["args"], "args_keys": ["user"]}
    push(backend, [{"user": 1, "x": 1}], **by_user)
    assert push(backend, [{"user": 2, "x": 1}], **by_user).is_new
    with pytest.raises(DuplicateError):
        push(backend, [{"x": 2, "user": 1}], **by_user)


def test_mw_enc_024_a_clients_own_key_counts_instead_of_the_arguments(backend: Backend) -> None:
    """Encrypted arguments differ each time; the key was made from the plain ones."""
    policy: dict[str, Any] = {"keys": ["type", "args"]}
    key, other = {"unique_key": "5e" * 32}, {"unique_key": "mine"}
    backend.jobs.push(Job("demo.secret", ["x1"], unique=policy, custom_attributes=key))
    with pytest.raises(DuplicateError):
        backend.jobs.push(Job("demo.secret", ["y2"], unique=policy, custom_attributes=key))
    with pytest.raises(InvalidRequestError, match="unique_key"):
        backend.jobs.push(Job("demo.secret", ["y2"], unique=policy, custom_attributes=other))


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        ({"keys": ["argz"]}, "unique.keys"),
        ({"keys": ["Type"]}, "unique.keys"),
        ({"keys": ["meta"]}, "unique.meta_keys"),
        ({"states": ["running"]}, "unique.states"),
        ({"period": "soon"}, "unique.period"),
        ({"on_conflict": "shout"}, "unique.on_conflict"),
        ({"kees": ["type"]}, "unique.kees"),
    ],
)
def test_an_invalid_policy_is_refused_by_its_name_and_stores_nothing(
    backend: Backend, policy: dict[str, Any], field: str
) -> None:
    """Section 2.2; section 14, case 9."""
    job = Job("demo.unique", [{"user": 1}], id=ID)
    job["unique"] = policy
    with pytest.raises(InvalidRequestError) as error:
        backend.jobs.push(job)
    assert error.value.details["field"] == field
    assert backend.stores.store.load(ID) is None


# ------------------------------------------------------------------ batches
def jobs(*policies: dict[str, Any] | None) -> list[Job]:
    """Jobs of a type each, and the shared one where a policy is given."""
    return [
        Job(f"demo.plain{n}", [n]) if policy is None else Job("demo.unique", [n], unique=policy)
        for n, policy in enumerate(policies)
    ]


def test_a_batch_with_a_duplicate_is_refused_whole(backend: Backend) -> None:
    """And the error says which job it is."""
    push(backend)
    batch = jobs(None, BY_TYPE, None)
    with pytest.raises(DuplicateError) as error:
        backend.jobs.push.all(batch)
    assert error.value.details["index"] == 1
    assert backend.stores.store.load_many([job.id for job in batch]) == {}


def test_a_batch_may_ignore_duplicates(backend: Backend) -> None:
    """The others are stored; repeated, the batch finds all of them again."""
    first = push(backend)
    batch = jobs(None, BY_TYPE | {"on_conflict": "ignore"}, None)
    results = backend.jobs.push.all(batch)
    assert [pushed.is_new for pushed in results] == [True, False, True]
    assert id_of(results[1]) == id_of(first)
    again = backend.jobs.push.all(batch)
    assert [id_of(pushed) for pushed in again] == [id_of(pushed) for pushed in results]
    assert not any(pushed.is_new for pushed in again)


def test_a_batch_of_which_a_part_was_stored_by_another_is_refused(backend: Backend) -> None:
    """Its ids are taken: it is no repetition of that request."""
    policy = BY_TYPE | {"on_conflict": "ignore"}
    batch = jobs(None, policy, None)
    backend.jobs.push.all(batch[:2])
    with pytest.raises(DuplicateError, match=batch[0].id):
        backend.jobs.push.all(batch)
    assert backend.stores.store.load(batch[2].id) is None


def test_a_batch_may_replace_and_update(backend: Backend) -> None:
    """All in the one transaction."""
    first = push(backend)
    other: dict[str, Any] = {"keys": ["type", "queue"]}
    due = backend.jobs.push(Job("demo.unique", [1], queue="b", unique=other, scheduled_at="+PT1H"))
    results = backend.jobs.push.all(
        [
            Job("demo.unique", [2], unique=BY_TYPE | {"on_conflict": "replace"}),
            Job(
                "demo.unique",
                [3],
                queue="b",
                unique=other | {"on_conflict": "replace_except_schedule"},
            ),
            Job("demo.plain", []),
        ]
    )
    assert [pushed.is_update for pushed in results] == [False, True, False]
    assert state(backend, id_of(first)) == "cancelled"
    assert '"args":[3]' in str(backend.jobs.info(id_of(due)).document)


def test_duplicates_within_a_batch(backend: Backend) -> None:
    """Ignored, or refused: which of them would be the existing one?"""
    ignore = BY_TYPE | {"on_conflict": "ignore"}
    results = backend.jobs.push.all(jobs(ignore, ignore))
    assert [pushed.is_duplicate for pushed in results] == [False, True]
    assert id_of(results[0]) == id_of(results[1])
    backend.jobs.cancel(id_of(results[0]))
    for policy in (BY_TYPE, BY_TYPE | {"on_conflict": "replace"}):
        with pytest.raises(DuplicateError) as error:
            backend.jobs.push.all(jobs(policy, policy))
        assert error.value.details["index"] == 1


def test_more_unique_jobs_than_a_transaction_holds_are_stored_all_the_same(
    backend: Backend,
) -> None:
    """By a log; the same batch again finds them."""
    batch = [Job(f"demo.unique{n}", [], unique=BY_TYPE) for n in range(51)]
    assert all(pushed.is_new for pushed in backend.jobs.push.all(batch))
    again = backend.jobs.push.all([job.copy() for job in batch])
    assert not any(pushed.is_new for pushed in again)


# ------------------------------------------------------------------ together
@pytest.mark.parametrize("strategy", ["reject", "ignore"])
def test_of_fifty_jobs_at_once_exactly_one_is_enqueued(backend: Backend, strategy: str) -> None:
    """Section 14, case 11."""

    def one(number: int) -> str:
        try:
            pushed = push(backend, [number], on_conflict=strategy)
        except DuplicateError:
            return "rejected"
        return "new" if pushed.is_new else id_of(pushed)

    with ThreadPoolExecutor(16) as pool:
        outcomes = [*pool.map(one, range(50))]
    assert outcomes.count("new") == 1
    assert len({*outcomes} - {"new"}) == 1


def test_of_many_that_replace_each_other_one_is_left(backend: Backend) -> None:
    """Each was cancelled by the next."""
    with ThreadPoolExecutor(4) as pool:
        pushes = [*pool.map(lambda n: push(backend, [n], on_conflict="replace"), range(12))]
    states = [state(backend, id_of(pushed)) for pushed in pushes]
    assert sorted(states) == ["available"] + ["cancelled"] * 11
