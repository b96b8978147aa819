"""Serves FETCH, ACK, FAIL and BEAT: the worker_api function.

Behind API Gateway's HTTP API, payload format 2.0. What can be made once is made here, at init.
"""

from __future__ import annotations

import os
from typing import Final

from ..startup import finish_init

from ojs_aws.bootstrap import build_backend
from ojs_aws.config import Settings
from ojs_aws.transport.http.resolver import Resolver, build_resolver
from ojs_aws.transport.http.routes import Group

backend = build_backend(Settings.from_env(os.environ))
handler: Final[Resolver] = finish_init(build_resolver(backend, Group.WORKER_API))
