"""Where an error was raised, as people want to read it (core, section 8)."""

from __future__ import annotations

import traceback
from pathlib import Path
from types import TracebackType
from typing import Final

from ojs_aws.domain.failures import bound_backtrace

_OWN: Final = tuple(
    str(Path(__file__).resolve().parents[1] / name) for name in ("worker", "middleware")
)
_MACHINERY: Final = ("asyncio", "threading.py", "concurrent", "contextvars")


def backtrace_of(problem: BaseException) -> tuple[str, ...]:
    """The frames of an error, innermost first, and of what caused it.

    Frames of the worker, of the chain and of what runs coroutines and threads are left out, and
    the last line says how many. At most 50 lines and 10,000 characters.
    """
    frames, left_out = _frames(problem.__traceback__)
    cause = problem.__cause__
    seen = {id(problem)}
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        frames.append(f"caused by {type(cause).__name__}: {str(cause)[:200]}")
        more, also_left_out = _frames(cause.__traceback__)
        frames += more
        left_out += also_left_out
        cause = cause.__cause__
    if frames and left_out:
        frames.append(f"({left_out} frames of the worker and of its middleware chain left out)")
    return bound_backtrace(frames)


def _frames(trace: TracebackType | None) -> tuple[list[str], int]:
    """The frames that are shown, and how many are not."""
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
