"""Unique jobs: what a second job of the same kind is answered."""

from __future__ import annotations

from typing import Any, Final

from tests.transcript.steps import Feature, Step, post


def twice(name: str, policy: Any, **more: Any) -> list[Step]:
    """Return the steps that push a unique job, and then one like it."""
    body = {"type": f"u.{name.replace(' ', '_')}", "args": [{"user": 1, "n": 1}], "unique": policy}
    other = body | {"args": [{"n": 1, "user": 1}]} | more
    return [post(f"push: {name}", "/jobs", body), post(f"push again: {name}", "/jobs", other)]


STEPS: Final[list[Step]] = [
    *twice("reject", {"keys": ["type", "args"]}),
    *twice("reject by its name", {"keys": ["type", "args"], "on_conflict": "reject"}),
    *twice("ignore", {"keys": ["type", "args"], "on_conflict": "ignore"}),
    *twice("use existing", {"keys": ["type", "args"], "on_conflict": "use_existing"}),
    *twice("replace", {"keys": ["type", "args"], "on_conflict": "replace"}),
    *twice(
        "replace except schedule",
        {"keys": ["type", "args"], "on_conflict": "replace_except_schedule"},
        delay="PT1H",
    ),
    *twice("fields of args", {"keys": ["type"], "args_keys": ["user"]}),
    *twice("fields of meta", {"keys": ["type"], "meta_keys": ["user"]}),
    *twice("a period", {"keys": ["type"], "period": "PT1H"}),
    *twice("a period in milliseconds", {"keys": ["type"], "period_ms": 60000}),
    *twice("within", {"key": ["type", "user"], "within": "1h"}),
    *twice("a name", {"key": "import"}),
    *twice("states", {"keys": ["type"], "states": ["available", "active"]}),
    *twice("unknown states", {"keys": ["type"], "states": ["lost"]}),
    *twice("true", True),
    post(
        "push a batch with two that are the same",
        "/jobs/batch",
        {"jobs": [{"type": "u.batch", "args": [], "unique": {"keys": ["type"]}} for _ in range(2)]},
    ),
    post(
        "enqueue two that are the same",
        "/jobs/bulk",
        {"jobs": [{"type": "u.bulk", "args": [], "unique": {"keys": ["type"]}} for _ in range(2)]},
    ),
]

FEATURES: Final = [Feature(name="unique", steps=STEPS, by_alias=False)]
