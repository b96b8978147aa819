"""``ojs-aws doctor`` and ``deploy-check``: is it well, and ready for work that matters."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ojs_aws.cli.session import ExitCode, Session, code_of, command

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue

SKEW_S: Final = 5.0
SLOW_MS: Final = 1000.0
OLD_S: Final = 300.0
MAX_QUEUES: Final = 20
PROBE_S: Final = 30.0


class Verdict(StrEnum):
    """What a check found."""

    OK = "ok"
    LOOK = "look"
    """Perhaps as it should be; somebody should look."""
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found, and what to do about it."""

    check: str
    verdict: Verdict
    told: str
    hint: str = ""


def register(app: typer.Typer) -> None:
    """Add the commands to the root."""
    command(app, "doctor", epilog="Example: ojs-aws doctor --probe")(doctor)
    command(
        app,
        "deploy-check",
        epilog="Example: ojs-aws deploy-check --template cdk.out/Ojs.template.json",
    )(deploy_check)


async def doctor(
    session: Session,
    probe: Annotated[
        bool,
        typer.Option(
            "--probe",
            help="Enqueue a job that is held back, cancel it, and wait for the event: measures "
            "how far behind the stream is.",
        ),
    ] = False,
) -> None:
    """Check a running deployment: reachability, credentials, clocks, sweep, queues, workers.

    Ends with 7 where something is bad; "look" alone does not.
    """
    checks: list[Callable[[Session], Awaitable[list[Finding]]]] = [
        _health,
        _access_and_clock,
        _queues,
        _workers,
        _dead_letters,
    ]
    if probe:
        checks.append(_stream)
    await _report(session, checks)


async def deploy_check(
    session: Session,
    template: Annotated[
        str, typer.Option(help="A synthesised CloudFormation template to look at as well.")
    ] = "",
) -> None:
    """Check that a deployment is ready for work that matters: closed, encrypted, watched.

    Ends with 7 where something is bad; "look" alone does not.
    """
    checks: list[Callable[[Session], Awaitable[list[Finding]]]] = [_transport, _closed, _settings]
    if template:
        found = _template(_read_template(Path(template)))

        async def look(_: Session) -> list[Finding]:
            return found

        checks.append(look)
    await _report(session, checks)


async def _report(
    session: Session, checks: list[Callable[[Session], Awaitable[list[Finding]]]]
) -> None:
    """Run the checks and show what they found; one that fails is a finding itself.

    :raises typer.Exit: with CHECK_FAILED where anything is bad.
    """
    from ojs_aws.domain.errors import OjsError  # noqa: PLC0415

    findings: list[Finding] = []
    for check in checks:
        try:
            findings += await check(session)
        except OjsError as problem:
            name = check.__name__.strip("_").replace("_", " ")
            findings.append(Finding(name, Verdict.BAD, problem.message, problem.hint))
            if code_of(problem) is ExitCode.UNREACHABLE:
                break  # nothing else would be answered either
    is_bad = any(each.verdict is Verdict.BAD for each in findings)
    session.out.table(
        {
            "ok": not is_bad,
            "findings": [
                {
                    "check": each.check,
                    "verdict": str(each.verdict),
                    "told": each.told,
                    "hint": each.hint,
                }
                for each in findings
            ],
        },
        ("Check", "", "Found", "What to do"),
        [(each.check, str(each.verdict), each.told, each.hint) for each in findings],
    )
    if is_bad:
        raise typer.Exit(ExitCode.CHECK_FAILED)


# --------------------------------------------------------------------------------------- doctor
async def _health(session: Session) -> list[Finding]:
    begun = time.perf_counter()
    health = await session.client.admin.health()
    took_ms = (time.perf_counter() - begun) * 1000
    status = health.get("status")
    verdict = Verdict.OK if status == "ok" else Verdict.BAD
    slow = Verdict.LOOK if took_ms > SLOW_MS else Verdict.OK
    found = [
        Finding("server", verdict, f"says {status}", "" if status == "ok" else "See its backend."),
        Finding("latency", slow, f"{took_ms:.0f} ms", "A cold start?" if slow != "ok" else ""),
    ]
    sweep = health.get("sweep")
    if not isinstance(sweep, dict):
        hint = "Within two minutes of a deployment it should have."
        return [*found, Finding("sweep", Verdict.LOOK, "has not ended yet", hint)]
    is_well = sweep.get("status") == "ok"
    told = f"last {sweep.get('last_run_at')}, {sweep.get('lag_ms')} ms behind"
    hint = "" if is_well else "See docs/operations.md: the sweep is late."
    return [*found, Finding("sweep", Verdict.OK if is_well else Verdict.BAD, told, hint)]


