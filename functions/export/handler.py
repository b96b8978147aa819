"""Writes jobs that have ended as lines of files in S3: the export function.

Invoked by the table's stream, with ReportBatchItemFailures; deployed only where it is asked for.
"""

from __future__ import annotations

import os
import random
import time
from typing import Final

from ..startup import finish_init

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.adapters.s3 import S3Files
from ojs_aws.bootstrap import SystemClock, aws_clients, job_store, record_tries
from ojs_aws.config import Settings
from ojs_aws.services.upkeep.export import Export
from ojs_aws.topology import EXPORT_TRIES_PARTITION
from ojs_aws.transport.events.export import build_export
from ojs_aws.transport.events.stream import Handler
from ojs_aws.transport.events.stream_reader import StreamReader
from ojs_aws.transport.function_tracing import function_tracing

settings = Settings.from_env(os.environ)
clients = aws_clients()
files = S3Files(clients.s3(), settings.export_bucket)
store = job_store(settings, clients) if settings.export_documents else None
reader = StreamReader(
    tries=record_tries(settings, clients, EXPORT_TRIES_PARTITION),
    clock=SystemClock(),
    sleep=time.sleep,
    chance=random.random,
)
tracing = function_tracing(settings)
handler: Final[Handler] = finish_init(
    build_export(Export(files.put, store), read_image, tracing=tracing, reader=reader)
)
