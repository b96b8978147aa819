"""Ask whether a locked package has a known vulnerability; what cannot be asked is said.

`make audit` runs it. The advisories are the package registry's; a mirror may not have them. Then
nothing can be said, which is reported and is no failure.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Answer:
    """Holds what was found out about one lock file.

    :ivar unasked: packages about which nothing could be found out.
    :ivar vulnerable: a line for each advisory.
    """

    packages: int
    unasked: int
    vulnerable: tuple[str, ...]


def read(report: str) -> Answer:
    """Read pip-audit's JSON.

    :raises ValueError: it is none.
    """
    found = json.loads(report)["dependencies"]
    advisories = tuple(
        f"{package['name']} {package['version']}: {each['id']}, "
        f"fixed in {', '.join(each['fix_versions']) or 'no version yet'}"
        for package in found
        for each in package.get("vulns", ())
    )
    return Answer(len(found), sum(1 for each in found if "skip_reason" in each), advisories)


def audit(tool: Path, lock: Path) -> Answer:
    """Ask about one lock file.

    :raises ValueError: the tool printed no report.
    """
    ran = subprocess.run(
        [tool, "-r", lock, "--no-deps", "--disable-pip", "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=CHECKOUT,
    )
    try:
        return read(ran.stdout)
    except (ValueError, KeyError) as problem:
        message = f"pip-audit gave no report about {lock}: {ran.stderr.strip()[-500:]}"
        raise ValueError(message) from problem


def main(arguments: Sequence[str] | None = None) -> int:
    """Audit each lock; 1 when there is an advisory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", type=Path, required=True, help="pip-audit")
    parser.add_argument("locks", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    is_clean = True
    for lock in options.locks:
        try:
            answer = audit(options.tool, lock)
        except ValueError as problem:
            print(f"audit: {lock}: skipped: {problem}")
            continue
        for line in answer.vulnerable:
            print(f"audit: {lock}: {line}")
        is_clean &= not answer.vulnerable
        asked = answer.packages - answer.unasked
        print(f"audit: {lock}: {asked} packages asked about, {len(answer.vulnerable)} advisories")
        if answer.unasked:
            print(
                f"audit: {lock}: skipped {answer.unasked}: this registry has no advisories on them"
            )
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
