"""Lists the prices of AWS, with their date, and describes a line of a bill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

PRICED_ON: Final = "2026-11"
REGION: Final = "us-east-1"
PRICES: Final[Mapping[str, float]] = {
    "write unit": 0.625e-6,
    "read unit": 0.125e-6,
    "SQS request": 0.40e-6,
    "Lambda request": 0.20e-6,
    "Lambda GB-second": 13.3334e-6,
    "HTTP API request": 1.00e-6,
    "bus event": 1.00e-6,
    "S3 PUT": 5.00e-6,
    "S3 GET": 0.40e-6,
    "S3 GB-month": 0.023,
    "table GB-month": 0.25,
    "backup GB-month": 0.20,
    "KMS request": 3.00e-6,
    "log GB": 0.50,
    "metric": 0.30,
    "alarm": 0.10,
    "dashboard": 3.00,
    "state transition": 25.00e-6,
    "durable operation": 8.00e-6,
    "express request": 1.00e-6,
    "express GB-second": 16.67e-6,
    "vCPU-hour": 0.03238,
    "task GB-hour": 0.00356,
    "address-hour": 0.005,
    "load balancer-hour": 0.0225,
    "LCU-hour": 0.008,
    "small node-hour": 0.0256,
    "large node-hour": 0.1264,
    "endpoint-hour": 0.01,
    "endpoint GB": 0.01,
}
"""Dollars: DynamoDB on demand, SQS standard queues, Lambda on arm64, API Gateway HTTP APIs,
EventBridge custom events, KMS, CloudWatch logs, metrics, alarms and dashboards. From the state
transition on, what only the alternatives need: Step Functions, durable functions, Fargate on arm64,
public IPv4 addresses, application load balancers, ElastiCache for Valkey (cache.t4g.small,
cache.m7g.large). Then VPC endpoints: an interface in one zone, and what passes it."""


@dataclass(frozen=True, slots=True)
class Line:
    """Holds one line of an estimate.

    :ivar what: what is paid for.
    :ivar amount: how many units in a month.
    :ivar unit: name of the price.
    """

    what: str
    amount: float
    unit: str

    @property
    def dollars(self) -> float:
        """Return the dollars a month."""
        return self.amount * PRICES[self.unit]
