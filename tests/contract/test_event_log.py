"""The event log in the table: nothing is missed, whoever appends and whenever it is read."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import stored_bytes
from ojs_aws.adapters.dynamodb.events.chunks import MAX_CHUNK_BYTES
from ojs_aws.adapters.dynamodb.events.log import WARY, EventLog
from ojs_aws.adapters.dynamodb.events.reader import CHUNKS, MAX_PAGE_BYTES, MAX_QUERIES
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.events import Event, EventQuery, SetAside, event_id
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant
from tests.aws import EmbeddedAws, items_of

NOW = Instant(1_760_000_000_000)
HOUR = 3_600_000
RETENTION_S = 86_400
TOKENS = map(str, itertools.count())


def log_of(aws: EmbeddedAws) -> EventLog:
    """The log as one process has it."""
    return EventLog(aws.clients.dynamodb, aws.settings.table, RETENTION_S, lambda: next(TOKENS))


@pytest.fixture
def log(aws: EmbeddedAws) -> EventLog:
    """The log."""
    return log_of(aws)


def event(
    number: int, at: int = NOW, kind: str = "job.enqueued", queue: str = "default", **more: Any
) -> Event:
    """An event."""
    return Event(
        id=event_id(Instant(at), number),
        type=kind,
        time=Instant(at),
        queue=queue,
        subject=more.pop("subject", "job"),
        data=RawJson(more.pop("data", f'{{"n":{number},"x":1.50}}')),
        **more,
    )


def all_of(log: EventLog, query: EventQuery) -> list[Event]:
    """Every event from a query's cursor on, page by page."""
    found: list[Event] = []
    while True:
        page = log.read(query)
        found += page.events
        if not page.has_more:
            return found
        query = replace(query, cursor=page.cursor)


def test_events_are_read_in_the_order_in_which_they_were_appended(log: EventLog) -> None:
    """Whatever their times; and exactly as they were, numbers of clients included."""
    events = [event(n, NOW - n * HOUR) for n in range(7)]
    log.append(events[:3], NOW)
    log.append(events[3:], NOW)
    assert log.read(EventQuery()).events == tuple(events)
    assert log.read(EventQuery(limit=2)).events == tuple(events[-2:])


def test_a_backdated_event_is_not_missed_by_a_reader_that_was_there_before(
    log: EventLog,
) -> None:
    """A transition that is settled late happened long before what was already read."""
    log.append([event(1, NOW)], NOW)
    cursor = log.read(EventQuery()).cursor
    late = event(2, NOW - HOUR)
    log.append([late], Instant(NOW + 1))
    assert log.read(EventQuery(cursor=cursor)).events == (late,)


def test_a_cursor_of_an_empty_log_sees_all_that_follows(log: EventLog) -> None:
    """Who comes first misses nothing."""
    page = log.read(EventQuery())
    assert page.events == ()
    assert not page.has_more
    log.append([event(1)], NOW)
    assert log.read(EventQuery(cursor=page.cursor)).events == (event(1),)


def test_each_event_has_a_place_from_which_reading_goes_on(log: EventLog) -> None:
    """The cursors sort as texts, whatever was filtered out; the end is the cursor behind them."""
    assert log.end() == "000000000000000-000000"
    before = log.end()
    log.append([event(1), event(2, kind="job.started"), event(3)], NOW)
    log.append([event(4)], NOW)
    page = log.read(EventQuery(cursor=before, types=frozenset({"job.enqueued"})))
    assert page.events == (event(1), event(3), event(4))
    assert list(page.cursors) == sorted(set(page.cursors))
    assert (page.end, page.has_gap) == (log.end(), False)
    for number, cursor in enumerate(page.cursors, 1):
        rest = log.read(EventQuery(cursor=cursor, types=frozenset({"job.enqueued"})))
        assert rest.events == page.events[number:]
    assert log.read(EventQuery(cursor=log.end())).events == ()


