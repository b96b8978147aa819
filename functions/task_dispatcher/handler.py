"""Starts ECS tasks for jobs, and waits for none: the dispatcher of tasks, invoked by job queues."""

from __future__ import annotations

import os
from typing import Final

from ..startup import finish_init

from ojs_aws.bootstrap import build_backend, tasks_of
from ojs_aws.config import Settings
from ojs_aws.domain.bindings.tasks import read_task_bindings
from ojs_aws.topology import BINDINGS, task_group
from ojs_aws.worker.delivery.dispatch import Dispatcher
from ojs_aws.worker.delivery.inputs import TaskStarter
from ojs_aws.worker.delivery.request import tokens_of

settings = Settings.from_env(os.environ)
backend = build_backend(settings)
url, token = tokens_of(os.environ)
starter = TaskStarter(tasks_of(), task_group(settings.queue_prefix), url, token)
bindings = read_task_bindings(os.environ[BINDINGS])
dispatcher = Dispatcher(backend, None, backend.stores.queue_bindings(), bindings, tasks=starter)
handler: Final[Dispatcher] = finish_init(dispatcher)
