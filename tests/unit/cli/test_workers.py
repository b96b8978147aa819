"""Workers at the terminal: listed, shown and directed."""

from __future__ import annotations

from ojs_aws.cli.terminal.session import ExitCode
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.simulation.world import World
from tests.unit.cli.conftest import Cli
from tests.unit.cli.made_jobs import enqueue

UNKNOWN = "01990000-0000-7000-8000-00000000ffff"


def test_a_worker_is_shown_with_what_it_runs(cli: Cli, world: World) -> None:
    """How many of its places are taken, and each job since when and with which arguments."""
    job_id = enqueue(cli)
    world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w1"))
    body = {"worker_id": "w1", "active_jobs": [job_id, UNKNOWN], "queues": ["default"]}
    cli.server.api.post("/workers/heartbeat", {**body, "concurrency": 2})
    assert "2 of 2" in cli.run("workers", "list").out
    shown = cli.run("workers", "show", "w1").out
    assert "Its jobs" in shown
    for part in (job_id, "demo.echo", "[1]"):
        assert part in shown
    assert shown.count(UNKNOWN) == 0
    assert cli.ask("workers", "show", "w1")["active_job_ids"] == [job_id, UNKNOWN]


def test_several_workers_are_directed_by_their_ids(cli: Cli) -> None:
    """As several jobs are changed by theirs."""
    for name in ("w1", "w2"):
        cli.server.api.post("/workers/heartbeat", {"worker_id": name, "queues": ["default"]})
    assert cli.run("workers", "quiet", "w1", "w2").out == "Sent quiet to w1.\nSent quiet to w2.\n"
    cli.run("workers", "terminate", "w1")
    ran = cli.run("workers", "resume", "w1", "w2")
    assert (ran.code, ran.out) == (ExitCode.CONFLICT, "Sent resume to w2.\n")
    assert "w1" in ran.err


def test_ids_and_an_option_cannot_choose_workers_together(cli: Cli) -> None:
    """The option would be ignored."""
    cli.server.api.post("/workers/heartbeat", {"worker_id": "w1", "queues": ["default"]})
    assert cli.run("workers", "terminate", "w1", "--all").code == ExitCode.USAGE
    assert cli.ask("workers", "show", "w1")["directive"] == "running"


def test_workers_are_listed_and_directed(cli: Cli, world: World) -> None:
    """One by its id, several by label."""
    assert "No worker" in cli.run("workers", "list").out
    body = {"worker_id": "w1", "labels": ["v1"], "queues": ["default"], "hostname": "h"}
    cli.server.api.post("/workers/heartbeat", body)
    assert cli.ask("workers", "list")["workers"][0]["id"] == "w1"
    assert "w1" in cli.run("workers", "list").out
    assert cli.run("workers", "quiet", "w1").out == "Sent quiet to w1.\n"
    assert cli.ask("workers", "show", "w1")["directive"] == "quiet"
    assert cli.ask("workers", "resume", "--label", "v1")["workers"] == ["w1"]
    assert cli.ask("workers", "terminate", "--all")["directive"] == "terminate"
    assert cli.run("workers", "resume", "w1").code == ExitCode.CONFLICT
    assert cli.run("workers", "remove", "w1").code == ExitCode.CONFLICT
    world.clock.advance(s=600)
    assert cli.run("workers", "remove", "w1").out == "w1 is removed.\n"


def test_pools_are_set_shown_and_deleted(cli: Cli) -> None:
    """With weights beside the queues, or a strategy."""
    assert "No pools" in cli.run("pools", "list").out
    said = cli.run("pools", "set", "general", "critical=5", "low").out
    assert said == "The pool general fetches from critical=5, low=1 (weighted).\n"
    set_ = cli.ask("pools", "set", "urgent", "a", "b", "--strategy", "strict", "--concurrency", "4")
    assert (set_["strategy"], set_["concurrency"], set_["queues"]) == ("strict", 4, ["a", "b"])
    assert [each["name"] for each in cli.ask("pools", "list")["pools"]] == ["general", "urgent"]
    assert "critical=5, low=1" in cli.run("pools", "list").out
    assert cli.ask("pools", "show", "general")["weights"] == {"critical": 5, "low": 1}
    assert cli.run("pools", "set", "general", "a=much").code == ExitCode.USAGE
    assert cli.run("pools", "delete", "general").out == "The pool general is deleted.\n"
    assert cli.run("pools", "delete", "general").code == ExitCode.NOT_FOUND
