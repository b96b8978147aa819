"""Completes the history of a job for people: each attempt with its start, each death of a worker.

A job keeps the start of its latest attempt only. Those before it are in the event log for as long
as that goes back; an attempt that timed out also says how long it took.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue

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
