"""Finds what the functions' code is made of, in a checkout and in an installed package.

A checkout has the entry points (``functions/``) and the lock files beside ``ojs_aws``. A wheel has
them in ``data/`` beside this module: ``ojs_aws`` is then all that is installed, and an application
may have packages ``functions`` and ``infra`` of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).resolve().parent
_DATA: Final = _HERE / "data"

PACKAGE: Final = _HERE.parent
"""The folder of ``ojs_aws`` itself."""

_BESIDE: Final = _DATA if _DATA.is_dir() else PACKAGE.parent

FUNCTIONS: Final = _BESIDE / "functions"
"""The folder of the entry points; the handlers in a bundle are ``functions.<name>.handler``."""

LOCK: Final = _BESIDE / "requirements-lambda.lock"
"""The packages of a function with their hashes."""

TRACING_LOCK: Final = _BESIDE / "requirements-lambda-tracing.lock"
"""The same, and what a function needs beside them to be traced."""
