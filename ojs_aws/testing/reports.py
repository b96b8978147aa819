"""Words the messages of assertions: the nearest job first, and in what it differs."""

from __future__ import annotations

import difflib
import itertools
import pprint
from collections.abc import Sequence
from typing import Any, Final

from ojs_aws.testing.jobs import EnqueuedJob
from ojs_aws.testing.matching import Criteria, Difference, shortened

MAX_SHOWN: Final = 10
MAX_DIFFERENCES: Final = 5
MAX_LINES: Final = 20
LONG: Final = 60
"""Characters of a value beyond which only the part is shown that differs."""


def not_found(
    claim: str, criteria: Criteria, jobs: Sequence[EnqueuedJob[Any]], *, nothing: str
) -> str:
    """Return the message that no job is as expected.

    :param claim: what was expected of a job: ``was enqueued``.
    :param nothing: said where there are no jobs at all.
    """
    first = f"No job {criteria} {claim}."
    if not jobs:
        return f"{first} {nothing}"
    ranked = sorted(jobs, key=lambda job: _distance(criteria, job))
    return "\n".join([first, "", *_listing(criteria, ranked)])


def wrong_count(
    claim: str,
    criteria: Criteria,
    count: int,
    matching: Sequence[EnqueuedJob[Any]],
    jobs: Sequence[EnqueuedJob[Any]],
) -> str:
    """Return the message that other than ``count`` jobs are as expected."""
    found = len(matching)
    lines = [
        f"Expected {jobs_of(count)} {criteria} that {_of(count, claim)}, and found {found}:",
        "",
    ]
    lines += [f"  {headline(job)}" for job in matching[:MAX_SHOWN]]
    lines += _more(found)
    ids = {job.id for job in matching}
    others = [job for job in jobs if job.id not in ids]
    if found < count and others:
        ranked = sorted(others, key=lambda job: _distance(criteria, job))
        lines += ["", "The others differ:", *_listing(criteria, ranked)]
    return "\n".join(lines)


def unexpected(claim: str, criteria: Criteria, matching: Sequence[EnqueuedJob[Any]]) -> str:
    """Return the message that jobs are as they must not be."""
    shown = [f"  {headline(job)}  args={shortened(job.args)}" for job in matching[:MAX_SHOWN]]
    count = len(matching)
    first = f"{jobs_of(count)} {criteria} {_of(count, claim)}, and none should be:"
    return "\n".join([first, "", *shown, *_more(count)])


def jobs_of(count: int) -> str:
    """Return a number of jobs in words."""
    return "1 job" if count == 1 else f"{count} jobs"


def _of(count: int, claim: str) -> str:
    """Return what is claimed of a number of jobs: ``was enqueued``, or ``were enqueued``."""
    return claim if count == 1 else claim.replace("was ", "were ", 1)


def held_back(count: int) -> str:
    """Return what to say of jobs in an outbox, whose transaction has not committed."""
    wait, them = ("waits", "it") if count == 1 else ("wait", "them")
    return (
        f"\n\n{jobs_of(count)} {wait} for a commit: the transaction that enqueued {them} "
        "is open. Django's TestCase never commits: use TransactionTestCase, or run the block in "
        "self.captureOnCommitCallbacks(execute=True)."
    )


def headline(job: EnqueuedJob[Any]) -> str:
    """Return one line about a job."""
    attempt = f", attempt {job.attempt}" if job.attempt else ""
    return f"{job.type} {job.id} on {job.queue!r} ({job.state}{attempt})"


def _listing(criteria: Criteria, ranked: Sequence[EnqueuedJob[Any]]) -> list[str]:
    lines = ["There is:" if len(ranked) == 1 else f"There are {len(ranked)}, the nearest first:"]
    for job in ranked[:MAX_SHOWN]:
        lines.append(f"  {headline(job)}")
        differences = criteria.differences(job)
        for difference in differences[:MAX_DIFFERENCES]:
            lines += _difference(difference)
        if len(differences) > MAX_DIFFERENCES:
            lines.append(f"      ... and {len(differences) - MAX_DIFFERENCES} more differences")
    return lines + _more(len(ranked))


def _more(count: int) -> list[str]:
    left = count - MAX_SHOWN
    return [f"  ... and {left} more"] if left > 0 else []


def _difference(found: Difference) -> list[str]:
    expected, actual = repr(found.expected), repr(found.actual)
    if len(expected) + len(actual) > LONG * 2:
        if isinstance(found.expected, str) and isinstance(found.actual, str):
            expected, actual = _around(found.expected, found.actual)
        else:
            return _by_line(found)
    return [f"      {found.place}: expected {expected}, is {actual}"]


def _around(expected: str, actual: str) -> tuple[str, str]:
    """Return what two long texts are where they differ first."""
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(expected, actual, strict=False))
    at = sum(1 for _ in same)
    begin, end = max(0, at - LONG // 2), at + LONG // 2
    before = "..." if begin else ""
    shown = [
        f"{before}{text[begin:end]!r}{'...' if len(text) > end else ''}"
        for text in (expected, actual)
    ]
    return shown[0], f"{shown[1]} at character {at + 1}"


def _by_line(found: Difference) -> list[str]:
    expected, actual = (pprint.pformat(e, width=70) for e in (found.expected, found.actual))
    changed = difflib.unified_diff(expected.splitlines(), actual.splitlines(), n=1, lineterm="")
    lines = [*changed][2:]
    left = len(lines) - MAX_LINES
    shown = [f"        {line}" for line in lines[:MAX_LINES]]
    more = [f"        ... and {left} more lines"] if left > 0 else []
    return [f"      {found.place} (- expected, + is):", *shown, *more]


def _distance(criteria: Criteria, job: EnqueuedJob[Any]) -> tuple[bool, int, float]:
    """Return how far a job is from what was expected, to sort by."""
    differences = criteria.differences(job)
    is_other = any(each.place == "type" for each in differences)
    likeness = sum(_likeness(each) for each in differences)
    return is_other, len(differences), len(differences) - likeness


def _likeness(found: Difference) -> float:
    expected, actual = repr(found.expected)[:200], repr(found.actual)[:200]
    return difflib.SequenceMatcher(None, expected, actual).ratio()
