"""Finds queues in which most executions fail, and names the error that they share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.queues.tallies import TallyKind
from ojs_aws.services.system.finding import MAX_NAMED, Finding, FindingCode
from ojs_aws.services.system.statistics import RECENT_MS

if TYPE_CHECKING:
    from ojs_aws.domain.jobs.failure_groups import FailureGroup
    from ojs_aws.services.system.failure_groups import QueuesGroup
    from ojs_aws.services.system.statistics import Totals

FAILING: Final = 0.5
MIN_FAILED: Final = 10
"""A queue is failing if so many executions failed of late, and they are this share of all."""

NONE_FAILING: Final = (
    f"No queue fails at present: that would be at least {MIN_FAILED} failures in "
    f"{RECENT_MS // 60_000} minutes, and {FAILING:.0%} of its executions."
)
"""What is normal about failures."""

_Failing = tuple[int, int, str]
"""How many executions of a queue failed and ended, and its name."""


def failing_queues(totals: Totals, groups: Sequence[QueuesGroup]) -> list[Finding]:
    """Say in which queues most executions of the last minutes failed, the most failures first.

    Queues that share their most frequent error are one finding: a service that their jobs call
    fails all of them.

    :param groups: the failures of the last hours, the largest group first; none if the caller may
        not read errors.
    """
    causes: dict[tuple[str, str], FailureGroup] = {}
    together: defaultdict[tuple[str, str], list[_Failing]] = defaultdict(list)
    for each in sorted(_failing(totals), key=lambda each: (-each[0], each[2])):
        queue = each[2]
        cause = next((one.group for one in groups if queue in one.queues), None)
        name = ("", queue) if cause is None else cause.name
        together[name].append(each)
        if cause is not None:
            causes[name] = cause
    found = [_finding(queues, causes.get(name)) for name, queues in together.items()]
    return found[:MAX_NAMED]


def _failing(totals: Totals) -> list[_Failing]:
    found = []
    for name, (_, did) in totals.by_queue.items():
        failed = did.counts[TallyKind.FAILED] + did.counts[TallyKind.RETRIED]
        ended = failed + did.counts[TallyKind.COMPLETED]
        if failed >= MIN_FAILED and failed >= FAILING * ended:
            found.append((failed, ended, name))
    return found


def _finding(queues: Sequence[_Failing], cause: FailureGroup | None) -> Finding:
    failed = sum(failed for failed, _, _ in queues)
    ended = sum(ended for _, ended, _ in queues)
    names = [each[2] for each in queues[:MAX_NAMED]]
    where = " and ".join(f"'{each}'" for each in names)
    text = (
        f"In queue{'s' if len(names) > 1 else ''} {where} {failed} of {ended} executions failed "
        f"in the last {RECENT_MS // 60_000} minutes."
    )
    data: dict[str, JsonValue] = {"queue": names[0], "failed": failed, "ended": ended}
    if len(names) > 1:
        data["queues"] = [*names]
    if cause is not None:
        example = (cause.example or cause.message).rstrip(".")
        text += f" The most frequent error: {cause.type}: {example}".rstrip(" :") + "."
        data |= {"error_type": cause.type, "error": cause.message}
    only = f" -q {names[0]}" if len(names) == 1 else ""
    return Finding(
        code=FindingCode.JOBS_FAIL,
        check="failures",
        message=text,
        hint="If they call a service that is down, pause their queues until it is back; else stop "
        f"what fails: ojs-aws errors{only}",
        data=data,
    )
