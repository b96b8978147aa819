"""``python -m tests.conformance``: run conformance cases against a server and print a table.

Exit status: 0 when no case failed, 1 when one did, 2 when the run could not start.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from ojs_aws.cli.verify.conformance.cases import Case, CaseError, load_cases
from ojs_aws.cli.verify.conformance.runner import (
    CaseOutcome,
    CaseVerdict,
    ConformanceRunner,
    open_client,
)
from tests.conformance.report import line, summary

OWN_CASES = Path(__file__).parent / "cases"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the return value is the exit status."""
    options = _parser().parse_args(arguments)
    try:
        cases = _selected(load_cases(options.cases), options)
    except CaseError as problem:
        print(problem, file=sys.stderr)
        return 2
    started = time.monotonic()
    try:
        verdicts = _run(cases, options)
    except (httpx.HTTPError, httpx.InvalidURL) as problem:
        print(f"no run against {options.url}: {problem!r}", file=sys.stderr)
        return 2
    print(summary(verdicts, time.monotonic() - started))
    return 1 if any(verdict.outcome is CaseOutcome.FAILED for verdict in verdicts) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    add = parser.add_argument
    add("--url", default="http://127.0.0.1:8080", help="the server, without /ojs/v1")
    add("--cases", type=Path, default=OWN_CASES, metavar="DIR", help="default: our own cases")
    add("--level", type=int, help="only this level (99: extensions)")
    add("--only", action="append", default=[], metavar="TEXT", help="only files with this in them")
    add("--reset-url", default="", metavar="URL", help="POSTed before each case; implies --jobs 1")
    add("--jobs", type=int, default=1, help="cases at a time; our own do not disturb each other")
    add("--run", default=secrets.token_hex(3), help="name that keeps this run's queues apart")
    add("--deployed", action="store_true", help="leave out cases that wait or need test mode")
    return parser


def _selected(cases: list[Case], options: argparse.Namespace) -> list[Case]:
    chosen = [
        case
        for case in cases
        if options.level in (None, case.level)
        and (not options.only or any(text in case.file for text in options.only))
        and not (options.deployed and (case.time_dependent or case.test_mode))
    ]
    if not chosen:
        raise CaseError(f"no case in {options.cases} is selected")
    return chosen


def _run(cases: list[Case], options: argparse.Namespace) -> list[CaseVerdict]:
    verdicts = []
    with open_client() as client:
        client.get(f"{options.url.rstrip('/')}/ojs/v1/health")  # better one error than a hundred
        runner = ConformanceRunner(
            options.url, client, run=options.run, reset_url=options.reset_url
        )
        with ThreadPoolExecutor(1 if options.reset_url else options.jobs) as pool:
            for verdict in pool.map(runner.run_case, cases):
                print(line(verdict), flush=True)
                verdicts.append(verdict)
    return verdicts


if __name__ == "__main__":
    sys.exit(main())
