"""Jobs commit with the rows of a Django project, and the shared relay sends them."""

from __future__ import annotations

import os
import unittest
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connections, transaction
from django.test import TestCase, override_settings
from sqlalchemy import MetaData, create_engine, inspect

from ojs_aws import Client, Job
from ojs_aws.contrib.django import enqueue_after_commit, enqueue_many_after_commit
from ojs_aws.contrib.django.options import CLIENTS
from ojs_aws.contrib.outbox.relay import Relay
from ojs_aws.contrib.outbox.staged_jobs import WaitingRow
from ojs_aws.contrib.sqlalchemy import Outbox
from ojs_aws.domain.errors import JsonValue
from ojs_aws.errors import InvalidRequestError
from ojs_aws.middleware.protocols import EnqueueNext
from ojs_aws.testing import Ojs
from tests.contrib.backends import Backend
from tests.contrib.django.shop.jobs import welcome
from tests.contrib.postgres import Postgres
from tests.load import wait_until

pytestmark = pytest.mark.thorough

URL = "http://127.0.0.1:1"
MakeRelay = Callable[[str], Relay]


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Backend:
    """What every relay of the test sends to."""
    made = Backend()
    monkeypatch.setattr("ojs_aws.contrib.django.outbox.make_client", made.client)
    return made


@pytest.fixture
def relay(backend: Backend) -> Iterator[MakeRelay]:
    """Makes relays, which end with the test."""
    from ojs_aws.contrib.django.outbox import make_relay

    made: list[Relay] = []

    def make(alias: str) -> Relay:
        made.append(make_relay(alias))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture(autouse=True)
def setting() -> Iterator[None]:
    """The outbox is on and empty, and only a test's relay sends."""
    from ojs_aws.contrib.django.models import OutboxRow

    for alias in ("default", "other"):
        OutboxRow.objects.using(alias).delete()
    with override_settings(OJS={"URL": URL, "OUTBOX": {"RELAY": "separate"}}):
        yield


def statuses(alias: str) -> list[str]:
    from ojs_aws.contrib.django.models import OutboxRow

    rows = OutboxRow.objects.using(alias).order_by("id")
    return [*rows.values_list("status", flat=True)]


def test_a_committed_job_is_sent_exactly_as_it_was_enqueued(
    alias: str, relay: MakeRelay, backend: Backend
) -> None:
    args: list[JsonValue] = [{"b": 1, "a": [2**70, "\u0000", "😀 50%", 1.0]}]
    with transaction.atomic(using=alias):
        job_id = enqueue_after_commit(Job("shop.welcome", args, tags=["x"]), using=alias)
    assert (relay(alias).drain().sent, backend.ids) == (1, [job_id])
    text = '[{"b":1,"a":[1180591620717411303424,"\\u0000","😀 50%",1.0]}]'
    assert backend.get(job_id).text("args") == text
    from ojs_aws.contrib.django.models import OutboxRow

    row = OutboxRow.objects.using(alias).get()
    assert (row.job_args, row.status, str(row)) == (text, "sent", job_id)
    assert abs((row.sent_at - row.created_at).total_seconds()) < 3600


