"""Reports about jobs: histories of attempts, totals of lists, and what a bulk change left."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

from ojs_aws.cli.terminal.tables import age_text, counted, with_ages

if TYPE_CHECKING:
    from ojs_aws.cli.terminal.output import Output
    from ojs_aws.client.areas.entries import JobEntry
    from ojs_aws.domain.errors import JsonValue

FIRST: Final = 5
LAST: Final = 15
"""Frames of a traceback that are shown; what is between the first and the last is left out."""
CAUSED_BY: Final = "caused by "
MEMBER: Final = "with "
"""Before the error of the frames that follow: a cause, or a member of a group."""
_CAUSE: Final = "The above exception was the direct cause of the following exception:"
_TRACEBACK: Final = "Traceback (most recent call last):"
_FRAME: Final = re.compile(r"(?P<file>.+?):(?P<line>\d+) in (?P<name>[\w<>.]+)(?:: (?P<code>.*))?")
_NOTE: Final = re.compile(r"\(\d+ frames .* left out\)")
_SHOWN: Final = frozenset(
    {"type", "message", "code", "backtrace", "attempt", "occurred_at", "timestamp"}
)
MAX_NAMED: Final = 20
"""Jobs that are named."""


def show_failures(out: Output, job: Mapping[str, JsonValue]) -> None:
    """Print each failed attempt that the job's errors name, the latest last."""
    errors = job.get("errors")
    kept = errors if isinstance(errors, list) and errors else [job.get("error")]
    failures = [each for each in kept if isinstance(each, dict)]
    if failures:
        out.text("\n" + "\n\n".join("\n".join(failure_lines(each)) for each in failures))


def show_job_with_failures(out: Output, job: Mapping[str, JsonValue]) -> None:
    """Print the members of a job, and then its failed attempts."""
    out.fields(job, with_ages(job), hidden={"error", "errors", "specversion"})
    show_failures(out, job)


def message_of_job(job: JobEntry) -> object:
    """Return the message of a job's latest error."""
    error = job.described.get("error")
    return error.get("message") if isinstance(error, dict) else ""


def failure_lines(error: Mapping[str, object]) -> Iterator[str]:
    """Yield the lines about one failed attempt, its traceback as Python prints it."""
    when = error.get("occurred_at")
    ago = f" ({age_text(when)} ago)" if when else ""
    yield f"Attempt {error.get('attempt')} failed at {when}{ago}"
    text = f"{error.get('type')}: {error.get('message')}"
    frames = error.get("backtrace")
    stored = [str(each) for each in frames] if isinstance(frames, list) else []
    for line in _traceback(text, stored):
        yield textwrap.indent(line, "  ")
    if (code := error.get("code")) not in {None, "", "handler_error", error.get("type")}:
        yield f"  code: {code}"
    for name in [each for each in error if each not in _SHOWN]:
        value = error[name]
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield f"  {name}: {shown}"


def _traceback(text: str, stored: Sequence[str]) -> Iterator[str]:
    """Yield an error with its frames; causes come first, as Python prints them."""
    notes = [each for each in stored if _NOTE.fullmatch(each)]
    sections: list[tuple[str, list[str]]] = [(text, [])]
    for each in stored:
        if each.startswith((CAUSED_BY, MEMBER)):
            sections.append((each, []))
        elif each not in notes:
            sections[-1][1].append(each)
    if all(title.startswith(CAUSED_BY) for title, _ in sections[1:]):
        for title, frames in reversed(sections[1:]):
            yield from _section(title.removeprefix(CAUSED_BY), frames)
            yield from ("", _CAUSE, "")
        yield from _section(text, sections[0][1])
    else:  # an exception group: its members follow it
        for title, frames in sections:
            yield from _section(title, frames)
    yield from notes


def _section(title: str, frames: Sequence[str]) -> Iterator[str]:
    """Yield the frames of one error, and then the error."""
    matches = [_FRAME.fullmatch(each) for each in frames]
    if not any(matches):  # of a worker in another language, which has its own order
        yield title
        yield from (f"  {each}" for each in frames)
        return
    yield _TRACEBACK
    calls = [
        f'  File "{match["file"]}", line {match["line"]}, in {match["name"]}'
        + (f"\n    {match['code']}" if match["code"] else "")
        if match
        else f"  {frame}"
        for frame, match in zip(reversed(frames), reversed(matches), strict=True)
    ]
    left_out = len(calls) - FIRST - LAST
    if left_out > 1:
        note = f"  ... {left_out} frames are not shown; --json prints them all"
        calls[FIRST:-LAST] = [note]
    yield from calls
    yield title


