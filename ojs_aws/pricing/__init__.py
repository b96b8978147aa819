"""Estimates what a workload costs on AWS; benchmarks, command line and docs all use this."""

from ojs_aws.pricing.alternatives import (
    ALTERNATIVES,
    COMPARED,
    OURS,
    Alternative,
    BreakEven,
    break_even,
)
from ojs_aws.pricing.estimate import ASSUMPTIONS, estimate, million, standing
from ojs_aws.pricing.prices import PRICED_ON, PRICES, REGION, Line
from ojs_aws.pricing.workload import (
    BUSY_RATE,
    MONTH_S,
    NEW_TABLE_PARTITIONS,
    ORDINARY_JSON,
    RANDOM_TOKENS,
    Workload,
)

__all__ = [
    "ALTERNATIVES",
    "ASSUMPTIONS",
    "BUSY_RATE",
    "COMPARED",
    "MONTH_S",
    "NEW_TABLE_PARTITIONS",
    "ORDINARY_JSON",
    "OURS",
    "PRICED_ON",
    "PRICES",
    "RANDOM_TOKENS",
    "REGION",
    "Alternative",
    "BreakEven",
    "Line",
    "Workload",
    "break_even",
    "estimate",
    "million",
    "standing",
]
