"""How large the code of each function is, as it lies and as it is sent; exit 1 above the budget.

    python -m benchmarks.bundles

The backend's functions are one bundle, and so is a worker without packages of its own, but for the
AWS services that it can call. Where this machine has the functions' Python their bundles hold
bytecode, which makes them larger and their starts shorter: the first rows are what is deployed by
default from here, the last one is for this machine's own Python.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from ojs_aws.cdk.bundle import BACKEND_SERVICES, Bundle, Target, backend_bundle, build

MB: Final = 1_000_000
LARGEST: Final = 4


@dataclass(frozen=True, slots=True)
class Size:
    """What a bundle weighs, in bytes.

    :ivar lies: the files as a function reads them; AWS allows 250 MB.
    :ivar sent: the archive that is uploaded and fetched at a cold start; AWS allows 50 MB.
    :ivar largest: what takes most of it.
    """

    lies: int
    sent: int
    largest: str
    has_bytecode: bool

    @property
    def budget(self) -> tuple[int, int]:
        """What it may weigh: as it lies, and as it is sent."""
        return (40 * MB, 15 * MB) if self.has_bytecode else (25 * MB, 9 * MB)

    @property
    def is_kept(self) -> bool:
        """Whether it is within its budget."""
        lies, sent = self.budget
        return self.lies <= lies and self.sent <= sent


def measure(folder: Path) -> Size:
    """Weigh a bundle."""
    archive, weight = io.BytesIO(), Counter[str]()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                inside = path.relative_to(folder)
                weight[inside.parts[0]] += path.stat().st_size
                packed.write(path, inside)
    largest = ", ".join(f"{name} {size / MB:.1f}" for name, size in weight.most_common(LARGEST))
    has_bytecode = any(folder.rglob("*.pyc"))
    return Size(weight.total(), len(archive.getvalue()), largest, has_bytecode)


def main() -> int:
    """Build, weigh, print the table, and say whether the budgets are kept."""
    worker = Bundle(target=Target(), botocore_services=("dynamodb", "s3", "sqs"))
    rows = {
        "each function of the backend": backend_bundle(Target()),
        "the same, traced": backend_bundle(Target(), tracing=True),
        "a worker, before its own packages": worker,
        "the backend's, for this machine": backend_bundle(Target.host()),
    }
    table = Table("Function", "Python", "Lies MB", "Sent MB", "Budget", "Largest", title="Bundles")
    heavy = []
    for name, bundle in rows.items():
        size = measure(build(bundle))
        lies, sent = size.budget
        python = f"{bundle.target.python}{', compiled' if size.has_bytecode else ''}"
        table.add_row(
            name,
            python,
            f"{size.lies / MB:.1f}",
            f"{size.sent / MB:.1f}",
            f"{lies / MB:.0f} / {sent / MB:.0f}",
            size.largest,
        )
        if not size.is_kept:
            heavy.append(name)
    Console().print(table)
    print(f"AWS services in the backend's: {', '.join(BACKEND_SERVICES)}")
    if heavy:
        print(f"Above the budget: {', '.join(heavy)}", file=sys.stderr)
    return 1 if heavy else 0


if __name__ == "__main__":
    raise SystemExit(main())
