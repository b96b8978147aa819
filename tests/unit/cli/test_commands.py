"""The commands do what they say, answer people and scripts, and end with the code documented."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from ojs_aws._version import __version__
from ojs_aws.cli.jobs import Consent
from ojs_aws.cli.readiness import _template
from ojs_aws.cli.session import ExitCode, connect
from ojs_aws.client.areas.dead_letters import BulkOutcome, BulkResult, DeadLetterJobs
from ojs_aws.client.transports import connection
from ojs_aws.client.transports.credentials import ApiKey, Credentials, chosen_credentials
from ojs_aws.domain.json_text import encode, parse_object
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.commands import run_command
from tests.jobs import any_job
from tests.simulation.world import World, count_changes
from tests.unit.cli.conftest import Cli
from tests.unit.client.doubles import die as fail_one
from tests.unit.client.doubles import error

UNKNOWN = "01990000-0000-7000-8000-00000000ffff"
DEAD = {"max_attempts": 1, "on_exhaustion": "dead_letter"}


def enqueue(cli: Cli, *more: str) -> str:
    """Enqueue a job; its id."""
    return str(cli.ask("enqueue", "demo.echo", "[1]", *more)["id"])


def die(cli: Cli, world: World, queue: str = "default", kind: str = "Broken") -> str:
    """Enqueue a job and fail it for good."""
    job_id = enqueue(cli, "-q", queue, "--max-attempts", "1")
    world.registry.ensure(queue, world.clock.now())
    world.backend.jobs.fetch(FetchRequest((queue,), worker_id="w"))
    failure = parse_object(encode({"type": kind, "message": "m", "code": "DEAD_LETTER"}))
    world.backend.jobs.fail(job_id, "w", failure)
    world.clock.advance(s=1)
    return job_id


# ---------------------------------------------------------------------------------- one job
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


def test_whoami_shows_scopes_and_bounds(cli: Cli) -> None:
    """Everything, where no key is asked for."""
    assert "anybody: the server asks for no key" in cli.run("whoami").out
    assert "admin" in cli.ask("whoami")["scopes"]


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


# --------------------------------------------------------------------------------- many jobs
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


def test_adm_007_many_jobs_are_changed_after_a_dry_run(cli: Cli, world: World) -> None:
    """Nothing happens without --yes where nobody can be asked."""
    dead = {die(cli, world, "billing") for _ in range(3)}
    dry = cli.ask("jobs", "retry", "-q", "billing", "--dry-run")
    assert dry == {"action": "retry", "dry_run": True, "matched": 3}
    refused = cli.run("jobs", "retry", "-q", "billing")
    assert (refused.code, "Say --yes" in refused.err) == (ExitCode.USAGE, True)
    assert {world.store.jobs[each].state for each in dead} == {"discarded"}
    done = cli.ask("jobs", "retry", "-q", "billing", "--yes")
    assert (done["succeeded"], done["failed"]) == (3, 0)
    assert {world.store.jobs[each].state for each in dead} == {"available"}
    assert cli.run("jobs", "cancel", "-q", "billing", "-y").out == "Cancelled 3 jobs.\n"
    assert cli.ask("jobs", "delete", "-q", "billing", "-y")["succeeded"] == 3
    assert not dead & set(world.store.jobs)
    assert "0 jobs match" in cli.run("jobs", "delete", "-q", "billing", "-y").out


def test_counted_jobs_are_cancelled_though_they_retried_meanwhile(
    cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly those that were counted: each may be in another state when somebody agrees."""
    counted = [enqueue(cli, "-q", "billing") for _ in range(2)]
    agrees = Consent.agrees

    def agree(*given: Any) -> bool:
        world.backend.jobs.fetch(FetchRequest(("billing",), worker_id="w"))
        world.backend.jobs.push(any_job("demo.echo", [1], queue="billing"))
        return agrees(*given)

    monkeypatch.setattr(Consent, "agrees", agree)
    ran = cli.run("jobs", "cancel", "-q", "billing", "-s", "available", "-y")
    assert ran.out == "Cancelled 2 jobs.\n"
    states = {each.id: each.state for each in world.store.jobs.values()}
    assert {states.pop(each) for each in counted} == {"cancelled"}
    assert [*states.values()] == ["available"]


