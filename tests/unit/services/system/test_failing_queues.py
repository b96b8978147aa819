"""Queues in which most executions fail are found with the error that they share."""

from __future__ import annotations

from ojs_aws.domain.json_text import parse_object
from ojs_aws.services.events import Commit, events_of
from ojs_aws.services.system.queue_findings import Finding
from tests.job_steps import fetched, pushed
from tests.simulation.world import World, count_changes

REFUSED = '{"type": "ConnectError", "message": "gateway-%d refused the connection"}'
BROKEN = '{"type": "KeyError", "message": "no total"}'


def fail(world: World, queue: str, error: str, times: int) -> None:
    """Let jobs of a queue fail, and count their errors."""
    for number in range(times):
        pushed(world.backend, "pay", queue=queue)
        (before,) = fetched(world.backend, queue, worker_id="w")
        said = parse_object(error.replace("%d", str(number)))
        after = world.backend.jobs.fail(before.id, "w", said)
        world.backend.failures.record(events_of(before, after, Commit(world.clock.now())))


def found(world: World, queue: str | None = None) -> list[Finding]:
    """Return which queues fail, as somebody sees it who may see all, or one."""
    sees = None if queue is None else lambda name, _: name == queue
    report = world.backend.findings(sees)
    return [each for each in report.findings if each.code == "jobs_fail"]


def test_queues_that_fail_for_one_cause_are_one_finding(world: World) -> None:
    """As where a service is down that all of them call."""
    count_changes(world)
    fail(world, "payments", REFUSED, 12)
    fail(world, "refunds", REFUSED, 10)
    fail(world, "reports", BROKEN, 10)
    outage, broken = found(world)
    assert outage.message == (
        "In queues 'payments' and 'refunds' 22 of 22 executions failed in the last 5 minutes. "
        "The most frequent error: ConnectError: gateway-11 refused the connection."
    )
    assert outage.data["queues"] == ["payments", "refunds"]
    assert outage.hint.endswith(": ojs-aws errors")
    assert broken.message.startswith("In queue 'reports' 10 of 10 executions failed")
    assert broken.message.endswith("The most frequent error: KeyError: no total.")
    assert broken.hint.endswith(": ojs-aws errors -q reports")
    assert "queues" not in broken.data


def test_who_sees_only_some_queues_reads_no_error(world: World) -> None:
    """A key of some job types may not read what others failed with."""
    count_changes(world)
    fail(world, "payments", REFUSED, 10)
    (finding,) = found(world, "payments")
    assert finding.message.endswith("failed in the last 5 minutes.")
    assert "error" not in finding.data
