"""Every benchmark: ``python -m benchmarks``, or ``make bench``."""

from __future__ import annotations

import sys

from benchmarks import costs, middleware, startup

if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    costs.main()
    raise SystemExit(middleware.main() + startup.main())
