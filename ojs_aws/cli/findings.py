"""Reports what checks of a deployment find."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

import typer

from ojs_aws.cli.session import ExitCode, Session, code_of


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
    told: str
    hint: str = ""


Check = Callable[[Session], Awaitable[list[Finding]]]
"""Looks at one thing; its name, where it fails, is its function's."""


def fine(name: str) -> Finding:
    """Return the finding of a check without problems."""
    return Finding(name, Verdict.OK, "as it should be")


async def report(session: Session, checks: Sequence[Check]) -> None:
    """Run the checks and show what they found; a check that fails is a finding, too.

    :raises typer.Exit: with CHECK_FAILED where anything is bad.
    """
    from ojs_aws.domain.errors import OjsError

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
            "findings": [asdict(each) for each in findings],
        },
        ("Check", "", "Found", "What to do"),
        [(each.check, str(each.verdict), each.told, each.hint) for each in findings],
    )
    if is_bad:
        raise typer.Exit(ExitCode.CHECK_FAILED)
