"""``ojs-aws restore lists``: makes up for changes that nobody read while the stream kept them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.table_restore import TableScan
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.upkeep import repair as repairs
from ojs_aws.services.upkeep.repair import SETTLING_MS, ListRepairReport
from tests.aws import embedded, machine_ms
from tests.commands import run_command
from tests.functions.test_completed_lists import WORKER, Deployed

pytestmark = pytest.mark.moto

SEGMENTS = 3


@pytest.fixture
def deployed() -> Iterator[Deployed]:
    """An empty deployment."""
    with embedded() as aws:
        yield Deployed(aws)


def repair(deployed: Deployed, *, is_dry: bool = False) -> ListRepairReport:
    """Repair all segments of the table, one after the other."""
    scan = TableScan(deployed.aws.clients.dynamodb, deployed.aws.settings.table)
    repairs = deployed.backend.upkeep.list_repair
    parts = [repairs(scan.segment(number, SEGMENTS), is_dry=is_dry) for number in range(SEGMENTS)]
    return sum(parts[1:], parts[0])


def settle(deployed: Deployed) -> None:
    """Let so much time pass that the stream should have done all."""
    deployed.clock.advance(ms=SETTLING_MS + 1)


def lose(deployed: Deployed) -> None:
    """Nobody reads the changes so far."""
    while deployed.stream.is_behind():
        _, done = deployed.stream()
        done()


def test_completed_jobs_that_the_stream_lost_are_listed_once(deployed: Deployed) -> None:
    """In their queues, beside those that are there; a second run changes nothing."""
    lost = [each for _ in range(4) for each in deployed.complete(10)]
    lost += deployed.complete(3, queue="email")
    lose(deployed)
    kept = deployed.complete(5)
    deployed.flow()
    with_row = deployed.complete(2, deployed.before)
    settle(deployed)
    assert repair(deployed, is_dry=True) == ListRepairReport(completed=48, listed=43)
    assert sorted(deployed.ids()) == sorted([*kept, *with_row])
    assert repair(deployed) == ListRepairReport(completed=48, listed=43)
    assert sorted(deployed.ids()) == sorted([*lost, *kept, *with_row])
    items = deployed.items()
    assert repair(deployed) == ListRepairReport(completed=48)
    assert deployed.items() == items


def test_what_the_stream_may_still_do_and_what_has_expired_is_left(deployed: Deployed) -> None:
    """Jobs of the last ten minutes; and those whose retention is over."""
    deployed.complete(2)
    lose(deployed)
    assert repair(deployed) == ListRepairReport()
    settle(deployed)
    assert repair(deployed, is_dry=True).listed == 2
    deployed.clock.advance(s=deployed.backend.settings.completed_retention_s)
    assert repair(deployed) == ListRepairReport()
    assert deployed.items() == []


def test_a_job_that_was_completed_twice_is_listed_for_its_second_life(deployed: Deployed) -> None:
    """Deleted and pushed again under its id: the old entry is of another instant."""
    (job_id,) = deployed.complete(1, id="019539a4-b68c-7def-8000-00000000000a")
    deployed.flow()
    confirmed = {"queue": "default", "confirm": True}
    assert deployed.api.post("/admin/jobs/bulk/delete", confirmed).json["succeeded"] == 1
    assert deployed.complete(1, id=job_id) == [job_id]
    lose(deployed)
    settle(deployed)
    assert len(deployed.items()) == 1
    assert repair(deployed).listed == 1
    assert repair(deployed).listed == 0


def test_workflows_go_on_where_their_changes_were_lost(deployed: Deployed) -> None:
    """The next step begins; a cancelled one cancels what it had left; ended ones are not read."""
    chain = {"type": "chain", "steps": [{"type": t, "args": []} for t in ("a", "b")]}
    running, cancelled, done = (deployed.api.post("/workflows", chain).json["id"] for _ in range(3))
    for _ in range(2):
        deployed.flow()
    for job in deployed.backend.jobs.fetch(FetchRequest(("default",), 3, WORKER)):
        if job.workflow_id != cancelled:
            deployed.backend.jobs.ack(job.id, WORKER, None)
    lose(deployed)
    settle(deployed)
    assert repair(deployed, is_dry=True).workflows == 3
    report = repair(deployed)
    assert (report.workflows, report.failed) == (3, 0)
    following = deployed.backend.jobs.fetch(FetchRequest(("default",), 3, WORKER))
    assert {job.type for job in following} >= {"b"}
    states = {
        each: deployed.api.get(f"/workflows/{each}").json["state"]
        for each in (running, cancelled, done)
    }
    assert set(states.values()) == {"running"}
    before = _items(deployed)
    repair(deployed)
    assert _items(deployed) == before


def _items(deployed: Deployed) -> list[dict[str, Any]]:
    items = deployed.aws.clients.dynamodb.scan(TableName=deployed.aws.settings.table)["Items"]
    return sorted((dict(each) for each in items), key=lambda each: str((each["pk"], each["sk"])))


def test_a_cancelled_workflow_cancels_the_jobs_it_had_left(deployed: Deployed) -> None:
    """A request cancels some, and the stream the others: these are lost here."""
    group = {"type": "group", "jobs": [{"type": "a", "args": [n]} for n in range(3)]}
    workflow_id = deployed.api.post("/workflows", group).json["id"]
    advance = deployed.backend.workflows.service.workflow_advance
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(advance), "cancel_jobs", lambda _, workflow: workflow)
        deployed.api.delete(f"/workflows/{workflow_id}")
    lose(deployed)
    settle(deployed)
    assert deployed.backend.stores.store.listed("default", JobList.READY, 9).jobs
    assert repair(deployed).workflows == 1
    assert not deployed.backend.stores.store.listed("default", JobList.READY, 9).jobs
    assert repair(deployed) == ListRepairReport(workflows=1)


def test_a_workflow_that_cannot_be_moved_on_does_not_stop_the_repair(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is counted, and the command fails in the end."""
    chain = {"type": "chain", "steps": [{"type": "a", "args": []}]}
    deployed.api.post("/workflows", chain)
    deployed.complete(1, queue="email")
    lose(deployed)
    settle(deployed)

    def fail(*_: Any) -> None:
        raise BackendError("down")

    monkeypatch.setattr(type(deployed.backend.workflows.service), "get", fail)
    assert repair(deployed) == ListRepairReport(completed=1, listed=1, workflows=1, failed=1)


def test_many_jobs_are_compared_in_portions(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many the table has, memory holds a bounded number."""
    monkeypatch.setattr(repairs, "CHUNK", 4)
    monkeypatch.setattr(repairs, "COMPARED", 3)
    lost = deployed.complete(10)
    lose(deployed)
    settle(deployed)
    assert repair(deployed).listed == 10
    assert sorted(deployed.ids()) == sorted(lost)
    assert repair(deployed).listed == 0


def test_the_command_says_what_it_listed(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the operator's AWS credentials; a dry run changes nothing."""
    deployed.clock.set_back(machine_ms() - 2 * SETTLING_MS)
    deployed.complete(2)
    lose(deployed)
    settings = deployed.aws.settings
    monkeypatch.setenv("OJS_QUEUE_URL_PREFIX", settings.queue_url_prefix)
    arguments = ["restore", "lists", "--table", settings.table, "--json"]
    reports = []
    for more in (["--dry-run"], [], []):
        ran = run_command(*arguments, *more)
        assert ran.exit_code == 0, ran.output
        reports.append(json.loads(ran.stdout)["listed"])
    assert reports == [2, 2, 0]
    assert sum(int(each["n"]["N"]) for each in deployed.items()) == 2
