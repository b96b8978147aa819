"""Settles the jobs of stopped ECS tasks, and looks after running ones each minute."""

from __future__ import annotations

import os
from typing import Final

from ..startup import finish_init

from ojs_aws.bootstrap import build_backend, tasks_of
from ojs_aws.config import Settings
from ojs_aws.domain.bindings.tasks import read_task_bindings
from ojs_aws.topology import BINDINGS, task_group
from ojs_aws.worker.delivery.task_settle import TaskSettler, TaskSuspensions
from ojs_aws.worker.delivery.task_sweep import TaskFunction, TaskSweep

settings = Settings.from_env(os.environ)
backend = build_backend(settings)
suspensions = TaskSuspensions(
    backend.stores.queue_bindings(), read_task_bindings(os.environ[BINDINGS])
)
settler = TaskSettler(backend, task_group(settings.queue_prefix), suspensions)
sweep = TaskSweep(backend, tasks_of(), settler)
handler: Final[TaskFunction] = finish_init(
    TaskFunction(settler, sweep), backend.jobs.ack, backend.jobs.fail
)
