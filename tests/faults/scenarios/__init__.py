"""The operations, each by itself: what comes before, and what gets the fault."""

from __future__ import annotations

from typing import Final

from tests.faults.running import Scenario
from tests.faults.scenarios.cron import CRON
from tests.faults.scenarios.fairness import FAIRNESS
from tests.faults.scenarios.following import FOLLOWING
from tests.faults.scenarios.operating import OPERATING
from tests.faults.scenarios.pushing import PUSHING
from tests.faults.scenarios.sequences import SEQUENCES
from tests.faults.scenarios.tenants import TENANTS
from tests.faults.scenarios.timing import TIMING
from tests.faults.scenarios.workflows import WORKFLOWS
from tests.faults.scenarios.working import WORKING

SCENARIOS: Final[tuple[Scenario, ...]] = (
    *PUSHING,
    *WORKING,
    *TIMING,
    *WORKFLOWS,
    *CRON,
    *OPERATING,
    *FOLLOWING,
    *SEQUENCES,
    *FAIRNESS,
    *TENANTS,
)
