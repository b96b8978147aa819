"""Settings of queues as clients write them: the command line writes some of them flat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ojs_aws.domain.errors import InvalidRequestError, JsonValue

FLAT: Final = ("concurrency", "max_size")
"""Settings of a new queue that may stand beside its name."""

_RETAINED: Final = ("completed", "discarded", "cancelled")


def read_new_queue(body: Mapping[str, JsonValue]) -> tuple[JsonValue, JsonValue]:
    """Return the name and the settings of a new queue.

    :raises InvalidRequestError: naming a member that a new queue does not have, or has twice.
    """
    flat = {name: body[name] for name in FLAT if body.get(name) is not None}
    config = body.get("config")
    others = sorted(body.keys() - {"name", "config", *FLAT})
    if isinstance(config, dict):
        others += sorted(flat.keys() & config.keys())
    if others:
        raise InvalidRequestError(
            f"A new queue has 'name' and 'config'; received '{others[0][:80]}'.",
            details={"field": others[0][:80], "allowed": ["name", "config"]},
            hint="Settings stand in 'config'.",
        )
    if config is None or isinstance(config, dict):
        return body.get("name"), read_settings({**flat, **(config or {})})
    return body.get("name"), config


def read_settings(body: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the settings of a body; one duration as ``retention`` is that of all ended jobs."""
    settings = {**body}
    if isinstance(retention := settings.get("retention"), str):
        settings["retention"] = dict.fromkeys(_RETAINED, retention)
    return settings