def test_a_reader_learns_that_events_expired_before_it_came_back(
    aws: EmbeddedAws, log: EventLog
) -> None:
    """The chunk that it would go on with is gone, and a later one is there."""
    for number in range(3):
        log.append([event(number)], NOW)
    first = log.read(EventQuery(cursor="000000000000000-000000", limit=1)).cursors[0]
    chunks = items_of(aws, "events")
    for chunk in chunks[:2]:
        key = {"pk": chunk["pk"], "sk": chunk["sk"]}
        aws.clients.dynamodb.delete_item(TableName=aws.settings.table, Key=key)
    page = log.read(EventQuery(cursor=first))
    assert (page.events, page.has_gap) == ((event(2),), True)
    assert not log.read(EventQuery(cursor=page.end)).has_gap


def test_writers_whose_clocks_disagree_lose_nothing_for_a_reader(
    aws: EmbeddedAws, log: EventLog
) -> None:
    """The order is that of the appends; a consumer whose clock is a minute slow comes last."""
    slow = log_of(aws)
    log.append([event(1)], NOW)
    slow.append([event(2)], Instant(NOW - 60_000))
    cursor = log.read(EventQuery()).cursor
    log.append([event(3)], Instant(NOW + 1))
    slow.append([event(4)], Instant(NOW - 59_000))
    log.append([event(5)], Instant(NOW + 2))
    assert log.read(EventQuery(cursor=cursor)).events == (event(3), event(4), event(5))


def test_a_chunk_is_never_seen_before_those_that_come_before_it(aws: EmbeddedAws) -> None:
    """A query is no snapshot: what it skipped is asked for again before the reader goes on."""
    log = log_of(aws)
    for number in range(4):
        log.append([event(number)], NOW)
    cursor = log.read(EventQuery(limit=1)).cursor
    for number in range(4, 8):
        log.append([event(number)], NOW)
    real = aws.clients.dynamodb.query
    holes = [1]

    def torn(**request: Any) -> Any:
        answer = real(**request)
        if holes and len(answer["Items"]) > 2:
            del answer["Items"][holes.pop()]
        return answer

    reader = replace(log, client=instead(aws.clients.dynamodb, query=torn))
    assert all_of(reader, EventQuery(cursor=cursor)) == [event(n) for n in range(4, 8)]
    assert not holes


def instead(client: Any, **calls: Any) -> Any:
    """A client of which some calls are replaced."""
    return _Instead(client, calls)


class _Instead:
    def __init__(self, client: Any, calls: dict[str, Any]) -> None:
        self._client = client
        self.__dict__ |= calls

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def test_what_has_expired_in_the_middle_does_not_stop_a_reader(
    aws: EmbeddedAws, log: EventLog
) -> None:
    """DynamoDB removes expired chunks in any order."""
    page = log.read(EventQuery())
    for number in range(6):
        log.append([event(number)], NOW)
    keys = [item["sk"]["S"] for item in _chunks(aws)]
    for gone in (keys[0], keys[2], keys[3]):
        _remove(aws, gone)
    assert all_of(log, EventQuery(cursor=page.cursor)) == [event(1), event(4), event(5)]


def test_a_log_whose_chunks_have_all_expired_goes_on_behind_them(
    aws: EmbeddedAws, log: EventLog
) -> None:
    """A reader that waited for a month gets what comes then, from a new process or an old one."""
    cursor = ""
    for writer, later in (
        (log, NOW),
        (log_of(aws), NOW + 31 * 24 * HOUR),
        (log, NOW + 70 * 24 * HOUR),
    ):
        writer.append([event(n, later) for n in range(3)], Instant(later))
        writer.append([event(3, later)], Instant(later + 1))
        cursor = log.read(EventQuery()).cursor
        for item in _chunks(aws):
            _remove(aws, item["sk"]["S"])
    log.append([event(9)], Instant(NOW + 100 * 24 * HOUR))
    assert log.read(EventQuery(cursor=cursor)).events == (event(9),)


def test_a_row_begins_behind_the_last_one_whatever_the_clock_says(
    aws: EmbeddedAws, log: EventLog
) -> None:
    """Nothing is left of the log, and the clock went back since it was begun."""
    log.append([event(1)], NOW)
    cursor = log.read(EventQuery()).cursor
    for item in _chunks(aws):
        _remove(aws, item["sk"]["S"])
    log_of(aws).append([event(2)], Instant(NOW - 5))
    assert all_of(log_of(aws), EventQuery(cursor=cursor)) == [event(2)]


DAY = 24 * HOUR


