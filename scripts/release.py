"""Makes what a release consists of: `make release VERSION=0.2.0`.

Checks that the version, the changelog and the stored items of the version are there, then writes to
``dist``: wheel, sdist, the template with the queue ``default``, the functions' zip files, the SBOM,
and the hashes of all. It tags if asked, and publishes nothing: the workflow of the tag does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ojs_aws import __version__
from ojs_aws.cdk.bundle import Target
from ojs_aws.cdk.published_template import rendered
from ojs_aws.cli.deployment.deploy_needs import made_bundle

CHECKOUT: Final = Path(__file__).resolve().parent.parent
DIST: Final = CHECKOUT / "dist"
VERSIONS: Final = CHECKOUT / "tests" / "upgrade" / "versions.json"
TARGETS: Final = (Target("arm64", "3.13"), Target("x86_64", "3.13"))


def problems(version: str) -> Iterator[str]:
    """Yield what keeps this commit from being released."""
    if version != __version__:
        yield f"ojs_aws/_version.py says {__version__}, not {version}."
    if f"## [{version}]" not in (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8"):
        yield f"CHANGELOG.md has no section [{version}]."
    written = CHECKOUT / "tests" / "upgrade" / "written" / f"{version}.json"
    if not written.exists():
        yield f"{written} does not exist: python -m tests.upgrade.scenario writes it."
    if version in json.loads(VERSIONS.read_text(encoding="utf-8")):
        yield f"{version} is in {VERSIONS.name}: it was released."
    if _run("git", "status", "--porcelain"):
        yield "The checkout has changes that are not committed."


def main() -> int:
    """Make a release; the return value is the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    parser.add_argument("--tag", action="store_true", help="tag the commit at the end")
    options = parser.parse_args()
    if found := list(problems(options.version)):
        print("release: " + "\nrelease: ".join(found), file=sys.stderr)
        return 1
    (DIST / "template.json").write_text(json.dumps(rendered(["default"]), indent=1) + "\n", "utf-8")
    for target in TARGETS:
        print(f"release: bundling for {target}")
        made = made_bundle(target)
        shutil.copyfile(made, DIST / made.name)
    shutil.copyfile(CHECKOUT / "build" / "sbom.json", DIST / "sbom.json")
    files = sorted(path for path in DIST.iterdir() if path.name != "SHA256SUMS")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (DIST / "SHA256SUMS").write_text("".join(sums), "utf-8")
    print("".join(sums), end="")
    if options.tag:
        _run("git", "tag", "-a", f"v{options.version}", "-m", f"ojs-aws {options.version}")
        print(f"release: tagged v{options.version}; push the tag to publish")
    return 0


def _run(*command: str) -> str:
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
