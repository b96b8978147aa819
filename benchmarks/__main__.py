"""Every benchmark: ``python -m benchmarks``, or ``make bench``."""

from __future__ import annotations

import sys

from benchmarks import costs, lateness, middleware, startup, sweep_costs

if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    costs.main()
    failed = [main() for main in (sweep_costs.main, lateness.main, middleware.main, startup.main)]
    raise SystemExit(any(failed))