async def _access_and_clock(session: Session) -> list[Finding]:
    before = datetime.now(UTC)
    stats = await session.client.system.stats()
    after = datetime.now(UTC)
    found = [Finding("access", Verdict.OK, "the credentials may read what operators read")]
    told = stats.get("computed_at")
    if not isinstance(told, str):
        return found
    there = datetime.fromisoformat(told)
    apart = 0.0
    if there < before:
        apart = (before - there).total_seconds()
    elif there > after:
        apart = (there - after).total_seconds()
    verdict = Verdict.LOOK if apart > SKEW_S else Verdict.OK
    hint = "Set this machine's clock; schedules it makes are off by that." if apart > SKEW_S else ""
    return [*found, Finding("clock", verdict, f"{apart:.1f} s apart", hint)]


async def _queues(session: Session) -> list[Finding]:
    entries = await session.client.queues.list()
    found = [Finding("queues", Verdict.OK, f"{len(entries)}")]
    found += [
        Finding(f"queue {entry.name}", Verdict.LOOK, "paused", "ojs-aws queues resume")
        for entry in entries
        if entry.paused
    ]
    for entry in entries[:MAX_QUEUES]:
        waited_s = await _waited_s(session, entry.name)
        if waited_s > OLD_S and not entry.paused:
            told = f"the next job has waited for {waited_s / 60:.0f} minutes"
            hint = "Are there workers? See ojs-aws workers list."
            found.append(Finding(f"queue {entry.name}", Verdict.LOOK, told, hint))
    return found


async def _waited_s(session: Session, queue: str) -> float:
    """For how long the first in line has been available."""
    page = await session.client.jobs.list(
        queue=queue, states=["available"], oldest_first=True, limit=1
    )
    since = page.jobs[0].described.get("enqueued_at") if page.jobs else None
    if not isinstance(since, str):
        return 0.0
    return (datetime.now(UTC) - datetime.fromisoformat(since)).total_seconds()


async def _workers(session: Session) -> list[Finding]:
    summary = (await session.client.workers.list(limit=1)).summary
    stale = summary.get("stale", 0)
    told = f"{summary.get('running', 0)} running, {stale} silent (Lambda workers do not beat)"
    hint = "They died or hang: ojs-aws workers list." if stale else ""
    return [Finding("workers", Verdict.LOOK if stale else Verdict.OK, told, hint)]


async def _dead_letters(session: Session) -> list[Finding]:
    stats = await session.client.dead_letter.stats()
    total = stats.get("total")
    verdict = Verdict.LOOK if total else Verdict.OK
    hint = "ojs-aws dead-letter stats" if total else ""
    return [Finding("dead letters", verdict, f"{total}", hint)]


async def _stream(session: Session) -> list[Finding]:
    """How long it takes until a change is told: of a job that is held back, and then cancelled."""
    since = datetime.now(UTC) - timedelta(seconds=SKEW_S)
    job = await session.client.enqueue("ojs.probe", [], pending=True, expires_at="+PT1H")
    await session.client.cancel(job.id)
    begun = time.monotonic()
    while True:
        page = await session.client.events.read(job_ids=[job.id], since=since)
        waited = time.monotonic() - begun
        if page.events:
            return [Finding("stream", Verdict.OK, f"told a change after {waited:.1f} s")]
        if waited >= PROBE_S:
            break
        await asyncio.sleep(0.2)
    hint = "See docs/operations.md: events come late."
    return [Finding("stream", Verdict.BAD, f"told nothing within {PROBE_S:.0f} s", hint)]


# --------------------------------------------------------------------------------- deploy-check
async def _transport(session: Session) -> list[Finding]:
    is_local = any(host in session.url for host in ("//127.0.0.1", "//localhost", "//[::1]"))
    if session.url.startswith("https://"):
        return [Finding("transport", Verdict.OK, "HTTPS")]
    verdict = Verdict.LOOK if is_local else Verdict.BAD
    return [Finding("transport", verdict, "plain HTTP", "Use the https:// URL of the API.")]


