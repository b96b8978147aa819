"""Runs a command again whenever Python code below a folder changes, for ``ojs-aws run --reload``.

The command runs in a session of its own, so that a signal reaches it once: this process passes on
what it gets. A change sends SIGTERM, which lets running jobs finish.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Final

INTERVAL_S: Final = 0.5
"""Between two looks at the files."""

_SKIPPED: Final = frozenset({"__pycache__", "node_modules", "venv", "site-packages", "cdk.out"})

Times = Mapping[str, int]


@dataclass
class Reloader:
    """Keeps one child process that runs the newest code.

    :ivar root: the folder that is watched.
    :ivar command: what the child runs.
    """

    root: Path
    command: Sequence[str]
    interval_s: float = INTERVAL_S
    _stopped: threading.Event = field(default_factory=threading.Event)
    _child: subprocess.Popen[bytes] | None = None

    def run(self) -> int:
        """Run until a signal ends it; return the exit code of the last child."""
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # the last one: the terminal was closed
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), self._pass_on)
        code = 0
        while not self._stopped.is_set():
            seen = times_of(self.root)
            self._child = subprocess.Popen(self.command, start_new_session=True)  # noqa: S603
            if self._stopped.is_set():  # the signal came before there was a child to pass it to
                self._child.terminate()
            changed = self._wait_for_change(seen)
            code = self._child.wait()
            if self._stopped.is_set() or (code == 0 and not changed):
                break  # a signal or the server ended it
            if not changed:
                _say("The worker ended. It starts again when a file changes.")
                changed = self._wait_for_change(seen, only_files=True)
        return code

    def _wait_for_change(self, seen: Times, *, only_files: bool = False) -> str:
        """Return the file that changed, after SIGTERM to the child; empty if there was none.

        :param only_files: the child has ended already.
        """
        child = self._child
        while not self._stopped.wait(self.interval_s):
            if not only_files and child is not None and child.poll() is not None:
                return ""
            if path := changed_between(seen, times_of(self.root)):
                _say(f"{os.path.relpath(path, self.root)} changed: starting again.")
                if child is not None and child.poll() is None:
                    child.terminate()
                return path
        return ""

    def _pass_on(self, number: int, _: FrameType | None) -> None:
        """Pass a signal on to the child, and end with it."""
        self._stopped.set()
        if self._child is not None and self._child.poll() is None:
            known = number in {signal.SIGINT, signal.SIGTERM}
            self._child.send_signal(number if known else signal.SIGTERM)


def times_of(root: Path) -> dict[str, int]:
    """Return when each Python file below a folder was changed last, in nanoseconds."""
    return dict(_times(str(root)))


def changed_between(before: Times, after: Times) -> str:
    """Return a file that is new, gone or different; empty if there is none."""
    return next((path for path in {**before, **after} if before.get(path) != after.get(path)), "")


def _times(folder: str) -> Iterator[tuple[str, int]]:
    try:
        entries = list(os.scandir(folder))
    except OSError:  # gone, or not ours to read
        return
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED and not entry.name.startswith("."):
                    yield from _times(entry.path)
            elif entry.name.endswith(".py"):
                yield entry.path, entry.stat().st_mtime_ns
        except OSError:  # it has just been removed
            continue


def _say(text: str) -> None:
    print(f"ojs-aws run: {text}", file=sys.stderr, flush=True)
