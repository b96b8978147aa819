"""Write the typed jobs of a Celery app, and their worker."""

from __future__ import annotations

import inspect
import keyword
import re
import sys
import typing
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ojs_aws.cli.migration.findings import Difference
from ojs_aws.cli.migration.inventory import Inventory, TaskEntry
from ojs_aws.cli.migration.sources import (
    WIDTH,
    Imports,
    annotation_of,
    arguments,
    called,
    is_literal,
    literal,
    options_of,
    text,
)
from ojs_aws.contrib.celery.calls import queue_name

_TYPES: Final = "typed-jobs.md#what-arguments-and-results-may-be"
WORKER: Final = '''\
"""Runs the jobs: `ojs-aws run {package}.worker:worker`."""

from ojs_aws import Worker

from .jobs import jobs

worker = Worker(jobs)
'''


class JobWriter:
    """Writes ``jobs.py``; a typed job calls the function of its task, which stays where it is.

    :ivar findings: what could not be written as it was.
    """

    def __init__(self, inventory: Inventory, job_types: Mapping[str, str]) -> None:
        """Write the jobs of an app.

        :param job_types: of the tasks, by their names.
        """
        self._inventory = inventory
        self._types = job_types
        self._imports = Imports()
        self.findings: list[Difference] = []
        self.names = _names(inventory)

    def written(self) -> str:
        """Return the module."""
        self._imports.add("ojs_aws", "Jobs")
        bodies = [line for entry in self._inventory.tasks for line in self._job(entry)]
        set_up = []
        if any(entry.is_shared for entry in self._inventory.tasks):
            app = self._app()
            set_up = [f"{app}.set_default()  # shared tasks belong to it, in all threads", ""]
        lines = [
            f'"""The tasks of the Celery app {self._inventory.path} as typed jobs."""',
            "",
            *self._imports.lines(),
            *set_up,
            "jobs = Jobs()",
            *bodies,
        ]
        return "\n".join(lines) + "\n"

    def _app(self) -> str:
        module, _, attribute = self._inventory.path.partition(":")
        outer = attribute.partition(".")[0]
        taken = {name for name in self.names.values() if name == outer}
        alias = f"celery_{outer}" if taken or outer == "jobs" else ""
        return attribute.replace(outer, self._imports.add(module, outer, alias), 1)

    def _job(self, entry: TaskEntry) -> Iterator[str]:
        if queue_name(entry.queue) != entry.queue:
            instead = f"the queue {queue_name(entry.queue)}"
            self._find(entry, f"its queue is {entry.queue}", instead, "queues.md")
        options = arguments(options_of(entry, self._imports))
        yield from ("", "", "@jobs.job(", f"    {text(self._types[entry.name])},")
        for option in options:
            yield from _option(option)
        yield ")"
        given, passed = self._parameters(entry)
        returned = "None" if entry.task.ignore_result else self._returned(entry)
        start = f"def {self.names[entry.name]}"
        yield from called(start, given, f" -> {returned}:")
        yield f'    """Run the Celery task {entry.name}."""'
        call = f"{self._target(entry)}.run"
        yield from called(f"    {'' if returned == 'None' else 'return '}{call}", passed)

    def _target(self, entry: TaskEntry) -> str:
        if entry.home and not entry.is_shared:
            return self._imports.add(entry.home, entry.function, f"{self.names[entry.name]}_task")
        return f"{self._app()}.tasks[{text(entry.name)}]"

    def _parameters(self, entry: TaskEntry) -> tuple[list[str], list[str]]:
        """Return the parameters of the job, and what it passes on to the task."""
        hints = _hints(entry)
        parameters = [*entry.signature.parameters.values()]
        has_named = any(each.kind is each.KEYWORD_ONLY for each in parameters)
        given: list[str] = []
        passed: list[str] = []
        for each in parameters:
            name = each.name
            shown = self._annotation(entry, name, hints)
            if each.kind is each.VAR_KEYWORD:
                self._find(entry, f"takes **{name}", "the parameter is an object, without **")
                given.append(f"{name}: {self._any('dict[str, Any]')} | None = None")
                passed.append(f"**({name} or {{}})")
            elif each.kind is each.VAR_POSITIONAL:
                is_list = has_named or any(other.kind is other.VAR_KEYWORD for other in parameters)
                given.append(
                    f"{name}: list[{shown}] | None = None" if is_list else f"*{name}: {shown}"
                )
                passed.append(f"*({name} or ())" if is_list else f"*{name}")
                if is_list:
                    self._find(entry, f"takes *{name} beside others", "the parameter is a list")
            else:
                if each.kind is each.KEYWORD_ONLY and "*" not in given:
                    given.append("*")
                given.append(f"{name}: {shown}{self._default(entry, each)}")
                passed.append(f"{name}={name}" if each.kind is each.KEYWORD_ONLY else name)
        return given, passed

    def _annotation(self, entry: TaskEntry, name: str, hints: Mapping[str, Any]) -> str:
        shown = annotation_of(hints[name], self._imports) if name in hints else "Any"
        if shown == "Any" and name in hints and hints[name] is not Any:
            self._find(entry, f"the type of {name}", "a type that JSON can carry", _TYPES)
        return self._any(shown)

    def _returned(self, entry: TaskEntry) -> str:
        return self._any(annotation_of(_hints(entry).get("return", Any), self._imports))

    def _any(self, shown: str) -> str:
        if re.search(r"\bAny\b", shown):
            self._imports.add("typing", "Any")
        return shown

    def _default(self, entry: TaskEntry, parameter: inspect.Parameter) -> str:
        if parameter.default is parameter.empty:
            return ""
        if is_literal(parameter.default):
            return f" = {literal(parameter.default)}"
        self._find(entry, f"the default of {parameter.name}", "None, or a value that JSON has")
        return " = None"

    def _find(
        self,
        entry: TaskEntry,
        what: str,
        instead: str,
        page: str = "send-a-job.md#jobs-of-other-languages",
    ) -> None:
        self.findings.append(Difference(entry.name, what, instead, page))


def _names(inventory: Inventory) -> dict[str, str]:
    """Return the names of the functions; a name that is there twice gets its module's, too."""
    counted = Counter(entry.function for entry in inventory.tasks)
    names: dict[str, str] = {}
    for entry in inventory.tasks:
        name = entry.function
        if counted[name] > 1 or not name.isidentifier() or keyword.iskeyword(name):
            name = re.sub(r"\W", "_", entry.name)
        names[entry.name] = f"{name}_job" if name in {"jobs", "app"} else name
    return names


def _hints(entry: TaskEntry) -> Mapping[str, Any]:
    run = inspect.unwrap(entry.task.run)
    try:
        return typing.get_type_hints(run, vars(sys.modules[entry.task.__module__]))
    except (NameError, TypeError, KeyError):
        return {}


def _option(option: str) -> Iterator[str]:
    """Yield an option of a decorator; a policy that is too long has one argument on each line."""
    line = f"    {option},"
    if len(line) <= WIDTH:
        yield line
        return
    start, _, inner = option.partition("(")
    yield f"    {start}("
    for part in re.findall(r"(?:[^,([]|\([^()]*\)|\[[^\]]*\])+", inner.removesuffix(")")):
        yield f"        {part.strip()},"
    yield "    ),"