def _expire(aws: EmbeddedAws, now: int, *, newest: int) -> None:
    """Let DynamoDB remove the newest chunks, all of which have expired."""
    gone = _chunks(aws)[-newest:]
    assert all(int(item["ttl"]["N"]) * 1000 < now for item in gone)
    for item in gone:
        _remove(aws, item["sk"]["S"])


@pytest.mark.parametrize("newest", [1, 2, 3])
@pytest.mark.parametrize("is_old_process", [False, True])
def test_no_number_is_used_again_when_the_newest_chunks_went_first(
    aws: EmbeddedAws, log: EventLog, newest: int, is_old_process: bool
) -> None:
    """DynamoDB removes what has expired in any order; a reader past it sees what comes then."""
    for number in range(4):
        log.append([event(number)], Instant(NOW + number))
    cursor = log.read(EventQuery()).cursor
    used = {item["sk"]["S"] for item in _chunks(aws)}
    later = Instant(NOW + 3 * DAY)
    _expire(aws, later, newest=newest)
    writer = log if is_old_process else log_of(aws)
    with aws.calls.counted() as calls:
        writer.append([event(8)], later)
    assert calls == {"Query": 2, "GetItem": 1, "TransactWriteItems": 1}
    with aws.calls.counted() as calls:
        writer.append([event(9)], Instant(later + 1))
    assert calls == {"PutItem": 1}
    assert not used & {item["sk"]["S"] for item in _chunks(aws)[4 - newest :] if _events(item)}
    assert all_of(log_of(aws), EventQuery(cursor=cursor)) == [event(8), event(9)]