async def _closed(session: Session) -> list[Finding]:
    """Nobody is answered without credentials."""
    from ojs_aws.domain.errors import OjsError  # noqa: PLC0415

    stranger = session.connect(session.url, "")
    try:
        await stranger.system.stats()
    except OjsError as problem:
        if code_of(problem) is ExitCode.REFUSED:
            return [Finding("access", Verdict.OK, "refused without credentials")]
        raise
    finally:
        await stranger.close()
    hint = "Give JobBackendProps an authorizer (docs/deploy.md)."
    return [Finding("access", Verdict.BAD, "everybody who knows the URL is an operator", hint)]


async def _settings(session: Session) -> list[Finding]:
    from ojs_aws._version import __version__  # noqa: PLC0415

    config = await session.client.system.config()
    given, about = config.get("settings"), config.get("implementation")
    settings: Mapping[str, JsonValue] = given if isinstance(given, dict) else {}
    version = about.get("version") if isinstance(about, dict) else None
    found = [
        Finding("version", Verdict.OK, f"{version}")
        if version == __version__
        else Finding(
            "version",
            Verdict.LOOK,
            f"{version}; this is {__version__}",
            "Deploy, or install the same.",
        )
    ]
    rules: list[tuple[str, bool, Verdict, str, str]] = [
        ("test mode", settings.get("test_mode") is True, Verdict.BAD, "on", "Unset OJS_TEST_MODE."),
        (
            "undeclared queues",
            settings.get("allow_undeclared_queues") is True,
            Verdict.LOOK,
            "anybody who may enqueue makes queues",
            "Declare queues, and set OJS_ALLOW_UNDECLARED_QUEUES=0.",
        ),
        (
            "backtraces",
            settings.get("redact_backtraces") is not True,
            Verdict.LOOK,
            "kept with failures, and shown to operators",
            "OJS_REDACT_BACKTRACES=1 drops them.",
        ),
    ]
    for name, is_found, verdict, told, hint in rules:
        found.append(Finding(name, verdict, told, hint) if is_found else _fine(name))
    return found


def _fine(name: str) -> Finding:
    return Finding(name, Verdict.OK, "as it should be")


def _read_template(path: Path) -> Mapping[str, Any]:
    """A synthesised template.

    :raises ValueError: it cannot be read, or is none.
    """
    try:
        template = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise ValueError(f"{path} cannot be read: {problem.strerror}.") from None
    except ValueError:
        raise ValueError(f"{path} is no JSON.") from None
    if not isinstance(template, dict) or "Resources" not in template:
        raise ValueError(f"{path} is no CloudFormation template: it has no 'Resources'.")
    return template


def _template(template: Mapping[str, Any]) -> list[Finding]:
    """What a template promises: restorable tables, kept logs, alarms that reach somebody."""
    resources: Mapping[str, Any] = template.get("Resources", {})

    def of(kind: str) -> dict[str, Any]:
        return {
            name: each.get("Properties", {})
            for name, each in resources.items()
            if each.get("Type") == f"AWS::{kind}"
        }

    tables = of("DynamoDB::GlobalTable")
    silent = [
        name for name, each in of("CloudWatch::Alarm").items() if not each.get("AlarmActions")
    ]
    forever = [name for name, each in of("Logs::LogGroup").items() if "RetentionInDays" not in each]
    loose = [
        name
        for name, each in tables.items()
        for replica in each.get("Replicas", [])
        if not replica.get("DeletionProtectionEnabled")
    ]
    unsaved = [
        name
        for name, each in tables.items()
        for replica in each.get("Replicas", [])
        if not replica.get("PointInTimeRecoverySpecification", {}).get("PointInTimeRecoveryEnabled")
    ]
    rules = [
        ("alarms", silent, Verdict.BAD, "reach nobody", "Pass alarm_topic to JobBackendProps."),
        ("logs", forever, Verdict.LOOK, "are kept for ever", "Set a retention."),
        ("tables", loose, Verdict.LOOK, "can be deleted", "Turn deletion protection on."),
        ("backups", unsaved, Verdict.BAD, "cannot be restored", "Turn point-in-time recovery on."),
    ]
    return [
        Finding(name, verdict, f"{len(names)} {told}: {', '.join(names[:3])}", hint)
        if names
        else _fine(name)
        for name, names, verdict, told, hint in rules
    ]
