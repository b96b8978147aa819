"""Failures grouped by error: what is stored of them, in the table."""

from __future__ import annotations

import pytest

from ojs_aws.adapters.dynamodb.columns import item_bytes
from ojs_aws.adapters.dynamodb.failure_groups import FailureGroups
from ojs_aws.domain.jobs.failure_groups import (
    MAX_GROUPS,
    WINDOW_MS,
    FailureGroup,
    failure_group,
    group_key,
)
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import is_streamed
from tests.aws import EmbeddedAws

HOUR = Instant(1_759_996_800_000)
JOB = "01990000-0000-7000-8000-{:012x}"


def group(name: str, at: int = 0, count: int = 1, job: int = 0) -> FailureGroup:
    """Failures of one kind."""
    made = failure_group(f"E{name}", f"failed: {name}", JOB.format(job), Instant(HOUR + at))
    for _ in range(count - 1):
        made = made.plus(failure_group(made.type, made.message, JOB.format(job), made.last_seen))
    return made


@pytest.fixture
def store(aws: EmbeddedAws) -> FailureGroups:
    """No failure yet."""
    return table(aws)


def table(aws: EmbeddedAws) -> FailureGroups:
    """The table as one process has it."""
    return FailureGroups(aws.clients.dynamodb, aws.settings.table)


def found(store: FailureGroups, queue: str = "q") -> dict[str, FailureGroup]:
    """Return the groups of the hour, by type."""
    rows, _ = store.read(HOUR, HOUR, queue)
    return {each.type: each for row in rows for each in row.groups}


def test_the_failures_of_batches_add_up(store: FailureGroups) -> None:
    """With the first and the last time, and a job of each."""
    store.add("q", HOUR, [group("a", 5, job=1), group("b", 6, count=3)], "1")
    store.add("q", HOUR, [group("a", 9, count=2, job=2)], "2")
    groups = found(store)
    assert {name: each.count for name, each in groups.items()} == {"Ea": 3, "Eb": 3}
    a = groups["Ea"]
    assert (a.first_seen, a.last_seen) == (HOUR + 5, HOUR + 9)
    assert a.job_ids == (JOB.format(1), JOB.format(2))
    assert a.message == "failed: a"


def test_a_group_has_the_message_of_its_last_failure(store: FailureGroups) -> None:
    """What the group leaves out may be the very cause."""
    for at, currency in enumerate(("JPY", "CHF")):
        made = failure_group("KeyError", f"'{currency}'", JOB.format(at), Instant(HOUR + at))
        store.add("q", HOUR, [made], currency)
    assert (found(store)["KeyError"].message, found(store)["KeyError"].example) == ("'*'", "'CHF'")


def test_groups_of_earlier_releases_have_no_example(aws: EmbeddedAws) -> None:
    """Their items lack the attribute."""
    store = table(aws)
    store.add("q", HOUR, [group("a")], "1")
    key = {"pk": {"S": "failures"}, "sk": {"S": f"{HOUR:015d}#q"}}
    name = f"x{group_key(group('a'))}"
    aws.clients.dynamodb.update_item(
        TableName=aws.settings.table,
        Key=key,
        UpdateExpression="REMOVE #x",
        ExpressionAttributeNames={"#x": name},
    )
    assert (found(store)["Ea"].example, found(store)["Ea"].count) == ("", 1)


def test_a_batch_that_comes_again_is_not_added_again(store: FailureGroups) -> None:
    """If it was the last one: a process died after its write."""
    for _ in range(2):
        store.add("q", HOUR, [group("a")], "1")
    assert found(store)["Ea"].count == 1


def test_a_batch_that_comes_again_costs_one_write_and_fills_no_hour(aws: EmbeddedAws) -> None:
    """The process still asks whether an hour has room, as others may have filled it."""
    store, other = table(aws), table(aws)
    store.add("q", HOUR, [group("a")], "1")
    with aws.calls.counted() as calls:
        store.add("q", HOUR, [group("a")], "1")
    assert calls == {"UpdateItem": 1}
    for number in range(1, MAX_GROUPS):
        other.add("q", HOUR, [group(chr(ord("a") + number))], f"other {number}")
    store.add("q", HOUR, [group("new")], "2")
    assert len(found(store)) == MAX_GROUPS


def test_groups_are_bounded_and_the_rest_is_counted(store: FailureGroups) -> None:
    """The largest ones of the first batch; known ones go on, new ones find no room."""
    names = [chr(ord("a") + number) for number in range(MAX_GROUPS + 3)]
    store.add("q", HOUR, [group(name, count=20 - at) for at, name in enumerate(names)], "1")
    for token in ("2", "3"):
        store.add("q", HOUR, [group("a"), group("new", count=2)], token)
    (row,), is_cut = store.read(HOUR, HOUR, "q")
    assert {each.type for each in row.groups} == {f"E{name}" for name in names[:MAX_GROUPS]}
    assert found(store)["Ea"].count == 22
    assert row.ungrouped == 12 + 11 + 10 + 2 + 2
    assert not is_cut


