"""Checks the names of states that a test expects."""

from __future__ import annotations

from ojs_aws.domain.job import JobState
from ojs_aws.testing.spelling import nearest


def checked_state(name: object) -> JobState:
    """Return the state of a name.

    :raises ValueError: there is no such state.
    """
    states = [str(state) for state in JobState]
    if name not in states:
        raise ValueError(
            f"There is no state {name!r}.{nearest(str(name), states)} The states are "
            f"{', '.join(states)}."
        )
    return JobState(str(name))
