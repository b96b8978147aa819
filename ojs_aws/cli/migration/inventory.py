"""Read what a Celery app declares: its tasks, and what its beat sends."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ojs_aws.middleware.extensions import find, search_here

if TYPE_CHECKING:
    from celery import Celery


class AppPathError(ValueError):
    """Reports that a path leads to no Celery app; the message says where it ends."""


@dataclass(frozen=True, slots=True)
class TaskEntry:
    """Describes a registered task.

    :ivar queue: where Celery sends it.
    :ivar home: the module that has it under its function's name; empty where none has.
    :ivar is_shared: it belongs to whatever app is the default one.
    :ivar takes_self: ``bind=True``, or a class.
    :ivar words: names that its code uses, such as ``retry``.
    """

    name: str
    task: Any
    queue: str
    home: str
    is_shared: bool
    takes_self: bool
    words: frozenset[str]

    @property
    def function(self) -> str:
        """Return the name of the task's function."""
        return str(inspect.unwrap(self.task.run).__name__ if self.home else self.task.__name__)

    @property
    def signature(self) -> inspect.Signature:
        """Return the parameters, without ``self``."""
        return inspect.signature(self.task.run)


@dataclass(frozen=True, slots=True)
class BeatEntry:
    """Describes an entry of the beat schedule."""

    name: str
    task: str
    schedule: Any
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Inventory:
    """Holds what an app declares.

    :ivar path: ``module:attribute`` of the app.
    """

    path: str
    app: Celery
    tasks: Sequence[TaskEntry]
    beat: Sequence[BeatEntry]

    @property
    def modules(self) -> list[str]:
        """Return the modules of the tasks."""
        return sorted({entry.task.__module__ for entry in self.tasks} & {*sys.modules})


def read_app(path: str) -> Inventory:
    """Import an app and its tasks, and return what they declare. Nothing is sent or run.

    :raises AppPathError: the path leads to no Celery app.
    :raises ModuleNotFoundError: Celery is not installed, or a module imports one that is not there.
    """
    from celery import Celery

    search_here()
    try:
        app = find(path, "app")
    except ModuleNotFoundError as missing:
        if missing.name and not f"{path.partition(':')[0]}.".startswith(f"{missing.name}."):
            raise
        raise AppPathError(
            f"There is no module {missing.name!r}. Run the command in the folder that has it."
        ) from None
    except AttributeError as problem:
        raise AppPathError(f"{path!r} leads nowhere: {problem}.") from None
    if not isinstance(app, Celery):
        raise AppPathError(f"{path!r} is a {type(app).__name__}, and no Celery app.")
    app.loader.import_default_modules()
    app.finalize(auto=True)
    module, _, attribute = path.partition(":")
    return Inventory(f"{module}:{attribute or 'app'}", app, [*_tasks(app)], [*_beat(app)])


def _tasks(app: Celery) -> Iterator[TaskEntry]:
    for name in sorted(app.tasks):
        if name.startswith("celery."):
            continue
        task = app.tasks[name]
        run = inspect.unwrap(task.run)
        found = getattr(sys.modules.get(task.__module__), run.__name__, None)
        is_home = getattr(found, "name", None) == name
        code = getattr(run, "__code__", None)
        yield TaskEntry(
            name=name,
            task=task,
            queue=_queue(app, name, task),
            home=task.__module__ if is_home else "",
            is_shared=type(found).__name__ == "Proxy",
            takes_self=isinstance(run, types.MethodType),
            words=frozenset(code.co_names if code else ()),
        )


def _queue(app: Celery, name: str, task: Any) -> str:
    given = {"queue": task.queue} if getattr(task, "queue", None) else {}
    queue = app.amqp.router.route(given, name, (), {}, task)["queue"]
    return str(getattr(queue, "name", queue))


def _beat(app: Celery) -> Iterator[BeatEntry]:
    for name, entry in sorted((app.conf.beat_schedule or {}).items()):
        yield BeatEntry(
            name=str(name),
            task=str(entry["task"]),
            schedule=entry["schedule"],
            args=tuple(entry.get("args") or ()),
            kwargs=dict(entry.get("kwargs") or {}),
            options=dict(entry.get("options") or {}),
        )
