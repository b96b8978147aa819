"""Dead letters: found, counted, enqueued again, removed, pruned and replayed (ojs-dead-letter)."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.access import View
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    ConflictError,
    InvalidRequestError,
    JobTypeNotAllowedError,
    JsonValue,
    NotFoundError,
    PayloadTooLargeError,
    SchemaValidationError,
)
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.lists import ListTotal, TotalKind
from ojs_aws.domain.json_text import encode, parse_object
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.bulk import BulkAction, BulkStatus
from ojs_aws.services.dead_letters.search import DeadLetterFilter
from ojs_aws.services.dead_letters.upkeep import read_replay_rules
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.job_lists import END
from ojs_aws.services.jobs.render import render_job
from ojs_aws.services.schemas.registry import SchemaRegistration
from tests.simulation.faults import Fault
from tests.simulation.world import World

KEPT = {"max_attempts": 1, "on_exhaustion": "dead_letter"}


def die(world: World, error_type: str = "Broken", **attributes: Any) -> JobRecord:
    """Push a job, and fail it for good; a second passes."""
    given: dict[str, Any] = {"type": "demo.echo", "args": [1], "retry": KEPT} | attributes
    world.registry.ensure(given.get("queue", "default"), world.clock.now())
    record = world.backend.jobs.push(Job(**given)).record
    assert record is not None
    world.clock.advance(s=1)
    return fail(world, record, error_type)


def fail(world: World, record: JobRecord, error_type: str = "Broken") -> JobRecord:
    """Fetch a job and fail it."""
    (claimed,) = world.backend.jobs.fetch(FetchRequest((record.queue,), worker_id="w"))
    assert claimed.id == record.id
    error = parse_object(encode({"type": error_type, "message": "it broke"}))
    return world.backend.jobs.fail(claimed.id, "w", error)


def ids(jobs: Any) -> list[str]:
    """The ids of jobs."""
    return [job.id for job in jobs]


def test_dlq_001_only_jobs_whose_policy_says_so_are_dead_letters(world: World) -> None:
    """Section 4.2: a discarded job is none, but can be retried."""
    kept = die(world)
    dropped = die(world, retry={"max_attempts": 1})
    assert ids(world.backend.dead_letters.service.list().jobs) == [kept.id]
    assert world.backend.dead_letters.service.retry(dropped.id).state is JobState.AVAILABLE


def test_a_filter_accepts_dead_letters_of_its_type_that_the_caller_sees(world: World) -> None:
    """Also one that was pushed again under the id of a row, with another type."""
    kept = die(world)
    accepted = DeadLetterFilter(type="demo.echo", view=View(("default",), ("demo.*",)))
    assert accepted.accepts(kept)
    for bounds in (View(("email",)), View((), ("mail.*",))):
        assert not replace(accepted, view=bounds).accepts(kept)
    assert not replace(accepted, type="demo.other").accepts(kept)
    assert not accepted.accepts(replace(kept, is_dead_letter=False))


def test_a_row_tells_what_its_queue_and_type_rule_out() -> None:
    """And whether rows count as jobs: not where only a job says whose it is."""
    wanted = DeadLetterFilter(type="demo.echo", view=View(("default",), ("demo.*",)))
    assert wanted.accepts_row("default", "demo.echo")
    assert not wanted.accepts_row("email", "demo.echo")
    assert not wanted.accepts_row("default", "demo.other")
    assert DeadLetterFilter().is_by_row
    assert not DeadLetterFilter(view=View(tenant="acme")).is_by_row


@pytest.mark.parametrize(
    ("code", "is_kept"), [("DEAD_LETTER", True), ("DISCARD", False), ("FAIL", False)]
)
@pytest.mark.parametrize("exhaustion", ["discard", "dead_letter"])
def test_ret_08_the_handlers_word_outweighs_the_policy(
    world: World, code: str, is_kept: bool, exhaustion: str
) -> None:
    """ojs-retry, section 7.2; attempts are left, and it does not matter."""
    policy: dict[str, JsonValue] = {"max_attempts": 9, "on_exhaustion": exhaustion}
    record = world.backend.jobs.push(Job("demo.echo", [1], retry=policy)).record
    assert record is not None
    world.backend.jobs.fetch(FetchRequest(("default",)))
    error = parse_object(encode({"type": "x", "message": "m", "code": code, "retryable": True}))
    gone = world.backend.jobs.fail(record.id, None, error)
    assert (gone.state, gone.attempt, gone.is_dead_letter) == (JobState.DISCARDED, 1, is_kept)


def test_dlq_002_the_whole_history_is_kept(world: World) -> None:
    """Section 4.1: every attempt's error; the envelope as it was pushed."""
    policy: dict[str, JsonValue] = {
        "max_attempts": 3,
        "on_exhaustion": "dead_letter",
        "jitter": False,
    }
    record = world.backend.jobs.push(Job("demo.echo", [1], meta={"a": 1}, retry=policy)).record
    assert record is not None
    for kind in ("First", "Second", "Third"):
        fail(world, record, kind)
        world.clock.advance(s=2)
    dead = world.backend.dead_letters.service.get(record.id)
    assert [failure.type for failure in dead.failures] == ["First", "Second", "Third"]
    assert dead.document == record.document


