"""Hands jobs to Lambda functions, and waits for none: the dispatcher, invoked by job queues."""

from __future__ import annotations

import os
from typing import Final

from ..startup import finish_init

from ojs_aws.bootstrap import aws_clients, build_backend, stores_of_bindings
from ojs_aws.config import Settings
from ojs_aws.domain.bindings import read_bindings
from ojs_aws.topology import BINDINGS
from ojs_aws.worker.delivery.dispatch import Dispatcher
from ojs_aws.worker.delivery.request import reports_of

settings, clients = Settings.from_env(os.environ), aws_clients()
functions, states, documents = stores_of_bindings(settings, clients)
bindings = read_bindings(os.environ[BINDINGS])
backend = build_backend(settings, clients)
reports = reports_of(os.environ)
dispatcher = Dispatcher(backend, functions, states, bindings, reports, documents)
handler: Final[Dispatcher] = finish_init(dispatcher)
