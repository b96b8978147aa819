"""Single jobs at the terminal: enqueued, shown, waited for, explained and changed."""

from __future__ import annotations

import json

import httpx
import pytest

from ojs_aws.cli.jobs.reports import timeline
from ojs_aws.cli.terminal.session import ExitCode
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.simulation.world import World
from tests.unit.cli.conftest import Cli
from tests.unit.cli.made_jobs import die, enqueue

UNKNOWN = "01990000-0000-7000-8000-00000000ffff"


def test_a_job_is_enqueued_shown_and_cancelled(cli: Cli) -> None:
    """For people the id alone, so that it can be used by the shell."""
    plain = cli.run(
        "enqueue",
        "mail.send",
        '["a@b.c", {"n": 1}]',
        "-q",
        "email",
        "--priority",
        "5",
        "-m",
        "tenant=acme",
        "--at",
        "+PT10M",
        "--timeout-s",
        "60",
        "--expires",
        "+PT2H",
    )
    assert plain.code == 0
    job = cli.ask("get", plain.out.strip())
    assert (job["type"], job["args"], job["queue"]) == ("mail.send", ["a@b.c", {"n": 1}], "email")
    assert (job["priority"], job["meta"], job["state"]) == (5, {"tenant": "acme"}, "scheduled")
    assert "mail.send" in cli.run("get", plain.out.strip()).out
    assert "is cancelled" in cli.run("cancel", plain.out.strip()).out


def test_a_single_value_becomes_the_only_argument(cli: Cli) -> None:
    """What is no array is meant as the argument."""
    job = cli.ask("enqueue", "demo.echo", '"hello"', "--id", UNKNOWN)
    assert (job["id"], job["args"]) == (UNKNOWN, ["hello"])


def test_the_result_of_a_job_is_waited_for(cli: Cli, world: World) -> None:
    """Here the job has a result already."""
    first = enqueue(cli)
    world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    world.backend.jobs.ack(first, "w", parse_object('{"r": {"n": 1}}')["r"].raw)
    waited = cli.run("enqueue", "demo.echo", "[1]", "--id", first, "--wait")
    assert json.loads(waited.out) == {"n": 1}


def test_a_job_that_waits_says_why(cli: Cli, world: World) -> None:
    """The sentence, its code, and who holds the limit."""
    world.registry.ensure("default", world.clock.now())
    scheduled = enqueue(cli, "--at", "+PT10M")
    shown = cli.run("why", scheduled)
    assert shown.out.startswith("The job is scheduled.\n- It is scheduled for ")
    assert "in 10 min. (scheduled)" in shown.out
    assert shown.err == "Checked: job, sweep.\n"
    world.backend.limits.limit_queue("default", {"concurrency": 1})
    holder, waiting = enqueue(cli), enqueue(cli)
    world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    assert f"  These jobs hold it: {holder}\n" in cli.run("why", waiting).out
    assert cli.ask("why", waiting)["reasons"][0]["code"] == "limit"
    assert cli.run("why", UNKNOWN).code == ExitCode.NOT_FOUND


def test_jobs_are_listed_and_searched(cli: Cli, world: World) -> None:
    """As a table for people, whole for scripts; more than a page of them."""
    dead = die(cli, world, "billing")
    enqueue(cli, "-q", "billing")
    for _ in range(4):
        enqueue(cli)
    found = cli.ask("jobs", "list", "-q", "billing", "-s", "discarded")
    assert [job["id"] for job in found["jobs"]] == [dead]
    assert (found["total"], found["total_is_exact"]) == (1, True)
    shown = cli.run("jobs", "list", "--limit", "2")
    assert shown.err == "2 jobs of 6; show more with --limit.\n"
    assert len(shown.out.splitlines()) == 3
    assert len(cli.ask("jobs", "list", "--type", "demo.*", "-n", "300")["jobs"]) == 6
    assert cli.run("jobs", "list", "-t", "none.*").out == "No such jobs.\n"


def test_a_job_is_shown_with_its_history(cli: Cli, world: World) -> None:
    """What happened, in the order of time."""
    dead = die(cli, world)
    out = cli.run("jobs", "show", dead, "--events").out
    assert "attempt_failed" in out
    assert "Broken: m" in out
    assert cli.ask("jobs", "show", dead)["history"][0]["what"] == "created"