def test_a_job_that_is_not_discarded_is_no_dead_letter(world: World) -> None:
    """404, whoever asks for it as one."""
    record = world.backend.jobs.push(Job("demo.echo", [1])).record
    assert record is not None
    with pytest.raises(NotFoundError, match="available"):
        world.backend.dead_letters.service.get(record.id)


def test_dlq_006_dead_letters_are_found_by_what_is_known_of_them(world: World) -> None:
    """Section 9.1: queue, type, error type and time range, together."""
    start = world.clock.at
    a = die(world, "DbError", queue="billing", type="invoice.send")
    b = die(world, "TimeoutError", queue="billing", type="invoice.send")
    c = die(world, "DbError", queue="email", type="mail.send")

    def found(**wanted: Any) -> list[str]:
        return ids(world.backend.dead_letters.service.list(DeadLetterFilter(**wanted)).jobs)

    assert found() == [b.id, a.id, c.id]
    assert found(queue="billing") == [b.id, a.id]
    assert found(type="mail.send") == [c.id]
    assert found(error_type="DbError") == [a.id, c.id]
    assert found(queue="billing", error_type="DbError") == [a.id]
    assert found(since=Instant(start + 2000)) == [b.id, c.id]
    assert found(until=Instant(start + 2000)) == [b.id, a.id]
    assert found(since=Instant(start + 2000), until=Instant(start + 2000)) == [b.id]
    assert found(queue="nobody") == []


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
@pytest.mark.parametrize("error_type", ["", "Odd"])
def test_pages_follow_each_other_without_gap_or_repeat(
    world: World, limit: int, error_type: str
) -> None:
    """Across queues, with a filter that the index does not know."""
    dead = [
        die(world, "Odd" if n % 2 else "Even", queue=queue)
        for queue in ("a", "b", "c")
        for n in range(4)
    ]
    wanted = DeadLetterFilter(error_type=error_type)
    seen: list[str] = []
    cursor = ""
    for _ in range(30):
        page = world.backend.dead_letters.service.list(wanted, limit, cursor)
        seen += ids(page.jobs)
        cursor = page.cursor
        if not cursor:
            break
    expected = [job.id for job in dead if not error_type or job.failures[-1].type == error_type]
    assert len(seen) == len(set(seen))
    assert set(seen) == set(expected)


def test_the_total_is_exact_or_says_that_it_is_not(world: World) -> None:
    """A filter that the index does not know cannot be counted without reading everything."""
    for n in range(5):
        die(world, f"Error{n % 2}")
    letters = world.backend.dead_letters.service
    page = letters.list(limit=2)
    assert page.total == ListTotal(5)
    filtered = letters.list(DeadLetterFilter(error_type="Error0"), limit=2)
    assert filtered.total == ListTotal(3, TotalKind.AT_LEAST)
    whole = letters.list(DeadLetterFilter(error_type="Error0"))
    assert whole.total == ListTotal(3)


def test_a_page_ends_where_its_documents_grow_too_large(world: World) -> None:
    """Lambda answers with 6 MB at most; the cursor leads on."""
    for _ in range(6):
        die(world, args=["x" * 900_000])
    first = world.backend.dead_letters.service.list(limit=50)
    assert (len(first.jobs), bool(first.cursor), first.total.number) == (4, True, 6)
    assert len(world.backend.dead_letters.service.list(limit=50, cursor=first.cursor).jobs) == 2


