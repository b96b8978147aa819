"""Drive the official clients, and write the table of docs/clients.md.

    OJS_PYTHON_SDK=../ojs-python-sdk OJS_CLI=../ojs-cli python -m tests.clients --write

Check-outs are named by ``OJS_PYTHON_SDK``, ``OJS_JS_SDK``, ``OJS_GO_SDK``, ``OJS_RUBY_SDK``,
``OJS_CLI`` and ``OJS_ADMIN_UI``; a client without one is skipped, with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from tests.clients.checkouts import CLIENTS, BuildError, environment
from tests.clients.results import SERVERS, BrokenDriverError, Outcome, read_outcomes
from tests.clients.servers import serving
from tests.clients.table import rendered, replaced, unexplained

PAGE: Final = Path(__file__).parents[2] / "docs" / "clients.md"
DRIVE_S: Final = 3600

Results = dict[str, dict[str, list[Outcome]]]
Built = dict[str, tuple[list[str], Mapping[str, str]]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0 if each failure is explained."""
    parser = argparse.ArgumentParser(prog="python -m tests.clients", description=__doc__)
    parser.add_argument("--server", action="append", choices=[*SERVERS], help="default: all")
    names = [client.name for client in CLIENTS]
    parser.add_argument("--client", action="append", choices=names, help="default: all")
    parser.add_argument(
        "--results", type=Path, help="a file of results: earlier ones are in the table, too"
    )
    parser.add_argument("--write", action="store_true", help="write the table to docs/clients.md")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="ojs-clients-") as name:
        folder = Path(name)
        built = build(options.client or names, folder)
        results = drive(built, options.server or [*SERVERS], folder)
    if options.results:
        results = kept(options.results, results)
    titles = {client.name: client.title for client in CLIENTS}
    table = rendered(results, titles)
    print(table)
    if options.write:
        PAGE.write_text(replaced(PAGE.read_text("utf-8"), table), "utf-8")
    problems = unexplained(results)
    for problem in problems:
        print(f"NOT EXPLAINED: {problem}", file=sys.stderr)
    return 1 if problems or not results else 0


def kept(file: Path, results: Mapping[str, Mapping[str, list[Outcome]]]) -> Results:
    """Add results to those of a file; what was driven again takes the place of the earlier."""
    found = json.loads(file.read_text("utf-8")) if file.exists() else {}
    for client, by_server in results.items():
        for server, outcomes in by_server.items():
            found.setdefault(client, {})[server] = [asdict(outcome) for outcome in outcomes]
    file.write_text(json.dumps(found, indent=1), "utf-8")
    return {
        client.name: {
            server: [Outcome(**each) for each in found[client.name][server]]
            for server in SERVERS
            if server in found[client.name]
        }
        for client in CLIENTS
        if client.name in found
    }


def build(names: Sequence[str], folder: Path) -> Built:
    """Build the clients that have a check-out; say why others are skipped."""
    built: Built = {}
    for client in CLIENTS:
        if client.name not in names:
            continue
        reason = client.missing(os.environ)
        if reason:
            print(f"skipped {client.title}: {reason}", file=sys.stderr)
            continue
        print(f"building {client.title}", file=sys.stderr)
        try:
            built[client.name] = client.built(os.environ, folder)
        except BuildError as problem:
            print(f"skipped {client.title}: {problem}", file=sys.stderr)
    return built


def drive(built: Built, servers: Sequence[str], folder: Path) -> Results:
    """Run each driver on each server; by client, then by server."""
    results: Results = {name: {} for name in built}
    for server in servers if built else ():
        print(f"starting the server: {SERVERS[server]}", file=sys.stderr)
        with serving(server, folder) as (url, key):
            for name, (command, more) in built.items():
                print(f"driving {name}", file=sys.stderr)
                results[name][server] = _driven(
                    command, {**more, "OJS_URL": url, "OJS_API_KEY": key}
                )
    return results


def _driven(command: Sequence[str], more: Mapping[str, str]) -> list[Outcome]:
    done = subprocess.run(
        command,
        env=environment(more),
        capture_output=True,
        text=True,
        timeout=DRIVE_S,
        check=False,
    )
    said = f"{done.stdout[-1000:]}\n{done.stderr[-2000:]}"
    if done.returncode:
        raise BrokenDriverError(f"The driver ended with status {done.returncode}.\n{said}")
    return read_outcomes(done.stdout.splitlines())


if __name__ == "__main__":
    sys.exit(main())
