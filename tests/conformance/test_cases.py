"""Our own conformance cases against the server under test.

The cases that wait are started in a few threads, the longest ones first, before the first of the
others runs: each has its own queues, so only the waiting overlaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from ojs_aws.cli.verify.conformance.cases import Case, load_cases
from ojs_aws.cli.verify.conformance.runner import CaseOutcome, CaseVerdict, ConformanceRunner

pytestmark = pytest.mark.thorough

CASES = load_cases(Path(__file__).parent / "cases")
PROMPT_CASES = [case for case in CASES if not case.time_dependent]
WAITING_CASES = [case for case in CASES if case.time_dependent]
THREADS = 6  # more would make a slow machine miss the instants that the cases wait for


def _name(case: Case) -> str:
    return f"level-{case.level}-{case.id}"


def _waits_ms(case: Case) -> int:
    return sum(step.pause_ms for step in case.steps)


@pytest.fixture(scope="module", autouse=True)
def waiting_verdicts(
    runner: ConformanceRunner, request: pytest.FixtureRequest
) -> Iterator[dict[str, Future[CaseVerdict]]]:
    """The verdicts to come of the collected cases that wait, by file."""
    collected = {item.name for item in request.session.items}
    chosen = [c for c in WAITING_CASES if f"test_waiting_case[{_name(c)}]" in collected]
    with ThreadPoolExecutor(THREADS) as pool:
        longest_first = sorted(chosen, key=_waits_ms, reverse=True)
        yield {case.file: pool.submit(runner.run_case, case) for case in longest_first}


@pytest.mark.parametrize("case", PROMPT_CASES, ids=_name)
def test_prompt_case(case: Case, runner: ConformanceRunner, is_deployed: bool) -> None:
    """The server answers a case as it asserts."""
    if is_deployed and case.test_mode:
        pytest.skip("needs a server in test mode")
    _require_pass(runner.run_case(case))


@pytest.mark.parametrize("case", WAITING_CASES, ids=_name)
def test_waiting_case(case: Case, waiting_verdicts: dict[str, Future[CaseVerdict]]) -> None:
    """The server answers a case that waits for backoffs, timeouts or schedules as it asserts."""
    _require_pass(waiting_verdicts[case.file].result())


def _require_pass(verdict: CaseVerdict) -> None:
    assert verdict.outcome is CaseOutcome.PASSED, "\n".join(verdict.findings)
