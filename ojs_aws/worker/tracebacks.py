"""Shortens tracebacks to the frames of the application, which are what people can change."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Final

_PACKAGE: Final = str(Path(__file__).parents[1]) + os.sep
_IMPORTING: Final = ("<frozen importlib", f"{os.sep}importlib{os.sep}__init__.py")


def own_traceback(problem: BaseException) -> TracebackType | None:
    """Return the traceback of an error from the first frame outside this package on.

    None for an error that only has frames of this package.
    """
    traceback = problem.__traceback__
    while traceback is not None and is_internal(traceback.tb_frame.f_code.co_filename):
        traceback = traceback.tb_next
    return traceback


def is_internal(filename: str) -> bool:
    """Return whether a file is part of this package, or of Python's import."""
    return filename.startswith(_PACKAGE) or any(each in filename for each in _IMPORTING)
