"""Show where an error was raised, in a form that people can read (core, section 8)."""

from __future__ import annotations

import traceback
from pathlib import Path
from types import TracebackType
from typing import Final

from ojs_aws.domain.jobs.failures import bound_backtrace

_OWN: Final = tuple(
    str(Path(__file__).resolve().parents[2] / name) for name in ("worker", "middleware")
)
_MACHINERY: Final = ("asyncio", "threading.py", "concurrent", "contextvars")


def backtrace_of(problem: BaseException) -> tuple[str, ...]:
    """Return the frames of an error, of its causes and of the members of a group.

    The innermost frame is first. Frames of the worker, of the chain and of what runs coroutines and
    threads are left out, and the last line says how many. At most 50 lines and 10,000 characters.
    """
    lines: list[str] = []
    left_out = 0
    seen: set[int] = set()
    pending = [("", problem)]
    while pending:
        title, error = pending.pop()
        if id(error) in seen:
            continue
        seen.add(id(error))
        frames, also_left_out = _frames(error.__traceback__)
        lines += [title, *frames] if title else frames
        left_out += also_left_out
        pending += reversed(_behind(error))
    if not left_out:
        return bound_backtrace(lines)
    note = f"({left_out} frames of the worker and of its middleware chain left out)"
    return (*bound_backtrace(lines, but=note), note)


def _behind(error: BaseException) -> list[tuple[str, BaseException]]:
    """Return the members of a group and the cause of an error, each with a line that names it."""
    members = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    behind = [("with", member) for member in members]
    if error.__cause__ is not None:
        behind.append(("caused by", error.__cause__))
    return [(f"{how} {type(one).__name__}: {str(one)[:200]}", one) for how, one in behind]


def _frames(trace: TracebackType | None) -> tuple[list[str], int]:
    """Return the frames that are shown, and how many are not."""
    summary = traceback.extract_tb(trace)
    shown = [frame for frame in summary if not _is_own(frame.filename)]
    texts = [
        f"{frame.filename}:{frame.lineno} in {frame.name}"
        + (f": {frame.line}" if frame.line else "")
        for frame in reversed(shown)
    ]
    return texts, len(summary) - len(shown)


def _is_own(filename: str) -> bool:
    if filename.startswith(_OWN):
        return True
    path = Path(filename)
    is_library = "python3" in filename or "lib" in path.parts
    return is_library and bool({*path.parts} & {*_MACHINERY})
