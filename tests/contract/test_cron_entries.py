"""What every store of cron jobs must do, over each engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from ojs_aws.adapters.dynamodb.cron import CronEntries
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.conflicts import StaleCronError
from ojs_aws.domain.cron import transitions as cron
from ojs_aws.domain.cron.entry import CronDefinition, CronEntry, Occurrence, Outcome, OverlapPolicy
from ojs_aws.domain.job import JobState
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant
from tests.aws import EmbeddedAws, embedded
from tests.contract.test_lost_answers import LosesFirstAnswers
from tests.full_records import left_out

NOW = Instant(1_760_000_000_000)
MINUTE = 60_000


def over(aws: EmbeddedAws, *, is_losing: bool = False) -> CronEntries:
    """The adapter; one that loses each write's first answer, if wanted."""
    client = aws.clients.dynamodb
    if is_losing:
        client = cast("DynamoDBClient", LosesFirstAnswers(client))
    return build_backend(aws.settings, replace(aws.clients, dynamodb=client)).stores.cron()


@pytest.fixture(
    params=["moto", "lost answers", pytest.param("emulator", marks=pytest.mark.emulator)]
)
def entries(request: pytest.FixtureRequest) -> Iterator[CronEntries]:
    """Each kind of store, empty."""
    if request.param == "emulator":
        yield over(request.getfixturevalue("emulated_aws"))
    else:
        with embedded() as aws:
            yield over(aws, is_losing=request.param == "lost answers")


def an_entry(name: str = "daily.report-1", **more: object) -> CronEntry:
    """An entry as registration makes it."""
    definition = CronDefinition(
        name=name,
        expression="* * * * *",
        type="report.make",
        queue="reports",
        document=RawJson('{"type":"report.make","args":[1.10]}'),
        envelope=RawJson('{"type":"report.make","args":[1.10],"queue":"reports"}'),
    )
    return cron.register(None, replace(definition, **more), NOW)  # type: ignore[arg-type]


def test_an_entry_comes_back_as_it_was_stored(entries: CronEntries) -> None:
    """Every attribute, through all that may happen to it."""
    entry = an_entry(
        timezone="Asia/Tokyo",
        overlap=OverlapPolicy.ENQUEUE,
        description="täglich \ud800",
        document=RawJson('{"args":["' + "x" * 5000 + '"]}'),
    )
    entries.save(None, entry)
    assert entries.load(entry.name) == entry
    states: dict[str, JobState] = {}
    for number in range(1, 4):
        now = Instant(NOW + number * MINUTE)
        claimed = cron.claim(entry, now, f"0199-{number}", states)
        entries.save(entry, claimed)
        assert entries.load(entry.name) == claimed
        entry = cron.settle(claimed, f"0199-{number}")
        entries.save(claimed, entry)
        states[f"0199-{number}"] = JobState.ACTIVE
    assert entries.load(entry.name) == entry
    assert entry.held
    disabled = cron.set_enabled(entry, NOW, is_enabled=False)
    entries.save(entry, disabled)
    assert entries.load(entry.name) == disabled


def test_an_entry_with_all_that_it_may_hold_comes_back(entries: CronEntries) -> None:
    """Each member, the gap of a transition of the clocks among them."""
    full = CronEntry(
        definition=an_entry(
            timezone="Asia/Tokyo",
            overlap=OverlapPolicy.ENQUEUE,
            description="d",
            is_enabled=False,
        ).definition,
        version=3,
        created_at=Instant(1001),
        updated_at=Instant(1002),
        anchor=Instant(1003),
        next_run_at=Instant(1004),
        gap_at=Instant(1005),
        last_run_at=Instant(1006),
        run_count=7,
        runs=("a", "b"),
        held=("b",),
        latest=Occurrence(
            number=8,
            scheduled_at=Instant(1007),
            claimed_at=Instant(1008),
            outcome=Outcome.SKIPPED,
            job_id="a",
            reason="overlap",
            blocked_by="b",
            cancels=("c",),
            is_held=True,
        ),
        changed_by="3 key:1",
        triggered_by="8 key:1\tann",
    )
    assert left_out(full) == set(), "a member that is new has to be given here, too"
    old = replace(full, version=2)
    entries.save(None, old)
    entries.save(old, full)
    assert entries.load(full.name) == full


def test_an_unknown_entry_is_none(entries: CronEntries) -> None:
    """No error: the service says so."""
    assert entries.load("nobody") is None
    assert entries.all() == []
    entries.delete(an_entry())


