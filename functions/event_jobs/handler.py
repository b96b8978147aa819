"""Enqueues a job for each event that a rule of EventBridge chose; deployed only where asked for.

Invoked by the SQS queue behind the rules, with ReportBatchItemFailures.
"""

from __future__ import annotations

import os
from typing import Final

from ..startup import finish_init

from ojs_aws.bootstrap import build_backend
from ojs_aws.config import Settings
from ojs_aws.domain.cloud_events import read_rules
from ojs_aws.topology import EVENT_RULES
from ojs_aws.transport.events.event_jobs import Handler, build_event_jobs

backend = build_backend(Settings.from_env(os.environ))
handler: Final[Handler] = finish_init(
    build_event_jobs(backend.jobs.push, read_rules(os.environ[EVENT_RULES]))
)
