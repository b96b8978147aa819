"""Describes what a change of many jobs left as it was: which jobs, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ojs_aws.cli.options import counted

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue

MAX_NAMED: Final = 20
"""Jobs that are named."""


def left_text(failed: Sequence[tuple[str, str]], thing: str, unmatched: int) -> str:
    """Return lines about the jobs that could not be changed; the first ones are named.

    :param failed: the id of each, and why.
    :param thing: what they are called.
    :param unmatched: how many were counted, and matched no longer when they were to be changed.
    """
    lines = [f"{counted(unmatched, thing)} no longer matched."] if unmatched > 0 else []
    if failed:
        lines.append(f"{counted(len(failed), thing)} could not be changed:")
    lines += [f"  {each}: {why}" for each, why in failed[:MAX_NAMED]]
    if len(failed) > MAX_NAMED:
        lines.append(f"  and {len(failed) - MAX_NAMED} more")
    return "".join(f"\n{each}" for each in lines)


def outcome_members(
    action: str, done: int, failed: Sequence[tuple[str, str]]
) -> dict[str, JsonValue]:
    """Return for scripts how many jobs were changed, and the same about the others."""
    errors: list[JsonValue] = [{"job_id": each, "error": why} for each, why in failed[:MAX_NAMED]]
    return {"action": action, "succeeded": done, "failed": len(failed), "errors": errors}
