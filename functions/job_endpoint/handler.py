"""Serves senders and workers at one URL without a gateway: the job endpoint.

Behind a Lambda function URL, whose events have the HTTP API's payload format 2.0. What can be made
once is made here, at init.
"""

from __future__ import annotations

import os
from typing import Final

from ..startup import finish_init

from ojs_aws.bootstrap import aws_clients, build_backend, build_remembered_authentication
from ojs_aws.config import Settings
from ojs_aws.transport.authorizer import authorizing_events, build_authorizer
from ojs_aws.transport.function_tracing import function_tracing
from ojs_aws.transport.http.resolver import Resolver, build_resolver
from ojs_aws.transport.http.routes import JOB_ENDPOINT
from ojs_aws.worker.delivery import with_tokens

settings, clients = Settings.from_env(os.environ), aws_clients()
backend = build_backend(settings, clients)
authorize = None
if settings.auth == "api-key":
    known = with_tokens(build_remembered_authentication(settings, clients.dynamodb), os.environ)
    authorize = authorizing_events(build_authorizer(known, tracing=function_tracing(settings)))
handler: Final[Resolver] = finish_init(
    build_resolver(backend, *JOB_ENDPOINT, authorize=authorize), backend.jobs.push
)
