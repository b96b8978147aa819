"""Finds the caller of a request by its API key: the authorizer function.

Behind API Gateway's HTTP API, as a Lambda authorizer with simple responses.
"""

from __future__ import annotations

import os
from typing import Final

from ..startup import finish_init

from ojs_aws.bootstrap import aws_clients, build_authentication
from ojs_aws.config import Settings
from ojs_aws.transport.authorizer import Handler, build_authorizer
from ojs_aws.transport.function_tracing import function_tracing
from ojs_aws.worker.delivery import with_tokens

settings = Settings.from_env(os.environ)
handler: Final[Handler] = finish_init(
    build_authorizer(
        with_tokens(build_authentication(settings, aws_clients().dynamodb), os.environ),
        tracing=function_tracing(settings),
    )
)
