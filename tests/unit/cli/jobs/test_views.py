"""Jobs and queues at a terminal: what they do now, grouped, and on narrow screens."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from ojs_aws.cli.jobs.views import doing_text
from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.session import ExitCode
from ojs_aws.cli.terminal.tables import with_ages
from ojs_aws.domain.jobs.failure_groups import failure_group, window_of
from tests.commands import run_command
from tests.simulation.world import World, count_changes
from tests.unit.cli.conftest import Cli
from tests.unit.cli.made_jobs import die, enqueue

AGO = (datetime.now(UTC) - timedelta(hours=5, minutes=5)).isoformat()
SOON = (datetime.now(UTC) + timedelta(hours=5, minutes=55)).isoformat()
ERROR = {"type": "SmtpError", "message": "refused"}


@pytest.mark.parametrize(
    ("job", "text"),
    [
        ({"state": "available", "enqueued_at": AGO}, "waits for 5 h"),
        ({"state": "available", "created_at": AGO}, "waits for 5 h"),
        ({"state": "scheduled", "scheduled_at": SOON}, "due in 5 h"),
        ({"state": "active", "started_at": AGO, "worker_id": "w1"}, "runs for 5 h"),
        ({"state": "active", "started_at": AGO, "worker_id": "w1"}, " on w1"),
        ({"state": "retryable", "next_attempt_at": SOON, "error": ERROR}, "next in 5 h"),
        ({"state": "retryable", "next_attempt_at": SOON, "error": ERROR}, "SmtpError: refused"),
        ({"state": "pending"}, "waits until it is activated"),
        ({"state": "discarded", "error": ERROR}, "SmtpError: refused"),
        ({"state": "completed"}, ""),
    ],
)
def test_a_list_says_what_each_job_does_now(job: dict[str, object], text: str) -> None:
    """For how long, where, and when it goes on."""
    assert text in doing_text(job)  # type: ignore[arg-type]


def test_jobs_are_grouped_by_their_error(cli: Cli, world: World) -> None:
    """Numbers, ids and quoted values do not make two groups of one error."""
    ids = [die(cli, world, kind="Timeout") for _ in range(3)] + [die(cli, world, kind="Broken")]
    found = cli.ask("jobs", "list", "--state", "discarded", "--group-by", "error")
    assert [(each["error"], each["count"]) for each in found["groups"]] == [
        ("Timeout: m", 3),
        ("Broken: m", 1),
    ]
    assert (found["examined"], found["groups"][0]["types"]) == (4, ["demo.echo"])
    assert found["groups"][0]["job_id"] in ids
    shown = cli.run("jobs", "list", "--group-by", "queue").out
    assert "default" in shown
    assert " ago" in shown


def test_jobs_are_listed_by_tag_and_by_error(cli: Cli, world: World) -> None:
    """With how many jobs were looked at for it."""
    dead = die(cli, world, kind="Timeout")
    die(cli, world, kind="Broken")
    found = cli.ask("jobs", "list", "--error", "timeOUT")
    assert ([job["id"] for job in found["jobs"]], found["examined"]) == ([dead], 2)
    assert "Looked at 2 jobs." in cli.run("jobs", "list", "--error", "timeout").err
    assert cli.ask("jobs", "list", "--tag", "vip")["jobs"] == []
    done = cli.ask("jobs", "retry", "--error", "timeout", "--yes")
    assert done["succeeded"] == 1


def test_messages_that_differ_in_numbers_are_one_group(cli: Cli, world: World) -> None:
    """As 'row 7 is missing' and 'row 8 is missing'."""
    for number in (7, 8):
        die(cli, world, kind=f"Row{number}")
    found = cli.ask("jobs", "list", "-s", "discarded", "--group-by", "error")["groups"]
    assert [each["error"] for each in found] == ["Row…: m"]


def test_a_priority_is_changed(cli: Cli, world: World) -> None:
    """Of a job that waits; another state is a conflict."""
    job_id = enqueue(cli)
    assert cli.run("jobs", "priority", job_id, "50").out == f"{job_id} has priority 50.\n"
    assert world.stored.jobs[job_id].priority == 50
    dead = die(cli, world, queue="other")
    assert cli.run("jobs", "priority", dead, "1").code == ExitCode.CONFLICT


def test_a_queue_shows_its_oldest_job_and_when_it_is_empty(cli: Cli, world: World) -> None:
    """What an operator asks first."""
    count_changes(world)
    enqueue(cli, "-q", "email")
    world.registry.ensure("email", world.clock.now())
    shown = cli.run("queues", "show", "email").out
    assert "oldest available" in shown
    assert "it does not shrink at the rates of the last hour" in shown
    assert cli.ask("queues", "show", "email")["counts"]["available"] == 1


def test_doctor_says_why_the_first_job_of_a_queue_waits(cli: Cli, world: World) -> None:
    """It has been there for ten minutes."""
    world.registry.ensure("default", world.clock.now())
    job_id = enqueue(cli)
    world.clock.advance(s=600)
    findings = cli.run("doctor", "--json").json["findings"]
    (found,) = (each for each in findings if each["check"] == "queue default")
    assert "No worker that sends heartbeats serves the queue 'default'" in found["text"]
    assert found["hint"] == f"ojs-aws why {job_id}"


def test_a_row_is_one_line_at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has no room is cut; ids never are."""
    screen = io.StringIO()
    monkeypatch.setattr(
        Output, "console", lambda _: Console(file=screen, width=80, force_terminal=True)
    )
    job_id = "01990000-0000-7000-8000-000000000001"
    row = (job_id, "email.send", "default", "retryable", "2/5", "5 min", "next in 3 s: SmtpError")
    Output(as_json=False).table({}, ("Id", "Type", "Queue", "State", "Try", "Age", "Now"), [row])
    _header, line, *rest = screen.getvalue().splitlines()
    assert rest == []
    assert job_id in line
    assert "…" in line


