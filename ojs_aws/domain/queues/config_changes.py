"""Changes the settings of queues, and checks each value (ojs-queue-config, sections 4 and 9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ojs_aws.domain.attributes import field_error, invalid
from ojs_aws.domain.errors import JsonValue, UnsupportedError
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.queues.config import Members, read_config
from ojs_aws.domain.queues.setting_rows import BACKPRESSURE, RETENTION, SETTINGS, span_of

MAX_CONFIG_BYTES: Final = 8192

SHARDS: Final = "ordering_shards"

_OF_ONE_QUEUE: Final = {
    "fairness": "Set it for each queue, or let the jobs name fairness keys.",
    SHARDS: "Set it for each wide queue (OJS_WIDE_QUEUES).",
}
"""Settings that the default policy cannot have, and what to do instead."""

_NAMES: Final = sorted(name for name, row in SETTINGS.items() if row.check is not None)


def changed_members(members: Mapping[str, JsonValue], patch: JsonValue) -> Members:
    """Settings after a change: members that are named get the value, ``null`` takes one away.

    ``retention`` and ``backpressure`` are changed member by member, others as a whole.

    :raises InvalidRequestError: the change names what there is not, or a value that cannot be;
        the details name the field.
    :raises UnsupportedError: it asks for what this backend does not do.
    """
    if not isinstance(patch, dict):
        raise invalid("config", "an object", patch)
    after: Members = dict(members)
    _check_twice(patch)
    for name, value in patch.items():
        if name == "backpressure":
            _change_backpressure(after, value)
        elif name == "retention":
            _change_retention(after, value)
        else:
            _change(after, name, name, value)
    read_config(after)
    if len(encode(after).encode()) > MAX_CONFIG_BYTES:
        message = f"The settings of a queue have at most {MAX_CONFIG_BYTES} bytes."
        raise field_error("config", message, max_bytes=MAX_CONFIG_BYTES)
    return after


def check_policy(members: Mapping[str, JsonValue]) -> None:
    """Refuse a default policy that makes queues fair or wide: these are settings of one queue.

    :raises UnsupportedError: it does.
    """
    for name, hint in _OF_ONE_QUEUE.items():
        if name in members:
            raise UnsupportedError(
                f"'{name}' is a setting of one queue: the default policy cannot have it.",
                details={"field": name},
                hint=hint,
            )


def check_wide(queue: str, after: Mapping[str, JsonValue], lines: int) -> None:
    """Refuse more shards than a queue has lines.

    :param lines: how many lines the deployment declares.
    :raises UnsupportedError: the change asks for it.
    """
    shards = read_config(after).shards
    if shards > lines:
        raise UnsupportedError(
            f"'{SHARDS}' can be at most {lines} here, not {shards}: the deployment has no more "
            f"lines for queue '{queue}'.",
            details={"field": SHARDS, "expected": f"1 to {lines}", "received": str(shards)},
            hint=f"Deploy with OJS_WIDE_QUEUES={queue}={shards}, upgrade all workers, and set it.",
        )


def check_deletion(body: Mapping[str, JsonValue]) -> None:
    """Refuse a deletion that does not say what becomes of the jobs (section 5.3).

    :raises InvalidRequestError: it names no strategy, or one that there is not.
    :raises UnsupportedError: it asks for what this backend does not do.
    """
    strategy = body.get("strategy")
    if strategy in ("discard", "move"):
        raise UnsupportedError(
            f"'strategy' can be reject only, not {strategy}.",
            details={"field": "strategy", "expected": "reject", "received": str(strategy)},
            hint="Drain the queue, purge its jobs, and delete it then.",
        )
    if strategy != "reject":
        message = "The 'strategy' attribute must be reject: say what is to become of the jobs."
        raise field_error("strategy", message, expected="reject", received=str(strategy)[:80])


def _check_twice(patch: Mapping[str, JsonValue]) -> None:
    """Refuse two values for one setting, which has a name of its own and one in backpressure."""
    inner = patch.get("backpressure")
    if not isinstance(inner, dict):
        return
    for inside, name in BACKPRESSURE.items():
        if inside in inner and name in patch and inner[inside] != patch[name]:
            message = f"'{name}' and 'backpressure.{inside}' are one setting, with two values here."
            raise field_error(f"backpressure.{inside}", message, expected=f"the value of {name}")


def _change(after: Members, name: str, field: str, value: JsonValue) -> None:
    """Change one member; ``field`` is how the caller named it."""
    row = SETTINGS.get(name)
    if row is None or row.check is None:
        message = f"A queue has no setting '{field[:80]}'."
        hint = "GET /ojs/v1/queues/{name}/config shows the settings with their defaults."
        raise field_error(field[:80], message, hint, expected=", ".join(_NAMES))
    if value is None:
        after.pop(name, None)
        return
    kept = row.check(row, value, field)
    if kept is None:
        after.pop(name, None)
    else:
        after[name] = kept


def _change_backpressure(after: Members, value: JsonValue) -> None:
    for name, field, member in _parts("backpressure", BACKPRESSURE, value):
        _change(after, BACKPRESSURE[name], field, member)


def _change_retention(after: Members, value: JsonValue) -> None:
    kept = after.get("retention")
    spans: Members = {**kept} if isinstance(kept, dict) else {}
    for name, field, span in _parts("retention", RETENTION, value):
        if span is None:
            spans.pop(name, None)
        else:
            spans[name] = span_of(span, field)
    after["retention"] = spans
    if not spans:
        del after["retention"]


def _parts(
    group: str, known: Mapping[str, str], value: JsonValue
) -> Iterator[tuple[str, str, JsonValue]]:
    """Yield the name, the field and the value of each setting in a group; ``null`` is one of each.

    :raises InvalidRequestError: no object, or a name that the group does not have.
    """
    if value is None:
        value = dict.fromkeys(known)
    if not isinstance(value, dict):
        raise invalid(group, "an object", value)
    for name, member in value.items():
        field = f"{group}.{name[:80]}"
        if name not in known:
            raise field_error(field, f"There is no '{field}'.", expected=", ".join(known))
        yield name, field, member
