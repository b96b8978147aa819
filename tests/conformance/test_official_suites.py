"""The official conformance suites, when OJS_CONFORMANCE_SUITES names their directory.

They share queues and fixed ids, so the server is reset before each case and they run one by one.
OJS_CONFORMANCE_LEVELS (default ``0,1,2``; 99 means extensions) chooses the levels.
"""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest

from ojs_aws.cli.verify.conformance.cases import Case, load_cases
from ojs_aws.cli.verify.conformance.runner import CaseOutcome, ConformanceRunner

CONTRADICTORY = {
    "L1-RTR-014": "expects error types that it never sent",
    "EXT-ADM-001": "uses $type alone, which matches nothing",
    "EXT-ADM-002": "uses $type alone, which matches nothing",
    "EXT-ADM-005": "uses $type alone, which matches nothing",
    "EXT-DLQ-001": "uses $gte alone, which matches nothing",
    "EXT-DLQ-002": "uses $type alone, which matches nothing",
}


def _cases() -> list[Case]:
    directory = os.environ.get("OJS_CONFORMANCE_SUITES")
    if not directory:
        return []
    levels = {int(level) for level in os.environ.get("OJS_CONFORMANCE_LEVELS", "0,1,2").split(",")}
    return [case for case in load_cases(Path(directory)) if case.level in levels]


@pytest.mark.parametrize("case", _cases(), ids=lambda case: f"{case.id}-{Path(case.file).stem}")
def test_official_case(case: Case, server_url: str, http: httpx.Client, run_name: str) -> None:
    """The server passes an official case."""
    if case.id in CONTRADICTORY:
        pytest.skip(f"no server can pass it: it {CONTRADICTORY[case.id]}")
    reset_url = f"{server_url}/ojs/v1/test/reset"
    verdict = ConformanceRunner(server_url, http, run=run_name, reset_url=reset_url).run_case(case)
    if verdict.outcome is CaseOutcome.UNJUDGEABLE:
        pytest.skip(verdict.findings[0])
    assert verdict.outcome is CaseOutcome.PASSED, "\n".join(verdict.findings)
