"""Write Python: imports, names, types and calls, and the options that a Celery task declares."""

from __future__ import annotations

import dataclasses
import decimal
import enum
import math
import re
import sys
import types
import typing
import uuid
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from ojs_aws.cli.migration.inventory import TaskEntry
from ojs_aws.client.retry_rules import short
from ojs_aws.contrib.celery.calls import ENDLESS, queue_name

WIDTH: Final = 88
_PLAIN: Final = (str, int, float, bool, tuple, set, list, dict)
_CARRIED: Final = (datetime, date, timedelta, decimal.Decimal, uuid.UUID)
_BARE: Final[Mapping[Any, str]] = {
    list: "list[Any]",
    dict: "dict[str, Any]",
    tuple: "tuple[Any, ...]",
    set: "set[Any]",
}


class Imports:
    """Collects what a module imports."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._names: dict[str, dict[str, str]] = {}

    def add(self, module: str, name: str, alias: str = "") -> str:
        """Import a name, and return what it is called."""
        self._names.setdefault(module, {})[name] = alias
        return alias or name

    def of(self, found: type) -> str | None:
        """Return what a class is called, which is imported if need be; None if it cannot be."""
        module, name = found.__module__, found.__qualname__
        if module == "builtins":
            return name
        if "<locals>" in name or getattr(sys.modules.get(module), name.split(".")[0], None) is None:
            return None
        taken = any(name in names for other, names in self._names.items() if other != module)
        outer, *inner = name.split(".")
        alias = f"{module.replace('.', '_')}_{outer}" if taken else ""
        return ".".join((self.add(module, outer, alias), *inner))

    def lines(self) -> list[str]:
        """Return the statements: the standard library, other packages, and the project's own."""
        sections: dict[int, list[str]] = {}
        for module in sorted(self._names):
            names = self._names[module]
            listed = sections.setdefault(_section(module), [])
            plain = sorted((name for name in names if not names[name]), key=_order)
            if plain:
                listed.extend(called(f"from {module} import ", plain, brackets="()", is_bare=True))
            listed.extend(
                f"from {module} import {name} as {alias}"
                for name, alias in sorted(names.items(), key=lambda each: _order(each[0]))
                if alias
            )
        lines: list[str] = []
        for _, listed in sorted(sections.items()):
            lines += [*listed, ""]
        return lines


def annotation_of(hint: Any, imports: Imports) -> str:
    """Return a type as it is written; Any for one that no typed job can have."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint in {None, type(None)}:
        return "None"
    if origin in {typing.Union, types.UnionType}:
        written = [annotation_of(part, imports) for part in parts]
        return "Any" if "Any" in written else " | ".join(written)
    if origin in _PLAIN and parts:
        inner = ("..." if part is ... else annotation_of(part, imports) for part in parts)
        return f"{origin.__name__}[{', '.join(inner)}]"
    if isinstance(hint, type) and (hint in _PLAIN or _is_carried(hint)):
        return _BARE.get(hint) or imports.of(hint) or "Any"
    return "Any"


def called(
    start: str, parts: Iterable[str], end: str = "", *, brackets: str = "()", is_bare: bool = False
) -> list[str]:
    """Return a call on one line, or with one argument on each.

    :param is_bare: leave the brackets out on one line, as an import does.
    """
    listed = [*parts]
    left, right = ("", "") if is_bare else (brackets[0], brackets[1])
    line = f"{start}{left}{', '.join(listed)}{right}{end}"
    if len(line) <= WIDTH or not listed:
        return [line]
    indent = " " * (len(start) - len(start.lstrip()))
    inner = (f"{indent}    {part}," for part in listed)
    return [f"{start}{brackets[0]}", *inner, f"{indent}{brackets[1]}{end}"]


def arguments(values: Mapping[str, str]) -> list[str]:
    """Return keyword arguments as they are written."""
    return [f"{name}={value}" for name, value in values.items()]


def text(value: str) -> str:
    """Return a string as a formatter writes it."""
    shown = repr(value)
    return f'"{shown[1:-1]}"' if shown[0] == "'" and '"' not in shown else shown


def literal(value: object) -> str:
    """Return a JSON value as it is written."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(key)}: {literal(value[key])}" for key in value) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(each) for each in value) + "]"
    return repr(value)


def is_literal(value: object) -> bool:
    """Return whether a value can be written down: what JSON has."""
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and is_literal(value[key]) for key in value)
    if isinstance(value, (list, tuple)):
        return all(is_literal(each) for each in value)
    return value is None or isinstance(value, (str, int, float, bool))


