"""Jobs as tests describe them: by the parameters of ``Job``, and by names of the wire."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.jobs.attributes import PARAMETERS

_PARAMETERS: Final = frozenset(PARAMETERS.values()) | {"custom_attributes"}
_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyz0123456789"
_LETTER_OF_BYTE: Final = (_LETTERS * 8)[:256]


def any_job(type: str, args: Sequence[Any] = (), **members: Any) -> Job:  # noqa: A002
    """Make a job; members that ``Job`` has no parameter for are custom attributes."""
    custom = {name: value for name, value in members.items() if name not in _PARAMETERS}
    given = {name: value for name, value in members.items() if name in _PARAMETERS}
    job = Job(type, args, **given)
    for name, value in custom.items():
        job[name] = value
    return job


def noise(size: int, seed: int = 1) -> str:
    """Return text of so many letters and digits that cannot be compressed much."""
    return random.Random(seed).randbytes(size).translate(_LETTER_OF_BYTE).decode()
