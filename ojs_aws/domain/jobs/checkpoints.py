"""Reads and writes the notes of a checkpoint, kept beside its state (ojs-durable-execution).

The official Python and JavaScript SDKs save the log of side effects that they replay in
``metadata``, and the number of the step in ``step_index``. Both are kept word for word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ojs_aws.domain.attributes import invalid
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import Checkpoint
from ojs_aws.domain.json_text import Member, RawJson, assemble, stored_texts

NOTES: Final = ("step_index", "metadata")
"""Members of a checkpoint that a worker may give beside its state."""

MAX_STEP: Final = 2**53 - 1


def read_notes(members: Mapping[str, Member]) -> dict[str, RawJson]:
    """Return the notes in a body; null counts as not given.

    :raises InvalidRequestError: ``step_index`` is no whole number, or ``metadata`` no object.
    """
    given = {
        name: members[name] for name in NOTES if name in members and members[name].value is not None
    }
    step = given["step_index"].value if "step_index" in given else 0
    if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step <= MAX_STEP:
        raise invalid("step_index", f"a whole number from 0 to {MAX_STEP}", step)
    metadata: JsonValue = given["metadata"].value if "metadata" in given else {}
    if not isinstance(metadata, dict):
        raise invalid("metadata", "an object", metadata)
    return {name: member.raw for name, member in given.items()}


def with_notes(state: RawJson, notes: Mapping[str, RawJson]) -> RawJson:
    """Return the document to store: the state alone, or an object of the state and its notes."""
    return assemble({"state": state, **notes}) if notes else state


def opened(saved: Checkpoint) -> dict[str, RawJson]:
    """Return the state of a checkpoint and its notes; nothing if the document was not read."""
    if not isinstance(saved.state, str):
        return {}
    return stored_texts(saved.state) if saved.has_notes else {"state": saved.state}