def test_a_shorter_retention_does_not_let_a_number_be_used_again(
    aws: EmbeddedAws, log: EventLog
) -> None:
    """Chunks that were kept for a day are gone before those that were kept for a month."""
    longer = replace(log_of(aws), retention_s=30 * RETENTION_S)
    longer.append([event(1)], NOW)
    before = _chunks(aws)[0]["ttl"]["N"]
    log_of(aws).append([event(2)], Instant(NOW + 1))
    assert [item["ttl"]["N"] for item in _chunks(aws)] == [before, before], "in the log's order"
    for writer in (log_of(aws), longer):
        at = int(_chunks(aws)[-1]["at_ms"]["N"])
        cursor = log.read(EventQuery()).cursor
        _remove(aws, _chunks(aws)[-1]["sk"]["S"])  # as an earlier version would have let it expire
        replace(writer, retention_s=RETENTION_S).append([event(3)], Instant(at + 2 * DAY))
        assert log.read(EventQuery(cursor=cursor)).events == (event(3),)


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(each, marks=pytest.mark.slow) for each in (2, 3))]
)
def test_whatever_is_removed_a_reader_misses_nothing_that_comes_later(
    aws: EmbeddedAws, seed: int
) -> None:
    """Processes that sleep for days, whose clocks differ, and chunks that go in any order."""
    chance = random.Random(seed)
    writers = [log_of(aws) for _ in range(3)]
    skews = [chance.randrange(-HOUR // 4, HOUR // 4) for _ in writers]
    at, cursor, used = int(NOW), log_of(aws).read(EventQuery()).cursor, set[str]()
    for number in range(30):
        at += chance.choice([1, HOUR, RETENTION_S * 1000 - HOUR, 2 * DAY])
        expired = [item for item in _chunks(aws) if int(item["ttl"]["N"]) * 1000 < at]
        for item in chance.sample(expired, chance.randint(0, len(expired))):
            _remove(aws, item["sk"]["S"])
        there = {item["sk"]["S"] for item in _chunks(aws)}
        writer = chance.randrange(len(writers))
        if chance.random() < 0.2:
            writers[writer] = log_of(aws)
        writers[writer].append([event(number)], Instant(at + skews[writer]))
        new = {item["sk"]["S"] for item in _chunks(aws) if _events(item)} - there
        assert not new & used
        used |= new
        page = log_of(aws).read(EventQuery(cursor=cursor))
        assert page.events == (event(number),)
        cursor = page.cursor


def test_writers_around_the_expiry_of_the_last_chunk_lose_nothing(aws: EmbeddedAws) -> None:
    """One goes on behind it, one begins a new row: a reader between them misses neither."""
    first = log_of(aws)
    first.append([event(1)], NOW)
    edge = NOW + RETENTION_S * 1000 - HOUR
    slow, fast = log_of(aws), log_of(aws)
    client = aws.clients.dynamodb
    query, reader = client.query, log_of(aws)
    cursor = reader.read(EventQuery()).cursor

    def overtaken(**request: Any) -> Any:
        answer = query(**request)
        if not overtaken_by.is_set():
            overtaken_by.set()
            fast.append([event(2)], Instant(edge))  # its clock says that the chunk is too old
        return answer

    overtaken_by = threading.Event()
    replace(slow, client=instead(client, query=overtaken)).append([event(3)], Instant(edge - 1))
    assert all_of(reader, EventQuery(cursor=cursor)) == [event(2), event(3)]


def overtaken(aws: EmbeddedAws, call: str, number: int, first: Callable[[], None]) -> EventLog:
    """A log whose consumer is overtaken: somebody does something when a call was answered."""
    client, calls = aws.clients.dynamodb, itertools.count(1)
    real = getattr(client, call)

    def slow(**request: Any) -> Any:
        answer = real(**request)
        if next(calls) == number:
            first()
        return answer

    return replace(log_of(aws), client=instead(client, **{call: slow}))


READS = pytest.mark.parametrize(("call", "number"), [("get_item", 1), ("query", 2)])
"""What who begins a row reads first: the note of where the log begins, then its end."""


@READS
def test_a_writer_that_goes_on_stops_one_that_begins_a_new_row(
    aws: EmbeddedAws, call: str, number: int
) -> None:
    """Whoever comes second looks for the end again."""
    log_of(aws).append([event(1)], NOW)
    edge = NOW + RETENTION_S * 1000 - HOUR
    cursor = log_of(aws).read(EventQuery()).cursor
    other = log_of(aws)
    slow = overtaken(aws, call, number, lambda: other.append([event(2)], Instant(edge - 1)))
    slow.append([event(3)], Instant(edge))
    assert all_of(log_of(aws), EventQuery(cursor=cursor)) == [event(2), event(3)]
    assert [int(item["sk"]["S"]) - NOW for item in _chunks(aws)] == [0, 1, 2]


@READS
@pytest.mark.parametrize("is_new", [True, False])
def test_of_two_that_begin_a_row_one_begins_it(
    aws: EmbeddedAws, call: str, number: int, *, is_new: bool
) -> None:
    """The clock of the second is behind: a reader that has seen the first one's misses nothing."""
    if not is_new:  # all that was appended has expired, and DynamoDB has removed it
        log_of(aws).append([event(1)], NOW)
        _remove(aws, _chunks(aws)[0]["sk"]["S"])
    later = Instant(NOW + 40 * DAY)
    cursors: list[str] = []

    def begin() -> None:
        log_of(aws).append([event(2)], Instant(later + HOUR))
        cursors.append(log_of(aws).read(EventQuery()).cursor)

    overtaken(aws, call, number, begin).append([event(3)], later)
    assert all_of(log_of(aws), EventQuery(cursor=cursors[0])) == [event(3)]


@pytest.mark.parametrize("before", range(1, 5))
def test_a_row_that_another_one_begins_meanwhile_is_gone_on_with(
    aws: EmbeddedAws, before: int
) -> None:
    """Whichever call of the second it comes before: the first one's next chunk is behind both."""
    first, client, calls = log_of(aws), aws.clients.dynamodb, itertools.count(1)

    def overtaken(name: str) -> Any:
        def call(**request: Any) -> Any:
            if next(calls) == before:
                first.append([event(1)], NOW)
            return getattr(client, name)(**request)

        return call

    names = ("get_item", "query", "put_item", "transact_write_items")
    second = replace(
        log_of(aws), client=instead(client, **{each: overtaken(each) for each in names})
    )
    second.append([event(2)], Instant(NOW + 3_000))
    first.append([event(3)], NOW)
    assert all_of(log_of(aws), EventQuery(limit=9))[-1] == event(3)


def _chunks(aws: EmbeddedAws) -> list[dict[str, Any]]:
    return items_of(aws, "events")


def _remove(aws: EmbeddedAws, sort_key: str) -> None:
    key = {"pk": {"S": "events"}, "sk": {"S": sort_key}}
    aws.clients.dynamodb.delete_item(TableName=aws.settings.table, Key=key)


def test_many_writers_at_once_keep_their_own_order_and_lose_nothing(aws: EmbeddedAws) -> None:
    """Several shards are consumed at the same time."""
    lock = threading.Lock()

    def locked(call: Any) -> Any:
        def one_at_a_time(**request: Any) -> Any:
            with lock:  # moto itself is not safe under threads
                return call(**request)

        return one_at_a_time

    names = ("query", "put_item", "get_item", "transact_write_items")
    client = aws.clients.dynamodb
    safe = instead(client, **{name: locked(getattr(client, name)) for name in names})

    def write(writer: int) -> None:
        log = replace(log_of(aws), client=safe)
        for step in range(8):
            log.append([event(0, subject=f"w{writer}", data=f"{step}")], NOW)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found: dict[str, list[str]] = {}
    for item in _chunks(aws):
        for one in _events(item):
            found.setdefault(one.subject, []).append(one.data)
    assert found == {f"w{n}": [str(step) for step in range(8)] for n in range(4)}


def _events(item: dict[str, Any]) -> list[Event]:
    from ojs_aws.adapters.dynamodb.events.chunks import chunk_events

    return chunk_events(item)


def test_chunks_of_columns_are_read_like_those_of_rows(aws: EmbeddedAws) -> None:
    """One log may have both; they are shorter where data names the job."""
    rows, columns = log_of(aws), replace(log_of(aws), by_columns=True)
    job = "0198c5a0-0000-7000-8000-000000000001"
    events = [event(at, subject=job, data=f'{{"job_id":"{job}","n":{at}}}') for at in range(200)]
    rows.append(events[:100], NOW)
    columns.append(events[100:], NOW)
    found = [all_of(each, EventQuery(since=Instant(0))) for each in (rows, columns)]
    assert found == [events, events]
    one, other = (stored_bytes(item[n.DOCUMENT]) for item in _chunks(aws))
    assert other < one


def test_puts_that_came_too_late_for_their_place_are_counted(aws: EmbeddedAws) -> None:
    """Those of the end of the log, and of a new row; each is billed, and reported once."""
    first, second = log_of(aws), log_of(aws)
    for number in range(3):
        first.append([event(number)], NOW)
    assert first.take_refused() == 0
    second.append([event(3)], NOW)
    first.append([event(4)], NOW)
    second.append([event(5)], NOW)
    assert (first.take_refused(), second.take_refused()) == (1, 1)
    assert (first.take_refused(), second.take_refused()) == (0, 0)


def test_a_process_that_met_others_reads_the_end_before_its_next_puts(aws: EmbeddedAws) -> None:
    """So each of two that take turns is refused once; one that is alone again only puts."""
    first, second = log_of(aws), log_of(aws)
    for number in range(2 * WARY):
        for log in (first, second):
            log.append([event(number)], NOW)
    assert (first.take_refused(), second.take_refused()) == (1, 1)
    for number in range(1 + WARY):
        with aws.calls.counted() as calls:
            first.append([event(100 + number)], NOW)
        assert calls == {"Query": 1, "PutItem": 1}
    with aws.calls.counted() as calls:
        first.append([event(200)], NOW)
    assert calls == {"PutItem": 1}


def test_further_chunks_of_an_append_go_behind_the_first_without_a_read(aws: EmbeddedAws) -> None:
    """What was put a moment ago is most likely still the end."""
    first, second = log_of(aws), log_of(aws)
    for log in (first, second, first):
        log.append([event(0)], NOW)
    first.take_refused()
    large = [event(n, data='{"x":"%s"}' % ("y" * 90_000)) for n in range(5)]
    with aws.calls.counted() as calls:
        first.append(large, NOW)
    assert calls == {"Query": 1, "PutItem": 2}


@pytest.mark.parametrize("begin", [33, 0x80, 0x800, 0x10000], ids=["ascii", "two", "three", "four"])
def test_a_chunk_that_deflates_badly_fits_an_item(aws: EmbeddedAws, begin: int) -> None:
    """Whatever the characters: DynamoDB takes 400 KB."""
    chance = random.Random(1)
    end = {33: 127, 0x80: 0x800, 0x800: 0xD800, 0x10000: 0x110000}[begin]
    letters = [chr(chance.randrange(begin, end)) for _ in range(80_000)]
    noise = (
        "".join(each for each in letters if each not in '\\"')
        .encode()[:85_000]
        .decode(errors="ignore")
    )
    log_of(aws).append(
        [event(n, data=f'{{"n":{n},"x":"{noise[n:]}{noise[:n]}"}}') for n in range(4)], NOW
    )
    assert [len(_events(chunk)) for chunk in _chunks(aws)] == [4]


def test_an_append_whose_answer_was_lost_is_there_once(aws: EmbeddedAws, log: EventLog) -> None:
    """The put comes again with the same token, and finds itself."""
    log.append([event(1)], NOW)
    put = aws.clients.dynamodb.put_item

    def twice(**request: Any) -> Any:
        put(**request)
        return put(**request)

    replace(log, client=instead(aws.clients.dynamodb, put_item=twice)).append([event(2)], NOW)
    assert log.read(EventQuery()).events == (event(1), event(2))


def test_an_event_that_was_appended_twice_is_shown_once_on_a_page(log: EventLog) -> None:
    """Repeats are for consumers to drop, and within a page we do it for them."""
    log.append([event(1), event(2)], NOW)
    log.append([event(1)], NOW)
    assert [found.id for found in log.read(EventQuery()).events] == [event(2).id, event(1).id]


def test_a_cursor_goes_on_where_the_last_page_ended(log: EventLog) -> None:
    """Nothing is missed or repeated, also in the middle of a chunk and while events come in."""
    cursor = log.read(EventQuery()).cursor
    events = [event(n) for n in range(90)]
    log.append(events[:40], NOW)
    seen: list[Event] = []
    for _ in range(7):
        page = log.read(EventQuery(limit=15, cursor=cursor))
        seen += page.events
        cursor = page.cursor
        if len(seen) == 15:
            log.append(events[40:], NOW)
    assert seen == events
    assert not log.read(EventQuery(cursor=cursor)).has_more


@pytest.mark.parametrize(("limit", "has_earlier"), [(2, True), (4, True), (5, False), (9, False)])
def test_the_newest_events_say_whether_others_came_before_them(
    log: EventLog, limit: int, *, has_earlier: bool
) -> None:
    """In the same chunk, or in one before."""
    first, second = [event(n) for n in range(3)], [event(n) for n in range(3, 5)]
    log.append(first, NOW)
    log.append(second, NOW)
    page = log.read(EventQuery(limit=limit))
    assert (len(page.events), page.has_earlier) == (min(limit, 5), has_earlier)


def test_an_empty_log_has_nothing_earlier(log: EventLog) -> None:
    """Nor anything else."""
    assert not log.read(EventQuery()).has_earlier


def test_events_are_chosen_by_every_filter_at_once(log: EventLog) -> None:
    """ojs-events, section 6.1: AND between filters, OR within one."""
    job = "0199cafe-0000-7000-8000-000000000001"
    wanted = event(5, kind="job.started", queue="email", job_type="a.b", subject=job)
    log.append(
        [
            wanted,
            replace(wanted, id="evt_1", type="worker.started"),
            replace(wanted, id="evt_2", queue="other"),
            replace(wanted, id="evt_3", job_type="a.c"),
            replace(wanted, id="evt_4", subject="another"),
            replace(wanted, id="evt_5", time=Instant(NOW - 1)),
        ],
        NOW,
    )
    query = EventQuery(
        types=frozenset({"job.*", "queue.paused"}),
        queues=frozenset({"email", "more"}),
        job_types=frozenset({"a.b"}),
        job_ids=frozenset({job}),
        since=NOW,
    )
    assert log.read(query).events == (wanted,)
    assert len(log.read(replace(query, types=frozenset({"*"}))).events) == 2


def test_a_filter_that_matches_nothing_costs_a_bounded_number_of_queries(
    aws: EmbeddedAws, log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is empty, and its cursor goes on behind what was looked through."""
    monkeypatch.setattr("ojs_aws.adapters.dynamodb.events.reader.CHUNKS", 5)
    begin = log.read(EventQuery())
    wanted = event(99, queue="rare")
    for number in range(MAX_QUERIES * 5 + 3):
        log.append([event(number)], NOW)
    log.append([wanted], NOW)
    query = EventQuery(queues=frozenset({"rare"}), cursor=begin.cursor)
    with aws.calls.counted() as calls:
        page = log.read(query)
    assert page.events == ()
    assert page.has_more
    assert calls == {"Query": MAX_QUERIES}
    assert log.read(replace(query, cursor=page.cursor)).events == (wanted,)
    with aws.calls.counted() as calls:
        log.read(EventQuery(queues=frozenset({"none"})))
    assert calls == {"Query": MAX_QUERIES}


def test_a_page_is_bounded_in_bytes(log: EventLog) -> None:
    """Lambda answers at most six megabytes."""
    cursor = log.read(EventQuery()).cursor
    large = '"' + "x" * 50_000 + '"'
    for number in range(30):
        log.append([event(number, data=large)], NOW)
    page = log.read(EventQuery(cursor=cursor, limit=1000))
    assert sum(len(each.data) for each in page.events) < MAX_PAGE_BYTES + 60_000
    assert page.has_more
    assert len(all_of(log, EventQuery(cursor=cursor, limit=1000))) == 30


def test_an_append_too_large_for_one_item_keeps_its_order(aws: EmbeddedAws, log: EventLog) -> None:
    """Several chunks; an event that alone is too large loses what section 4 does not require."""
    noise = "".join(chr(33 + (n * n * 7 + n) % 90) for n in range(60_000)).replace("\\", "/")
    noise = noise.replace('"', "'")
    events = [event(n, data=f'{{"n":{n},"result":"{noise}"}}') for n in range(7)]
    huge = event(9, data=f'{{"job_type":"a","result":"{"y" * MAX_CHUNK_BYTES}"}}')
    log.append([*events, huge], NOW)
    assert len(_chunks(aws)) > 1
    *same, cut = all_of(log, EventQuery())
    assert same == events
    assert cut.data == '{"job_type":"a","truncated":true}'


def test_an_append_costs_one_call_and_few_units(aws: EmbeddedAws, log: EventLog) -> None:
    """A hundred events cost one write, not a hundred."""
    from ojs_aws.adapters.dynamodb.columns import item_bytes, write_units

    log.append([event(0)], NOW)
    data = '{"job_id":"%s","job_type":"demo.echo","queue":"default","attempt":1}'
    events = [event(n, data=data % f"0199-{n:012x}") for n in range(100)]
    with aws.calls.counted() as calls:
        log.append(events, NOW)
    assert calls == {"PutItem": 1}
    assert write_units(item_bytes(_chunks(aws)[-1])) <= 10


def test_the_first_append_of_a_process_looks_for_the_end(aws: EmbeddedAws) -> None:
    """One query; the very first append of a table also begins the log, and looks again before."""
    with aws.calls.counted() as calls:
        log_of(aws).append([event(1)], NOW)
    assert calls == {"Query": 2, "GetItem": 1, "TransactWriteItems": 1}
    with aws.calls.counted() as calls:
        log_of(aws).append([event(2)], NOW)
    assert calls == {"Query": 1, "PutItem": 1}


def test_nothing_to_append_costs_nothing(aws: EmbeddedAws, log: EventLog) -> None:
    """Most records of a batch may make no events."""
    with aws.calls.counted() as calls:
        log.append([], NOW)
    assert calls == {}


def test_since_begins_where_its_instant_was_logged(aws: EmbeddedAws, log: EventLog) -> None:
    """By some small queries, not by reading all that came before."""
    for number in range(64):
        at = NOW + number * HOUR
        log.append([event(number, at)], Instant(at))
    with aws.calls.counted() as calls:
        page = log.read(EventQuery(since=Instant(NOW + 60 * HOUR)))
    assert page.events == tuple(event(n, NOW + n * HOUR) for n in range(60, 64))
    assert calls["Query"] <= 12
    assert log.read(EventQuery(since=Instant(NOW + 500 * HOUR))).events == ()


def test_an_event_id_serves_as_the_place_to_go_on_from(log: EventLog) -> None:
    """ojs-events, section 6.4: ``after`` takes an event's id."""
    events = [event(n, NOW + n) for n in range(10)]
    log.append(events[:6], NOW)
    log.append(events[6:], NOW)
    assert log.read(EventQuery(after_id=events[3].id)).events == tuple(events[4:])
    assert log.read(EventQuery(after_id=events[9].id)).events == ()


@pytest.mark.parametrize("after_id", ["evt_1", event_id(NOW, "unknown"), "evt_" + "x" * 3000])
def test_an_event_id_that_the_log_does_not_hold_is_refused(log: EventLog, after_id: str) -> None:
    """Silently beginning elsewhere would lose events."""
    log.append([event(1)], NOW)
    with pytest.raises(InvalidRequestError) as caught:
        log.read(EventQuery(after_id=after_id))
    assert caught.value.details["field"] == "after"


@pytest.mark.parametrize("cursor", ["x", "W10", "WyJhIiwiYiJd", "WyIxIiwiLTEiXQ"])
def test_a_foreign_cursor_is_refused(log: EventLog, cursor: str) -> None:
    """With the name of the parameter."""
    with pytest.raises(InvalidRequestError) as caught:
        log.read(EventQuery(cursor=cursor))
    assert caught.value.details["field"] == "cursor"


def test_what_was_set_aside_can_be_looked_at(log: EventLog) -> None:
    """The whole record; once, however often it was set aside."""
    change = SetAside(number="49", reason="broken", record='{"dynamodb":{}}')
    log.set_aside(change, NOW)
    log.set_aside(change, NOW)
    assert [*log.aside(10)] == [change]
    assert log.read(EventQuery()).events == ()
    log.forget_aside("49")
    assert [*log.aside(10)] == []


LONG = SetAside(number="49", reason="broken", record=random.Random(1).randbytes(800_000).hex())
"""As a record with two large images of which nothing compresses: no item could hold it."""
SHORT = SetAside(number="5", reason="also", record="{}")


def partition_sizes(aws: EmbeddedAws) -> list[int]:
    """How many items there are of changes that were set aside, and of their parts."""
    return [len(items_of(aws, name)) for name in ("events#aside", "events#aside-parts")]


def test_a_change_of_any_length_is_set_aside_and_comes_back_whole(log: EventLog) -> None:
    """Once, however often, and whatever stands around it."""
    for change in (LONG, LONG, SHORT):
        log.set_aside(change, NOW)
    assert [*log.aside(10)] == [LONG, SHORT]
    assert [*log.aside(1)] == [LONG]
    log.forget_aside("49")
    assert [*log.aside(10)] == [SHORT]


def test_a_long_change_that_is_forgotten_leaves_nothing(aws: EmbeddedAws, log: EventLog) -> None:
    """No part stays to be paid for."""
    log.set_aside(LONG, NOW)
    assert partition_sizes(aws) == [1, 5]
    log.forget_aside("49")
    assert partition_sizes(aws) == [0, 0]


def test_a_short_change_is_one_item(aws: EmbeddedAws, log: EventLog) -> None:
    """It costs one put."""
    log.set_aside(SHORT, NOW)
    assert partition_sizes(aws) == [1, 0]


def test_a_change_whose_parts_expired_is_gone(aws: EmbeddedAws, log: EventLog) -> None:
    """DynamoDB may remove a part first; the others can still be looked at."""
    log.set_aside(LONG, NOW)
    log.set_aside(SHORT, NOW)
    key = {"pk": {"S": "events#aside-parts"}, "sk": {"S": "49#1"}}
    aws.clients.dynamodb.delete_item(TableName=aws.settings.table, Key=key)
    assert [each.number for each in log.aside(10)] == ["5"]


def test_chunks_expire_with_the_retention(aws: EmbeddedAws, log: EventLog) -> None:
    """DynamoDB removes them by itself."""
    log.append([event(1)], NOW)
    assert _chunks(aws)[0]["ttl"]["N"] == str(NOW // 1000 + RETENTION_S)


def test_the_page_that_a_query_reads_is_bounded() -> None:
    """Five queries of at most a hundred chunks, and of a megabyte each."""
    assert CHUNKS * MAX_QUERIES <= 500