def test_columns_that_say_least_are_left_out_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is kept is whole but for the last one; a hint names the others."""

    def show(width: int) -> list[str]:
        screen = io.StringIO()
        monkeypatch.setattr(
            Output, "console", lambda _: Console(file=screen, width=width, no_color=True)
        )
        columns = ("Id", "Type", "Queue", "State", "Try", "Age", "Now")
        least = ("Try", "Age", "Queue")
        Output(as_json=False).table({}, columns, [row], least=least)
        lines = screen.getvalue().splitlines()
        assert all(len(line) <= width for line in lines)
        return lines

    job_id = "01990000-0000-7000-8000-000000000001"
    now = "next in 3 s: SmtpError: 421 try again later"
    row = (job_id, "email.send", "default", "retryable", "2/5", "5 min", now)
    header, line = show(80)
    assert header.split() == ["Id", "Type", "State", "Now"]
    assert line.startswith(f"{job_id}  email.send  retryable  next in 3 s")
    assert "No room for: Queue, Try, Age." in capsys.readouterr().err
    assert show(90)[0].split() == ["Id", "Type", "Queue", "State", "Age", "Now"]
    assert show(140)[1].endswith(now)
    row = (job_id, "invoice.render.document.of.month", *row[2:])
    assert job_id in show(80)[1]


def test_help_names_no_type_of_a_flag() -> None:
    """A flag takes no value."""
    shown = run_command("jobs", "list", "--help").output
    assert "--oldest-first" in shown
    assert "bool" not in shown


@pytest.mark.parametrize(
    ("state", "meant"),
    [("failed", "discarded"), ("complete", "completed"), ("active", ""), ("xyz", None)],
)
def test_a_state_that_does_not_exist_names_the_one_that_is_meant(
    cli: Cli, state: str, meant: str | None
) -> None:
    """Other systems name them otherwise."""
    ran = cli.run("jobs", "list", "-s", state)
    shown = " ".join(ran.err.replace("│", " ").split())
    assert (ran.code == ExitCode.USAGE) is (meant != "")
    assert (f"Did you mean '{meant}'?" in shown) is bool(meant)


def test_a_misspelt_queue_is_not_made(cli: Cli, world: World) -> None:
    """The server would create and pause it."""
    world.registry.ensure("reports", world.clock.now())
    for command in ("pause", "resume", "drain"):
        ran = cli.run("queues", command, "reprots")
        assert ran.code == ExitCode.NOT_FOUND
        assert "Did you mean 'reports'?" in ran.err


@pytest.mark.parametrize(
    "command",
    [
        "jobs list",
        "jobs retry",
        "why",
        "errors",
        "events",
        "dead-letter list",
        "dead-letter delete",
        "sequences list",
        "workers quiet",
    ],
)
def test_a_misspelt_queue_in_which_nothing_is_found_is_named(
    cli: Cli, world: World, command: str
) -> None:
    """To people; a script gets what it always gets."""
    world.registry.ensure("reports", world.clock.now())
    ran = cli.run(*command.split(), "--queue", "reprots")
    assert (ran.code, "Did you mean 'reports'?" in ran.err) == (ExitCode.DONE, True)
    assert "There is no" not in cli.run(*command.split(), "--queue", "reports").err
    assert "There is no" not in cli.run(*command.split(), "--queue", "reprots", "--json").err


def test_errors_are_shown_by_group(cli: Cli, world: World) -> None:
    """With how often at least, where, and one of the jobs."""
    assert cli.run("errors").out == "No failures.\n"
    now = datetime.now(UTC)
    world.clock.at = int(now.timestamp() * 1000)
    at = world.clock.now()
    for number in range(3):
        group = failure_group("Broken", f"no user {number}", f"job-{number}", at)
        world.backend.stores.failure_groups().add("email", window_of(at), [group], str(number))
    shown = cli.run("errors", "-q", "email").out
    assert "job-2" in shown
    assert "Broken: no user 2" in shown
    assert "the beginning of an hour" in cli.run("errors").err
    assert cli.ask("errors", "--since", "2h")["groups"][0]["count"] == 3


def test_a_job_says_how_long_ago_things_happened(cli: Cli) -> None:
    """Beside each instant; what a client wrote itself is shown as it is."""
    members = {"created_at": AGO, "scheduled_at": SOON, "read_at": "noon", "paid_at": None, "n": 1}
    shown = {name: re.sub(r" \d+ min", "", str(each)) for name, each in with_ages(members)}
    ages = {"created_at": f"{AGO} (5 h ago)", "scheduled_at": f"{SOON} (in 5 h)"}
    assert shown == {**{name: str(each) for name, each in members.items()}, **ages}
    assert re.search(r"created_at .*Z \(.* ago\)", cli.run("jobs", "show", enqueue(cli)).out)


def test_many_jobs_are_reprioritised_after_a_count(cli: Cli, world: World) -> None:
    """Only counted with --dry-run; without a filter nothing is meant."""
    job_id = enqueue(cli)
    counted = cli.ask("jobs", "reprioritise", "50", "-q", "default", "--dry-run")
    assert counted["matched"] == 1
    assert world.stored.jobs[job_id].priority == 0
    ran = cli.run("jobs", "reprioritise", "50", "-q", "default", "--yes")
    assert ran.out == "Reprioritised 1 job.\n"
    assert world.stored.jobs[job_id].priority == 50
    assert cli.run("jobs", "reprioritise", "50").code == ExitCode.USAGE