def test_one_request_looks_at_a_bounded_number_of_rows(world: World, monkeypatch: Any) -> None:
    """A filter that nothing matches ends with a cursor, not with a timeout."""
    monkeypatch.setattr("ojs_aws.services.jobs.list_walk.MAX_EXAMINED", 3)
    for _ in range(5):
        die(world)
    page = world.backend.dead_letters.service.list(DeadLetterFilter(error_type="Rare"))
    assert (page.jobs, page.total) == ((), ListTotal(0, TotalKind.AT_LEAST))
    last = world.backend.dead_letters.service.list(
        DeadLetterFilter(error_type="Rare"), cursor=page.cursor
    )
    assert (last.jobs, last.cursor) == ((), "")


@pytest.mark.parametrize("cursor", ["x", "x!y", "NO!", "default!1|2|3", "email!"])
def test_a_foreign_cursor_is_refused(world: World, cursor: str) -> None:
    """One of another queue too."""
    with pytest.raises(InvalidRequestError, match="cursor"):
        world.backend.dead_letters.service.list(DeadLetterFilter(queue="default"), cursor=cursor)


def test_the_statistics_count_by_queue_and_by_error(world: World) -> None:
    """DLQ-R004, section 10.1."""
    first = die(world, "DbError", queue="billing")
    die(world, "DbError", queue="email")
    last = die(world, "TimeoutError", queue="email")
    stats = world.backend.dead_letters.service.stats()
    assert (stats.total, stats.is_exact, stats.by_queue) == (3, True, {"billing": 1, "email": 2})
    assert (stats.by_error_type, stats.sampled) == ({"DbError": 2, "TimeoutError": 1}, 3)
    assert (stats.oldest_at, stats.newest_at) == (first.discarded_at, last.discarded_at)


def test_one_request_looks_into_a_bounded_number_of_queues(world: World) -> None:
    """Empty queues cost a query each; the cursor leads on to the others."""
    for number in range(250):
        world.registry.ensure(f"a{number:03d}", world.clock.now())
    dead = die(world, queue="z")
    first = world.backend.dead_letters.service.list()
    assert (first.jobs, first.cursor) == ((), "a200!")
    last = world.backend.dead_letters.service.list(cursor=first.cursor)
    assert (ids(last.jobs), last.cursor) == ([dead.id], "")


def test_the_statistics_of_many_queues_count_the_first_ones_and_say_so(world: World) -> None:
    """A request has an end, however many queues there are."""
    for number in range(60):
        die(world, queue=f"q{number:02d}")
    stats = world.backend.dead_letters.service.stats()
    assert (stats.total, stats.is_exact, max(stats.by_queue)) == (49, False, "q48")


# ------------------------------------------------------------------------------------- enqueuing


def test_dlq_003_a_dead_letter_may_be_changed_on_its_way_back(world: World) -> None:
    """DLQ-R002, section 6.3: another queue, metadata and policy merged, the rest as it was."""
    dead = die(world, meta={"a": 1, "b": 2}, retry=KEPT | {"initial_interval": "PT7S"})
    again = world.backend.dead_letters.service.retry(
        dead.id,
        {"queue": "second", "meta": {"b": 3, "c": 4}, "retry": {"max_attempts": 5}, "priority": 9},
    )
    rendered = {name: json.loads(raw) for name, raw in render_job(again).items()}
    assert rendered["meta"] == {"a": 1, "b": 3, "c": 4}
    assert rendered["retry"] == KEPT | {"initial_interval": "PT7S", "max_attempts": 5}
    assert (again.queue, again.priority, again.retry.max_attempts) == ("second", 9, 5)
    (claimed,) = world.backend.jobs.fetch(FetchRequest(("second",)))
    assert (claimed.id, claimed.attempt) == (dead.id, 1)
    assert world.backend.jobs.fetch(FetchRequest(("default",))) == []