def test_rows_are_written_where_nothing_names_a_server(
    alias: str, relay: MakeRelay, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the relay needs one; the enqueue middleware still runs."""
    monkeypatch.setattr(CLIENTS, "_sync", None)
    with override_settings(OJS={"OUTBOX": {"RELAY": "separate"}}):
        with transaction.atomic(using=alias):
            job_id = enqueue_after_commit(Job("shop.welcome", [1]), using=alias)
        assert (relay(alias).drain().sent, backend.ids) == (1, [job_id])


def test_what_rolls_back_is_never_sent(alias: str, relay: MakeRelay, backend: Backend) -> None:
    with transaction.atomic(using=alias):
        kept = enqueue_after_commit(welcome.call(1), using=alias)
        with pytest.raises(RuntimeError), transaction.atomic(using=alias):  # noqa: PT012
            enqueue_after_commit(welcome.call(2), using=alias)
            raise RuntimeError
    with pytest.raises(RuntimeError), transaction.atomic(using=alias):  # noqa: PT012
        enqueue_after_commit(welcome.call(3), using=alias)
        raise RuntimeError
    relay(alias).drain()
    assert backend.ids == [kept]


def test_many_jobs_are_few_statements_and_keep_their_order(
    alias: str, relay: MakeRelay, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections[alias], "force_debug_cursor", True)
    before = len(connections[alias].queries)
    ids = enqueue_many_after_commit((welcome.call(number) for number in range(150)), using=alias)
    asked = [each["sql"] for each in connections[alias].queries[before:]]
    statements = [sql for sql in asked if sql.startswith("INSERT")]
    assert len(statements) <= 2  # SQLite may take so many parameters in two
    assert relay(alias).drain().sent == 150
    assert backend.ids == ids
    assert [len(batch) for batch in backend.batches] == [100, 50]


def test_each_database_has_its_own_outbox(relay: MakeRelay, backend: Backend) -> None:
    with transaction.atomic():
        here = enqueue_after_commit(welcome.call(1))
        there = enqueue_after_commit(welcome.call(2), using="other")
        assert relay("other").drain().sent == 1  # its transaction has committed
    assert relay("default").drain().sent == 1
    assert backend.ids == [there, here]


def test_one_relay_leads_and_another_takes_over(alias: str, relay: MakeRelay) -> None:
    leader, other = relay(alias), relay(alias)
    leader.run_round()
    enqueue_after_commit(welcome.call(1), using=alias)
    assert not other.run_round().is_leader
    leader.close()
    assert other.run_round().sent == 1


def test_the_middleware_runs_once_and_at_the_insertion(
    relay: MakeRelay, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    class Note:
        async def call(self, job: Job, call_next: EnqueueNext) -> Job | None:
            seen.append(job.type)
            return await call_next(job)

    monkeypatch.setattr(f"{__name__}.noting_client", lambda: Client(URL, middleware=[Note()]))
    outbox = {"RELAY": "separate"}
    with override_settings(OJS={"CLIENT": f"{__name__}.noting_client", "OUTBOX": outbox}):
        enqueue_after_commit(welcome.options(delay="1h").call(1), using="other")
        assert seen == ["shop.welcome"]
        relay("other").drain()
    assert (len(seen), backend.jobs[0].state) == (1, "scheduled")


def noting_client() -> Client:
    """Is replaced by a test."""
    raise NotImplementedError


def test_a_job_that_is_invalid_is_refused_before_the_commit(alias: str) -> None:
    with pytest.raises(InvalidRequestError):
        enqueue_after_commit(Job("shop.welcome", [1], queue="Not A Queue"), using=alias)
    assert statuses(alias) == []


def test_a_bad_row_is_parked_shown_and_sent_again(
    alias: str, relay: MakeRelay, backend: Backend
) -> None:
    from ojs_aws.contrib.django.models import OutboxRow

    bad, good = (enqueue_after_commit(welcome.call(number), using=alias) for number in (1, 2))
    rows = OutboxRow.objects.using(alias).filter(job_id=bad)
    rows.update(job_type="Not A Type")
    out = StringIO()
    relay(alias).drain()
    with pytest.raises(CommandError, match="1 rows are parked") as raised:
        call_command("ojs_relay", database=alias, status=True, stdout=out)
    assert (raised.value.returncode, f"parked: {bad}" in out.getvalue()) == (7, True)
    assert backend.ids == [good]
    rows.update(job_type="shop.welcome")
    call_command("ojs_relay", "--retry", bad, database=alias, stdout=out)
    assert "1 rows are to be sent again" in out.getvalue()


def test_the_command_sends_what_is_due_and_ends(alias: str, backend: Backend) -> None:
    job_id = enqueue_after_commit(welcome.call(1), using=alias)
    out = StringIO()
    call_command("ojs_relay", database=alias, once=True, stdout=out)
    assert (out.getvalue(), backend.ids) == ("sent 1, refused 0, parked 0\n", [job_id])


def test_the_built_in_relay_starts_with_the_first_commit(alias: str, backend: Backend) -> None:
    from ojs_aws.contrib.django import outbox

    outbox._built_in.cache_clear()
    with override_settings(OJS={"URL": URL, "OUTBOX": {}}), transaction.atomic(using=alias):
        job_id = enqueue_after_commit(welcome.call(1), using=alias)
        assert not outbox._built_in(alias).is_running
    wait_until(lambda: statuses(alias) == ["sent"], "the built-in relay")
    outbox._built_in(alias).stop()
    outbox._built_in.cache_clear()
    assert backend.ids == [job_id]


@pytest.mark.parametrize("use_tz", [True, False])
def test_times_are_exact_whatever_zones_the_project_has(
    alias: str, monkeypatch: pytest.MonkeyPatch, *, use_tz: bool
) -> None:
    from ojs_aws.contrib.django.outbox import make_relay

    enqueue_after_commit(welcome.call(1), using=alias)
    now = datetime(2026, 5, 1, 12, tzinfo=UTC)
    zone = "Asia/Tokyo" if use_tz else None  # without, Django takes that of America/Chicago
    monkeypatch.setitem(connections[alias].settings_dict, "TIME_ZONE", zone)
    with override_settings(USE_TZ=use_tz):
        relay = make_relay(alias)
        [row] = relay.store.waiting(5, now)
        relay.store.note_first_try([row], now)
        [tried] = relay.store.waiting(5, now)
        assert isinstance(tried, WaitingRow)
        assert tried.first_try_at == now
        age = datetime.now(UTC) - (relay.overview().oldest_at or now)
        assert abs(age.total_seconds()) < 3600
        relay.close()


def test_the_relay_keeps_no_connection_of_a_pool(on_postgresql: str) -> None:
    """One that goes back to a pool would keep its lock."""
    from ojs_aws.contrib.django.outbox import RelayDatabase

    options = {"pool": True, "connect_timeout": 3}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(connections[on_postgresql].settings_dict, "OPTIONS", options)
        database = RelayDatabase(on_postgresql)
        database.run("SELECT 1", {})
        made = database._connection.settings_dict["OPTIONS"]
        database.close()
    assert "pool" not in made
    assert (made["connect_timeout"], made["tcp_user_timeout"]) == (3, "25000")


def test_a_forked_process_does_not_share_the_connection_of_its_parent(on_postgresql: str) -> None:
    from ojs_aws.contrib.django.outbox import RelayDatabase

    asked = "SELECT pg_backend_pid()"
    database = RelayDatabase(on_postgresql)
    [[of_parent]] = database.run(asked, {})
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, str(RelayDatabase(on_postgresql).run(asked, {})[0][0]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(read, 100)) != of_parent
    assert database.run(asked, {}) == [(of_parent,)]
    os.close(read)
    os.close(write)
    database.close()


def test_the_table_is_the_one_of_sqlalchemy(on_postgresql: str, postgres: Postgres) -> None:
    engine = create_engine(postgres.url.replace("/postgres", "/django"))
    other = create_engine(postgres.url)
    metadata = MetaData()
    Outbox(metadata)
    postgres.empty()
    metadata.create_all(other)
    described = []
    for each in (engine, other):
        columns = inspect(each).get_columns("ojs_outbox")
        described.append({c["name"]: (str(c["type"]), c["nullable"]) for c in columns})
        each.dispose()
    assert described[0] == described[1]


def test_the_relay_reads_by_the_partial_index(alias: str) -> None:
    query = "SELECT id FROM ojs_outbox WHERE status IN ('pending', 'failed') ORDER BY id LIMIT 9"
    with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
        if alias == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {'' if alias == 'postgresql' else 'QUERY PLAN '}{query}")
        assert "idx_ojs_outbox_pending" in str(cursor.fetchall())


def test_the_migration_makes_what_the_model_describes() -> None:
    call_command("makemigrations", "ojs", check=True, dry_run=True, verbosity=0)


def test_the_rows_of_a_person_are_deleted_as_the_page_says(on_postgresql: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / "personal-data.md").read_text()
    statement = page.split("```sql\n")[1].split("```")[0]
    tagged = welcome.options(tags=["customer:17"])
    for call in (tagged.call(1), welcome.options(tags=["customer:170"]).call(2), welcome.call(3)):
        enqueue_after_commit(call, using=on_postgresql)
    with connections[on_postgresql].cursor() as cursor:
        cursor.execute(statement)
        assert cursor.rowcount == 1
        cursor.execute("DELETE FROM ojs_outbox")


def test_in_a_test_committed_jobs_are_enqueued_at_the_commit(alias: str, ojs: Ojs) -> None:
    with transaction.atomic(using=alias):
        job_id = enqueue_after_commit(welcome.call(1), using=alias)
        with pytest.raises(AssertionError, match="1 job waits for a commit"):
            ojs.assert_enqueued(welcome)
    assert [job.id for job in ojs.all_enqueued()] == [job_id]
    ojs.drain_sync()
    ojs.assert_completed(welcome.call(1))
    assert statuses(alias) == ["sent"]


def test_in_a_test_case_the_kit_says_what_waits_for_a_commit(ojs: Ojs) -> None:
    class SignUp(TestCase):
        def test_it(self) -> None:
            enqueue_after_commit(welcome.call(1))
            with pytest.raises(AssertionError, match="1 job waits for a commit"):
                ojs.assert_enqueued(welcome)
            with self.captureOnCommitCallbacks(execute=True):
                enqueue_after_commit(welcome.call(2))
            ojs.assert_enqueued(welcome.call(2))

    result = unittest.TestResult()
    unittest.TestSuite([SignUp("test_it")]).run(result)
    assert result.errors + result.failures == []
    assert statuses("default") == []
