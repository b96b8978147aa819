"""Write the entries of a beat schedule as cron jobs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from ojs_aws.cli.migration.findings import Difference
from ojs_aws.cli.migration.inventory import BeatEntry, Inventory
from ojs_aws.cli.migration.sources import arguments, is_literal, literal, period, text
from ojs_aws.contrib.celery.calls import queue_name

_START: Final = '''\
"""The beat schedule of {path} as cron jobs: `python -m {package}.cron`."""

from ojs_aws.client import SyncClient

from . import jobs


def register(client: SyncClient) -> None:
    """Register each cron job by its name; applications may do so at each start."""
'''
_END: Final = """

if __name__ == "__main__":
    with SyncClient.from_env() as client:
        register(client)
        for each in client.cron.list():
            print(f"{each.name}: {each.cron}")
"""
_PAGE: Final = "cron.md"
_DAY: Final = re.compile("[A-Za-z]{4,}")


class CronWriter:
    """Writes ``cron.py``.

    :ivar findings: the entries that have no counterpart, or another one than it looks.
    """

    def __init__(self, inventory: Inventory, names: Mapping[str, str]) -> None:
        """Write the entries of an app.

        :param names: the functions of the typed jobs, by the names of their tasks.
        """
        self._inventory = inventory
        self._names = names
        self.findings: list[Difference] = []

    def written(self, package: str) -> str:
        """Return the module; empty if nothing is to be registered."""
        lines = [line for entry in self._inventory.beat for line in self._entry(entry)]
        if not lines:
            return ""
        start = _START.format(path=self._inventory.path, package=package)
        return start + "\n".join(lines) + "\n" + _END

    def _entry(self, entry: BeatEntry) -> Iterator[str]:
        expression = self._expression(entry)
        name = self._names.get(entry.task)
        if name is None:
            self._find(entry, f"there is no task {entry.task}", "register a job of its own")
        if not all(is_literal(each) for each in (*entry.args, *entry.kwargs.values())):
            self._find(entry, "its arguments are no JSON", "register it yourself")
            return
        if not expression or name is None:
            return
        given = [*map(literal, entry.args)]
        given += arguments({key: literal(value) for key, value in entry.kwargs.items()})
        if (cron_name := queue_name(entry.name)) != entry.name:
            self._find(entry, "its name is none of a cron job", f"the name {cron_name}")
        call = f"jobs.{name}{self._options(entry)}.call({', '.join(given)})"
        yield "    client.cron.register("
        yield from (f"        {each}," for each in (text(cron_name), text(expression), call))
        if not expression.startswith("@every"):
            yield f"        timezone={text(str(self._inventory.app.timezone))},"
        yield '        overlap_policy="allow",'
        if self._is_both_days(entry.schedule):
            yield "        enabled=False,  # see the report: both days"
        yield "    )"

    def _options(self, entry: BeatEntry) -> str:
        known = {
            "queue": lambda value: text(queue_name(str(getattr(value, "name", value)))),
            "priority": lambda value: str(int(value)),
        }
        written = {key: known[key](entry.options[key]) for key in known if key in entry.options}
        if others := sorted(entry.options.keys() - known.keys()):
            self._find(entry, f"options {', '.join(others)}", "set them on the typed job")
        return f".options({', '.join(arguments(written))})" if written else ""

    def _expression(self, entry: BeatEntry) -> str:
        """Return the schedule; empty where there is no counterpart."""
        from celery.schedules import crontab, schedule

        found = entry.schedule
        if isinstance(found, crontab):
            if self._is_both_days(found):
                self._find(
                    entry,
                    "a crontab with day_of_week and day_of_month: Celery runs it where both match",
                    "two day fields mean either; it is written disabled. For the first Monday "
                    "write 0 9 * * 1#1",
                )
            minute, hour, weekday, day, month = (_field(each) for each in found.__reduce__()[1])
            weekday = _DAY.sub(lambda name: name[0][:3], weekday).upper()
            return f"{minute} {hour} {day} {month.upper()} {weekday}"
        seconds = _seconds(found.run_every if isinstance(found, schedule) else found)
        if seconds is None:
            kind = type(found).__name__
            self._find(
                entry,
                f"a schedule of the kind {kind}",
                "a cron job that runs often, whose function looks whether it is time",
            )
            return ""
        if seconds < 1:
            self._find(entry, f"it runs every {seconds} s", "once a second, which is the shortest")
        return f"@every {period(max(seconds, 1))}"

    def _is_both_days(self, schedule: Any) -> bool:
        from celery.schedules import crontab

        if not isinstance(schedule, crontab):
            return False
        _, _, weekday, day, _ = (_field(each) for each in schedule.__reduce__()[1])
        return not weekday.startswith("*") and not day.startswith("*")

    def _find(self, entry: BeatEntry, what: str, instead: str) -> None:
        self.findings.append(Difference(f"beat: {entry.name}", what, instead, _PAGE))


def _field(value: object) -> str:
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ",".join(sorted(map(str, value)))
    return str(value).replace(" ", "")


def _seconds(value: object) -> float | None:
    if isinstance(value, timedelta):
        return value.total_seconds()
    return float(value) if isinstance(value, (int, float)) else None
