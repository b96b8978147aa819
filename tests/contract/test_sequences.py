"""What the store of sequences must do; each engine passes the same suite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ojs_aws.adapters.dynamodb import stopped_sequences
from ojs_aws.adapters.dynamodb.sequences import IDLE_KEPT_S, Sequences, _read, sequence_key
from ojs_aws.adapters.dynamodb.stopped_sequences import StoppedSequences
from ojs_aws.adapters.dynamodb.unique import UniqueJobs
from ojs_aws.bootstrap import job_store
from ojs_aws.domain.conflicts import NotAdmittedError, StaleJobError
from ojs_aws.domain.errors import ConflictError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import OnDiscard, SequencePlace
from ojs_aws.domain.jobs import lifecycle
from ojs_aws.domain.jobs.batches import Admission
from ojs_aws.domain.sequences import (
    BlockedJob,
    Sequence,
    announced,
    enqueue,
    released,
    with_batches,
)
from ojs_aws.domain.timestamps import Instant
from tests.aws import embedded
from tests.contract.test_job_store import KINDS, NOW, a_job

PLACE = SequencePlace(key="k", on_discard=OnDiscard.CANCEL)
LATER = Instant(NOW + 5)


@pytest.fixture(params=KINDS)
def sequences(request: pytest.FixtureRequest) -> Iterator[Sequences]:
    """A fresh store of each kind."""
    if request.param == "emulator":
        aws = request.getfixturevalue("emulated_aws")
        yield Sequences(job_store(aws.settings, aws.clients))
        return
    with embedded() as aws:
        yield Sequences(job_store(aws.settings, aws.clients))


def stored(sequences: Sequences, *numbers: int, seen: Sequence | None = None) -> list[JobRecord]:
    """Store jobs of the sequence, and return them."""
    wanted = [a_job(number, sequence=PLACE) for number in numbers]
    jobs, change = enqueue(wanted, seen, NOW)
    unique = UniqueJobs(sequences.store)
    unique.admit([Admission(job=job) for job in jobs], sequences.enqueuing(change))
    return jobs


def on_list(sequences: Sequences, tenant: str | None = None) -> list[Sequence]:
    """The sequences that are listed as stopped."""
    return [each for _, each in sequences.stopped.page(10, tenant=tenant).sequences]


def seen(sequences: Sequences) -> Sequence:
    """The sequence as it is."""
    found = sequences.load("", "k")
    assert found is not None
    return found


def row_of(job: JobRecord) -> BlockedJob:
    """The row of a blocked job."""
    assert job.sequence is not None
    return BlockedJob(job.sequence.position, job.id)


def ttl_of(sequences: Sequences) -> int | None:
    """When the sequence's item expires, if it does."""
    value = sequences.store.get_item(sequence_key("", "k")).get("ttl")
    return None if value is None else int(value["N"])


def discarded(sequences: Sequences, job: JobRecord) -> JobRecord:
    """The head, discarded."""
    after = lifecycle.drop(job, NOW)
    return sequences.store.save(job, after)


def test_jobs_are_stored_with_their_sequence_and_rows(sequences: Sequences) -> None:
    jobs = stored(sequences, 1, 2, 3)
    assert [sequences.store.load_whole(each.id) for each in jobs] == jobs
    found, rows = sequences.look("", "k", 10)
    assert found == Sequence(key="k", next=4, head=1, job_id=jobs[0].id, version=1, checked_at=NOW)
    assert rows == [row_of(each) for each in jobs[1:]]
    assert sequences.look("", "k", 1) == (found, rows[:1])
    assert sequences.look("t", "k", 10) == (None, [])


def test_no_position_is_given_twice(sequences: Sequences) -> None:
    """Neither of a new sequence, nor of one that was read before another job came."""
    stored(sequences, 1)
    before = seen(sequences)
    with pytest.raises(NotAdmittedError):
        stored(sequences, 2)
    stored(sequences, 3, seen=before)
    with pytest.raises(NotAdmittedError):
        stored(sequences, 4, seen=before)
    assert sequences.store.load(a_job(4).id) is None
    assert seen(sequences).next == 3