def test_new_groups_fill_the_room_that_is_left(store: FailureGroups) -> None:
    """In several batches, of several processes."""
    for number in range(MAX_GROUPS - 1):
        store.add("q", HOUR, [group(chr(ord("a") + number))], str(number))
    store.add("q", HOUR, [group("y", count=3), group("z"), group("a", count=2)], "x")
    (row,), _ = store.read(HOUR, HOUR, "q")
    assert len(row.groups) == MAX_GROUPS
    assert (found(store)["Ey"].count, found(store)["Ea"].count, row.ungrouped) == (3, 3, 1)


def test_hours_and_queues_are_apart(store: FailureGroups) -> None:
    """Newest hour first; a time range includes the hours of both ends."""
    for hour in range(3):
        for queue in ("p", "q"):
            store.add(queue, Instant(HOUR + hour * WINDOW_MS), [group("a", hour)], f"{hour}")
    rows, _ = store.read(Instant(HOUR + WINDOW_MS + 7), Instant(HOUR + 2 * WINDOW_MS + 7))
    assert {(each.queue, each.window - HOUR) for each in rows} == {
        (queue, hour * WINDOW_MS) for queue in "pq" for hour in (1, 2)
    }
    assert [each.window for each in rows] == sorted((each.window for each in rows), reverse=True)
    rows, _ = store.read(HOUR, Instant(HOUR + 2 * WINDOW_MS), "p")
    assert [(each.queue, each.window - HOUR) for each in rows] == [
        ("p", hour * WINDOW_MS) for hour in (2, 1, 0)
    ]
    assert store.read(Instant(0), Instant(1)) == ([], False)


@pytest.mark.parametrize("queue", ["", "q"])
def test_a_range_that_ends_before_it_begins_has_no_failures(
    store: FailureGroups, queue: str
) -> None:
    """DynamoDB refuses to look for it."""
    assert store.read(Instant(HOUR + 3_600_000), HOUR, queue) == ([], False)


def test_a_full_hour_costs_one_write_a_batch_and_three_kilobytes(aws: EmbeddedAws) -> None:
    """The first batch that meets it in a process pays for one more."""
    store = table(aws)
    longest = "ÄÖÜ" * 100
    for number in range(MAX_GROUPS):
        name = f"{chr(ord('a') + number)}{longest}"
        store.add("q" * 128, HOUR, [group(name, 5, count=9), group(name, 7, job=1)][:1], name)
    other = table(aws)
    other.add("q" * 128, HOUR, [group("new")], "n1")
    with aws.calls.counted() as calls:
        other.add("q" * 128, HOUR, [group("new")], "n2")
    assert calls == {"UpdateItem": 1}
    key = {"pk": {"S": "failures"}, "sk": {"S": f"{HOUR:015d}#{'q' * 128}"}}
    item = aws.clients.dynamodb.get_item(TableName=aws.settings.table, Key=key)["Item"]
    assert item_bytes(item) <= 3 * 1024


def test_a_process_remembers_so_many_full_hours_and_asks_again(
    aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it remembers does not grow; it meets a full hour that it forgot like a new one."""
    monkeypatch.setattr("ojs_aws.adapters.dynamodb.failure_groups.MAX_REMEMBERED", 1)
    filling, store = table(aws), table(aws)
    for queue in ("p", "q"):
        for number in range(MAX_GROUPS):
            filling.add(queue, HOUR, [group(chr(ord("a") + number))], f"{number}")
        store.add(queue, HOUR, [group("new")], "n1")
    with aws.calls.counted() as calls:
        store.add("q", HOUR, [group("new")], "n2")
    assert calls == {"UpdateItem": 1}
    with aws.calls.counted() as calls:
        store.add("p", HOUR, [group("new")], "n2")
    assert calls == {"UpdateItem": 2}


def test_no_write_invokes_the_streams_function(aws: EmbeddedAws) -> None:
    """Its filter takes the sort keys of other items only."""
    table(aws).add("jobs", HOUR, [group("a")], "1")
    items = aws.clients.dynamodb.scan(TableName=aws.settings.table)["Items"]
    keys = [item["sk"]["S"] for item in items if item["pk"]["S"] == "failures"]
    assert len(keys) == 1
    assert not is_streamed("failures", keys[0])


def test_a_read_of_all_queues_is_bounded(aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest hours are left out, and that is said."""
    monkeypatch.setattr("ojs_aws.adapters.dynamodb.failure_groups.MAX_QUERIES", 1)
    store = table(aws)
    for hour in range(3):
        store.add("q", Instant(HOUR + hour * WINDOW_MS), [group("a", hour)], "1")
    query = aws.clients.dynamodb.query
    monkeypatch.setattr(
        aws.clients.dynamodb, "query", lambda **given: query(**{**given, "Limit": 2})
    )
    rows, is_cut = store.read(HOUR, Instant(HOUR + 2 * WINDOW_MS))
    assert [(each.window - HOUR) // WINDOW_MS for each in rows] == [2, 1]
    assert is_cut
