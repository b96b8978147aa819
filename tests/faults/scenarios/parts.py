"""What scenarios are made of."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from tests.faults.world import World

FIRST: Final = "01990000-0000-7000-8000-000000000001"
WORKFLOW: Final = "01990000-0000-7000-8000-0000000000ff"
"""Ids that clients choose."""


def _text(count: int) -> str:
    """A text that does not deflate well."""
    return "".join(hashlib.sha256(bytes([n])).hexdigest() for n in range(count))


ITEM: Final = _text(35)
"""A text that does not fit a job's item, and is kept in one of its own."""
OBJECT: Final = _text(140)
"""A text that is kept in S3."""

QUICK: Final = {"max_attempts": 3, "initial_interval": "PT1S", "jitter": False}
ONCE: Final = {"max_attempts": 1}
DEAD: Final = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
ALONE: Final = {"key": "api", "concurrency": 1}


def held(world: World, **attributes: Any) -> str:
    """A job that w1 holds and that the stream has published."""
    job_id = world.push(**attributes)
    world.fetch()
    world.flow()
    return job_id


def dead(world: World, **attributes: Any) -> str:
    """A dead letter."""
    job_id = held(world, **{"retry": DEAD, **attributes})
    world.fail(job_id)
    world.flow()
    return job_id
