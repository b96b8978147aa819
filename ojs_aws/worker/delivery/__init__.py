"""Delivers jobs to handlers of any language, by HTTPS (ojs-serverless)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ojs_aws.topology import DELIVERY

if TYPE_CHECKING:
    from ojs_aws.worker.lambda_worker import LambdaWorker


def delivery_worker(environ: Mapping[str, str]) -> LambdaWorker:
    """Return the Lambda worker that an environment describes: it delivers what it claims.

    :raises SettingsError: the environment describes none.
    """
    from ojs_aws.config import SettingsError  # a process that delivers needs neither
    from ojs_aws.worker.lambda_worker import LambdaWorker

    try:
        said = json.loads(environ[DELIVERY])
        worker = LambdaWorker(queues=said["queues"])
        worker.deliver(
            said["url"],
            types=said["types"],
            timeout_s=said["timeout_s"],
            **said.get("reports", {}),
        )
    except (KeyError, TypeError, ValueError) as problem:
        raise SettingsError(
            f"{DELIVERY} must be a JSON object with queues, url, types and timeout_s: {problem}"
        ) from problem
    return worker
