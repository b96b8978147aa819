"""The results of a conformance run as a table for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ojs_aws.cli.verify.conformance.cases import EXTENSION_LEVEL
from ojs_aws.cli.verify.conformance.runner import CaseOutcome, CaseVerdict

_MARKS = {CaseOutcome.PASSED: "pass", CaseOutcome.FAILED: "FAIL", CaseOutcome.UNJUDGEABLE: "n/a "}


def line(verdict: CaseVerdict) -> str:
    """One case: verdict, level, id, seconds and name, then what was not as asserted."""
    case = verdict.case
    head = (
        f"{_MARKS[verdict.outcome]}  {_level_name(case.level):<3} {case.id:<34} "
        f"{verdict.seconds:6.1f} s  {case.name}"
    )
    return "\n".join([head, *(f"        {finding}" for finding in verdict.findings)])


def summary(verdicts: Sequence[CaseVerdict], seconds: float) -> str:
    """How many cases of each level came out how."""
    rows = [f"{'level':<8}{'passed':>8}{'failed':>8}{'n/a':>8}"]
    for level in sorted({verdict.case.level for verdict in verdicts}):
        counts = Counter(v.outcome for v in verdicts if v.case.level == level)
        cells = "".join(f"{counts[outcome]:>8}" for outcome in CaseOutcome)
        rows.append(f"{_level_name(level):<8}{cells}")
    totals = Counter(verdict.outcome for verdict in verdicts)
    rows.append(f"{'all':<8}" + "".join(f"{totals[outcome]:>8}" for outcome in CaseOutcome))
    return "\n".join(["", *rows, "", f"{len(verdicts)} cases in {seconds:.1f} s"])


def _level_name(level: int) -> str:
    return "ext" if level == EXTENSION_LEVEL else str(level)
