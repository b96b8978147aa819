"""Runs the local server as a child process of the tests, which control it by its standard input.

It prints its URL to its standard output, and then answers each line of its input with a line. The
only command is ``reset``, which deletes all jobs. It ends when its input ends, so that no server
outlives its tests. Whatever else is printed goes to the standard error.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from typing import TextIO

from ojs_aws.local import LocalOptions, StartError
from ojs_aws.local.server import LocalServer, ResetError

Say = Callable[[Mapping[str, str]], None]


def main() -> None:
    """Serve until the input ends. The only argument is a JSON object with ``workers``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the tests, and they end the server
    os.environ.setdefault("POWERTOOLS_LOG_LEVEL", "WARNING")
    # Tests read a job right after it has ended; the stream may not have listed it by then.
    os.environ.setdefault("OJS_STREAM_LISTS_COMPLETED", "0")
    say = _answers_on(_own_output())
    workers = tuple(json.loads(sys.argv[1])["workers"])
    try:
        with LocalServer(LocalOptions(port=0, workers=workers), os.environ) as server:
            os.environ["OJS_URL"] = server.url  # for jobs that a Lambda worker's handlers send
            threading.Thread(target=server.serve, daemon=True).start()
            say({"url": server.url})
            for line in sys.stdin:
                say(_run(server, line.strip()))
            server.stop()
    except StartError as problem:
        say({"error": str(problem)})
    except ModuleNotFoundError as missing:
        say({"error": f"{missing}: pip install 'ojs-aws[testing]'."})


def _own_output() -> TextIO:
    """Return the standard output; what is printed from now on goes to the standard error."""
    own = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return own


def _answers_on(output: TextIO) -> Say:
    def say(answer: Mapping[str, str]) -> None:
        output.write(json.dumps(answer) + "\n")
        output.flush()

    return say


def _run(server: LocalServer, command: str) -> Mapping[str, str]:
    if command != "reset":
        return {"error": f"There is no command {command!r}."}
    try:
        server.reset()
    except ResetError as problem:
        return {"error": str(problem)}
    return {"done": command}


if __name__ == "__main__":
    main()
