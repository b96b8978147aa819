"""Find the tasks of Django: ``django.tasks`` of Django 6, else the package ``django-tasks``."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

IS_BUILT_IN: Final = find_spec("django.tasks") is not None
PACKAGE: Final = "django.tasks" if IS_BUILT_IN else "django_tasks"

_base: Any = import_module(f"{PACKAGE}.base")
_signals: Any = import_module(f"{PACKAGE}.signals")

BaseTaskBackend: Any = import_module(f"{PACKAGE}.backends.base").BaseTaskBackend
Task: Any = _base.Task
TaskContext: Any = _base.TaskContext
TaskError: Any = _base.TaskError
TaskResult: Any = _base.TaskResult
TaskResultStatus: Any = _base.TaskResultStatus
TaskResultDoesNotExist: Any = import_module(f"{PACKAGE}.exceptions").TaskResultDoesNotExist
normalize_json: Any = import_module(
    "django.utils.json" if IS_BUILT_IN else f"{PACKAGE}.utils"
).normalize_json
task_backends: Any = import_module(PACKAGE).task_backends
task_enqueued: Any = _signals.task_enqueued
task_started: Any = _signals.task_started
task_finished: Any = _signals.task_finished
