"""Lists and revokes API keys: the function of API keys.

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

settings = Settings.from_env(os.environ)
backend = build_backend(settings)
handler: Final[Resolver] = finish_init(build_resolver(backend, Group.API_KEYS))