def test_the_turn_goes_to_the_next_job_once(sequences: Sequences) -> None:
    _, ended, waits, last = stored(sequences, 1, 2, 3, 4)
    before, after = seen(sequences), released(waits, LATER, 7)
    given = (sequences, before, [row_of(ended)], row_of(waits), (waits, after), LATER)
    assert Sequences.hand_over(*given)
    assert sequences.store.load(waits.id) == after
    found, rows = sequences.look("", "k", 10)
    assert found == replace(before, head=3, job_id=waits.id, version=2, checked_at=LATER)
    assert rows == [row_of(last)]
    assert not Sequences.hand_over(*given)


def test_a_change_of_the_head_keeps_the_turn_where_it_is(sequences: Sequences) -> None:
    _, waits = stored(sequences, 1, 2)
    before = replace(seen(sequences), version=9)
    change = waits, released(waits, LATER, 7)
    assert not sequences.hand_over(before, [], row_of(waits), change, LATER)
    assert not sequences.cancel(before, row_of(waits), change, LATER)
    assert not sequences.stop(before, LATER)
    assert sequences.store.load(waits.id) == waits
    assert on_list(sequences) == []


def test_a_cancelled_job_leaves_the_head(sequences: Sequences) -> None:
    first, waits = stored(sequences, 1, 2)
    change = waits, lifecycle.cancel(waits, LATER)
    assert sequences.cancel(seen(sequences), row_of(waits), change, LATER)
    found, rows = sequences.look("", "k", 10)
    assert found is not None
    assert (found.job_id, found.version, rows) == (first.id, 2, [])


def test_a_sequence_ends_unless_a_job_came(sequences: Sequences) -> None:
    stored(sequences, 1)
    before = seen(sequences)
    stored(sequences, 2, seen=before)
    assert not sequences.end(before)
    assert sequences.end(seen(sequences))
    assert sequences.load("", "k") is None


def test_a_stopped_sequence_is_listed_until_its_job_is_retried(sequences: Sequences) -> None:
    head, _ = stored(sequences, 1, 2)
    gone = discarded(sequences, head)
    assert sequences.stop(seen(sequences), LATER)
    assert on_list(sequences) == [seen(sequences)]
    assert seen(sequences).stopped_at == LATER
    again = sequences.resume(gone, lifecycle.retry_discarded(gone, LATER, 8))
    assert sequences.store.load(head.id) == again
    assert again.state is JobState.AVAILABLE
    assert on_list(sequences) == []
    assert seen(sequences).version == 3


def stop_some(sequences: Sequences, *names: str) -> list[Sequence]:
    """Stop sequences at one instant: a tenant and a key each; in the order of the list."""
    for at, (tenant, _, key) in enumerate(name.partition("/") for name in names):
        place = SequencePlace(key=key)
        jobs, change = enqueue([a_job(at, sequence=place, tenant=tenant)], None, NOW)
        UniqueJobs(sequences.store).admit([Admission(job=jobs[0])], sequences.enqueuing(change))
        found = sequences.load(tenant, key)
        assert found is not None
        assert sequences.stop(found, LATER)
    return [each for _, each in sequences.stopped.page(10).sequences]


def test_stopped_sequences_are_listed_in_pages(sequences: Sequences) -> None:
    """Also those that were stopped at the same instant; the last page says so."""
    stopped = stop_some(sequences, "/a", "/b", "acme/a", "acme/b", "ac/a")
    assert len(stopped) == 5
    first = sequences.stopped.page(2)
    assert [each for _, each in first.sequences] == stopped[:2]
    assert first.cursor == first.sequences[-1][0]
    rest = sequences.stopped.page(3, first.cursor)
    assert [each for _, each in rest.sequences] == stopped[2:]
    assert rest.cursor == ""


