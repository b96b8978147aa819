"""The stream function: committed changes of the table become lifecycle events.

Invoked by the table's stream, with ReportBatchItemFailures.
"""

from __future__ import annotations

import os
from typing import Final

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.bootstrap import build_backend
from ojs_aws.config import Settings
from ojs_aws.transport.events.stream import Handler, build_stream

handler: Final[Handler] = build_stream(build_backend(Settings.from_env(os.environ)), read_image)