def test_jobs_that_could_not_be_changed_are_named_with_why(
    cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job may have ended between the count and the answer; the exit code says so."""
    ended, other = enqueue(cli, "-q", "billing"), enqueue(cli, "-q", "billing")
    agrees = Consent.agrees

    def agree(*given: Any) -> bool:
        world.backend.jobs.cancel(ended)
        return agrees(*given)

    monkeypatch.setattr(Consent, "agrees", agree)
    ran = cli.run("jobs", "cancel", "-q", "billing", "-y")
    assert ran.code == ExitCode.FAILED
    assert ran.out.splitlines() == [
        "Cancelled 1 of 2 jobs.",
        "1 job could not be changed:",
        f"  {ended}: Job is in cancelled state",
    ]
    assert world.store.jobs[other].state == "cancelled"


def test_dead_letters_that_could_not_be_changed_are_named_with_why(
    cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first twenty of them."""
    ids = [die(cli, world) for _ in range(21)]
    retry_many = DeadLetterJobs.retry_many

    async def change(letters: DeadLetterJobs, *, dry_run: bool = False, **given: Any) -> BulkResult:
        if dry_run:
            return await retry_many(letters, dry_run=True, **given)
        return BulkResult([BulkOutcome(each, "failed", "Not now.") for each in ids])

    monkeypatch.setattr(DeadLetterJobs, "retry_many", change)
    ran = cli.run("dead-letter", "retry", "--all", "-y")
    assert ran.code == ExitCode.FAILED
    head, *rest = ran.out.splitlines()
    assert (head, rest[0]) == ("retry: 0 done, 21 not.", "21 dead letters could not be changed:")
    assert rest[1:] == [*(f"  {each}: Not now." for each in ids[:20]), "  and 1 more"]


def test_named_jobs_are_changed_one_by_one(cli: Cli, world: World) -> None:
    """One that cannot be changed does not stop the others; its error is the command's."""
    dead, other = die(cli, world), die(cli, world)
    ran = cli.run("jobs", "retry", UNKNOWN, other)
    assert (ran.code, ran.out) == (ExitCode.NOT_FOUND, f"{other} is available.\n")
    assert UNKNOWN in ran.err
    assert cli.run("jobs", "retry", dead).out == f"{dead} is available.\n"
    assert cli.run("jobs", "retry", dead).code == ExitCode.CONFLICT
    assert cli.run("jobs", "cancel", dead).out == f"{dead} is cancelled.\n"


def test_all_jobs_are_never_meant_by_saying_nothing(cli: Cli) -> None:
    """Usage, and what to say."""
    enqueue(cli)
    ran = cli.run("jobs", "cancel", "--yes")
    assert (ran.code, "Which jobs?" in ran.err) == (ExitCode.USAGE, True)
    assert cli.run("dead-letter", "delete", "--yes").code == ExitCode.USAGE
    assert cli.run("workers", "quiet").code == ExitCode.USAGE
    assert cli.run("queues", "pause").code == ExitCode.USAGE


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


# ------------------------------------------------------------------------------ the other groups
def test_queues_are_listed_counted_paused_resumed_and_purged(cli: Cli, world: World) -> None:
    """One, or all of them."""
    enqueue(cli, "-q", "email")
    world.registry.ensure("email", world.clock.now())
    assert cli.run("queues", "pause", "email").out.startswith("email is paused since")
    assert "paused" in cli.run("queues", "list").out
    (default, email) = cli.ask("queues", "list", "--counts")["queues"]
    assert (email["available"], email["paused"], default["paused"]) == (1, True, False)
    assert cli.run("queues", "resume", "--all").out == "default runs.\nemail runs.\n"
    assert cli.ask("queues", "show", "email")["available"] == 1
    assert "available" in cli.run("queues", "show", "email").out
    assert cli.run("queues", "purge", "email", "-s", "available").code == ExitCode.USAGE
    counted = cli.ask("queues", "purge", "email", "-s", "available", "--dry-run")
    assert counted == {"queue": "email", "dry_run": True, "deleted": 0, "cancelled": 1}
    said = cli.run("queues", "purge", "email", "-s", "available", "--dry-run").out
    assert said == "0 jobs would be deleted, 1 cancelled.\n"
    assert cli.ask("queues", "show", "email")["available"] == 1
    purged = cli.ask("queues", "purge", "email", "-s", "available", "--yes")
    assert purged == {"queue": "email", "deleted": 0, "cancelled": 1}
    assert cli.run("queues", "show", "never").code == ExitCode.NOT_FOUND


def test_a_queue_is_created_configured_drained_and_deleted(cli: Cli) -> None:
    """Values are JSON or texts; an empty one takes a setting away."""
    assert cli.ask("queues", "create", "bulk", "max_size=1000")["config"]["max_size"] == 1000
    changed = cli.ask("queues", "configure", "bulk", "max_size=5000")
    assert changed["config"]["max_size"] == 5000
    assert "max_size" in cli.run("queues", "settings", "bulk").out
    assert cli.ask("queues", "configure", "bulk", "max_size=")["config"]["max_size"] is None
    assert cli.run("queues", "configure", "bulk", "colour=red").code == ExitCode.USAGE
    assert cli.run("queues", "configure", "bulk", "nothing").code == ExitCode.USAGE
    assert cli.run("queues", "drain", "bulk").out == "bulk takes no new jobs.\n"
    assert cli.run("queues", "delete", "bulk", "--yes").out == "bulk is deleted.\n"


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


def test_a_dry_run_shows_whom_it_would_meet(cli: Cli, world: World) -> None:
    """With the latest error of each."""
    dead = die(cli, world, "billing")
    out = cli.run("jobs", "retry", "-q", "billing", "--dry-run").out
    assert out.startswith("1 jobs match; nothing was changed.")
    for part in ("They are", dead, "demo.echo", "discarded"):
        assert part in out


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


def test_a_cron_job_is_registered_triggered_and_removed(cli: Cli) -> None:
    """And refused with the field of the expression that is wrong."""
    made = cli.ask("cron", "register", "nightly", "0 3 * * *", "demo.echo", "[1]", "-q", "reports")
    assert (made["name"], made["queue"]) == ("nightly", "reports")
    assert "nightly" in cli.run("cron", "list").out
    assert cli.ask("cron", "trigger", "nightly")["job_id"]
    assert cli.ask("cron", "pause", "nightly")["enabled"] is False
    assert cli.ask("cron", "resume", "nightly")["enabled"] is True
    assert "0 3 * * *" in cli.run("cron", "show", "nightly").out
    wrong = cli.run("cron", "register", "x", "61 * * * *", "demo.echo")
    assert (wrong.code, "minute" in wrong.err) == (ExitCode.USAGE, True)
    assert cli.run("cron", "delete", "nightly", "-y").out == "nightly is removed.\n"
    assert cli.run("cron", "show", "nightly").code == ExitCode.NOT_FOUND


def test_workflows_are_listed_shown_and_cancelled(cli: Cli) -> None:
    """With their steps."""
    body = {"type": "chain", "name": "order", "steps": [{"type": "a.b", "args": []}] * 2}
    made = cli.server.api.post("/workflows", body).json["id"]
    assert cli.ask("workflows", "list", "--state", "running")["workflows"][0]["id"] == made
    assert "order" in cli.run("workflows", "list").out
    assert "a.b" in cli.run("workflows", "show", made).out
    assert cli.ask("workflows", "show", made)["name"] == "order"
    assert "is cancelled" in cli.run("workflows", "cancel", made).out
    assert cli.run("workflows", "show", UNKNOWN).code == ExitCode.NOT_FOUND


def test_a_timeout_is_a_duration_or_seconds(cli: Cli) -> None:
    """As in Python; not both, and what is neither is refused."""
    for given in (("--timeout", "10m"), ("--timeout", "PT10M"), ("--timeout-s", "600")):
        made = cli.ask("enqueue", "demo.echo", "[1]", *given)
        assert cli.ask("get", made["id"])["timeout_ms"] == 600_000
    both = cli.run("enqueue", "demo.echo", "[1]", "--timeout", "9s", "--timeout-s", "9")
    assert (both.code, "not both" in both.err) == (ExitCode.USAGE, True)
    wrong = cli.run("enqueue", "demo.echo", "[1]", "--timeout", "soon")
    assert (wrong.code, "'timeout'" in wrong.err) == (ExitCode.USAGE, True)


def test_dead_letters_that_came_after_the_question_are_left_alone(
    cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is changed is what was counted, and agreed to."""
    die(cli, world)

    def agreed(*_: object) -> bool:
        world.clock.advance(s=1)
        fail_one(world)
        return True

    monkeypatch.setattr(Consent, "agrees", agreed)
    assert cli.ask("dead-letter", "delete", "--all")["succeeded"] == 1
    assert cli.ask("dead-letter", "list")["total"] == 1


@pytest.mark.parametrize(
    "command",
    [("jobs", "cancel"), ("jobs", "retry"), ("dead-letter", "retry"), ("dead-letter", "delete")],
)
def test_a_dry_run_of_named_jobs_is_refused_and_changes_nothing(
    cli: Cli, world: World, command: tuple[str, str]
) -> None:
    """Named jobs are changed one by one, without a count."""
    job_id = enqueue(cli) if command == ("jobs", "cancel") else die(cli, world)
    before = world.store.jobs[job_id].state
    ran = cli.run(*command, job_id, "--dry-run")
    assert ran.code == ExitCode.USAGE
    assert "Leave out --dry-run" in ran.err
    assert world.store.jobs[job_id].state == before


def test_dead_letters_are_looked_at_retried_and_deleted(cli: Cli, world: World) -> None:
    """By id with changes, or all of a filter."""
    first, second, third = (die(cli, world, kind=kind) for kind in ("A", "B", "B"))
    assert cli.ask("dead-letter", "list")["total"] == 3
    assert len(cli.run("dead-letter", "list", "--error-type", "B").out.splitlines()) == 3
    assert cli.ask("dead-letter", "stats")["by_error_type"] == {"A": 1, "B": 2}
    assert cli.ask("dead-letter", "show", first)["id"] == first
    again = cli.run("dead-letter", "retry", first, "--override", '{"priority": 9}')
    assert again.out == f"{first} is available.\n"
    assert world.store.jobs[first].priority == 9
    assert cli.ask("dead-letter", "retry", "--error-type", "B", "--dry-run")["matched"] == 2
    assert cli.ask("dead-letter", "delete", second, "-y")["deleted"] is True
    assert cli.ask("dead-letter", "retry", "--all", "-y")["succeeded"] == 1
    assert world.store.jobs[third].state == "available"


def test_events_are_one_line_each(cli: Cli, world: World) -> None:
    """JSON lines for scripts; --follow goes on until it is interrupted."""
    assert cli.run("events", "--type", "job.*").out == ""
    ran = cli.run("events", "--type", "nonsense")
    assert (ran.code, "nonsense" in ran.err) == (ExitCode.USAGE, True)


def test_the_numbers_of_all_queues_are_shown(cli: Cli) -> None:
    """As a table, or as the API says them."""
    count_changes(cli.world)
    enqueue(cli)
    assert cli.ask("stats")["jobs"]["available"] == 1
    assert "completed per minute, last 5 minutes" in cli.run("stats").out


def test_attempts_that_are_repeated_are_among_the_failures_shown(cli: Cli, world: World) -> None:
    """Of all queues and of one: five minutes, and an hour."""
    count_changes(world)
    world.registry.ensure("email", world.clock.now())
    for _ in range(6):
        enqueue(cli, "-q", "email", "--max-attempts", "2")
        (job,) = world.backend.jobs.fetch(FetchRequest(("email",), worker_id="w"))
        world.backend.jobs.fail(job.id, "w", parse_object('{"type":"Broken","message":"m"}'))
    numbers = " ".join(cli.run("stats").out.split())
    assert "failed attempts per minute, last 5 minutes 1.2" in numbers
    shown = " ".join(cli.run("queues", "show", "email").out.split())
    assert "failed attempts per minute, last hour 0.1" in shown


# ------------------------------------------------------------------------------------ errors
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (error(401, "unauthorized"), ExitCode.REFUSED),
        (error(403, "forbidden"), ExitCode.REFUSED),
        (error(404, "not_found"), ExitCode.NOT_FOUND),
        (error(409, "conflict"), ExitCode.CONFLICT),
        (error(400, "invalid_request"), ExitCode.USAGE),
        (error(500, "backend_error", retryable=False), ExitCode.FAILED),
    ],
)
def test_every_kind_of_error_has_its_exit_code(
    cli: Cli, answer: httpx.Response, code: ExitCode
) -> None:
    """And a sentence on stderr; nothing on stdout, in both forms."""
    message = []
    for form in ((), ("--json",)):
        cli.server.script = [answer]
        ran = cli.run("get", UNKNOWN, *form)
        assert (ran.code, ran.out, "Traceback" in ran.err) == (code, "", False)
        message.append(ran.err)
    assert message[0].startswith("Error: ")
    assert set(json.loads(message[1])) == {"error"}


def test_a_server_that_is_not_there_is_said_so(cli: Cli) -> None:
    """With what to check."""
    cli.server.script = [httpx.ConnectError("refused")] * 9
    ran = cli.run("get", UNKNOWN)
    assert ran.code == ExitCode.UNREACHABLE
    assert "Check the URL" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("enqueue", "demo.echo", "{not json"),
        ("enqueue", "demo.echo", "[]", "-m", "nothing"),
        ("jobs", "list", "--since", "yesterday"),
        ("jobs", "list", "--state", "nowhere"),
        ("get", "no-id"),
    ],
)
def test_what_a_person_got_wrong_is_said_before_anything_happens(
    cli: Cli, world: World, arguments: tuple[str, ...]
) -> None:
    """Usage."""
    assert cli.run(*arguments).code == ExitCode.USAGE
    assert not world.store.jobs


def test_the_api_key_comes_from_the_environment(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the command line does not name one."""
    monkeypatch.setenv("OJS_API_KEY", "secret")
    cli.run("stats")
    cli.run("stats", "--api-key", "other")
    assert cli.keys == ["secret", "other"]
    assert "secret" not in cli.run("stats", "--help").out


def test_messages_are_sent_again_after_a_restore(cli: Cli, world: World) -> None:
    """Counted first, where that is asked for."""
    cli.ask("enqueue", "demo.echo", "[1]")
    world.messages.queues.clear()
    assert cli.ask("restore", "messages", "--dry-run")["ready"] == 1
    assert not world.messages.receive("default", 10, 1)
    message = cli.run("restore", "messages").out
    assert "Sent 1 messages for ready jobs and 0 for jobs that are due soon, in 1 queues" in message
    assert world.messages.receive("default", 10, 1)
    world.backend.queues.service.pause("default")
    assert "1 jobs wait in paused queues" in cli.run("restore", "messages").out


def test_the_version_is_reported() -> None:
    """Without a server."""
    ran = run_command("--version")
    assert (ran.exit_code, ran.stdout) == (0, f"ojs-aws {__version__}\n")


def test_who_is_refused_learns_how_to_say_a_key(cli: Cli) -> None:
    """In the command line's words, not in those of HTTP."""
    refused = {"error": {"code": "unauthenticated", "message": "No.", "hint": "Send a header."}}
    cli.server.script = [httpx.Response(401, json=refused)]
    ran = cli.run("jobs", "list")
    assert (ran.code, "OJS_API_KEY" in ran.err, "header" in ran.err) == (6, True, False)


def test_a_servers_own_error_is_shown_with_its_request_id(cli: Cli) -> None:
    """By which its log has it."""
    broken = {"error": {"code": "internal_error", "message": "Broken.", "request_id": "req_7"}}
    cli.server.script = [
        httpx.Response(500, json=broken, headers={"X-Request-Id": "req_7"}) for _ in range(9)
    ]
    ran = cli.run("queues", "list")
    assert (ran.code, "Request id: req_7." in ran.err) == (1, True), ran.err


# ------------------------------------------------------------------------------------ checks
def test_doctor_finds_what_is_wrong(cli: Cli, world: World) -> None:
    """Here: the sweep never ran, clocks differ by months, a queue is paused, a worker is silent."""
    count_changes(world)
    cli.server.api.post("/workers/heartbeat", {"worker_id": "w1"})
    world.backend.queues.service.pause("default")
    world.clock.advance(s=600)
    die(cli, world, "email")
    findings = {each["check"]: each for each in cli.ask("doctor")["findings"]}
    assert findings["server"]["verdict"] == "ok"
    for check in ("sweep", "clock", "queue default", "workers", "dead letters"):
        assert findings[check]["verdict"] == "look", findings[check]
        assert findings[check]["hint"]


def test_doctor_ends_with_a_code_of_its_own(cli: Cli) -> None:
    """Where something is bad; an unreachable server ends the checks."""
    cli.server.script = [httpx.ConnectError("refused")] * 9
    ran = cli.run("doctor", "--json")
    assert (ran.code, ran.json["ok"], len(ran.json["findings"])) == (
        ExitCode.CHECK_FAILED,
        False,
        1,
    )


def test_doctor_probes_the_stream_and_leaves_nothing_behind(
    cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here nobody reads the table's changes."""
    monkeypatch.setattr("ojs_aws.cli.doctor.PROBE_S", 0.0)
    ran = cli.run("doctor", "--probe", "--json")
    assert ran.json["findings"][-1]["verdict"] == "bad"
    assert {job.state for job in world.store.jobs.values()} == {"cancelled"}


def test_deploy_check_finds_an_open_api(cli: Cli) -> None:
    """The server of the tests lets everybody in."""
    ran = cli.run("deploy-check", "--json", "--url", "https://jobs.example.com")
    findings = {each["check"]: each["verdict"] for each in ran.json["findings"]}
    assert (ran.code, findings["access"], findings["transport"]) == (7, "bad", "ok")
    assert findings["test mode"] == "ok"


@pytest.mark.parametrize("text", [None, "no json", "[]", "{}"])
def test_deploy_check_says_what_is_no_template(cli: Cli, tmp_path: Path, text: str | None) -> None:
    """Not there, no JSON, or something else."""
    path = tmp_path / "t.json"
    if text is not None:
        path.write_text(text)
    ran = cli.run("deploy-check", "--template", str(path))
    assert (ran.code, "t.json" in ran.err) == (ExitCode.USAGE, True)


def test_a_stranger_has_no_key_although_one_is_in_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As `deploy-check` asks, which would else find every closed API open."""
    monkeypatch.setenv("OJS_API_KEY", "secret")
    chosen: list[Credentials | None] = []

    def choose(*given: Any) -> Credentials | None:
        chosen.append(chosen_credentials(*given))
        return chosen[-1]

    monkeypatch.setattr(connection, "chosen_credentials", choose)
    connect("https://jobs.example.com", "")
    connect("https://jobs.example.com", "other")
    assert chosen == [None, ApiKey("other")]


def test_deploy_check_reads_a_template(cli: Cli, tmp_path: Path) -> None:
    """Alarms that reach nobody, and tables that nothing restores."""
    template = {
        "Resources": {
            "A": {"Type": "AWS::CloudWatch::Alarm", "Properties": {}},
            "T": {"Type": "AWS::DynamoDB::GlobalTable", "Properties": {"Replicas": [{}]}},
        }
    }
    found = {each.check: each.verdict for each in _template(template)}
    assert found == {"alarms": "bad", "logs": "ok", "tables": "look", "backups": "bad"}
    path = tmp_path / "t.json"
    path.write_text(json.dumps(template))
    assert "reach nobody" in cli.run("deploy-check", "--template", str(path)).out


def test_examples_stand_below_each_other(cli: Cli) -> None:
    """A bar between them would be a pipe to who copies the line."""
    shown = cli.run("enqueue", "--help").out
    assert "| ojs-aws" not in shown
    assert len([line for line in shown.splitlines() if line.strip().startswith("ojs-aws")]) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.b", "{bad"], "The arguments must be JSON: Expecting property name"),
        (["a.b", "[]", "--at", "tomorrow"], "--at is 'tomorrow'"),
        (["a.b", "[]", "--expires", "+soon"], "--expires is '+soon'"),
    ],
)
def test_what_a_person_wrote_wrong_is_named_as_they_wrote_it(
    cli: Cli, arguments: list[str], message: str
) -> None:
    """By the option, not by the attribute or the body that it becomes."""
    ran = cli.run("enqueue", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert message in " ".join(ran.err.split())


def test_what_objects_hold_is_shown_below_each_other(cli: Cli) -> None:
    """People read no JSON; scripts get it whole."""
    shown = cli.run("dead-letter", "stats").out
    assert "retention: max_count" in shown
    assert "{" not in shown
    assert "max_count" in cli.run("dead-letter", "stats", "--json").json["retention"]
