"""The page of the command line says what the commands say; prices are those of the benchmarks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ojs_aws.cli.app import app
from ojs_aws.cli.reference import in_document, reference
from ojs_aws.cli.session import ExitCode
from ojs_aws.pricing import (
    ASSUMPTIONS,
    PRICES,
    Workload,
    estimate,
    move_units,
    push_units,
)
from tests.unit.cli.conftest import Cli

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = (DOCS / "cli.md").read_text(encoding="utf-8")


def test_the_page_has_the_reference_of_the_commands() -> None:
    """`python scripts/cli_reference.py` writes it."""
    assert in_document(PAGE, app) == PAGE


def test_every_command_teaches_by_an_example() -> None:
    """Those that talk to a server; the example is a command that exists."""
    parts = reference(app).split("### ")[1:]
    assert len(parts) > 35
    for part in parts:
        name = part.split("`")[1]
        if name.split()[1] in {"local", "settings", "middleware", "cancel", "keys"}:
            continue
        assert f"\n{name}" in part.partition("```sh")[2], name


def test_the_page_names_every_exit_code() -> None:
    """And no others."""
    rows = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    assert rows == {int(code) for code in ExitCode}


def test_help_imports_neither_the_client_nor_aws() -> None:
    """`ojs-aws --help` is quick."""
    code = (
        "import sys; sys.argv = ['ojs-aws', '--help']\n"
        "try:\n    from ojs_aws.cli import main; main()\n"
        "except SystemExit: pass\n"
        "heavy = {'httpx', 'botocore', 'pydantic', 'moto', 'ojs_aws.client'}\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY []"


@pytest.mark.parametrize(("size", "units"), [(600, 8), (10_000, 13), (100_000, 41)])
def test_an_estimate_counts_what_the_benchmark_counts(size: int, units: float) -> None:
    """Write units from PUSH to ACK, as benchmarks/README.md has them."""
    assert push_units(size) + 2 * move_units(size) == units


def test_an_estimate_of_small_jobs_is_that_of_the_readme() -> None:
    """DynamoDB and SQS of a million: the operations alone."""
    own = {"PUSH, written", "FETCH, ACK and FAIL, written", "heads of queues and jobs, read"}
    lines = estimate(Workload(jobs=1_000_000, uses_http_workers=True))
    told = sum(line.dollars for line in lines if line.what in {*own, "messages"})
    assert told == pytest.approx(6.26, abs=0.01)


def test_a_failure_costs_another_attempt() -> None:
    """And nothing is ever cheaper for doing more."""
    total = [
        sum(line.dollars for line in estimate(Workload(jobs=1e6, failure_rate=rate)))
        for rate in (0, 0.1, 1)
    ]
    assert total == sorted(total)
    assert {line.unit for line in estimate(Workload(jobs=1))} <= set(PRICES)
    with pytest.raises(ValueError, match="negative"):
        estimate(Workload(jobs=-1))


@pytest.mark.parametrize(
    ("more", "writes", "reads"),
    # What the operation costs in benchmarks/flow_costs.py beyond a plain job's 2, 3 and 3 units,
    # of which FETCH reads one at most.
    [
        (Workload(jobs=1000, unique=1), 5 - 2, 0),
        (Workload(jobs=1000, steps=1), 7 - 2, 2),
        (Workload(jobs=1000, limited=1), 6 - 3 + 7 - 3, 2),
        (Workload(jobs=1000, batched=1), 0.03, 1),
        (Workload(jobs=1000, scheduled=1), 6 - 3, 2),
    ],
)
def test_an_estimate_adds_what_orchestration_costs(
    more: Workload, writes: float, reads: float
) -> None:
    """Asserted of the operations themselves in tests/functions/test_flow_costs.py."""

    def units(workload: Workload, unit: str) -> float:
        return sum(line.amount for line in estimate(workload) if line.unit == unit)

    plain = Workload(jobs=1000)
    assert units(more, "write unit") - units(plain, "write unit") == pytest.approx(1000 * writes)
    assert units(more, "read unit") - units(plain, "read unit") == pytest.approx(1000 * reads)


def test_a_share_is_of_all_jobs_at_most() -> None:
    with pytest.raises(ValueError, match="share"):
        estimate(Workload(jobs=1, steps=1.1))


def test_a_batch_saves_requests() -> None:
    """Nine of ten messages, and the requests to the API."""
    by_unit = [
        {line.what: line.amount for line in estimate(Workload(jobs=1000, batched=batched))}
        for batched in (0, 1)
    ]
    assert by_unit[0]["messages"] - by_unit[1]["messages"] == 900
    assert (by_unit[0]["API, requests"], by_unit[1]["API, requests"]) == (1000, 1)


def test_the_cost_is_shown_with_what_is_assumed(cli: Cli) -> None:
    """As a table, or as JSON."""
    told = cli.ask("cost", "2000000", "--failures", "0.02", "--job-ms", "100")
    assert told["dollars_per_million_jobs"] == pytest.approx(
        told["dollars_per_month"] / 2, abs=0.01
    )
    assert told["assumptions"] == list(ASSUMPTIONS)
    shown = cli.run("cost")
    assert "together" in shown.out
    assert "Assumed" in shown.err
