"""Turns committed changes of the table into lifecycle events: the stream function.

Invoked by the table's stream, with ReportBatchItemFailures.
"""

from __future__ import annotations

import os
from typing import Final

from ..startup import started

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.bootstrap import build_backend
from ojs_aws.config import Settings
from ojs_aws.middleware import configuration
from ojs_aws.transport.events.hooks import event_hooks
from ojs_aws.transport.events.stream import Handler, build_stream

settings = Settings.from_env(os.environ)
hooks = event_hooks(configuration.hooks(settings.hooks)) if settings.hooks else None
handler: Final[Handler] = started(build_stream(build_backend(settings), read_image, hooks=hooks))
