"""The tick function: sweeps all queues, invoked by EventBridge once a minute."""

from __future__ import annotations

import os
from typing import Final

from functions.startup import started
from ojs_aws.bootstrap import build_backend
from ojs_aws.config import Settings
from ojs_aws.transport.events.tick import Handler, build_tick

backend = build_backend(Settings.from_env(os.environ))
handler: Final[Handler] = started(build_tick(backend))