def test_a_dead_letter_that_goes_to_a_fair_queue_has_its_share(world: World) -> None:
    """Also where this process has fetched nothing of that queue: else it would stand last."""
    dead = die(world, meta={"customer": "small"})
    world.backend.queues.config.change("fair", {"fairness": {"by": "meta.customer"}})
    for _ in range(9):
        job = Job(type="demo.echo", args=[], queue="fair", meta={"customer": "big"})
        world.backend.jobs.push(job)
    world.clock.advance(s=60)
    again = world.backend.dead_letters.service.retry(dead.id, {"queue": "fair"})
    assert again.fairness is not None
    assert again.fairness.key == "small"
    first = world.backend.jobs.fetch(FetchRequest(("fair",), 2, "w"))
    assert dead.id in {each.id for each in first}


def test_a_dead_letter_in_another_queue_leaves_limit_and_share_behind(world: World) -> None:
    """Those of its old queue; what it names itself goes with it."""
    plain = die(world, rate_limit={"concurrency": 1})
    own = die(world, rate_limit={"key": "k", "concurrency": 1}, fairness={"key": "me"})
    retry = world.backend.dead_letters.service.retry
    there, moved = retry(plain.id, {"queue": "second"}), retry(own.id, {"queue": "second"})
    assert [each.limit and each.limit.key for each in (there, moved)] == ["queue:second", "k"]
    assert (there.fairness, moved.fairness and moved.fairness.key) == (None, "me")
    world.backend.queues.config.change("third", {"fairness": {"by": "tenant"}})
    world.clock.advance(s=5)
    shared = die(world, queue="third")
    assert shared.fairness is not None
    assert retry(shared.id, {"queue": "second"}).fairness is None


def test_a_dead_letter_with_other_metadata_has_the_share_of_these(world: World) -> None:
    """The queue is fair by what the operator corrected; other changes leave the share alone."""
    world.backend.queues.config.change("fair", {"fairness": {"by": "meta.customer"}})
    corrected, other = (die(world, queue="fair", meta={"customer": "old"}) for _ in range(2))
    retry = world.backend.dead_letters.service.retry
    there = retry(corrected.id, {"meta": {"customer": "new"}})
    kept = retry(other.id, {"priority": 3})
    assert [each.fairness and each.fairness.key for each in (there, kept)] == ["new", "old"]


@pytest.mark.parametrize(
    ("override", "refusal"),
    [({"args": ["no number"]}, SchemaValidationError), ({"queue": "only"}, JobTypeNotAllowedError)],
)
def test_a_dead_letter_goes_only_where_a_new_job_like_it_could(
    world: World, override: dict[str, Any], refusal: type[Exception]
) -> None:
    """The schema that the job names, and the types that the other queue takes, count."""
    uri = "urn:ojs:schema:demo.echo:v1"
    schema: JsonValue = {"type": "array", "items": {"type": "integer"}}
    wanted = SchemaRegistration(
        uri=uri, type="demo.echo", version="1.0.0", schema=schema, text=encode(schema)
    )
    world.backend.schemas.registry.register(wanted)
    world.backend.queues.config.change("only", {"allowed_job_types": ["other.type"]})
    dead = die(world, schema=uri)
    with pytest.raises(refusal):
        world.backend.dead_letters.service.retry(dead.id, override)
    assert world.stored.jobs[dead.id] == dead
    assert world.backend.dead_letters.service.retry(dead.id, {"args": [2]}).state == "available"


def test_the_limit_that_an_override_brings_is_listed_before_the_job_begins(world: World) -> None:
    """So that an operator finds it by the key that the job has now."""
    dead = die(world, args=["a"], rate_limit={"key": "api", "by": "args.0", "concurrency": 1})
    world.backend.dead_letters.service.retry(dead.id, {"args": ["b"]})
    assert {each.bucket.key for each in world.backend.limits.page("", 9)[0]} == {"api:a", "api:b"}


def test_a_changed_policy_is_the_jobs_own(world: World) -> None:
    """A batch of copies of it keeps the policy then."""
    world.backend.queues.config.change("default", {"default_retry": {"max_attempts": 1}})
    world.clock.advance(s=5)
    dead, own = die(world, retry=None), die(world, retry={"max_attempts": 1})
    retry = world.backend.dead_letters.service.retry
    assert dead.is_retry_queues
    assert not retry(dead.id, {"retry": {"max_attempts": 3}}).is_retry_queues
    assert not retry(own.id, {"priority": 1}).is_retry_queues


