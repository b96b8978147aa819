"""What operators' questions cost, and that the real table answers them as the model does."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.queues.totals import QUEUES
from ojs_aws.bootstrap import build_key_issuer
from ojs_aws.domain.access import Scope
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.lists import ListTotal, TotalKind
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.queues.tallies import Tally, TallyKind, minute_of
from ojs_aws.services.backend import Backend
from ojs_aws.services.bulk import BulkAction
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.job_lists import JobFilter
from ojs_aws.services.system.queue_findings import FindingCode
from ojs_aws.testing.deployment import FakeClock
from tests.api import OJS, Api
from tests.aws import EmbeddedAws


def push(backend: Backend, clock: FakeClock, job: Job) -> str:
    """Push a job; a second passes."""
    record = backend.jobs.push(job).record
    assert record is not None
    clock.advance(s=1)
    return record.id


def test_a_page_of_one_list_costs_one_query_and_one_read(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """Never a scan; what time may have overtaken is one query more."""
    ids = [push(backend, clock, Job("demo.echo", [n])) for n in range(3)]
    pending = JobFilter(queue="default", states=frozenset({JobState.PENDING}))
    ready = JobFilter(queue="default", states=frozenset({JobState.AVAILABLE}))
    with aws.calls.counted() as calls:
        backend.jobs.search.find(pending, 50)
    assert calls == {"Query": 1}
    with aws.calls.counted() as calls:
        found = backend.jobs.search.find(ready, 50)
    assert calls == {"Query": 2, "BatchGetItem": 1}
    assert [job.id for job in found.jobs] == ids[::-1]


@pytest.mark.parametrize(("count", "has_more"), [(2, False), (3, True)])
def test_a_full_page_knows_whether_more_follow_without_a_further_call(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock, count: int, *, has_more: bool
) -> None:
    """The query asks for one row more than it shows; the total of all that there are is known."""
    for number in range(count):
        push(backend, clock, Job("demo.echo", [number], pending=True))
    pending = JobFilter(queue="default", states=frozenset({JobState.PENDING}))
    with aws.calls.counted() as calls:
        found, total = backend.jobs.search.page(pending, 2)
    assert (len(found.jobs), bool(found.cursor), total) == (2, has_more, ListTotal(count))
    assert calls == {"Query": 1 + has_more, "BatchGetItem": 1}


def test_the_total_of_many_lists_costs_four_queries_for_any_number(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """And one for the names of the queues, which all of the page shares."""
    for queue in range(8):
        for number in range(2):
            push(backend, clock, Job("demo.echo", [number], queue=f"a{queue}"))
    with aws.calls.counted() as calls:
        _, total = backend.jobs.search.page(JobFilter(), 1)
    assert total == ListTotal(2, TotalKind.AT_LEAST)  # nothing has read the stream
    assert calls == {"Query": 1 + 1 + 4, "BatchGetItem": 1}


def test_jobs_of_all_states_are_found_page_by_page_in_both_directions(
    backend: Backend, clock: FakeClock
) -> None:
    """Cursors lead over pages, lists and queues of the real index."""
    ids = {
        push(backend, clock, Job(kind, [1], queue=queue, pending=held, priority=priority))
        for kind in ("demo.echo", "demo.other")
        for queue in ("default", "email")
        for held in (False, True)
        for priority in (0, 10)
    }
    (claimed,) = backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    backend.jobs.ack(claimed.id, "w", None)
    for wanted in (JobFilter(), JobFilter(type="demo.*"), JobFilter(since=claimed.created_at)):
        for newest_first in (True, False):
            seen: list[str] = []
            cursor = ""
            while True:
                page, _ = backend.jobs.search.page(wanted, 3, cursor, newest_first=newest_first)
                seen += [job.id for job in page.jobs]
                cursor = page.cursor
                if not cursor:
                    break
            assert len(seen) == len(set(seen))
            expected = ids if wanted.since is None else {each for each in ids if each in seen}
            assert set(seen) == expected
    assert backend.jobs.search.count(JobFilter()).number == len(ids)


def test_a_bulk_change_costs_a_write_for_each_job(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """And nothing else: what was found is what the write is conditional on."""
    for number in range(3):
        push(backend, clock, Job("demo.echo", [number], pending=True))
    wanted = JobFilter(queue="default", states=frozenset({JobState.PENDING}))
    with aws.calls.counted() as calls:
        dry = backend.bulk.by_filter(BulkAction.CANCEL, wanted, is_dry=True)
    assert (dry.done, calls) == (3, {"Query": 1, "BatchGetItem": 1})
    with aws.calls.counted() as calls:
        done = backend.bulk.by_filter(BulkAction.CANCEL, wanted)
    assert done.done == 3
    writes = calls.pop("PutItem", 0) + calls.pop("UpdateItem", 0)
    assert (writes, calls) == (3, {"Query": 1, "BatchGetItem": 1})


def test_a_bulk_priority_costs_a_write_for_each_job_and_no_message(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """Jobs that have it already cost no write."""
    for number in range(3):
        push(backend, clock, Job("demo.echo", [number], pending=True, priority=number))
    wanted = JobFilter(queue="default", states=frozenset({JobState.PENDING}))
    with aws.calls.counted() as calls:
        assert backend.bulk.by_filter.reprioritise(2, wanted, is_dry=True).done == 2
    assert calls == {"Query": 1, "BatchGetItem": 1}
    with aws.calls.counted() as calls:
        assert backend.bulk.by_filter.reprioritise(2, wanted).done == 2
    writes = calls.pop("PutItem", 0) + calls.pop("UpdateItem", 0)
    assert (writes, calls) == (2, {"Query": 1, "BatchGetItem": 1})


def test_a_tag_costs_a_read_more_only_for_large_jobs(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """Tags are in the client's document: in the job's item, in one beside it, or in S3."""
    pending = frozenset({JobState.PENDING})
    wanted = JobFilter(queue="default", states=pending, tag="vip")
    ids = {
        push(backend, clock, _incompressible(size, size=size, tags=tags))
        for size in (1, 3_000, 3_100)
        for tags in (["vip"], ["other"])
    }
    with aws.calls.counted() as calls:
        found = backend.jobs.search.find(wanted, 50)
    assert calls == {"Query": 1, "BatchGetItem": 2}
    assert (len(found.jobs), found.examined, len(ids)) == (3, 6, 6)
    large = {push(backend, clock, _incompressible(n, tags=["vip"])) for n in range(2)}
    with aws.calls.counted() as calls:
        found = backend.jobs.search.find(wanted, 50)
    assert calls == {"Query": 1, "BatchGetItem": 2, "GetObject": 2}
    assert large < {job.id for job in found.jobs}


def test_an_error_is_compared_without_another_call(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """The failures of a job are in its item; large documents stay where they are."""
    job_id = push(backend, clock, _incompressible(1, retry={"max_attempts": 1}))
    backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    backend.jobs.fail(job_id, "w", parse_object('{"type": "Smtp", "message": "mailbox full"}'))
    states = frozenset({JobState.DISCARDED})
    wanted = JobFilter(queue="default", states=states, error="BOX FULL")
    with aws.calls.counted() as calls:
        found = backend.jobs.search.find(wanted, 50)
    assert [job.id for job in found.jobs] == [job_id]
    assert calls == {"Query": 3, "BatchGetItem": 1}


def _incompressible(number: int, size: int = 12_000, **options: Any) -> Job:
    """A job whose document is kept in its item up to 1 KB, beside it up to 8 KB, else in S3."""
    args = [random.Random(number).randbytes(size).hex()]
    return Job("demo.echo", args, pending="retry" not in options, **options)


@pytest.mark.parametrize("count", [3, 1000])
def test_statistics_cost_a_few_calls_for_any_number_of_queues(
    aws: EmbeddedAws, backend: Backend, count: int
) -> None:
    """The list of queues, four pages of totals, and a page of workers."""
    put = aws.clients.dynamodb.batch_write_item
    for first in range(0, count, 10):
        names = [f"q{number:04}" for number in range(first, min(count, first + 10))]
        items: Any = [
            {"PutRequest": {"Item": item}}
            for name in names
            for item in (
                {"pk": {"S": "queues"}, "sk": {"S": name}, "cr": {"N": "1"}},
                {**QUEUES.key(name), "ja": {"N": "2"}, "ct": {"N": "1"}},
            )
        ]
        put(RequestItems={aws.settings.table: items})
    api = Api(backend)
    api.get("/admin/stats")
    with aws.calls.counted() as calls:
        stats = api.get("/admin/stats").json
    assert calls == {"Query": 6}
    assert (stats["queues_counted"], stats["jobs"]["available"]) == (count, 2 * count)
    with aws.calls.counted() as calls:
        lines = api.get("/admin/metrics").text.splitlines()
    assert calls == {"Query": 6, "GetItem": 1}
    assert lines.count("# TYPE ojs_queue_depth gauge") == 1
    assert f'ojs_queue_depth{{queue="q{count - 1:04}",state="available"}} 2' in lines
    cli = {"user-agent": "Go-http-client/1.1", "content-type": OJS, "accept": OJS}
    for path, query in (("/metrics", {}), ("/admin/stats", {"detail": "true"})):
        with aws.calls.counted() as calls:
            assert api.get(path, headers=cli, query=query).status == 200
        assert calls["Query"] == calls.total() <= 6


def test_why_costs_the_same_whatever_the_backlog(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """Few reads, and no write."""
    one = push(backend, clock, Job("demo.echo", [1], queue="email"))
    last = [push(backend, clock, Job("demo.echo", [n])) for n in range(30)][-1]
    for job_id in (one, last):
        with aws.calls.counted() as calls:
            found = backend.jobs.why(job_id)
        assert found.reasons
        assert calls == {"GetItem": 2, "Query": 4, "BatchGetItem": 1}


def test_findings_cost_the_same_whatever_the_backlog(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """Totals, sweep, workers, failures, the heads of 20 queues, and why the first 5 wait."""
    names = [f"q{number:02}" for number in range(25)]
    for name in names:
        push(backend, clock, Job("demo.echo", [1], queue=name))
    with aws.calls.counted() as calls:
        assert [each.code for each in backend.findings().findings] == ["sweep_never"]
    assert calls == {"Query": 7 + 20, "GetItem": 1}
    clock.advance(s=600)
    for backlog in (0, 30):
        for number in range(backlog):
            push(backend, clock, Job("demo.echo", [number], queue=names[0]))
        with aws.calls.counted() as calls:
            found = backend.findings().findings
        assert (
            len([each for each in found if each.code == "job_waits"]) == 19
        )  # and the default queue
        assert calls == {"Query": 7 + 20 + 5 * 4, "GetItem": 1 + 5 * 2, "BatchGetItem": 5}


def test_a_list_of_keys_costs_a_query_and_a_revocation_a_read_and_a_write(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """And one write records who did it. Revoking again costs the read alone."""
    issuer = build_key_issuer(aws.settings, aws.clients.dynamodb)
    ids = [issuer.create(f"key {number}", [Scope.WORKER]).key.id for number in range(5)]
    api = Api(backend)
    with aws.calls.counted() as calls:
        assert len(api.get("/admin/api-keys").json["api_keys"]) == 5
    assert calls == {"Query": 1}
    for expected in ({"GetItem": 1, "PutItem": 1 + 1}, {"GetItem": 1}):
        with aws.calls.counted() as calls:
            assert api.post(f"/admin/api-keys/{ids[0]}/revoke").status == 200
        assert calls == expected


def test_an_overview_costs_the_same_for_any_number_of_queues(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """From the totals; no list is counted."""
    api = Api(backend)
    for count in (1, 12):
        for number in range(count):
            push(backend, clock, Job("demo.echo", [1], queue=f"q{number}"))
        with aws.calls.counted() as calls:
            body = api.get("/admin/overview").json
        assert calls == {"Query": 6, "GetItem": 1}
        assert len(body["queues"]) >= count
        assert body["has_more"] is False


def test_findings_read_the_settings_of_queues_that_are_too_busy(
    aws: EmbeddedAws, backend: Backend, clock: FakeClock
) -> None:
    """One batch read for all of them; advice about too many lines is read where there are some."""
    with aws.calls.counted() as quiet:
        backend.findings(advice=True)
    for name in ("a", "b"):
        backend.stores.queues.register(name, clock.now())
        tally = Tally()
        tally.counts[TallyKind.STARTED] = 500 * 300
        backend.stores.tallies().add(name, minute_of(clock.now()), tally, name)
    with aws.calls.counted() as calls:
        found = [each.code for each in backend.findings(advice=True).findings]
    assert found.count(FindingCode.LINES_BUSY) == 2
    more = {name: calls[name] - quiet[name] for name in calls}
    assert {name: count for name, count in more.items() if count} == {"BatchGetItem": 1, "Query": 2}
