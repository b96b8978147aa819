"""Import and init of each function, against a bare module that imports boto3 and makes two clients.

    python -m benchmarks.startup            # 15 rounds, a table, exit 1 above the budget
    python -m benchmarks.startup --rounds 5 --json startup.json
    python -m benchmarks.startup --client   # 20 imports of the client beside a bare interpreter

Floor and functions run in turn, each in a fresh interpreter, so that a machine that slows down
slows all of them; the ratio of the fastest is what counts, not the seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import track
from rich.table import Table

BUDGET: Final = 1.2
MORE_TRIES: Final = 4
"""What else runs on the machine only adds: what seems too slow is measured again."""

API_FUNCTIONS: Final = ("producer", "worker_api", "job_endpoint", "operator", "system")
OTHER_FUNCTIONS: Final = ("stream", "tick")
ROOT: Final = Path(__file__).resolve().parent.parent

CLIENT: Final = "from ojs_aws import Client"
CLIENT_BUDGET: Final = 12.5
"""150 ms where a bare interpreter takes 12 ms: both are medians."""
CLIENT_ROUNDS: Final = 20

FLOOR: Final = 'import boto3; boto3.client("dynamodb"); boto3.client("sqs")'
ENVIRONMENT: Final = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
    "AWS_EC2_METADATA_DISABLED": "true",
    "OJS_TABLE": "ojs",
    "OJS_QUEUE_URL_PREFIX": "https://sqs.us-east-1.amazonaws.com/123456789012/",
    "POWERTOOLS_SERVICE_NAME": "ojs",
}


def seconds_of(code: str) -> float:
    """Wall time of a fresh interpreter that runs ``code``, in seconds."""
    environ = {**os.environ, **ENVIRONMENT}
    environ.pop("AWS_ENDPOINT_URL", None)
    environ.pop("PYTHONDONTWRITEBYTECODE", None)  # boto3 has its bytecode; so must the functions
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=environ)
    return time.perf_counter() - begun


def measure(rounds: int) -> dict[str, float]:
    """Seconds of the bare interpreter, the floor and each function: the fastest of the rounds.

    What else runs on the machine can only add to them.
    """
    codes = {"(interpreter)": "pass", "(floor)": FLOOR}
    for name in (*API_FUNCTIONS, *OTHER_FUNCTIONS):
        codes[name] = f"import functions.{name}.handler"
    for code in codes.values():
        seconds_of(code)  # fills the bytecode cache, as a deployed bundle has one
    times: dict[str, list[float]] = {name: [] for name in codes}
    for _ in track(range(rounds), description="Starting functions"):
        for name, code in codes.items():
            times[name].append(seconds_of(code))
    return {name: min(values) for name, values in times.items()}


def beyond(fastest: Mapping[str, float]) -> list[str]:
    """The functions that start more slowly than the budget allows."""
    most = BUDGET * fastest["(floor)"]
    return [name for name in API_FUNCTIONS if fastest[name] > most]


def client() -> int:
    """Compare an import of the client with a bare interpreter, in turn, by their medians."""
    codes = ("pass", CLIENT)
    for code in codes:
        seconds_of(code)  # fills the bytecode cache
    rounds = [[seconds_of(code) for code in codes] for _ in range(CLIENT_ROUNDS)]
    bare, whole = (statistics.median(times) for times in zip(*rounds, strict=True))
    ratio = whole / bare
    print(f"interpreter {bare * 1000:.0f} ms, client {whole * 1000:.0f} ms: {ratio:.1f} times")
    return 0 if ratio <= CLIENT_BUDGET else 1


def main() -> int:
    """Measure, print the table, and say whether the budget is kept."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15, help="runs of each (default 15)")
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    parser.add_argument("--client", action="store_true", help="measure the client's import")
    options = parser.parse_args()
    if options.client:
        return client()

    fastest = measure(options.rounds)
    for _ in range(MORE_TRIES):
        if not beyond(fastest):
            break
        again = measure(options.rounds)
        fastest = {name: min(seconds, again[name]) for name, seconds in fastest.items()}
    floor, late = fastest["(floor)"], beyond(fastest)
    table = Table("Function", "Fastest ms", "Ratio to floor", "Budget", title="Import and init")
    for name, seconds in fastest.items():
        ratio = seconds / floor
        budget = f"{BUDGET}" if name in API_FUNCTIONS else ""
        table.add_row(name, f"{seconds * 1000:.0f}", f"{ratio:.2f}", budget)
    Console().print(table)
    if options.json:
        options.json.write_text(json.dumps({k: round(v / floor, 3) for k, v in fastest.items()}))
    if late:
        print(f"Above the budget: {', '.join(late)}", file=sys.stderr)
    return 1 if late else 0


if __name__ == "__main__":
    raise SystemExit(main())