@pytest.mark.parametrize(
    ("override", "field"),
    [
        ({"id": "x"}, "override.id"),
        ({"state": "available"}, "override.state"),
        ({"queue": "NO"}, "queue"),
        ({"args": {}}, "args"),
        ({"meta": []}, "meta"),
        ({"priority": 101}, "priority"),
        ({"retry": {"max_attempts": -1}}, "retry.max_attempts"),
        ({"retry": "often"}, "retry"),
    ],
)
def test_an_override_that_no_envelope_could_have_changes_nothing(
    world: World, override: dict[str, Any], field: str
) -> None:
    """The field is named, and the job stays discarded."""
    dead = die(world)
    with pytest.raises(InvalidRequestError) as refused:
        world.backend.dead_letters.service.retry(dead.id, override)
    assert refused.value.details["field"] == field
    assert world.stored.jobs[dead.id] == dead


def test_an_undeclared_queue_is_no_way_back() -> None:
    """Where a deployment allows its declared queues only."""
    world = World(settings=Settings(allow_undeclared_queues=False))
    dead = die(world)
    with pytest.raises(NotFoundError, match="other"):
        world.backend.dead_letters.service.retry(dead.id, {"queue": "other"})
    assert world.stored.jobs[dead.id] == dead


def test_a_large_document_is_not_changed_in_place(world: World) -> None:
    """But its queue may be."""
    dead = die(world, args=[random.Random(1).randbytes(100_000).hex()])  # hard to compress
    with pytest.raises(PayloadTooLargeError):
        world.backend.dead_letters.service.retry(dead.id, {"meta": {"a": 1}})
    assert world.backend.dead_letters.service.retry(dead.id, {"queue": "second"}).queue == "second"


def test_dlq_r001_many_are_enqueued_again_with_an_outcome_each(world: World) -> None:
    """Section 6.2: those of a filter, their messages together; the others stay."""
    chosen = [die(world, "DbError") for _ in range(3)]
    other = die(world, "Other")
    report = world.backend.dead_letters.bulk(
        BulkAction.RETRY, DeadLetterFilter(error_type="DbError")
    )
    assert {o.job_id for o in report.outcomes} == set(ids(chosen))
    assert (report.done, report.cursor) == (3, "")
    assert {world.stored.jobs[job.id].state for job in chosen} == {JobState.AVAILABLE}
    assert world.stored.jobs[other.id].state is JobState.DISCARDED
    assert len(world.backend.jobs.fetch(FetchRequest(("default",), count=9))) == 3


def test_many_are_enqueued_in_bounded_steps(world: World) -> None:
    """The cursor leads on; those retried are gone from the list, so none is done twice."""
    dead = [die(world) for _ in range(5)]
    done: list[str] = []
    cursor = ""
    for _ in range(5):
        report = world.backend.dead_letters.bulk(BulkAction.RETRY, DeadLetterFilter(), 2, cursor)
        done += [outcome.job_id for outcome in report.outcomes]
        cursor = report.cursor
        if not cursor:
            break
    assert sorted(done) == sorted(ids(dead))


def test_each_named_job_has_its_outcome(world: World) -> None:
    """Done, no longer discarded, unknown; in the order asked for, each once."""
    dead, alive = die(world), world.backend.jobs.push(Job("demo.echo", [1])).record
    assert alive is not None
    unknown = "01990000-0000-7000-8000-ffffffffffff"
    wanted = [dead.id, alive.id, unknown, dead.id]
    report = world.backend.dead_letters.bulk(BulkAction.RETRY, wanted)
    assert [(o.job_id, o.status) for o in report.outcomes] == [
        (dead.id, BulkStatus.DONE),
        (alive.id, BulkStatus.SKIPPED),
        (unknown, BulkStatus.NOT_FOUND),
    ]
    assert (report.done, "available" in report.outcomes[1].reason) == (1, True)


def test_one_failing_write_does_not_keep_the_others_from_theirs(world: World) -> None:
    """The failed one is reported, and a repetition finds it where it was."""
    dead = [die(world) for _ in range(3)]
    before = len(world.faults.calls)
    report = world.backend.dead_letters.bulk(BulkAction.DELETE, ids(dead[:1]))
    delete_at = before + world.faults.calls[before:].index("delete")
    assert report.done == 1
    world = World()
    dead = [die(world) for _ in range(3)]
    world.faults.faulty, world.faults.fault = delete_at, next(iter(Fault))
    statuses = [
        o.status for o in world.backend.dead_letters.bulk(BulkAction.DELETE, ids(dead)).outcomes
    ]
    assert statuses.count(BulkStatus.DONE) >= 2
    world.faults.faulty = None
    world.backend.dead_letters.bulk(BulkAction.DELETE, ids(dead))
    assert world.backend.dead_letters.service.list().jobs == ()


