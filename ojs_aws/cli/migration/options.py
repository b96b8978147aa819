"""Translate what a Celery task declares to the options of a typed job, as they are written."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import Any, Final

from ojs_aws.cli.migration.inventory import TaskEntry
from ojs_aws.cli.migration.sources import Imports, arguments, text
from ojs_aws.client.retry_rules import short
from ojs_aws.contrib.celery.calls import ENDLESS, queue_name

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
