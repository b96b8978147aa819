"""Estimates what a workload costs on AWS; benchmarks, command line and docs all use this."""

from ojs_aws.pricing.estimate import ASSUMPTIONS, estimate, million, standing
from ojs_aws.pricing.workload import (
    BUSY_RATE,
    MONTH_S,
    NEW_TABLE_PARTITIONS,
    ORDINARY_JSON,
    PRICED_ON,
    PRICES,
    RANDOM_TOKENS,
    REGION,
    Line,
    Workload,
)

__all__ = [
    "ASSUMPTIONS",
    "BUSY_RATE",
    "MONTH_S",
    "NEW_TABLE_PARTITIONS",
    "ORDINARY_JSON",
    "PRICED_ON",
    "PRICES",
    "RANDOM_TOKENS",
    "REGION",
    "Line",
    "Workload",
    "estimate",
    "million",
    "standing",
]
