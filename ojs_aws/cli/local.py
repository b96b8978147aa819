"""Implements ``ojs-aws local`` and its demos: start the server, say so, and stop it cleanly."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ojs_aws.local.options import LocalOptions, StartError
from ojs_aws.local.server import LocalServer

_EXAMPLE = """\
  curl -s {url}/ojs/v1/jobs -H 'Content-Type: application/json' \\
    -d '{{"type": "demo.echo", "args": ["hello"], "options": {{"queue": "demo"}}}}'"""


def run_local(options: LocalOptions, log_level: str) -> None:
    """Run the server until Ctrl-C or SIGTERM.

    Exits with 1 and a message when it cannot start.
    """
    with _started(options, log_level) as server:
        _serve(server)
    print("Stopped.", flush=True)


@contextmanager
def _started(options: LocalOptions, log_level: str) -> Iterator[LocalServer]:
    """Start a server, and stop it in the end; exit with 1 and a message if it cannot start."""
    environ = os.environ
    environ.setdefault("POWERTOOLS_LOG_LEVEL", log_level)
    print("Starting: DynamoDB, SQS and the Lambda functions in one process ...", flush=True)
    try:
        with LocalServer(options, environ) as server:
            yield server
    except StartError as problem:
        print(f"ojs-aws local: {problem}", file=sys.stderr)
        raise SystemExit(1) from None


def run_fairness_demo(port: int, jobs: int, per_s: float, *, keeps: bool) -> None:
    """Run the demo of fairness keys on a server of its own, and show what happens.

    :param keeps: let the server run afterwards, until Ctrl-C.
    """
    import httpx
    from rich.console import Console
    from rich.live import Live

    from ojs_aws.local.fairness_demo import FairnessDemo

    console = Console()
    with _started(LocalOptions(port=port), "ERROR") as server:
        serving = threading.Thread(target=server.serve)
        serving.start()
        console.print(f"Dashboard: open {server.url}/ in a browser. Ctrl-C ends the demo.\n")
        try:
            with httpx.Client(base_url=f"{server.url}/ojs/v1", trust_env=False) as client:

                def post(path: str, body: dict[str, Any]) -> Any:
                    return client.post(path, json=body, timeout=60).raise_for_status().json()

                demo = FairnessDemo(
                    post=post, clock=time.monotonic, sleep=time.sleep, flood=jobs, per_s=per_s
                )
                with Live(demo.shares(), console=console, auto_refresh=False) as live:
                    demo.run(lambda: live.update(demo.shares(), refresh=True))
            console.print("", demo.waits(), "", demo.plot(), sep="\n")
            if keeps:
                console.print("\nThe dashboard is still there. Ctrl-C stops it.")
                serving.join()
        except KeyboardInterrupt:
            console.print("Stopped.")
        finally:
            server.stop()
            serving.join()


def _serve(server: LocalServer) -> None:
    def stop(*_: object) -> None:
        threading.Thread(target=server.stop, daemon=True).start()

    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, stop)
    print(_welcome(server), flush=True)
    server.serve()
    print("\nStopping: letting running jobs end ...", flush=True)


def _welcome(server: LocalServer) -> str:
    served = ", ".join(server.served_queues) or "none"
    if server.keys:
        return _welcome_with_keys(server)
    return (
        f"\nOJS backend at {server.url}   (Ctrl-C stops it and forgets everything)\n"
        f"Lambda workers serve the queues: {served}; all others wait for HTTP workers.\n"
        f"Dashboard: open {server.url}/ in a browser.\n\n"
        "Push a job, then look at it:\n\n"
        f"{_EXAMPLE.format(url=server.url)}\n"
        f"  curl -s {server.url}/ojs/v1/jobs/<id>\n"
    )


def _welcome_with_keys(server: LocalServer) -> str:
    keys = "\n".join(f"  {scope:<10} {text}" for scope, text in server.keys.items())
    return (
        f"\nOJS backend at {server.url}, which asks for API keys   (Ctrl-C forgets everything)\n"
        f"Dashboard: open {server.url}/ in a browser, and sign in with the key of an operator.\n\n"
        f"A key of each scope, valid until then:\n\n{keys}\n\n"
        "Push a job with the producer's, and read it with the operator's:\n\n"
        f"  export OJS_API_KEY={server.keys['producer']}\n"
        f"{_EXAMPLE.format(url=server.url)} \\\n"
        '    -H "Authorization: Bearer $OJS_API_KEY"\n'
    )