def test_many_are_removed_for_good(world: World) -> None:
    """Older than an instant, for one."""
    old = die(world)
    limit = Instant(world.clock.at)
    world.clock.advance(s=5)
    young = die(world)
    report = world.backend.dead_letters.bulk(BulkAction.DELETE, DeadLetterFilter(until=limit))
    assert (report.done, set(world.stored.jobs)) == (1, {young.id})
    with pytest.raises(NotFoundError):
        world.backend.dead_letters.service.get(old.id)


@pytest.mark.parametrize("limit", [0, 101, -1])
def test_bulk_operations_are_bounded(world: World, limit: int) -> None:
    """In what a limit and a list of ids may ask for."""
    with pytest.raises(InvalidRequestError, match="limit"):
        world.backend.dead_letters.bulk(BulkAction.RETRY, DeadLetterFilter(), limit)
    many = [f"01990000-0000-7000-8000-{n:012d}" for n in range(101)]
    with pytest.raises(InvalidRequestError, match="ids"):
        world.backend.dead_letters.bulk(BulkAction.DELETE, many)
    assert len(world.backend.dead_letters.bulk(BulkAction.DELETE, many[1:]).outcomes) == 100


# ------------------------------------------------------------------------------- pruning, replay


def test_dlq_004_dlq_005_the_oldest_beyond_the_number_kept_are_removed() -> None:
    """Section 8.1: every five minutes, queue by queue."""
    world = World(settings=Settings(dead_letter_max_count=2))
    dead = [die(world) for _ in range(5)]
    other = die(world, queue="other")
    world.clock.advance(s=300)
    assert world.backend.dead_letters.upkeep.tick().pruned == 3
    assert set(world.stored.jobs) == {dead[3].id, dead[4].id, other.id}
    die(world)
    assert world.backend.dead_letters.upkeep.tick().pruned == 0
    world.clock.advance(s=300)
    assert world.backend.dead_letters.upkeep.tick().pruned == 1


RULE = {
    "name": "connections",
    "filter": {"error_type": "ConnectionError"},
    "delay": "PT1H",
    "max_replays": 2,
}


def with_rules(*rules: dict[str, Any]) -> World:
    """A backend with replay rules."""
    return World(settings=Settings(dead_letter_replay=json.dumps(rules)))


def test_dlq_r003_a_rule_replays_what_it_is_for_after_its_delay() -> None:
    """Section 7: counted in the metadata, and bounded."""
    world = with_rules(RULE)
    dead, other = die(world, "ConnectionError"), die(world, "Other")
    for _ in range(11):
        world.clock.advance(s=300)
        assert world.backend.dead_letters.upkeep.tick().replayed == 0
    for count in (1, 2):
        world.clock.advance(s=3600)
        assert world.backend.dead_letters.upkeep.tick().replayed == 1
        again = world.stored.jobs[dead.id]
        assert (again.state, again.attempt) == (JobState.AVAILABLE, 0)
        meta = json.loads(render_job(again)["meta"])
        assert meta["ojs.replay_count"] == count
        assert meta["ojs.replay_rule"] == "connections"
        assert meta["ojs.last_replayed_at"].endswith("Z")
        fail(world, again, "ConnectionError")
    for _ in range(30):
        world.clock.advance(s=3600)
        assert world.backend.dead_letters.upkeep.tick().replayed == 0
    states = {world.stored.jobs[job.id].state for job in (dead, other)}
    assert states == {JobState.DISCARDED}


def test_what_a_rule_has_looked_at_is_not_looked_at_again() -> None:
    """The cost grows with what becomes due, not with what is kept."""
    world = with_rules(RULE | {"delay": "PT0S"})
    for _ in range(20):
        die(world, "Other")
    world.clock.advance(s=300)
    world.backend.dead_letters.upkeep.tick()
    world.clock.advance(s=300)
    before = len(world.faults.calls)
    world.backend.dead_letters.upkeep.tick()
    assert "load" not in world.faults.calls[before:]


