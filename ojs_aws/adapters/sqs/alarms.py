"""Implements the port CronAlarms: a delayed message for the function that ticks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ojs_aws.adapters.aws_errors import error_code, refusals
from ojs_aws.adapters.errors import translated
from ojs_aws.adapters.sqs.messages import MISSING

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


@dataclass(frozen=True, slots=True)
class SqsCronAlarms:
    """Sends messages to a queue of their own; each contains only a cron job's name."""

    client: SQSClient
    url: str

    def set(self, name: str, delay_s: int) -> None:
        """Make one call; without a deployed queue, the next tick finds the entry."""
        with translated("SendMessage"):
            try:
                self.client.send_message(QueueUrl=self.url, MessageBody=name, DelaySeconds=delay_s)
            except refusals() as problem:
                if error_code(problem) not in MISSING:
                    raise
