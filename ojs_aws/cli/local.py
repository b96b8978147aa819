"""Implements ``ojs-aws local``: starts the server, says so, and stops it cleanly."""

from __future__ import annotations

import os
import signal
import sys
import threading

from ojs_aws.local.options import LocalOptions, StartError
from ojs_aws.local.server import LocalServer

_EXAMPLE = """\
  curl -s {url}/ojs/v1/jobs -H 'Content-Type: application/json' \\
    -d '{{"type": "demo.echo", "args": ["hello"], "options": {{"queue": "demo"}}}}'"""


def run_local(options: LocalOptions, log_level: str) -> None:
    """Run the server until Ctrl-C or SIGTERM.

    Exits with 1 and a message when it cannot start.
    """
    environ = os.environ
    environ.setdefault("POWERTOOLS_LOG_LEVEL", log_level)
    print("Starting: DynamoDB, SQS and the Lambda functions in one process ...", flush=True)
    try:
        with LocalServer(options, environ) as server:
            _serve(server)
    except StartError as problem:
        print(f"ojs-aws local: {problem}", file=sys.stderr)
        raise SystemExit(1) from None
    print("Stopped.", flush=True)


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
