"""Reads conformance cases, the JSON files of the DSL, and fills their placeholders.

Beyond the public DSL our own cases use four placeholders, filled when a step is sent, so that cases
never meet in a queue and need no reset between them:

- ``{{queue}}``: a queue that only this case uses in this run; ``{{queue:128}}`` has that length
- ``{{worker}}``: likewise a worker id
- ``{{run}}``: the name of the run
- ``{{uuid7:NAME}}``: a fresh id, the same wherever the case repeats the name

and two marks: ``"time_dependent": true`` (the case waits) and ``"test_mode": true`` (it needs a
server in test mode, so no deployed one).
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ojs_aws.cli.verify.conformance.matchers import Json

EXTENSION_LEVEL: Final = 99
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
CROSS_CHECKS: Final = frozenset({"exclusive_claim", "equality"})


class CaseError(Exception):
    """Raised when a case file cannot be read."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """Describes a request of a case, a pause (WAIT), or a comparison of answers (ASSERT).

    :ivar pause_ms: how long to wait before the step acts, in milliseconds.
    :ivar raw_body: text to send as it is, in place of a JSON body.
    """

    id: str
    action: str
    path: str = ""
    headers: Mapping[str, str]
    has_body: bool
    body: Json = None
    raw_body: str | None = None
    pause_ms: int = 0
    parallel_with: str = ""
    assertions: Mapping[str, Json]


@dataclass(frozen=True, kw_only=True)
class Case:
    """Holds a case file.

    :ivar file: path below the directory of cases; unlike the id it is unique.
    :ivar unjudgeable: why no HTTP runner can judge the case; empty when one can.
    """

    id: str
    name: str
    level: int
    file: str
    setup: tuple[Step, ...]
    steps: tuple[Step, ...]
    teardown: tuple[Step, ...]
    time_dependent: bool
    test_mode: bool
    unjudgeable: str


def load_cases(directory: Path) -> list[Case]:
    """Return every case below a directory, ordered by level and file.

    :raises CaseError: a file is no readable case, or there is none.
    """
    cases = []
    for path in sorted(directory.rglob("*.json")):
        try:
            document = json.loads(path.read_text("utf-8"))
            cases.append(parse_case(document, path.relative_to(directory).as_posix()))
        except (ValueError, KeyError, TypeError) as problem:
            raise CaseError(f"{path} is no conformance case: {problem!r}") from problem
    if not cases:
        raise CaseError(f"there are no conformance cases in {directory}")
    return sorted(cases, key=lambda case: (case.level, case.file))


def parse_case(document: Mapping[str, Json], file: str) -> Case:
    """Read one parsed case file.

    :raises ValueError: a part has the wrong shape.
    """
    steps = _steps(document["steps"])
    return Case(
        id=_text(document["test_id"]),
        name=_text(document.get("name", "")),
        level=_level(document.get("level", 0), file),
        file=file,
        setup=_steps(_mapping(document.get("setup")).get("steps", [])),
        steps=steps,
        teardown=_steps(_mapping(document.get("teardown")).get("steps", [])),
        time_dependent=document.get("time_dependent") is True
        or any(step.pause_ms > 0 for step in steps),
        test_mode=document.get("test_mode") is True,
        unjudgeable=_why_unjudgeable(document, steps),
    )


def _level(value: Json, file: str) -> int:
    """Return the level; cases of extensions (in ext-...) often call themselves level 0."""
    if value in ("ext", "extension") or file.startswith("ext-"):
        return EXTENSION_LEVEL
    if isinstance(value, (int, str)):
        return int(value)
    raise ValueError(f"level {value!r}")


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} should be text")
    return value


def _mapping(value: Json) -> Mapping[str, Json]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} should be an object")
    return value


def _milliseconds(value: Json) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} should be a number of milliseconds")
    return value


def _steps(value: Json) -> tuple[Step, ...]:
    if not isinstance(value, list):
        raise ValueError("steps should be an array")
    return tuple(_step(_mapping(item)) for item in value)


def _step(source: Mapping[str, Json]) -> Step:
    action = _text(source.get("action") or "GET").upper()
    pause = _milliseconds(source.get("delay_ms"))
    if action == "WAIT":
        pause += _milliseconds(source.get("duration_ms"))
    raw_body = source.get("raw_body")
    return Step(
        id=_text(source.get("id", "")),
        action=action,
        path=_text(source.get("path") or ""),
        headers={name: _text(value) for name, value in _mapping(source.get("headers")).items()},
        has_body="body" in source,
        body=source.get("body"),
        raw_body=None if raw_body is None else _text(raw_body),
        pause_ms=pause,
        parallel_with=_text(source.get("parallel_with") or ""),
        assertions=_mapping(source.get("assertions")),
    )


def _why_unjudgeable(document: Mapping[str, Json], steps: tuple[Step, ...]) -> str:
    for step in steps:
        if step.action not in METHODS | {"WAIT", "ASSERT"}:
            return f"step {step.id}: {step.action} is no HTTP method"
        if step.action == "ASSERT" and not set(step.assertions) <= CROSS_CHECKS:
            return f"step {step.id}: an unknown comparison"
    names = _captured_names(document["steps"])
    used = re.findall(r"\$\{(\w+)\}|\{\{(\w+)\}\}|\$ref\.(\w+)", json.dumps(document["steps"]))
    if stray := sorted(names & {name for groups in used for name in groups}):
        return f"it refers to captured values ({', '.join(stray)}), which the DSL does not have"
    return "" if any(step.assertions for step in steps) else "it asserts nothing"


def _captured_names(steps: Json) -> set[str]:
    names: set[str] = set()
    for step in steps if isinstance(steps, list) else []:
        for key in ("capture", "captures", "store"):
            captured = step.get(key) if isinstance(step, dict) else None
            names |= set(captured) if isinstance(captured, dict) else set()
    return names


# ------------------------------------------------------------------------------ placeholders
_PLACEHOLDER = re.compile(r"\{\{(queue|worker|run|uuid7)(?::([\w-]+))?\}\}")


def uuid7() -> str:
    """Return a fresh UUIDv7 in lowercase, made here so that cases need nothing of the project."""
    millis = int(time.time() * 1000)
    tail = secrets.randbits(74)
    value = millis << 80 | 7 << 76 | (tail >> 62) << 64 | 2 << 62 | tail & ((1 << 62) - 1)
    text = f"{value:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def placeholders(case: Case, run: str) -> Callable[[str], str]:
    """Return a function that fills the placeholders in a text of this case."""
    ids: dict[str, str] = {}

    def value_of(found: re.Match[str]) -> str:
        kind, argument = found[1], found[2] or ""
        if kind == "run":
            return run
        if kind == "uuid7":
            return ids.setdefault(argument, uuid7())
        name = f"{case.id}-{run}" if kind == "queue" else f"worker-{case.id}-{run}"
        return name.ljust(int(argument), "x") if argument else name

    return lambda text: _PLACEHOLDER.sub(value_of, text)


def map_text(value: Json, change: Callable[[str], str]) -> Json:
    """Return the value with every text in it, keys included, passed through ``change``."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_text(item, change) for item in value]
    if isinstance(value, dict):
        return {change(name): map_text(item, change) for name, item in value.items()}
    return value
