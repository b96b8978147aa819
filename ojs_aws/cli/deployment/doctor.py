"""Implements ``ojs-aws doctor`` and ``ojs-aws whoami``: checks a deployment and your access."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ojs_aws.cli.terminal.session import WHO, ExitCode, Session, code_of, command

if TYPE_CHECKING:
    from ojs_aws.cli.terminal.output import Output
    from ojs_aws.client.areas.system import Finding as ServerFinding


class Verdict(StrEnum):
    """Names the result of a check."""

    OK = "ok"
    LOOK = "look"
    """Perhaps as it should be; somebody should look."""
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """Says what one check found, and what to do about it."""

    check: str
    verdict: Verdict
    text: str
    hint: str = ""


Check = Callable[[Session], Awaitable[list[Finding]]]
"""Looks at one thing; its name, where it fails, is its function's."""


def judged(
    check: str, is_well: object, text: str, hint: str, otherwise: Verdict = Verdict.LOOK
) -> Finding:
    """Return a finding that is OK where ``is_well``; else ``otherwise``, with the hint."""
    if is_well:
        return Finding(check, Verdict.OK, text)
    return Finding(check, otherwise, text, hint)


def found_by(rules: Iterable[tuple[str, object, Verdict, str, str]]) -> list[Finding]:
    """Return a finding for each rule: its name, whether it is broken, and what to say then."""
    return [
        Finding(name, verdict, text, hint)
        if is_broken
        else Finding(name, Verdict.OK, "as it should be")
        for name, is_broken, verdict, text, hint in rules
    ]


async def found_by_checks(session: Session, checks: Sequence[Check]) -> list[Finding]:
    """Run the checks and return what they found; a check that fails is a finding, too."""
    from ojs_aws.domain.errors import OjsError

    findings: list[Finding] = []
    for check in checks:
        try:
            findings += await check(session)
        except OjsError as problem:
            name = check.__name__.strip("_").replace("_", " ")
            code = code_of(problem)
            hint = WHO if code is ExitCode.REFUSED else problem.hint
            findings.append(Finding(name, Verdict.BAD, problem.message, hint))
            if code is ExitCode.UNREACHABLE:
                break  # nothing else would be answered either
    return findings


async def report(session: Session, checks: Sequence[Check]) -> None:
    """Run the checks and show what they found.

    :raises typer.Exit: with CHECK_FAILED where anything is bad.
    """
    if not show_findings(session.out, await found_by_checks(session, checks)):
        raise typer.Exit(ExitCode.CHECK_FAILED)


def show_findings(out: Output, findings: Sequence[Finding]) -> bool:
    """Print findings, and return whether none of them is bad."""
    is_bad = any(each.verdict is Verdict.BAD for each in findings)
    out.table(
        {
            "ok": not is_bad,
            "findings": [asdict(each) for each in findings],
        },
        ("Check", "", "Found", "What to do"),
        [(each.check, str(each.verdict), each.text, each.hint) for each in findings],
        is_whole=True,
    )
    return not is_bad


SKEW_S: Final = 5.0
SLOW_MS: Final = 1000.0
PROBE_S: Final = 30.0


app = typer.Typer()


@command(app, "doctor", epilog="Example: ojs-aws doctor --probe")
async def doctor(
    session: Session,
    probe: Annotated[
        bool,
        typer.Option(
            "--probe",
            help="Enqueue a pending job, cancel it, and wait for the event: this measures how far "
            "behind the stream is.",
        ),
    ] = False,
) -> None:
    """Check a running deployment: reachability, credentials, clocks, and what the server finds.

    The exit code is 7 if a check is "bad". A "look" does not change the exit code.
    """
    await report(session, [*CHECKS, *PROBES] if probe else CHECKS)


@command(app, "whoami", epilog="Example: ojs-aws whoami")
async def whoami(session: Session) -> None:
    """Show who the server takes you for: name, scopes, and the queues and types you may use."""
    caller = await session.client.system.whoami()
    members = asdict(caller)
    shown = {
        "Name": caller.name or caller.id or "anybody: the server asks for no key",
        "Scopes": ", ".join(caller.scopes),
        "Queues": ", ".join(caller.queues) or "all",
        "Types": ", ".join(caller.types) or "all",
    }
    session.out.fields(members, shown.items())


async def _health(session: Session) -> list[Finding]:
    begun = time.perf_counter()
    health = await session.client.admin.health()
    took_ms = (time.perf_counter() - begun) * 1000
    status = health.get("status")
    return [
        judged("server", status == "ok", f"says {status}", "See its backend.", Verdict.BAD),
        judged("latency", took_ms <= SLOW_MS, f"{took_ms:.0f} ms", "A cold start?"),
    ]


async def _findings(session: Session) -> list[Finding]:
    """Ask the server what it finds, and compare its clock with this machine's."""
    before = datetime.now(UTC)
    report = await session.client.system.findings(advice=True)
    after = datetime.now(UTC)
    there = datetime.fromisoformat(report.as_of)
    apart = max((before - there).total_seconds(), (there - after).total_seconds(), 0.0)
    hint = "Set this machine's clock; schedules it makes are off by that."
    found = [
        Finding("access", Verdict.OK, "the credentials may read what operators read"),
        judged("clock", apart <= SKEW_S, f"{apart:.1f} s apart", hint),
    ]
    problems = {each.check for each in report.findings}
    found += [
        Finding(check.replace("_", " "), Verdict.OK, message)
        for check, message in report.checks.items()
        if check not in problems
    ]
    return [*found, *map(_found, report.findings)]


def _found(finding: ServerFinding) -> Finding:
    """Return a finding of the server as a row, under the name of its queue if it has one."""
    queue = finding.data.get("queue")
    check = f"queue {queue}" if queue else finding.check.replace("_", " ")
    verdict = Verdict.BAD if finding.severity == "error" else Verdict.LOOK
    return Finding(check, verdict, finding.message, finding.hint)


async def _stream(session: Session) -> list[Finding]:
    """Measure how long a change takes to be published: of a job held back, then cancelled."""
    events = session.client.events
    page = await events.read(limit=1)  # its cursor is the end of the log, whatever clocks say
    job = await session.client.enqueue("ojs.probe", [], pending=True, expires_at="+PT1H")
    await session.client.cancel(job.id)
    begun = time.monotonic()
    while True:
        page = await events.read(job_ids=[job.id], cursor=page.cursor)
        waited = time.monotonic() - begun
        if page.events:
            return [Finding("stream", Verdict.OK, f"published a change after {waited:.1f} s")]
        if waited >= PROBE_S:
            break
        if not page.has_more:
            await asyncio.sleep(0.2)
    hint = "See docs/operations.md: events come late."
    return [Finding("stream", Verdict.BAD, f"published nothing within {PROBE_S:.0f} s", hint)]


CHECKS: Final[Sequence[Check]] = (_health, _findings)
PROBES: Final[Sequence[Check]] = (_stream,)
"""The checks that are always made, and those that change something."""
