"""Commands answer people and scripts, and end with the code documented."""

from __future__ import annotations

import json

import httpx
import pytest

from ojs_aws._version import __version__
from ojs_aws.cli.terminal.session import ExitCode
from tests.commands import run_command
from tests.simulation.world import World
from tests.unit.cli.conftest import Cli
from tests.unit.client.doubles import error

UNKNOWN = "01990000-0000-7000-8000-00000000ffff"


def test_whoami_shows_scopes_and_bounds(cli: Cli) -> None:
    """Everything, where no key is asked for."""
    assert "anybody: the server asks for no key" in cli.run("whoami").out
    assert "admin" in cli.ask("whoami")["scopes"]


def test_a_timeout_is_a_duration_or_seconds(cli: Cli) -> None:
    """As in Python; not both, and what is neither is refused."""
    for given in (("--timeout", "10m"), ("--timeout", "PT10M"), ("--timeout-s", "600")):
        made = cli.ask("enqueue", "demo.echo", "[1]", *given)
        assert cli.ask("get", made["id"])["timeout_ms"] == 600_000
    both = cli.run("enqueue", "demo.echo", "[1]", "--timeout", "9s", "--timeout-s", "9")
    assert (both.code, "not both" in both.err) == (ExitCode.USAGE, True)
    wrong = cli.run("enqueue", "demo.echo", "[1]", "--timeout", "soon")
    assert (wrong.code, "'timeout'" in wrong.err) == (ExitCode.USAGE, True)


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
    assert not world.stored.jobs


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
    world.lose_messages()
    assert cli.ask("restore", "messages", "--dry-run")["ready"] == 1
    assert not world.messages.receive("default", 10, 1)
    message = cli.run("restore", "messages").out
    assert "Sent 1 messages for ready jobs and 0 for jobs that are due soon, in 1 queues" in message
    assert world.messages.receive("default", 10, 1)
    world.backend.queues.service.pause("default")
    assert "In paused queues: 1 job. ojs-aws queues resume" in cli.run("restore", "messages").out


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