class ListPage(Protocol):
    """Is a page of a list, as the client returns it."""

    @property
    def cursor(self) -> str:
        """Return where the next page starts; empty on the last one."""

    @property
    def total(self) -> int:
        """Return how many match."""

    @property
    def total_is(self) -> str:
        """Return how sure that is."""


def total_members(shown: int, read: Sequence[ListPage]) -> dict[str, JsonValue]:
    """Return the total of a list for JSON, and how sure it is.

    :param shown: entries that were read, over all pages.
    :param read: the pages.
    """
    total, kind = _total(shown, read)
    return {"total": total, "total_is": kind, "total_is_exact": kind == "exact"}


def more_text(thing: str, shown: int, read: Sequence[ListPage]) -> str:
    """Return what to say of the rest of a list; empty if there is none.

    :param thing: what is listed, in the singular.
    """
    if not read[-1].cursor:
        return ""
    total, kind = _total(shown, read)
    least = {"exact": "of", "estimate": "of about"}.get(kind, "of at least")
    about = f" {least} {total}" if total > shown else ", and there may be more"
    return f"{counted(shown, thing)}{about}; show more with --limit."


def _total(shown: int, read: Sequence[ListPage]) -> tuple[int, str]:
    if not read[-1].cursor:
        return shown, "exact"
    first = read[0]
    if first.total < shown:
        return shown, "estimate" if first.total_is == "estimate" else "at_least"
    return first.total, first.total_is


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


Row = Mapping[str, "JsonValue"]
_DIED: Final = "worker_death"


def timeline(
    history: Sequence[Row], events: Sequence[Row], last_seen: Mapping[str, str]
) -> list[Row]:
    """Return the rows of a job's history in the order of time, with what it leaves out.

    :param events: those of the job, as the event log has them.
    :param last_seen: when each worker was last heard of, by its id, in RFC 3339.
    """
    rows = [*history]
    for failed in (each for each in history if each.get("what") == "attempt_failed"):
        at, attempt = str(failed.get("at")), failed.get("attempt")
        start = _start_of(failed, events)
        known = (each for each in history if each.get("what") == "started")
        if start and not any(each.get("at") == start["at"] for each in known):
            rows.append({**start, "attempt": attempt})
        seen = last_seen.get(str(start.get("on", ""))) if start and died(failed) else None
        if seen is not None and seen <= at:
            rows.append({"at": seen, "what": "worker_last_seen", "attempt": attempt})
    return sorted(rows, key=lambda row: str(row.get("at")))  # stable: as the server has them


def died(failed: Row) -> bool:
    """Return whether an attempt failed because its worker died."""
    error = failed.get("error")
    return isinstance(error, dict) and error.get("type") == _DIED


def dead_workers(history: Sequence[Row], events: Sequence[Row]) -> set[str]:
    """Return the ids of the workers that died with the job, as far as the event log knows them."""
    starts = (_start_of(each, events) for each in history if died(each))
    return {str(start["on"]) for start in starts if start and start.get("on")}


def _start_of(failed: Row, events: Iterable[Row]) -> Row | None:
    """Return when an attempt began, and on which worker; None if nobody knows it."""
    at, attempt = str(failed.get("at")), failed.get("attempt")
    for event in reversed([*events]):
        about = event.get("data")
        if event.get("type") != "job.started" or not isinstance(about, dict):
            continue
        if about.get("attempt") == attempt and str(event.get("time")) <= at:
            return {"at": event.get("time"), "what": "started", "on": about.get("worker_id")}
    error = failed.get("error")
    took = error.get("elapsed_seconds") if isinstance(error, dict) else None
    if not isinstance(took, int | float):
        return None
    began = datetime.fromisoformat(at) - timedelta(seconds=took)
    text = began.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"at": text, "what": "started"}
