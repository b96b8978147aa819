"""Each released version is named by its commit, and has left items that later ones read."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Final

import pytest
import yaml  # type: ignore[import-untyped]

from tests.upgrade.scenario import WRITTEN

CHECKOUT: Final = Path(__file__).parents[2]
VERSIONS: Final[dict[str, str]] = json.loads(
    (Path(__file__).parent / "versions.json").read_text("utf-8")
)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_has_left_items_that_are_read(version: str) -> None:
    """`test_upgrade.py` reads them with the code of today."""
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert (WRITTEN / f"{version}.json").exists()


@pytest.mark.parametrize("version", VERSIONS)
def test_the_commit_of_a_version_is_in_the_history(version: str) -> None:
    """Tags do not travel with every clone; and a shallow one lacks old commits, too."""

    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=False
        )

    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("no checkout with a history")
    assert git("merge-base", "--is-ancestor", VERSIONS[version], "HEAD").returncode == 0


def test_the_workflow_publishes_what_was_attested() -> None:
    """The artifacts of one job, with the rights that each job needs and no token of its own."""
    text = (CHECKOUT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    workflow = yaml.safe_load(text)
    build, publish = workflow["jobs"]["build"], workflow["jobs"]["publish"]
    assert workflow["permissions"] == {"contents": "read"}
    assert build["permissions"]["attestations"] == "write"
    assert publish["needs"] == "build"
    used = [step["uses"].partition("@")[0] for step in build["steps"] if "uses" in step]
    assert used.index("actions/attest-build-provenance") < used.index("actions/upload-artifact")
    assert "secrets." not in text