def test_an_operators_retry_starts_the_count_again() -> None:
    """The fix is in; the rule may help once more."""
    world = with_rules(RULE | {"max_replays": 1, "delay": "PT0S"})
    dead = die(world, "ConnectionError")
    world.clock.advance(s=300)
    world.backend.dead_letters.upkeep.tick()
    fail(world, dead, "ConnectionError")
    assert world.backend.dead_letters.service.retry(dead.id).replay is None
    fail(world, dead, "ConnectionError")
    world.clock.advance(s=300)
    assert world.backend.dead_letters.upkeep.tick().replayed == 1


@pytest.mark.parametrize(
    "rules",
    [
        "{}",
        "no json",
        "[5]",
        '[{"name": ""}]',
        '[{"name": "a", "delay": "soon"}]',
        '[{"name": "a", "delay": "PT1H", "max_replays": 0}]',
        '[{"name": "a", "max_replays": 101}]',
        '[{"name": "a", "filter": {"args": 1}}]',
        '[{"name": "a", "filter": {"args": "x"}}]',
        json.dumps([{"name": "x" * 101}]),
        json.dumps([{"name": f"a{n}"} for n in range(21)]),
        '[{"name": "a", "filter": {"queue": "NO"}}]',
        '[{"name": "a", "filter": {"type": 5}}]',
        '[{"name": "a", "enabled": "yes"}]',
        '[{"name": "a"}, {"name": "a"}]',
    ],
)
def test_a_rule_that_cannot_be_followed_is_refused(rules: str) -> None:
    """And says what is wrong with it."""
    with pytest.raises(InvalidRequestError):
        read_replay_rules(rules)


def test_rules_may_be_as_large_as_is_said() -> None:
    largest = [{"name": f"{n:0100d}", "max_replays": 100} for n in range(20)]
    assert len(read_replay_rules(json.dumps(largest))) == 20


@pytest.mark.parametrize(
    ("since", "until", "as_of", "expected"),
    [
        (None, None, None, None),
        (None, 5, 7, (0, 5)),
        (None, 7, 5, (0, 5)),
        (3, None, 5, (3, 5)),
        (3, None, None, (3, END)),
    ],
)
def test_a_filter_ends_at_the_earlier_of_its_instants(
    since: Any, until: Any, as_of: Any, expected: Any
) -> None:
    between = DeadLetterFilter(since=since, until=until, as_of=as_of).between
    assert (between and (between.since, between.until)) == expected


def test_rules_that_are_switched_off_do_nothing() -> None:
    """And no rules are none."""
    assert read_replay_rules("") == read_replay_rules('[{"name": "a", "enabled": false}]') == ()


def test_state_029_a_cancelled_job_cannot_be_retried(world: World) -> None:
    """409, with its state."""
    record = world.backend.jobs.push(Job("demo.echo", [1])).record
    assert record is not None
    world.backend.jobs.cancel(record.id)
    with pytest.raises(ConflictError, match="cancelled"):
        world.backend.dead_letters.service.retry(record.id)


def test_named_dead_letters_of_its_tenant_are_there_for_a_caller(world: World) -> None:
    """And those of another tenant are not."""
    dead = die(world, meta={"tenant_id": "acme"})
    bulk = world.backend.dead_letters.bulk
    for tenant, status in (("other", BulkStatus.NOT_FOUND), ("acme", BulkStatus.DONE)):
        report = bulk(BulkAction.RETRY, [dead.id], view=View(tenant=tenant))
        assert [each.status for each in report.outcomes] == [status]


def test_a_dead_letter_of_a_wide_queue_can_go_to_one_with_a_single_line() -> None:
    """Whose workers find it there, also without its message."""
    world = World(settings=Settings(wide_queues=(("mail", 4),)))
    world.backend.queues.config.change("mail", {"ordering_shards": 4})
    dead = next(each for _ in range(20) if (each := die(world, queue="mail")).shard)
    again = world.backend.dead_letters.service.retry(dead.id, {"priority": 1})
    assert again.shard == dead.shard
    dead = fail(world, again)
    world.backend.dead_letters.service.retry(dead.id, {"queue": "default"})
    world.lose_messages()
    assert ids(world.backend.jobs.fetch(FetchRequest(("default",)))) == [dead.id]
