"""Shortens tracebacks to the frames of the application, which are what people can change."""

from __future__ import annotations

import itertools
import os
import traceback
from pathlib import Path
from types import TracebackType
from typing import Final

_PACKAGE: Final = str(Path(__file__).parents[1]) + os.sep
_LIBRARY: Final = str(Path(os.__file__).parent) + os.sep
_IMPORTING: Final = ("<frozen importlib", f"{os.sep}importlib{os.sep}__init__.py")


def own_traceback(problem: BaseException) -> TracebackType | None:
    """Return the traceback of an error from the first frame of the application on.

    Before it are frames of this package, and of Python's library, by which it calls a handler. None
    for an error that only has such frames.
    """
    frames = problem.__traceback__
    while frames is not None and _calls_handlers(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    return frames


def own_lines(problem: BaseException) -> str:
    """Return the traceback of an error and of its causes, without the frames of this package."""
    whole = traceback.TracebackException.from_exception(problem)
    part: traceback.TracebackException | None = whole
    while part is not None:
        first = itertools.dropwhile(lambda frame: _calls_handlers(frame.filename), part.stack)
        part.stack = traceback.StackSummary.from_list(
            [frame for frame in first if not is_internal(frame.filename)]
        )
        part = part.__cause__ or part.__context__
    return "".join(whole.format()).rstrip()


def _calls_handlers(filename: str) -> bool:
    """Return whether a file is of this package or of Python's library."""
    is_installed = "site-packages" in filename or "dist-packages" in filename
    return is_internal(filename) or (filename.startswith(_LIBRARY) and not is_installed)


def is_internal(filename: str) -> bool:
    """Return whether a file is part of this package, or of Python's import."""
    return filename.startswith(_PACKAGE) or any(each in filename for each in _IMPORTING)
