"""Run a shop's processes together: a backend, a worker and the web server; Ctrl-C ends all."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, cast

CHECKOUT = Path(__file__).resolve().parent.parent
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


def start(stack: ExitStack, *command: str, says: str = "") -> str:
    """Start a Python module that ends with the stack; return the address that it tells.

    :param says: a part of the line with the address; nothing: it tells none.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    stack.callback(_end, process)
    output = cast("IO[str]", process.stdout)
    address = _address_in(output, says) if says else ""
    threading.Thread(target=_show, args=(output,), daemon=True).start()
    return address


def _address_in(output: IO[str], says: str) -> str:
    seen = ""
    for line in output:
        seen += line
        if says in line and (found := ADDRESS.search(line)):
            return found[0]
    raise SystemExit(f"It ended without an address:\n{seen}")


def _show(output: IO[str]) -> None:
    for line in output:
        sys.stderr.write(line)


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.wait()


def start_backend(stack: ExitStack) -> None:
    """Start a complete backend on this machine, and let the shop find it."""
    os.environ["OJS_URL"] = start(stack, "ojs_aws.cli", "local", "--port", "0", says="Dashboard:")


def serve_shop(stack: ExitStack, command: Sequence[str], says: str) -> None:
    """Start the web server, say where the shop is, and wait for Ctrl-C."""
    address = start(stack, *command, says=says)
    print(f"Shop: {address}/  Dashboard: {address}/jobs/ (user ada, password ada)", flush=True)
    threading.Event().wait()


def port() -> int:
    """Return the port that the command line names; 0 for a free one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8000)
    return int(parser.parse_args().port)