def test_a_dead_worker_is_shown_with_when_it_was_last_seen(cli: Cli, world: World) -> None:
    """Each attempt has its start, also one that the job itself no longer knows."""
    job_id = enqueue(cli)
    world.registry.ensure("default", world.clock.now())
    cli.server.api.post("/workers/heartbeat", {"worker_id": "w", "heartbeat_interval_ms": 5000})
    seen = format_instant(world.clock.now())
    world.clock.advance(s=1)
    request = FetchRequest(("default",), worker_id="w", heartbeat_interval_ms=5000)
    world.backend.jobs.fetch(request)
    began = format_instant(world.clock.now())
    world.clock.advance(s=60)
    event = {"type": "job.started", "time": began, "data": {"attempt": 1, "worker_id": "w"}}

    detail = cli.ask("jobs", "show", job_id)
    cli.server.script = [httpx.Response(200, json={**detail, "events": {"items": [event]}})]
    history = cli.run("jobs", "show", job_id).out.partition("History")[2].splitlines()
    assert [line for line in history if "started" in line and began in line]
    assert [line for line in history if "worker_last_seen" in line and seen in line]


def test_the_start_of_an_attempt_that_timed_out_is_computed() -> None:
    """Where the event log does not go back so far; and not where nobody knows it."""
    error: JsonValue = {"type": "timeout", "elapsed_seconds": 90}
    failed: dict[str, JsonValue] = {
        "at": "2026-01-01T00:01:30.000Z",
        "what": "attempt_failed",
        "attempt": 1,
    }
    rows = timeline([{**failed, "error": error}], [], {})
    assert [(row["at"], row["what"]) for row in rows] == [
        ("2026-01-01T00:00:00.000Z", "started"),
        ("2026-01-01T00:01:30.000Z", "attempt_failed"),
    ]
    assert timeline([failed], [], {}) == [failed]


def test_named_jobs_are_changed_one_by_one(cli: Cli, world: World) -> None:
    """One that cannot be changed does not stop the others; its error is the command's."""
    dead, other = die(cli, world), die(cli, world)
    ran = cli.run("jobs", "retry", UNKNOWN, other)
    assert (ran.code, ran.out) == (ExitCode.NOT_FOUND, f"{other} is available.\n")
    assert UNKNOWN in ran.err
    assert cli.run("jobs", "retry", dead).out == f"{dead} is available.\n"
    assert cli.run("jobs", "retry", dead).code == ExitCode.CONFLICT
    assert cli.run("jobs", "cancel", dead).out == f"{dead} is cancelled.\n"


def test_a_retryable_job_is_retried_at_once_and_keeps_its_attempt(cli: Cli, world: World) -> None:
    """As the dashboard's button does; a worker gets it before its backoff is over."""
    job_id = enqueue(cli)
    world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    world.backend.jobs.fail(job_id, "w", parse_object('{"type": "Broken", "message": "m"}'))
    assert cli.ask("get", job_id)["state"] == "retryable"
    assert cli.run("jobs", "retry", job_id).out == f"{job_id} is available.\n"
    assert cli.ask("get", job_id)["attempt"] == 1
    (again,) = world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    assert (again.id, again.attempt) == (job_id, 2)


@pytest.mark.parametrize("as_json", [False, True])
def test_waiting_for_a_job_that_fails_says_why_without_a_traceback(
    cli: Cli, world: World, as_json: bool
) -> None:
    """Exit code 1; with --json, an error object with the job's own error. It has failed already."""
    dead = die(cli, world, kind="SmtpError")
    again = ("demo.echo", "[1]", "-q", "default", "--max-attempts", "1", "--id", dead)
    ran = cli.run("enqueue", *again, "--wait", *(["--json"] if as_json else []))
    assert ran.code == ExitCode.FAILED
    assert "Traceback" not in ran.err + ran.out
    if as_json:
        error = json.loads(ran.err)["error"]
        assert (error["code"], error["state"]) == ("job_failed", "discarded")
        assert error["job_error"]["type"] == "SmtpError"
        assert error["job_id"] in error["hint"]
    else:
        assert "was discarded: SmtpError: m" in ran.err


def test_the_next_job_of_a_queue_says_why_it_waits(cli: Cli, world: World) -> None:
    """Nobody needs to look for its id first."""
    assert cli.run("why", "--queue", "email").out == "No job of queue 'email' waits.\n"
    job_id = enqueue(cli, "-q", "email")
    world.registry.ensure("email", world.clock.now())
    world.backend.queues.service.pause("email")
    out = cli.run("why", "--queue", "email").out
    assert out.startswith(f"The next job of 'email', {job_id}, is available.\n- The queue 'email'")
    assert cli.run("why").code == ExitCode.USAGE
    assert cli.run("why", job_id, "-q", "email").code == ExitCode.USAGE
