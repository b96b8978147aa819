"""How long AWS takes for each part of a job's way: a median and a 99th percentile, with its source.

Nobody can measure AWS on an emulator. Each figure is AWS's own, or one that somebody measured and
published, or an assumption that says so. Samples follow a lognormal distribution through both.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

Z99: Final = 2.3263478740408408
"""Standard deviations from the median to the 99th percentile."""

FULL_CPU_MB: Final = 1769
"""Memory with which a function has one processor (AWS's documentation of Lambda)."""


@dataclass(frozen=True, slots=True)
class Figure:
    """Says how long one part takes.

    :ivar p50_ms: the median.
    :ivar p99_ms: what one of a hundred exceeds.
    :ivar source: who says so.
    """

    p50_ms: float
    p99_ms: float
    source: str

    def sample(self, chance: random.Random) -> float:
        """Return how many milliseconds it takes this time."""
        sigma = math.log(self.p99_ms / self.p50_ms) / Z99
        return chance.lognormvariate(math.log(self.p50_ms), sigma)


_BITE: Final = "measured: Bite-Sized Serverless, Serverless Messaging: Latency Compared, 2022"
FIGURES: Final[Mapping[str, Figure]] = {
    "function URL": Figure(
        8, 30, "assumed, as the gateway's: nobody publishes it apart from the function behind it"
    ),
    "gateway": Figure(
        8, 30, "reported as 5 to 20 ms, up to 30; an HTTP API adds less than a REST API"
    ),
    "invocation": Figure(3, 15, "assumed: a warm function starts within milliseconds"),
    "cold start": Figure(
        500, 1000, "AWS: 100 ms to more than a second; ours takes 0.7 to 0.95 of a bare boto3"
    ),
    "restore": Figure(250, 600, "AWS: below a second with SnapStart; the rest is assumed"),
    "read": Figure(4, 15, "AWS: single-digit milliseconds; the 99th percentile is assumed"),
    "write": Figure(6, 20, "AWS: single-digit milliseconds; the 99th percentile is assumed"),
    "transaction": Figure(15, 50, "assumed: two phases of writes"),
    "index": Figure(10, 60, "AWS: within a fraction of a second; assumed"),
    "send": Figure(10, 60, "reported as below 10 ms; the 99th percentile is assumed"),
    "receive": Figure(10, 60, "reported as below 10 ms; the 99th percentile is assumed"),
    "trigger": Figure(16.2, 105, f"SQS to the start of the function, the send included; {_BITE}"),
    "stream": Figure(213, 552, f"DynamoDB Streams to the start of the function; {_BITE}"),
    "code": Figure(
        3, 6, "counted: 82,000 instructions of the interpreter for a PUSH, one processor"
    ),
}


def code_ms(chance: random.Random, memory_mb: float) -> float:
    """Return how long our code runs: less processor with less memory."""
    return FIGURES["code"].sample(chance) * max(1.0, FULL_CPU_MB / memory_mb)