def _is_carried(hint: type) -> bool:
    is_model = hasattr(hint, "__pydantic_fields__") or dataclasses.is_dataclass(hint)
    return hint in _CARRIED or is_model or issubclass(hint, enum.Enum)


def _section(module: str) -> int:
    """Return 0 for the standard library, 1 for other packages, 2 for what is in this folder."""
    top = module.split(".", maxsplit=1)[0]
    if top in sys.stdlib_module_names:
        return 0
    spec = find_spec(top)
    places = [spec.origin or "", *(spec.submodule_search_locations or ())] if spec else []
    here = str(Path.cwd())
    is_own = any(place.startswith(here) and "site-packages" not in place for place in places)
    return 2 if is_own else 1


def _order(name: str) -> tuple[int, str]:
    """Return a key that sorts constants, then classes, then the others, as isort does."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, name


_PERIODS: Final = {"s": "1s", "m": "1m", "h": "1h"}
_RATE: Final = re.compile(r"(\d+)(?:\.\d+)?(?:/([smh]))?")


def options_of(entry: TaskEntry, imports: Imports) -> dict[str, str]:
    """Return the options of a typed job by their names."""
    task = entry.task
    written = {"queue": text(queue_name(entry.queue)), "retry": _retry(entry, imports)}
    limit = task.time_limit or task.soft_time_limit
    if limit:
        written["timeout"] = text(f"{math.ceil(limit)}s")
    if task.priority is not None:
        written["priority"] = str(int(task.priority))
    if rate := _rate(entry, imports):
        written["rate_limit"] = rate
    if task.ignore_result:
        written["result_ttl_s"] = "0"
    return written


def period(seconds: float) -> str:
    """Return seconds as a duration: ``3m``, or ``1500ms``."""
    milliseconds = round(seconds * 1000)
    shown = short(milliseconds)
    is_whole = timedelta(milliseconds=milliseconds) == _read(shown)
    return shown if is_whole else f"{milliseconds}ms"


def _read(shown: str) -> timedelta:
    units = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds"}
    parts = re.findall(r"(\d+)(ms|[dhms])", shown)
    return timedelta(**{units[unit]: int(count) for count, unit in parts})


def _retry(entry: TaskEntry, imports: Imports) -> str:
    task = entry.task
    classes = tuple(getattr(task, "autoretry_for", ()))
    if not classes and "retry" not in entry.words and not task.acks_late:
        return _policy(imports, {"max_attempts": "1"})
    given: dict[str, Any] = dict(getattr(task, "retry_kwargs", None) or {})
    retries = given.get("max_retries", task.max_retries) if classes else task.max_retries
    if not classes and "retry" not in entry.words:
        retries = 2  # acks_late alone
    written = {"max_attempts": str(ENDLESS if retries is None else retries + 1)}
    backoff = float(getattr(task, "retry_backoff", False) or 0)
    if classes and backoff:
        written["initial_interval"] = text(period(int(max(1.0, backoff))))
        written["max_interval"] = text(period(int(getattr(task, "retry_backoff_max", 600))))
        if not getattr(task, "retry_jitter", True):
            written["jitter"] = "False"
    elif classes or "retry" in entry.words:
        delay = given.get("countdown", task.default_retry_delay)
        written["initial_interval"] = text(period(max(float(delay), 0.001)))
        written |= {"backoff_strategy": text("none"), "jitter": "False"}
    written |= _errors(task, classes, imports)
    return _policy(imports, written)


def _errors(task: Any, classes: tuple[type, ...], imports: Imports) -> dict[str, str]:
    """Return which errors are retried; those that cannot be imported are left out."""
    if not classes or Exception in classes:
        named: list[str] = []
    else:
        named = [name for each in classes if (name := imports.of(each))]
    written = {}
    if named:
        written["retry_on"] = f"({', '.join(named)}{',' if len(named) == 1 else ''})"
    if refused := tuple(getattr(task, "dont_autoretry_for", ())):
        listed = ", ".join(text(each.__name__) for each in refused)
        written["non_retryable_errors"] = f"[{listed}]"
    return written


def _policy(imports: Imports, written: dict[str, str]) -> str:
    return f"{imports.add('ojs_aws', 'RetryPolicy')}({', '.join(arguments(written))})"


def _rate(entry: TaskEntry, imports: Imports) -> str:
    """Return the limit of a task over all workers; Celery's holds for each of them."""
    found = _RATE.fullmatch(str(entry.task.rate_limit or ""))
    if not found or not int(found[1]):
        return ""
    window = f"({found[1]}, {text(_PERIODS[found[2] or 's'])})"
    return f"{imports.add('ojs_aws', 'RateLimit')}(key={text(entry.name)}, throttle={window})"
