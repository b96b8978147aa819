"""Makes ACK or FAIL of what became of dispatched jobs: the settler, invoked by the outcomes."""

from __future__ import annotations

import os
from typing import Final

from ..startup import finish_init

from ojs_aws.bootstrap import build_backend
from ojs_aws.config import Settings
from ojs_aws.worker.delivery.settle import Settler

backend = build_backend(Settings.from_env(os.environ))
handler: Final[Settler] = finish_init(Settler(backend), backend.jobs.ack, backend.jobs.fail)