def test_a_write_of_an_old_version_is_refused_with_what_there_is(entries: CronEntries) -> None:
    """A registration of a name that is taken, a change, and a removal."""
    entry = an_entry()
    entries.save(None, entry)
    changed = cron.register(entry, entry.definition, Instant(NOW + 1))
    entries.save(entry, changed)
    late = cron.set_enabled(entry, NOW, is_enabled=False)
    writes: list[Callable[[], None]] = [
        lambda: entries.save(entry, late),
        lambda: entries.save(None, entry),
        lambda: entries.delete(entry),
    ]
    for write in writes:
        with pytest.raises(StaleCronError) as caught:
            write()
        assert caught.value.current == changed
    entries.delete(changed)
    with pytest.raises(StaleCronError) as gone:
        entries.save(changed, cron.set_enabled(changed, NOW, is_enabled=False))
    assert gone.value.current is None


def test_entries_are_listed_by_name(entries: CronEntries) -> None:
    """All of them, disabled ones too."""
    for name in ("b", "a", "c.d", "c-d"):
        entries.save(None, an_entry(name, is_enabled=name != "b"))
    assert [entry.name for entry in entries.all()] == ["a", "b", "c-d", "c.d"]


def test_due_entries_are_found_in_order_and_others_are_not(entries: CronEntries) -> None:
    """By when they need attention; never a disabled one."""
    hourly = an_entry("hourly", expression="@every 1h")
    minutely = an_entry("minutely", expression="@every 1m")
    for entry in (hourly, minutely, an_entry("off", is_enabled=False)):
        entries.save(None, entry)
    assert entries.due(Instant(NOW + MINUTE - 1), 10) == []
    assert entries.due(Instant(NOW + MINUTE), 10) == [("minutely", NOW + MINUTE)]
    both = [("minutely", NOW + MINUTE), ("hourly", NOW + 60 * MINUTE)]
    assert entries.due(Instant(NOW + 60 * MINUTE), 10) == both
    assert entries.due(Instant(NOW + 60 * MINUTE), 1) == both[:1]
    entries.save(minutely, cron.set_enabled(minutely, NOW, is_enabled=False))
    assert entries.due(Instant(NOW + 60 * MINUTE), 10) == both[1:]


def test_an_open_claim_needs_attention_at_once(entries: CronEntries) -> None:
    """Whoever made it may have died; so do held runs."""
    entry = an_entry()
    entries.save(None, entry)
    now = Instant((entry.next_run_at or NOW) + 1)
    claimed = cron.claim(entry, now, "0199", {})
    entries.save(entry, claimed)
    assert entries.due(now, 10) == [(entry.name, now)]
    entries.save(claimed, cron.settle(claimed, "0199"))
    assert entries.due(now, 10) == []


def test_of_many_claims_one_wins(entries: CronEntries) -> None:
    """CRON-21: whoever read the same version."""
    entry = an_entry()
    entries.save(None, entry)
    won = []
    for number in range(10):
        try:
            entries.save(entry, cron.claim(entry, Instant(NOW + MINUTE), f"0199-{number}", {}))
        except StaleCronError:
            continue
        won.append(number)
    assert won == [0]


def test_alarms_are_messages_that_name_the_cron_job() -> None:
    """And where their queue is not deployed, the tick has to do."""
    with embedded() as aws:
        wake_ups = build_backend(aws.settings, aws.clients).stores.wake_ups()
        wake_ups.set("daily", 0)
        url = f"{aws.settings.queue_url_prefix}ojs-CRON"
        received = aws.clients.sqs.receive_message(QueueUrl=url)
        assert [message["Body"] for message in received["Messages"]] == ["daily"]
        aws.clients.sqs.delete_queue(QueueUrl=url)
        wake_ups.set("daily", 900)


def test_an_entry_that_was_registered_again_is_another_one(entries: CronEntries) -> None:
    """A tick that read the old one must not put it back, though both have had as many writes."""
    old = an_entry()
    entries.save(None, old)
    entries.delete(old)
    fresh = replace(an_entry(expression="0 0 * * *"), created_at=Instant(NOW + 1))
    entries.save(None, fresh)
    with pytest.raises(StaleCronError) as stale:
        entries.save(old, replace(old, version=2))
    assert stale.value.current == fresh
    with pytest.raises(StaleCronError):
        entries.delete(old)
    assert entries.load(fresh.name) == fresh
