"""Send the committed jobs of an outbox from a Lambda function, which a schedule invokes.

It polls: a connection that listens would stand open while the function is frozen, and pin a
connection of RDS Proxy.
"""

from __future__ import annotations

import logging
import os
from datetime import timedelta
from functools import cache
from typing import Final

from ojs_aws.config import Settings
from ojs_aws.contrib.outbox.relay import Relay, RelayOptions
from ojs_aws.contrib.outbox.staged_jobs import DEFAULT_TABLE
from ojs_aws.contrib.sqlalchemy.database import EngineDatabase
from ojs_aws.topology import (
    OUTBOX_AGE_METRIC,
    OUTBOX_DATABASE,
    OUTBOX_PARKED_METRIC,
    OUTBOX_PASSWORD,
    OUTBOX_TABLE,
)
from ojs_aws.transport.events.job_metrics import publish
from ojs_aws.worker.lambda_worker import LambdaContext
from ojs_aws.worker.secrets import secret

logger: Final = logging.getLogger("ojs_aws.outbox")
RESERVE_MS: Final = 10_000
"""Milliseconds before the end of an invocation from which on no batch is begun."""


def handler(_: object, context: LambdaContext) -> dict[str, int]:
    """Send what is due, publish what is left as metrics, and return what was done.

    :raises Exception: the database failed; nothing is lost, and the next invocation goes on.
    """
    relay = _relay()
    try:
        done = relay.drain(lambda: context.get_remaining_time_in_millis() > RESERVE_MS)
        seen = relay.overview()
        now = relay.store.now()
    finally:
        relay.rest()  # a frozen function would keep the lead
    if done.outage:
        logger.warning("The backend takes no rows: %s", done.outage)
    age = (now - seen.oldest_at).total_seconds() if seen.oldest_at else 0
    values = [(OUTBOX_AGE_METRIC, "Seconds", age), (OUTBOX_PARKED_METRIC, "Count", seen.parked)]
    publish(os.environ["AWS_LAMBDA_FUNCTION_NAME"], values)
    return {"sent": done.sent, "refused": done.refused, "parked": done.parked}


@cache
def _relay() -> Relay:
    """Return the relay of this environment, whose client lives as long as it."""
    settings = Settings.from_env(os.environ)
    spans = (settings.completed_retention_s, settings.discarded_retention_s)
    options = RelayOptions(
        table=os.environ.get(OUTBOX_TABLE, DEFAULT_TABLE),
        job_retention=timedelta(seconds=min(span for span in spans if span)),
        listens=False,
    )
    url = os.environ[OUTBOX_DATABASE]
    return Relay(EngineDatabase.of_url(url, lambda: secret(OUTBOX_PASSWORD)), options)