def test_the_list_shows_a_tenant_its_own_sequences(sequences: Sequences) -> None:
    """Others of its page are passed, and jobs without a tenant are nobody's."""
    stopped = stop_some(sequences, "/a", "acme/a", "ac/a")
    for tenant in ("", "acme", "ac"):
        found = on_list(sequences, tenant)
        assert found == [each for each in stopped if each.tenant == tenant]
        assert len(found) == 1


def test_stopped_sequences_are_counted_up_to_a_number(
    sequences: Sequences, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sequences.stopped.count() == (0, True)
    stop_some(sequences, "/a", "/b", "/c")
    assert sequences.stopped.count() == (3, True)
    monkeypatch.setattr(stopped_sequences, "MAX_COUNTED", 2)
    assert sequences.stopped.count() == (2, False)


def test_a_row_of_the_list_that_is_out_of_date_is_not_shown(sequences: Sequences) -> None:
    """The index lags; what goes on has lost its place by the same write."""
    stop_some(sequences, "/a", "/b")
    page = sequences.stopped.page(10)
    gone = page.sequences[0][1]
    listed = StoppedSequences(sequences.store, lambda item: replace(_read(item), stopped_at=None))
    assert listed.page(10).sequences == ()
    assert sequences.end(gone)
    assert on_list(sequences) == [page.sequences[1][1]]


def test_a_retry_begins_an_idle_sequence_and_passes_no_other_job(sequences: Sequences) -> None:
    [head] = stored(sequences, 1)
    gone = discarded(sequences, head)
    assert sequences.end(seen(sequences))
    [other] = stored(sequences, 2)
    after = lifecycle.retry_discarded(gone, LATER, 8)
    with pytest.raises(ConflictError):
        sequences.resume(gone, after)
    assert sequences.store.load(head.id) == gone
    assert sequences.end(seen(sequences))
    sequences.resume(gone, after)
    found = seen(sequences)
    assert (found.job_id, found.head, found.next, found.version) == (head.id, 1, 2, 1)
    assert found.job_id != other.id
    with pytest.raises(StaleJobError):
        sequences.resume(gone, after)


def test_a_sequence_that_a_retry_begins_is_its_tenants(sequences: Sequences) -> None:
    gone = lifecycle.drop(a_job(sequence=replace(PLACE, position=1), tenant="t"), NOW)
    sequences.store.insert(gone)
    sequences.resume(gone, lifecycle.retry_discarded(gone, LATER, 8))
    found = sequences.load("t", "k")
    assert found is not None
    assert found.tenant == "t"
    assert sequences.load("", "k") is None


def test_a_retry_gives_no_position_that_was_given(sequences: Sequences) -> None:
    """Jobs that came behind it keep theirs."""
    head, _ = stored(sequences, 1, 2)
    gone = discarded(sequences, head)
    sequences.resume(gone, lifecycle.retry_discarded(gone, LATER, 8))
    assert (seen(sequences).head, seen(sequences).next) == (1, 3)


def test_a_position_whose_job_has_had_its_turn_is_not_given_again(sequences: Sequences) -> None:
    """Its row is gone, so that the sequence itself has to say it."""
    stored(sequences, 1)
    before = seen(sequences)
    [second] = stored(sequences, 2, seen=before)
    change = second, released(second, LATER, 7)
    assert sequences.hand_over(before, [], row_of(second), change, LATER)
    with pytest.raises(NotAdmittedError):
        stored(sequences, 3, seen=before)


def test_a_sequence_that_began_anew_is_another_one(sequences: Sequences) -> None:
    """Though it has had as many changes."""
    stored(sequences, 1)
    before = seen(sequences)
    assert sequences.end(before)
    stored(sequences, 2)
    assert seen(sequences).version == before.version
    assert not sequences.stop(before, LATER)


def test_only_its_own_row_is_removed(sequences: Sequences) -> None:
    _, waits = stored(sequences, 1, 2)
    sequences.forget("", "k", BlockedJob(2, "another"))
    assert sequences.look("", "k", 10)[1] == [row_of(waits)]
    for _ in range(2):
        sequences.forget("", "k", row_of(waits))
    assert sequences.look("", "k", 10)[1] == []


def test_sequences_are_read_together(sequences: Sequences) -> None:
    """Without those that are idle; one by a read, and more by a batch read."""
    stored(sequences, 1)
    assert sequences.load_all([("", "k"), ("t", "k"), ("", "other")]) == {
        ("", "k"): seen(sequences)
    }
    assert sequences.load_all([("", "k")]) == {("", "k"): seen(sequences)}
    assert sequences.load_all([("t", "k")]) == {}
    assert sequences.load_all([]) == {}


def test_a_sequence_names_batches_unless_it_has_changed(sequences: Sequences) -> None:
    stored(sequences, 1)
    before = seen(sequences)
    after = announced("k", "", before, "b2", NOW)
    assert sequences.name_batches(before, after)
    assert not sequences.name_batches(before, announced("k", "", before, "b3", NOW))
    assert seen(sequences) == after
    assert sequences.name_batches(after, announced("k", "", after, "b1", NOW))
    assert seen(sequences).batches == ("b1", "b2")
    assert not sequences.end(before)
    bare = with_batches(seen(sequences), ())
    assert sequences.name_batches(seen(sequences), bare)
    assert seen(sequences) == bare
    assert sequences.end(bare)


def test_an_idle_sequence_is_named_by_one_batch_at_a_time(sequences: Sequences) -> None:
    """The second one has to read it again. It expires, and has a head with its next job."""
    first, second = (announced("k", "", None, each, NOW) for each in ("b1", "b2"))
    assert sequences.name_batches(None, first)
    assert not sequences.name_batches(None, second)
    assert seen(sequences) == first
    assert ttl_of(sequences) == NOW // 1000 + IDLE_KEPT_S
    [head, _] = stored(sequences, 1, 2, seen=first)
    assert (seen(sequences).job_id, seen(sequences).batches) == (head.id, ("b1",))
    assert (seen(sequences).head, seen(sequences).next) == (1, 3)
    assert ttl_of(sequences) is None


def test_an_idle_sequence_begins_once(sequences: Sequences) -> None:
    """Of two jobs that both saw it idle, the second has to look again."""
    idle = announced("k", "", None, "b", NOW)
    assert sequences.name_batches(None, idle)
    stored(sequences, 1, seen=idle)
    with pytest.raises(NotAdmittedError):
        stored(sequences, 2, seen=idle)


def test_a_sequence_is_left_idle_unless_a_job_came(sequences: Sequences) -> None:
    """Whoever read the head before has to look again: its position is left out."""
    stored(sequences, 1)
    early = seen(sequences)
    named = announced("k", "", early, "b", NOW)
    assert sequences.name_batches(early, named)
    stored(sequences, 2, seen=named)
    assert not sequences.leave_idle(named, LATER)
    before = seen(sequences)
    assert sequences.leave_idle(before, LATER)
    found = seen(sequences)
    assert (found.job_id, found.next, found.batches) == ("", before.next + 1, ("b",))
    assert found.version == before.version + 1
    assert ttl_of(sequences) == LATER // 1000 + IDLE_KEPT_S
    with pytest.raises(NotAdmittedError):
        stored(sequences, 3, seen=before)


def test_a_retry_begins_a_sequence_that_was_left_idle(sequences: Sequences) -> None:
    [head] = stored(sequences, 1)
    gone = discarded(sequences, head)
    named = announced("k", "", seen(sequences), "b", NOW)
    assert sequences.name_batches(seen(sequences), named)
    assert sequences.leave_idle(named, LATER)
    sequences.resume(gone, lifecycle.retry_discarded(gone, LATER, 8))
    found = seen(sequences)
    assert (found.job_id, found.head, found.next, found.batches) == (head.id, 1, 3, ("b",))
    assert ttl_of(sequences) is None
