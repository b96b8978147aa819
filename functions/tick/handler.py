"""Sweeps all queues when EventBridge invokes it, once a minute: the tick function."""

from __future__ import annotations

import os
from typing import Final

from ..startup import finish_init

from ojs_aws.bootstrap import build_backend
from ojs_aws.config import Settings
from ojs_aws.middleware import extensions
from ojs_aws.transport.events.hooks import start_periodic
from ojs_aws.transport.events.tick import Handler, build_tick

settings = Settings.from_env(os.environ)
backend = build_backend(settings)
hooks = extensions.hooks(settings.hooks)
enqueues = settings.enqueue_middleware or settings.hooks  # when cron jobs are due
handler: Final[Handler] = finish_init(
    build_tick(backend, start_cron=lambda: start_periodic(hooks, backend)),
    backend.jobs.push if enqueues else None,
)
