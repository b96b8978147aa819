"""Turns committed changes of the table into lifecycle events: the stream function.

Invoked by the table's stream, with ReportBatchItemFailures.
"""

from __future__ import annotations

import os
import random
import time
from typing import Final

from ..startup import finish_init

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.bootstrap import SystemClock, aws_clients, build_backend, record_tries
from ojs_aws.config import Settings
from ojs_aws.middleware import extensions
from ojs_aws.topology import EVENT_TRIES_PARTITION
from ojs_aws.transport.events.hooks import event_hooks
from ojs_aws.transport.events.stream import Handler, build_stream
from ojs_aws.transport.events.stream_reader import StreamReader

settings = Settings.from_env(os.environ)
hooks = event_hooks(extensions.hooks(settings.hooks)) if settings.hooks else None
clients = aws_clients()
reader = StreamReader(
    tries=record_tries(settings, clients, EVENT_TRIES_PARTITION),
    clock=SystemClock(),
    sleep=time.sleep,
    chance=random.random,
)
backend = build_backend(settings, clients)
handler: Final[Handler] = finish_init(build_stream(backend, read_image, hooks=hooks, reader=reader))
